"""What chapter 08's checks compare with is right, and its helpers see what they are there for."""

import pytest
import torch
import torch.nn as nn

from course_utils.chapters.modules import dropping, precision, replacing, starts, surroundings


class Net(nn.Module):
    """As the chapter's SmallNet: two blocks in a Sequential, and a head."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(Block(), nn.MaxPool2d(2), Block())
        self.head = nn.Linear(2, 2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)


def replaced(module, kind, make, done):
    """The replacement itself, which the rows of the check are compared with."""
    if module in done:
        return done[module]
    done[module] = make(module).train(module.training) if isinstance(module, kind) else module
    if done[module] is module:
        for name, child in module._modules.items():
            if child is not None:
                module._modules[name] = replaced(child, kind, make, done)
    return done[module]


@pytest.mark.parametrize("by", ["wrapper", "container", "empty", "itself"])
@pytest.mark.parametrize("kind", ["small", "nested", "root"])
@pytest.mark.parametrize(
    "wanted", ["BatchNorm2d", "ReLU", "Block, Conv2d or Linear", "Linear", "Hardtanh"]
)
def test_the_rows_of_a_tree_are_those_of_the_tree_after_the_replacement(kind, wanted, by):
    wanted = replacing._kinds(Net)[wanted]
    rows = replacing._rows(replacing._old(Net, kind), wanted, by)

    def make(old):
        return replacing._replacement(old, by)

    new = replaced(replacing._old(Net, kind), wanted, make, {})
    after = list(new.named_modules(remove_duplicate=False))
    assert [row[:3] for row in rows] == [(n, type(m).__name__, m.training) for n, m in after]
    for place, (_, module) in zip(rows, after, strict=True):
        same = [which == place[3] for _, _, _, which in rows]
        assert same == [module is other for _, other in after]


def test_a_kind_inside_its_own_kind_is_left_alone():
    rows = replacing._rows(replacing._old(Net, "nested"), nn.Sequential, "wrapper")
    assert [path for path, kind, _, _ in rows if kind == "Wrapped"] == [""]


def test_digits_that_float32_has_lost_are_seen_and_other_errors_left():
    right = torch.linspace(1, 2, 7, dtype=torch.float64) / 3
    precision.check_digits(right.clone(), right, "it")
    precision.check_digits(right + 1, right, "it")
    precision.check_digits(right.float(), right.float(), "it")
    precision.check_digits(None, right, "it")
    with pytest.raises(AssertionError, match="it: right to seven digits or so"):
        precision.check_digits(right.float().double(), right, "it")


@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (2, 1, 20, 25), (1, 3, 20, 25), (2, 3, 20, 1)])
def test_elements_that_share_a_draw_are_seen(shape):
    draw = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    with pytest.raises(AssertionError, match="draw"):
        dropping._check_apart((draw < 0.5).expand(2, 3, 20, 25))


def test_independent_draws_pass():
    for seed in range(20):
        draw = torch.rand(2, 3, 20, 25, generator=torch.Generator().manual_seed(seed))
        dropping._check_apart(draw < 0.5)


def test_every_layer_of_the_zoo_is_either_started_or_to_stay():
    started = (nn.Conv2d, nn.Linear, nn.BatchNorm2d)
    for name, layer in starts._zoo().named_children():
        if list(layer.parameters()) and not isinstance(layer, nn.ModuleDict):
            assert isinstance(layer, started) != name.startswith(starts.OTHERS)


def spoil(error=None):
    """A call that leaves something behind, and may fail."""
    with surroundings.untouched():
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        if error is not None:
            raise error


def test_what_a_call_leaves_behind_is_put_back_and_said():
    with surroundings.untouched(), torch.no_grad():
        pass
    with pytest.raises(AssertionError, match="autograd is switched") as told:
        spoil()
    assert "default dtype is another" in str(told.value)
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def test_an_error_of_the_call_itself_is_not_hidden():
    with pytest.raises(KeyError):
        spoil(KeyError("its own"))
    assert torch.is_grad_enabled()
