"""What the chapter on internals is given and checked with."""

from operator import mul

import numpy as np
import pytest
import torch

from course_utils.chapters.internals import (
    allocators,
    dispatch,
    dispatcher_trials,
    parts,
    rings,
    schemas,
    sources,
    storage_trials,
    tape_trials,
)
from course_utils.chapters.internals.compilers import compiled
from course_utils.chapters.internals.scenarios import check_scenario, play
from course_utils.chapters.internals.small_torch import every_index
from course_utils.chapters.internals.spare_parts import (
    SpareDispatcher,
    elementwise,
    spare_autograd,
    spare_backward,
)

MIB = 2**20


def names_of(operator, *values):
    return [stop.key for stop in dispatch.path_of(operator, *values)]


def test_a_path_follows_the_flags_of_the_thread():
    x, multiply = torch.ones(2), torch.ops.aten.mul.Tensor
    assert names_of(multiply, x, x) == ["AutogradCPU", "CPU"]
    with torch.inference_mode():
        assert names_of(multiply, x, x) == ["CPU"]
    assert names_of(torch.ops.aten.mul_.Tensor, x, x)[1] == "ADInplaceOrView"


@pytest.mark.parametrize("name", storage_trials.ELEMENTWISE)
def test_the_spare_loop_passes_its_trials(name):
    scenario = storage_trials.ELEMENTWISE[name]
    check_scenario(play(scenario, elementwise), scenario)


@pytest.mark.parametrize("name", dispatcher_trials.TABLE | dispatcher_trials.BELOW)
def test_the_spare_dispatcher_passes_its_trials(name):
    scenario = (dispatcher_trials.TABLE | dispatcher_trials.BELOW)[name]
    check_scenario(play(scenario, SpareDispatcher), scenario)


@pytest.mark.parametrize("name", tape_trials.RECORD | tape_trials.BACKWARD)
def test_the_spare_tape_passes_its_trials(name):
    scenario = (tape_trials.RECORD | tape_trials.BACKWARD)[name]
    check_scenario(play(scenario, spare_autograd, spare_backward), scenario)


@pytest.mark.parametrize(("arguments", "right", "_"), storage_trials.MERGE.values())
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
