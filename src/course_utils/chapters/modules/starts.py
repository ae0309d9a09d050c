"""Exercise 8.8: initial weights, layer by layer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import torch
import torch.nn as nn

from course_utils.chapters.modules.surroundings import untouched
from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import what_was_raised


class Projection(nn.Linear):
    """A linear layer under another name."""


class Filter(nn.Conv2d):
    """A convolution under another name."""


class Standard(nn.BatchNorm2d):
    """A batch norm under another name."""


class LinearScale(nn.Module):
    """No linear layer, in spite of its name: a factor and a summand for each number."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))


# The layers that are to stay as they are, by the beginnings of their names.
OTHERS = ("norm", "table", "plain", "other")
# The batch norms that start anew.
BATCH = ("inner.deep.1", "own_batch")
# The parameters that are frozen: they start anew as well.
FROZEN = (
    "conv.bias",
    "bare.weight",
    "linear.weight",
    "twin.bias",
    "own_batch.weight",
    "own_batch.bias",
)


def _zoo() -> nn.Sequential:
    """Layers of many kinds; those that are to stay as they are hold sevens."""
    inner = nn.Sequential(nn.Conv2d(32, 64, 3, groups=4), nn.BatchNorm2d(64), nn.ReLU())
    zoo = nn.Sequential(
        OrderedDict(
            conv=nn.Conv2d(16, 64, 3),
            bare=nn.Conv2d(64, 32, (1, 5), bias=False),
            inner=nn.ModuleDict({"deep": inner}),
            plain=nn.BatchNorm2d(8, affine=False),
            linear=nn.Linear(300, 200),
            twin=nn.Linear(300, 200),
            square=nn.Linear(200, 200),
            own=Projection(100, 220, bias=False),
            own_filter=Filter(8, 64, 3),
            own_batch=Standard(4),
            equal=nn.Conv2d(16, 64, 3),
            mix=nn.Conv2d(32, 64, 3, stride=2, padding=1, dilation=2),
            norm=nn.LayerNorm(4),
            norm1d=nn.BatchNorm1d(3),
            table=nn.Embedding(5, 3),
            other1d=nn.Conv1d(2, 3, 3),
            other_up=nn.ConvTranspose2d(3, 2, 3),
            other_scale=LinearScale(4),
            other3d=nn.Conv3d(1, 2, 2),
            other_pair=nn.Bilinear(2, 3, 2),
            other_instance=nn.InstanceNorm2d(3, affine=True),
            other_group=nn.GroupNorm(1, 4),
            wide=nn.Conv2d(2, 1000, 1, bias=False),
        )
    )
    with torch.no_grad():
        for name, tensor in zoo.state_dict().items():
            if name.startswith((*OTHERS, *BATCH)) or "bias" in name:
                tensor.fill_(7)
    for name in FROZEN:
        zoo.get_parameter(name).requires_grad_(False)
    zoo.eval().get_submodule("inner").train()
    return zoo


def run_init(init_by_type: Callable, dtype: torch.dtype = torch.float32) -> dict:
    """The values afterwards, and what else may have changed."""
    torch.manual_seed(0)
    zoo = _zoo().to(device, dtype)
    for parameter in zoo.parameters():
        parameter.grad = torch.ones_like(parameter)
    objects = {name: id(p) for name, p in zoo.named_parameters()}
    try:
        with untouched():
            init_by_type(zoo)
    except AssertionError:
        raise
    except Exception as error:
        told = f"init_by_type {what_was_raised(error)}"
        raise AssertionError(f"{told} (a layer may have no bias, a batch norm no weight)") from None
    frozen = [name for name, p in zoo.named_parameters() if not p.requires_grad]
    same = objects == {name: id(p) for name, p in zoo.named_parameters()}
    state = {name: tensor.detach().clone() for name, tensor in zoo.state_dict().items()}
    modes = [module.training for module in zoo.modules()]
    lost = [n for n, p in zoo.named_parameters() if p.grad is None or not p.grad.eq(1).all()]
    return {"state": state, "same": same, "frozen": frozen, "modes": modes, "lost": lost}


def run_init_alone(init_by_type: Callable, seed: int = 0, before: int = 0) -> tuple:
    """A linear layer that is the whole model; ``before``: how many layers are started first."""
    layer = nn.Linear(300, 200).to(device)
    others = [nn.Linear(300, 200).to(device) for _ in range(before)]
    torch.manual_seed(seed)
    for other in others:
        init_by_type(other)
    init_by_type(layer)
    return layer.weight.detach().clone(), layer.bias.detach().clone()


