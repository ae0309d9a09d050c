"""The chapter of the whole project: its modules, its helpers, and the project as it is handed over.

The last test does what a stranger does: it writes the project out into an empty folder, from the
solutions, and runs the commands that its README names.
"""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path

import pytest
import torch
from PIL import Image

from course_utils.cells import marks_of
from course_utils.chapters.capstone import ecosystem, hidden, pictures, trials
from course_utils.chapters.capstone.profiling import silent_stderr
from course_utils.chapters.capstone.workshop import TEMPLATE, Workshop, text_of
from course_utils.learner.launch_reports import LaunchTimeout, RankReport
from course_utils.learner.shapes_data import draw_shapes
from course_utils.project import pick_chapters
from support import answers
from support.answers import ROOT, notebook_of

MARKS = re.compile(r"^ *### (?:BEGIN|END) SOLUTION(?:\n|\Z)", re.MULTILINE)


def solutions():
    """The text of each module as the chapter's solutions have it."""
    modules = {name.replace("_", "-"): module for module, name in hidden.FUNCTIONS.items()}
    (chapter,) = pick_chapters(ROOT, ["21_capstone"])
    return {
        modules[marks_of(cell)["grade_id"]]: MARKS.sub("", cell.source).strip() + "\n"
        for cell in notebook_of(chapter).cells
        if marks_of(cell).get("solution")
    }


@pytest.fixture
def workshop(tmp_path):
    path = sys.path[:]
    yield Workshop(tmp_path / "shapefinder-project")
    sys.path[:] = path


def test_the_solutions_are_the_projects_modules():
    texts = solutions()
    assert set(texts) == set(hidden.FUNCTIONS)
    for module, text in texts.items():
        path = TEMPLATE / "src" / "shapefinder" / f"{module}.py"
        assert path.read_text(encoding="utf-8") == text, f"{module}: the cell and the file differ"


def test_the_project_keeps_its_own_rules_of_style():
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", str(TEMPLATE)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", hidden.FUNCTIONS)
def test_the_courses_own_modules_pass(module):
    found = trials.run_tests(module, hidden.own(module))
    assert len(found) > 6
    assert not [one for one in found if one[1]]


@pytest.mark.parametrize("module", hidden.FUNCTIONS)
def test_an_empty_stub_is_told_in_words(module):
    def stub(*arguments, **others):
        return None

    stub.__name__ = hidden.FUNCTIONS[module]
    found = trials.run_tests(module, stub)
    assert all(words for _, words in found), [name for name, words in found if not words]
    assert {"is there an answer yet?" in words for _, words in found} == {True}


def test_what_is_no_function_is_told_in_words():
    for answer in (None, 3, lambda: None):
        ((_, words),) = trials.run_tests("losses", answer)
        assert "is there an answer yet?" in words


def test_a_trial_leaves_modules_and_state_as_they_were(workshop):
    import shapefinder.losses as mine

    def detection_loss(output, target):
        torch.set_grad_enabled(False)
        return torch.zeros(3)

    path = sys.path[:]
    found = dict(trials.run_tests("losses", detection_loss))
    assert torch.is_grad_enabled()
    assert sys.path == path
    assert sys.modules["shapefinder.losses"] is mine
    assert any("the gradient mode is not as it was" in words for words in found.values())


def test_a_text_that_is_no_module_is_told():
    ((_, words),) = trials.run_tests_of_text("losses", "import nothing_of_the_kind\n")
    assert words.startswith("ModuleNotFoundError")
    ((_, words),) = trials.run_tests_of_text("losses", "x = 1\n")
    assert "detection_loss" in words


def test_all_that_is_wrong_is_listed():
    with pytest.raises(AssertionError, match=r"2 of 3 cases fail(?s:.*)b: no(?s:.*)c: never"):
        trials.check_tests([("a", ""), ("b", "no"), ("c", "never")])


def test_ranks_that_wait_are_told(monkeypatch):
    monkeypatch.setattr(trials, "SECONDS", 1.0)

    def work(rank):
        if rank == 0:
            torch.distributed.barrier()

    with pytest.raises(AssertionError, match="rank 0 was in barrier"):
        trials.run_ranks(work, 2)


