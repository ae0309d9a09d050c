"""The learner's door: what importing it costs, the device, the seeds, and tracebacks."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

import course_utils
from course_utils import seed_everything, seeded
from course_utils.learner.devices import _choose_device
from support.kernel import run_cells, traceback_of


def python(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess:
    """Run ``code`` in a Python of its own."""
    clean = {name: value for name, value in os.environ.items() if name != "COURSE_DEVICE"}
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_importing_the_door_imports_nothing_heavy_and_warns_of_nothing():
    done = python(
        "import sys, course_utils\n"
        "heavy = {'torch', 'matplotlib', 'IPython'}\n"
        "print(heavy & set(sys.modules))\n"
        "course_utils.check_equal(1, 1)\n"
        "print(heavy & set(sys.modules))",
        "-W",
        "error::DeprecationWarning",
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["set()", "{'torch'}"]


def test_every_name_of_the_door_opens():
    for name in course_utils.__all__:
        assert getattr(course_utils, name) is not None
    assert set(course_utils.__all__) <= set(dir(course_utils))


def test_an_unknown_name_is_refused_as_python_does():
    with pytest.raises(AttributeError, match="'course_utils' has no attribute 'chek_close'"):
        course_utils.chek_close  # noqa: B018


PRINT_DEVICE = "from course_utils import device; print(repr(device))"


@pytest.mark.parametrize("wanted", [None, ""])
def test_the_device_is_the_gpu_if_there_is_one(wanted, monkeypatch):
    monkeypatch.delenv("COURSE_DEVICE", raising=False)
    if wanted is not None:
        monkeypatch.setenv("COURSE_DEVICE", wanted)
    assert _choose_device().type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_the_device_can_be_named():
    done = python(PRINT_DEVICE, COURSE_DEVICE="cpu")
    assert (done.returncode, done.stdout) == (0, "device(type='cpu')\n")


@pytest.mark.parametrize("wanted", ["gpu", "cuda:99", "mps:7", "cpu:x"])
def test_a_device_that_is_not_there_is_refused_with_what_to_do(wanted, monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", wanted)
    with pytest.raises(RuntimeError) as caught:
        _choose_device()
    assert str(caught.value).startswith(f"COURSE_DEVICE={wanted} cannot be used here (")
    assert str(caught.value).endswith("unset it, or set it to cpu, and restart the kernel")
    assert "\n" not in str(caught.value)


def test_the_door_refuses_a_bad_device_in_its_last_line():
    done = python(PRINT_DEVICE, COURSE_DEVICE="gpu")
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.strip().splitlines()[-1].startswith("RuntimeError: COURSE_DEVICE=gpu cannot")


def draw_numbers() -> list:
    return [random.random(), np.random.rand(), torch.rand(1).item()]


def test_a_seed_repeats_all_three_generators():
    seed_everything(7)
    first = draw_numbers()
    second = draw_numbers()
    seed_everything(7)
    assert draw_numbers() == first
    seed_everything(8)
    other = draw_numbers()
    for a, b, c in zip(first, second, other, strict=True):
        assert len({a, b, c}) == 3


def test_the_default_seed_is_zero_and_the_bounds_are_numpys():
    seed_everything()
    first = draw_numbers()
    seed_everything(0)
    assert draw_numbers() == first
    seed_everything(2**32 - 1)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_out_of_range_is_refused_and_changes_nothing(seed):
    seed_everything(3)
    expected = draw_numbers()
    seed_everything(3)
    with pytest.raises(ValueError, match=rf"from 0 to 2\*\*32 - 1, got {seed}"):
        seed_everything(seed)
    assert draw_numbers() == expected


REFUSALS = {
    "check_equal(1, 2)": "expected 2, got 1",
    "check_close(x, x + 1)": "differs in 3 of 3 elements",
    "check_close(x, x[None])": "has shape (3,)",
    "check_shares_storage(x, x.clone())": "is a copy",
    "check_copied(x, x)": "still a view",
    "check_layout(x, stride=(2,))": "has stride (1,)",
    "check_predictions({'a': None}, {'a': 1})": "still blank: a",
    "check_predictions({'a': 2}, {'a': 1})": "a is not 2",
    "check_raises(ValueError, lambda: 1)": "returned 1",
    "check_equal(None, 2)": "is there an answer yet",
    "def answer():\n    return x.clone()\n\nwith forbid_copies():\n    answer()": "made: clone",
    "with forbid_operators('bmm'):\n    torch.einsum('bij,bjk->bik', y, y)": "operator bmm is not",
    "with forbid_operators('clone'):\n    x.clone()": "operator clone is not allowed",
    "with forbid_changes(x):\n    x += 1": "an argument was changed",
    "def check_case(n):\n    check_equal(n, 2)\n\ncheck_case(1)": "expected 2, got 1",
}


def test_a_learner_sees_the_check_cells_own_line_and_no_frame_of_the_course():
    setup = (
        "import torch\nfrom course_utils import *\nx, y = torch.arange(3.0), torch.ones(2, 2, 2)"
    )
    _, *cells = run_cells(setup, *REFUSALS)
    for cell, words in zip(cells, REFUSALS.values(), strict=True):
        seen = traceback_of(cell)
        assert "AssertionError" in seen, cell.source
        assert words in seen, cell.source
        assert cell.source.splitlines()[-1] in seen, cell.source
        assert "course_utils" not in seen, seen
        assert "site-packages" not in seen, seen
        assert "in check_case(" not in seen, seen


def test_seeded_numbers_repeat_and_leave_the_global_generator_alone():
    state = torch.get_rng_state()
    assert torch.equal(seeded(3)(2, 2), seeded(3)(2, 2))
    assert torch.equal(torch.get_rng_state(), state)