def _check_spread(weight, name, uniform, fan_in, fan_out, taps=1):
    mean, std = weight.mean().item(), weight.std().item()
    right = (2 / (fan_in + fan_out)) ** 0.5 if uniform else (2 / fan_in) ** 0.5

    def near(other):
        return abs(std / other - 1) < 0.06

    assert abs(mean) < 0.1 * std, f"{name}: the mean is {mean:.3f}, and the spread {std:.3f}: not 0"
    default = "as PyTorch starts it: is there an answer yet, and does it reach this layer?"
    slips = {default: (3 * fan_in) ** -0.5}
    if uniform:
        slips["for fan_in alone: inputs and outputs both count"] = (2 / fan_in) ** 0.5
        slips["for n_in twice: inputs and outputs both count"] = fan_in**-0.5
        slips["with a gain of √2: that belongs to a ReLU"] = right * 2**0.5
        slips["of a bound √(3 / (n_in + n_out)): the bound is √3 times the std"] = right / 2**0.5
    else:
        slips["for fan_out: how many products does one output sum up?"] = (2 / fan_out) ** 0.5
        slips["for variance 1 / fan_in: the 2 makes up for the ReLU"] = fan_in**-0.5
        if taps > 1:
            slips["for a kernel of one tap: each tap is a product"] = (2 * taps / fan_in) ** 0.5
        slips["for fan_in without the groups"] = (2 / (4 * fan_in)) ** 0.5
        slips["for variance 4 / fan_in: the 2 is in 2 / fan_in already"] = (4 / fan_in) ** 0.5
    for words, slip in slips.items():
        assert near(right) or not near(slip), f"{name}: the std {std:.4f} is that {words}"
    squared = "the variance was taken for the standard deviation, which is its root"
    bound = right * 3**0.5
    lost = "the root is missing: the bound is √(6 / (n_in + n_out))"
    why = {squared: right**2} if not uniform else {lost: bound**2 / 3**0.5, squared: right**2}
    if not uniform:
        why["a normal that is cut off at two standard deviations has less"] = 0.8796 * right
    told = next((f": {words}" for words, slip in why.items() if near(slip)), "")
    assert near(right), f"{name}: the std is {std:.4f}, expected about {right:.4f}{told}"
    inside = (weight.abs() < std).float().mean().item()
    kind, share = ("uniform", 0.577) if uniform else ("normal", 0.683)
    words = f"{name}: {inside:.2f} of the weights are within one std, {share} if they are {kind}"
    assert abs(inside - share) < 0.04, words
    if not uniform and weight.numel() > 8000:
        share = (weight.abs() > 3 * std).float().mean().item()
        words = f"{name}: none is beyond 3 std; of a normal's numbers 0.3 % are: is it cut off?"
        assert share, words
    if uniform:
        top = weight.abs().max().item()
        words = f"{name}: the largest is {top:.4f}, expected just below the bound {bound:.4f}"
        assert 0.99 * bound < top < 1.0001 * bound, words


def run_squares(predict_squares: Callable, sizes: list[int], stds: list[float]) -> tuple:
    """The predicted mean squares, and whether the lists stayed as they were."""
    given = list(sizes), list(stds)
    before = torch.get_rng_state()
    found = predict_squares(*given)
    words = "random numbers were drawn: compute the mean squares, don't draw"
    assert torch.equal(before, torch.get_rng_state()), words
    return found, given == (sizes, stds)


def _near(found, right):
    """Whether numbers agree to four digits, however small they are."""
    return torch.allclose(found, right, rtol=1e-4, atol=0)


def check_squares(trial, sizes, stds, right):
    """Compare the predicted mean squares with ``right``."""
    found, kept = trial(sizes, stds)
    call = f"predict_squares({sizes}, {stds})"
    assert found is not None, f"{call} is None: is there an answer yet?"
    assert kept, f"{call} changed its lists: only read them"
    kind = type(found).__name__
    assert isinstance(found, (list, tuple)), f"{call} is of type {kind}, expected a list of numbers"
    found = [float(square) for square in found]
    check_equal(len(found), len(stds), f"{call}: how many numbers")
    if not stds:
        return
    found, right = (torch.tensor(given, dtype=torch.float64) for given in (found, right))
    without = (
        torch.tensor([n * s**2 for n, s in zip(sizes, stds, strict=False)]).double().cumprod(0)
    )
    halved = _near(found, right / 2)
    words = f"{call} = {[float(f'{square:.4g}') for square in found.tolist()]}"
    relu = torch.tensor([1.0, *[0.5] * (len(stds) - 1)], dtype=torch.float64)
    ahead = torch.tensor([n * s**2 for n, s in zip(sizes[1:], stds, strict=True)]).double() * relu
    swapped = _near(found, ahead.cumprod(0))
    assert not swapped or _near(found, right), (
        f"{words}: n is how many products one output sums up, sizes[i], not sizes[i + 1]"
    )
    plain = torch.tensor([n * s for n, s in zip(sizes, stds, strict=False)]).double() * relu
    assert not _near(found, plain.cumprod(0)), (
        f"{words}: stds are standard deviations; the variance is their square"
    )
    roots = _near(found, right.sqrt()) and not _near(found, right)
    assert not roots, f"{words}: mean squares are wanted, not their roots"
    assert not halved, f"{words}: the ReLU is between two layers; an output is measured before it"
    forgot = _near(found, without) and not _near(right, without)
    assert not forgot, f"{words}: a ReLU halves the mean square on its way to the next layer"
    once = _near(found, without * relu)
    lost = bool(((found == 0) & (right != 0)).any())
    exact = _near(found, right)
    told = "rounded? A small mean square is as good a number as any other" if lost else ""
    told = "every ReLU on the way halves, not only the last" if once else told
    words = f"{words}, expected {right.tolist()}"
    assert exact, f"{words} ({told})" if told else words