def test_ranks_that_return_a_moment_late_have_returned(monkeypatch):
    def late(*_, **__):
        reports = [RankReport(rank, "returned", value=10 * rank) for rank in range(2)]
        raise LaunchTimeout("after 1 second ranks 0, 1 were not through", reports)

    monkeypatch.setattr(trials, "launch", late)
    assert trials.run_ranks(lambda rank: 10 * rank, 2) == [0, 10]


def test_what_a_rank_asserts_is_told_before_what_another_raised_for_it():
    def work(rank):
        assert rank == 0, "rank 1 saved"
        raise FileNotFoundError("gone")

    with pytest.raises(AssertionError, match="rank 1: rank 1 saved"):
        trials.run_ranks(work, 2)


def test_a_temporary_file_is_named_by_its_last_part():
    file = Path(tempfile.gettempdir()) / "another" / "run.pt"
    assert trials.without_folders(f"none: '{file}'") == "none: 'run.pt'"
    assert trials.without_folders("no folder here: a/b") == "no folder here: a/b"


def test_a_workshop_keeps_what_passes(workshop, capsys, monkeypatch):
    place = workshop.source / "shapefinder" / "losses.py"
    own = place.read_text(encoding="utf-8")
    other = own.replace("has = target[:, 0] == 1", "has = target[:, 0] > 0.5")
    for text, owner, kept in ((other, "yours", other), (own.replace("/ count", ""), "the c", own)):
        monkeypatch.setattr("course_utils.chapters.capstone.workshop.text_of", lambda _, t=text: t)
        workshop.keep("losses", hidden.own("losses"))
        assert f"losses.py: {owner}" in capsys.readouterr().out
        assert place.read_text(encoding="utf-8") == kept


def test_the_text_of_a_function_is_that_of_its_file():
    assert text_of(solutions) == Path(__file__).read_text(encoding="utf-8")
    assert text_of(print) == ""


def test_a_workshop_is_the_whole_project(workshop):
    def files(folder):
        found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        return {path for path in found if not any(p.startswith((".", "__pyc")) for p in path.parts)}

    assert files(workshop.folder) == files(TEMPLATE)
    assert "test_losses.py" in workshop.tree()
    with pytest.raises(RuntimeError, match="nothing_of_the_kind"):
        workshop.run("-c", "import nothing_of_the_kind")
    assert "shapefinder" in workshop.run("-c", "import shapefinder; print(shapefinder.__name__)")


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        (hidden.check_targets, lambda boxes, labels, size, cells: torch.zeros(8, cells, cells)),
        (hidden.check_losses, lambda output, target: torch.zeros(3)),
        (hidden.check_evaluate, lambda *_: dict.fromkeys(("precision", "recall", "f1"), 0.5)),
    ],
    ids=["targets", "losses", "evaluate"],
)
def test_hidden_cases_refuse_what_is_wrong(check, wrong):
    with pytest.raises(AssertionError, match="cases fail"):
        check(wrong, range(6))
    check(hidden.own(check.__name__.removeprefix("check_")), range(6))


def test_hidden_values_refuse_what_is_wrong():
    def refused(check, values, *more):
        with pytest.raises(AssertionError, match="fail"):
            check(values, *more)

    own = hidden.own
    hidden.check_config(lambda cases: hidden.run_config(own("config"), cases))
    refused(hidden.check_config, lambda cases: [[] for _ in cases])
    hidden.check_model(lambda cases: hidden.run_model(own("model"), cases))
    refused(hidden.check_model, lambda cases: [torch.zeros(1, 8, 3, 3) for _ in cases])
    hidden.check_fit(lambda *case: hidden.run_fit(own("train"), *case))
    refused(hidden.check_fit, lambda ranks, *_: torch.zeros(ranks, 25))
    hidden.check_predict(lambda seeds: hidden.run_predict(own("predict"), seeds), range(2))
    refused(hidden.check_predict, lambda seeds: [[] for _ in seeds], range(2))
    hidden.check_service(lambda *case: hidden.run_service(own("service"), *case))
    refused(hidden.check_service, lambda bodies, *_: [(200, {}) for _ in bodies])


