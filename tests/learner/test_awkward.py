"""Awkward fixtures: in the state that they promise, and slips show in them."""

import copy
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from torch import nn

import course_utils
from course_utils import awkward_model, awkward_tensors, called_twice, forbid_side_effects
from course_utils.learner.awkward import default_dtype, elsewhere_is_another_disk, other_hashes


def test_the_model_is_in_the_state_that_it_promises():
    state = torch.get_rng_state()
    model = awkward_model()
    assert torch.equal(torch.get_rng_state(), state)
    assert model(torch.ones(2, 4)).shape == (2, 3)
    assert model.training
    assert not model.first.training
    assert not model.drop.training
    frozen = [name for name, one in model.named_parameters() if not one.requires_grad]
    assert frozen == ["blocks.2.weight", "blocks.2.bias"]
    old = [name for name, one in model.named_parameters() if one.grad is not None]
    assert old == ["blocks.10.bias", "head.weight"]
    assert model.first.table is model.second.table
    assert not any("scratch" in name for name in model.state_dict())
    assert len(model.stem._forward_hooks) == 1
    assert sorted(dict(model.blocks.named_children()))[1:3] == ["1", "10"]
    assert isinstance(model.scaled, nn.Linear)
    assert isinstance(model.scaled.inner, nn.Linear)


def test_a_seed_and_a_dtype_may_be_chosen():
    assert torch.equal(awkward_model(3).head.weight, awkward_model(3).head.weight)
    assert not torch.equal(awkward_model(3).head.weight, awkward_model(4).head.weight)
    model = awkward_model(dtype=torch.float64)
    assert {one.dtype for one in model.parameters()} == {torch.float64}
    assert model.first.table is model.second.table


def test_the_tensors_are_what_they_are_called():
    tensors = awkward_tensors(5)
    assert all(x.shape[1] == 5 for x in tensors.values())
    assert [len(x) for x in tensors.values()][:3] == [0, 1, 7]
    assert torch.equal(*tensors["seven rows, two of them equal"][[1, 3]])
    views = ("a transposed view", "an expanded view", "a slice with gaps and an offset")
    assert not any(tensors[name].is_contiguous() for name in views)
    assert tensors["a slice with gaps and an offset"].storage_offset() > 0
    assert tensors["in float64"].dtype == torch.float64
    # Values that float32 can't hold: a way through float32 shows.
    assert not torch.equal(tensors["in float64"], tensors["in float64"].float().double())
    assert tensors["in half"].dtype == torch.float16


def test_the_second_call_has_to_give_the_same():
    assert called_twice(lambda: {"a": torch.ones(2), "b": 3})["b"] == 3
    assert called_twice(lambda: torch.tensor(float("nan"))).isnan()
    kept = []

    def remembers():
        kept.append(1)
        return torch.tensor(len(kept))

    with pytest.raises(AssertionError, match="the sum gives another result the second time"):
        called_twice(remembers, "the sum")
    for first, second in ((torch.ones(2), torch.ones(3)), (1, True), ([1], [1, 2])):
        results = [second, first]
        with pytest.raises(AssertionError):
            called_twice(results.pop)


SLIPS = {
    "the mode of first": lambda model: model.train(),
    "the mode of the model, stem": lambda model: model.eval(),
    "requires_grad of blocks.2.weight": lambda model: model.requires_grad_(),
    "requires_grad of stem.weight": lambda model: model.stem.requires_grad_(False),
    "the gradient (.grad) of blocks.10.bias, head.weight": lambda model: model.zero_grad(),
    "the hooks of stem are not": lambda model: model.stem._forward_hooks.clear(),
    "the hooks of head are not": lambda model: model.head.register_forward_hook(print),
    "the values of head.weight": lambda model: model.head.weight.data.mul_(2),
    "replaced: head": lambda model: setattr(model, "head", copy.deepcopy(model.head)),
    "replaced: extra": lambda model: setattr(model, "extra", nn.Linear(2, 2)),
}


@pytest.mark.parametrize("words", SLIPS)
def test_a_side_effect_is_named(words):
    model = awkward_model()
    with pytest.raises(AssertionError) as caught, forbid_side_effects(model):
        SLIPS[words](model)
    assert words in str(caught.value)


def test_what_may_change_is_let_and_an_error_goes_its_way():
    model = awkward_model()
    with forbid_side_effects(model):
        model.eval()(torch.ones(2, 4))
        model.train()
        model.first.eval()
        model.drop.eval()
        nn.functional.linear(torch.ones(2, 4), model.stem.weight)
    with forbid_side_effects(model, but=("grad", "values")):
        model(torch.ones(3, 4)).sum().backward()
    with pytest.raises(KeyError), forbid_side_effects(model):
        {}[model.eval()]
    watched = forbid_side_effects(model).__enter__()
    model.train()
    assert watched.changes()[0].startswith("the mode of the model")


def test_strings_hash_differently_and_numbers_do_not():
    before = hash("a"), hash((1, ("a",))), hash(7), hash((1, 2))
    with other_hashes():
        inside = hash("a"), hash((1, ("a",))), hash(7), hash((1, 2))
        assert {"a": 1}["a"] == 1
    assert [a == b for a, b in zip(before, inside, strict=True)] == [False, False, True, True]
    assert hash("a") == before[0]


def test_all_of_it_is_at_the_learners_door():
    for name in ("awkward_model", "awkward_tensors", "called_twice", "forbid_side_effects"):
        assert name in course_utils.__all__


def test_a_rename_from_another_folder_fails_as_from_another_disk(tmp_path):
    (tmp_path / "here").mkdir()
    path, inside = tmp_path / "here" / "pack", tmp_path / "here" / "part"
    outside = Path(tempfile.mkdtemp(dir=tmp_path)) / "part"
    for file in (inside, outside):
        file.write_bytes(b"1")
    kept = os.replace
    with elsewhere_is_another_disk(path):
        with pytest.raises(OSError, match="cross-device"):
            os.replace(outside, path)
        inside.replace(path)
    assert path.exists()
    assert os.replace is kept


@pytest.mark.parametrize("ends", [lambda: None, lambda: 1 / 0])
def test_another_default_dtype_ends_with_the_block(ends):
    before = torch.get_default_dtype()
    with suppress(ZeroDivisionError), default_dtype(torch.float64):
        assert torch.ones(1).dtype == torch.float64
        ends()
    assert torch.get_default_dtype() == before