def _about(name: str, layer: nn.Module) -> str:
    """A layer, as its case is called: whether it is of a subclass, which parameters are frozen."""
    base = type(layer).__mro__[1]
    told = f", a subclass of {base.__name__}" if type(layer).__module__ == __name__ else ""
    parts = [frozen.rpartition(".")[2] for frozen in FROZEN if frozen.rpartition(".")[0] == name]
    told += f", {' and '.join(parts)} frozen (a new start all the same)" if parts else ""
    return f"{name}, {layer}{told}"


def check_zoo(try_init, try_init_alone, case):
    """Every layer of the zoo."""
    zoo, found = _zoo(), try_init()
    state, layers = found["state"], dict(zoo.named_modules())
    for name, layer in layers.items():
        if not isinstance(layer, (nn.Conv2d, nn.Linear)):
            continue
        fan_out, fan_in = layer.weight.shape[0], layer.weight[0].numel()
        fan_out *= layer.weight[0, 0].numel() if layer.weight.dim() == 4 else 1
        with case(_about(name, layer)):
            taps = layer.weight[0, 0].numel()
            uniform = layer.weight.dim() == 2
            _check_spread(state[f"{name}.weight"], "weight", uniform, fan_in, fan_out, taps)
            if layer.bias is not None:
                assert state[f"{name}.bias"].eq(0).all(), "the bias is not 0"
    with case("a model that is itself a Linear(300, 200)"):
        weight, bias = try_init_alone()
        _check_spread(weight, "weight", True, 300, 200)
        assert bias.eq(0).all(), "the bias is not 0"
    for name in BATCH:
        with case(_about(name, layers[name])):
            assert state[f"{name}.weight"].eq(1).all(), "the weight is not 1"
            assert state[f"{name}.bias"].eq(0).all(), "the bias is not 0: 0 is the neutral start"
    with case("conv and equal, two layers of one shape"):
        same = torch.equal(state["conv.weight"], state["equal.weight"])
        assert not same, "they have the same weights: each layer draws anew (a seed for each?)"
    with case("linear and twin, two linear layers of one shape"):
        same = torch.equal(state["linear.weight"], state["twin.weight"])
        assert not same, "they have the same weights: each layer draws anew"
    with case("a Linear(300, 200) under two seeds"):
        same = torch.equal(try_init_alone(1)[0], try_init_alone(2)[0])
        assert not same, "the same weights: draw from PyTorch's global generator, and don't seed it"
    with case("the same model and the same seed, twice"):
        again = try_init()["state"]
        other = [n for n in ("conv.weight", "linear.weight") if not torch.equal(state[n], again[n])]
        words = "is another: draw from PyTorch's global generator, not from one of your own"
        assert not other, f"{', '.join(other)} {words}"
    with case("two models, started one after the other"):
        same = torch.equal(try_init_alone(1)[0], try_init_alone(1, 1)[0])
        words = "the same weights: the draws have to move PyTorch's global generator on"
        assert not same, f"{words} (a fork_rng puts it back)"
    with case("a model in float64"):
        kinds = {
            str(t.dtype) for n, t in try_init(torch.float64)["state"].items() if "num" not in n
        }
        check_equal(kinds, {"torch.float64"}, "the dtypes afterwards")
    for name in [name for name in state if name.startswith(OTHERS) or "running" in name]:
        with case(name):
            assert state[name].eq(7).all(), "it was changed, and should have stayed as it was"
    with case("all layers"):
        assert found["same"], "some Parameters are new objects: write into those that exist"
        words = "a frozen parameter stays frozen, the others free"
        check_equal(found["frozen"], list(FROZEN), "frozen afterwards", words)
        modes = [module.training for module in zoo.modules()]
        check_equal(found["modes"], modes, "training of each module", "it stays as it was")
        lost = ", ".join(found["lost"][:3])
        assert not lost, f"the .grad of {lost} is no longer as it was: it is the caller's"