def test_pictures_of_the_chapter():
    drawn = [draw_shapes(n) for n in (0, 1)]
    assert len(pictures.draw_cells(drawn, [torch.ones(8, 4, 4)] * 2).axes) == 2
    assert pictures.draw_modules().axes[0].texts
    assert pictures.sight_of(torch.nn.Sequential(torch.nn.Conv2d(3, 1, 3, padding=1)), 9).sum() == 9
    bars = pictures.draw_dates(ecosystem.FRAMEWORKS).axes[0].patches
    assert len(bars) == len(ecosystem.FRAMEWORKS)


def test_stderr_is_silent_inside_the_block_alone(capfd):
    with silent_stderr():
        os.write(2, b"inside")
    os.write(2, b"behind")
    assert capfd.readouterr().err == "behind"


def commands_of(readme):
    """The README's blocks of commands, in order: install, test, data, use, serve, ask."""
    return re.findall(r"^```sh\n(.*?)^```", readme.read_text(encoding="utf-8"), re.M | re.DOTALL)


@pytest.mark.timeout(900)
def test_the_project_runs_without_us(tmp_path):
    if not answers.every:
        pytest.skip("takes a minute: the weekly run and course test 21 run it")
    folder = tmp_path / "shapefinder"
    path = sys.path[:]
    Workshop(folder)
    sys.path[:] = path
    for module, text in solutions().items():
        (folder / "src" / "shapefinder" / f"{module}.py").write_text(text, encoding="utf-8")
    environment = fresh_environment(tmp_path)
    install, test, data, use, serve, ask = commands_of(folder / "README.md")
    assert "curl" in ask
    script = "\n".join(["set -e", install, test, data, use])
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"\b\d+ passed", done.stdout), done.stdout
    assert "240 of 240 steps are done" in done.stdout
    (score,) = (json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"prec'))
    assert score["low"] < score["f1"] < score["high"]
    assert score["f1"] > 0.6
    assert (folder / "run" / "model.pt2").stat().st_size > 100_000
    check_service(serve, folder, environment)


def fresh_environment(tmp_path):
    """A virtual environment with nothing of its own, which sees what is installed here."""
    here = {distribution.name for distribution in distributions()}
    missing = {"pip", "setuptools"} - here
    assert not missing, f"the README's `pip install` needs {missing} in this environment"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")],
        check=True,
        timeout=60,
    )
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    folder = sysconfig.get_path("purelib")
    (packages / "here.pth").write_text(f"import site; site.addsitedir({folder!r})\n")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return own | {
        "PATH": f"{tmp_path / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def check_service(command, folder, environment):
    """The README's service answers, on a free port instead of the README's."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "PORT=8765" in command
    process = subprocess.Popen(
        ["bash", "-c", "exec env " + command.replace("8765", str(port))],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout.readline().strip() == f"http://127.0.0.1:{port}"
        file = io.BytesIO()
        Image.fromarray(draw_shapes(3).image).save(file, "PNG")
        status, answer = ecosystem.post(f"http://127.0.0.1:{port}", file.getvalue())
        assert status == 200
        assert answer["count"] == len(answer["shapes"])
        assert ecosystem.post(f"http://127.0.0.1:{port}", b"no image")[0] == 400
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM
        process.stdout.close()


def test_the_picture_shows_the_sets_of_the_interval():
    box = [1.0, 1.0, 9.0, 9.0]
    true = [torch.tensor([[0.0, *box]])] * 7 + [torch.empty(0, 5)]
    found = [torch.tensor([[0.9, n % 2, *box]]) for n in range(6)] + [torch.empty(0, 6)] * 2
    with trials.own_package():
        evaluate = import_module("shapefinder.evaluate").evaluate
        scores = pictures.drawn_scores(evaluate, found, true)
        score = evaluate(found, true)
    assert scores.shape == (200,)
    assert scores.quantile(0.025).item() == pytest.approx(score["low"])
    assert scores.quantile(0.975).item() == pytest.approx(score["high"])
