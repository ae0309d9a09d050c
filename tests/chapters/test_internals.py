"""What the chapter on internals is given and checked with."""

from operator import mul

import numpy as np
import pytest
import torch

from course_utils.chapters.internals import (
    allocators,
    block_trials,
    dispatch,
    dispatcher_trials,
    parts,
    rings,
    schemas,
    sources,
    storage_cases,
)
from course_utils.chapters.internals.compilers import compiled
from course_utils.chapters.internals.scenarios import Scenario, check_scenarios, play
from course_utils.chapters.internals.small_torch import MyTensor, every_index
from course_utils.chapters.internals.spare_parts import TwoFloors, kernels_by_numpy

MIB = 2**20
REPLAYED = allocators.replayed


def names_of(operator, *values):
    return [stop.key for stop in dispatch.path_of(operator, *values)]


def test_a_path_follows_the_flags_of_the_thread():
    x, multiply = torch.ones(2), torch.ops.aten.mul.Tensor
    assert names_of(multiply, x, x) == ["AutogradCPU", "CPU"]
    with torch.inference_mode():
        assert names_of(multiply, x, x) == ["CPU"]
    assert names_of(torch.ops.aten.mul_.Tensor, x, x)[1] == "ADInplaceOrView"


def test_the_spare_dispatcher_is_no_answer():
    for scenarios in (dispatcher_trials.TABLE, block_trials.BELOW):
        with pytest.raises(AssertionError):
            check_scenarios(lambda name, s=scenarios: play(s[name], TwoFloors), scenarios)


def test_the_allocator_of_the_picture_is_no_answer():
    outcome = play(Scenario(lambda f: allocators.run_trace(f, "the example"), None), REPLAYED)
    with pytest.raises(AssertionError, match="write your own"):
        allocators.check_replay(outcome, allocators.TRACES["the example"])


def test_spare_lists_compute_like_numpy():
    x, row = MyTensor([1, 2, 3, 4], (2, 2), (1, 2)), MyTensor([10, 20], (2,))
    assert kernels_by_numpy()["add"](x, row).tolist() == [[11, 23], [12, 24]]


@pytest.mark.parametrize(("arguments", "right", "_"), storage_cases.MERGE.values())
def test_merging_keeps_every_place(arguments, right, _):
    def places(shape, strides):
        every = [list(every_index(shape))] * len(strides)
        return [
            sorted(sum(map(mul, i, s)) for i in indices)
            for indices, s in zip(every, strides, strict=True)
        ]

    assert places(*arguments) == places(*right)


def test_the_example_of_the_statement():
    trace = [("malloc", "a", 1000), ("malloc", "b", 3 * MIB), ("free", "a")]
    right = [(1024, 2 * MIB), (4 * MIB + 1024, 6 * MIB), (4 * MIB, 6 * MIB)]
    assert allocators.replayed(trace) == right


def test_each_slip_changes_some_trace():
    for slip in allocators.SLIPS:
        traces = allocators.TRACES.values()
        assert any(allocators.replayed(t, slip) != allocators.replayed(t) for t in traces), slip


def test_the_parser_says_the_variant():
    variants = {name: schemas.truth(text)["variant"] for name, text in schemas.EXAMPLES.items()}
    assert variants["in place"] == "in place"
    assert variants["into out"] == "out"
    assert variants["a view"] == "view"


def test_an_entry_that_is_not_there_is_told():
    with pytest.raises(LookupError, match="no line"):
        sources.generated_from("derivatives.yaml", "- name: nothing_of_this_name(", 1)


def test_without_a_compiler_there_is_no_function(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert compiled('extern "C" int one() { return 1; }', "one") is None


def test_the_gradients_of_the_rings_are_pytorchs():
    losses, _ = rings.train(parts.engine({}), "NumPy", steps=3)
    assert np.allclose(losses, rings.train_torch(steps=3)[0])
    assert np.isclose(rings.one_step(parts.engine({}), "List"), losses[1])
