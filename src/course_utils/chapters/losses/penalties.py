"""Penalties, and the proximal step."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_utils.chapters.losses.numbers import check_number
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


def penalty_truth(
    model: torch.nn.Module, l1: float, l2: float
) -> tuple[Tensor | float, dict, dict]:
    """The penalty, its gradients by name, and slips."""
    every = {name: p.detach() for name, p in model.named_parameters()}
    free = {name for name, p in model.named_parameters() if p.requires_grad}
    chosen = {name: w for name, w in every.items() if w.dim() > 1 and name in free}
    known = (torch.nn.Linear, torch.nn.Conv2d)
    layers = {name for name, part in model.named_modules() if isinstance(part, known)}
    held = {name.rpartition(".")[0] for name in every if name not in free}

    def total(names, one=lambda w: w.abs().sum(), two=lambda w: w.square().sum(), l1=l1, l2=l2):
        return sum(l1 * one(every[name]) + l2 * two(every[name]) for name in names)

    right = total(chosen)
    slips = {
        "biases and other vectors are counted, too": (total(free), total(every)),
        "scales of normalisation layers are counted; they have one dimension": total(
            name for name in free if "bias" not in name
        ),
        "a frozen parameter is counted": (
            total(name for name in every if every[name].dim() > 1),
            total(every),
        ),
        "one parameter of a layer is frozen, not the layer: its others count": total(
            name for name in chosen if name.rpartition(".")[0] not in held
        ),
        "requires_grad says what is trained, not whether there is a .grad": (
            total(name for name in list(every)[::2] if name in chosen),
            total(name for name in list(every)[::2] if every[name].dim() > 1),
        ),
        "a parameter that is used twice counts once": 2 * right,
        "a buffer is counted; parameters are asked for": right
        + sum(
            l1 * held.abs().sum() + l2 * held.square().sum()
            for held in model.buffers()
            if held.dim() > 1
        ),
        "no coefficient": total(chosen, l1=1, l2=1),
        "there is no factor of one half": total(chosen, two=lambda w: w.square().sum() / 2),
        "a sum of squares, without a root, is asked for": total(chosen, two=lambda w: w.norm()),
        "means; sums are asked for": (
            total(chosen, lambda w: w.abs().mean(), lambda w: w.square().mean()),
            total(chosen, one=lambda w: w.abs().mean()),
            total(chosen, two=lambda w: w.square().mean()),
        ),
        "l1 and l2 are swapped": total(chosen, l1=l2, l2=l1),
        "a sum of w, not of |w|: positive and negative cancel": total(chosen, one=torch.sum),
        "a matrix norm, of columns; sum over all entries": total(
            chosen, lambda w: torch.linalg.norm(w.flatten(1), ord=1)
        ),
        "dimensions decide, not the name: a matrix may be called bias, a vector weight": (
            total(name for name in chosen if "bias" not in name),
            total(name for name in chosen if not name.endswith("bias")),
            total(name for name in chosen if "bias" not in name and "norm" not in name),
            total(name for name in free if "weight" in name),
        ),
        "three or four dimensions will do": total(n for n in chosen if every[n].dim() == 2),
        "a parameter counts whatever its name, also without .weight at its end": (
            total(name for name in chosen if name.endswith("weight")),
            total(name for name in chosen if name.rpartition(".")[2] == "weight"),
            total(name for name in chosen if "weight" in name),
        ),
        "two parameters of one shape are two": (
            total(set({every[name].shape: name for name in every}.values()) & set(chosen)),
            total({every[name].shape: name for name in chosen}.values()),
            total({every[name].shape: name for name in reversed(chosen)}.values()),
        ),
        "other layers than linear and convolutional ones have weights, too": total(
            name for name in chosen if name.rpartition(".")[0] in layers
        ),
        "only the outermost modules are counted": (
            total(name for name in chosen if name.count(".") < 2),
            total(name for name in chosen if name.count(".") == 1),
        ),
    }
    slopes = {name: l1 * w.sign() + 2 * l2 * w for name, w in chosen.items() if l1 or l2}
    slopes = {name: slope for name, slope in slopes.items() if slope.any()}
    return right, slopes, slips


def penalty_model(kind: str, device: torch.device | str = "cpu") -> nn.Module:
    """A small model with known weights, and 7 in every vector; ``kind`` says what is awkward."""
    twin, bare = nn.Linear(2, 2), nn.Module()
    bare.scales = nn.ParameterList([torch.zeros(2, 2), torch.zeros(3)])
    bare.register_buffer("table", torch.full((2, 3), 5.0))
    for name in ("bias_table", "mix_bias", "norm_mix"):
        bare.register_parameter(name, nn.Parameter(torch.zeros(2, 3)))
    conv = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    shares, first = nn.Linear(2, 2), nn.Embedding(2, 2)
    shares.weight = first.weight
    frozen = nn.Linear(2, 2)
    frozen.weight.requires_grad_(False)
    beside = nn.Bilinear(2, 2, 1)
    beside.bias.requires_grad_(False)
    models: dict[str, nn.Module] = {
        "linear": nn.Linear(2, 1),
        "nested": nn.Sequential(nn.Sequential(conv), nn.Linear(2, 2), nn.LayerNorm(2)),
        "tied": nn.ModuleDict({"a": twin, "b": nn.Sequential(twin)}),
        "frozen": nn.Sequential(frozen, nn.Linear(2, 1), beside),
        "embedding and bilinear": nn.Sequential(nn.Embedding(3, 2), nn.Bilinear(2, 2, 1)),
        "transposed and attention": nn.Sequential(
            nn.ConvTranspose2d(1, 2, 3), nn.MultiheadAttention(2, 1), nn.LSTM(2, 1)
        ),
        "one weight in two modules": nn.Sequential(first, shares),
        "parameters in no layer": nn.Sequential(bare),
        "two equal layers": nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)),
        "float64": nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)).double(),
        "a weight of zeros": nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, bias=False)),
        "vectors only": nn.LayerNorm(3),
        "a single parameter": nn.Linear(2, 2, bias=False),
        "no parameters": nn.Sequential(nn.ReLU()),
    }
    model = models[kind]
    for parameter in model.parameters():
        numbers = torch.arange(1.0, parameter.numel() + 1).view(parameter.shape).to(parameter)
        weight = numbers * torch.where(numbers % 2 == 0, -1, 1)
        parameter.detach().copy_(weight if parameter.dim() > 1 else 7 * torch.ones_like(weight))
    if kind == "float64":
        model.get_parameter("0.weight").detach()[0, 0] = 0
    if kind == "a weight of zeros":
        model.get_parameter("0.weight").detach().zero_()
    return model.to(device)


def run_penalty(
    regularise: Callable[..., Tensor],
    kind: str,
    l1: float,
    l2: float,
    device: torch.device | str = "cpu",
) -> tuple[Tensor, dict[str, Tensor], list[str]]:
    """The penalty, its gradients by name, and what of the model the call changed.

    Every other parameter, the first among them, has an older gradient.
    """
    model, before = penalty_model(kind, device), penalty_model(kind, device)
    list(model.modules())[-1].eval()
    modes = [part.training for part in model.modules()]
    older = list(model.parameters())[::2]
    for parameter in older:
        parameter.grad = torch.full_like(parameter, 2.0)
    names = [sorted(vars(part)) for part in model.modules()]
    try:
        penalty = regularise(model, l1, l2)
    except StopIteration:
        none = "next(model.parameters()): a model without parameters has no first one"
        raise AssertionError(none) from None
    except TypeError as error:
        raise _of_a_list(error, "take abs() of each parameter, then add up") from None
    except (RuntimeError, ValueError) as error:
        empty = "non-empty" in str(error)
        words = "this model has no such weight, and nothing can't be joined: a zero is asked for"
        raise AssertionError(words) if empty else error from None
    wanted = isinstance(penalty, torch.Tensor)
    plain = "a zero is asked for as a tensor, too, where no parameter counts"
    plain = plain if isinstance(penalty, (int, float)) else "is there an answer yet?"
    assert wanted, f"it returned {penalty!r}, not a tensor: {plain}"
    pairs = list(zip(model.parameters(), before.parameters(), strict=True))
    changed = {
        "values": any(not torch.equal(one, two) for one, two in pairs),
        ".grad": any(one.grad is None or (one.grad != 2).any() for one in older)
        or sum(one.grad is not None for one, _ in pairs) > len(older),
        "requires_grad": any(one.requires_grad != two.requires_grad for one, two in pairs),
        "train or eval mode": modes != [part.training for part in model.modules()],
        "attributes": names != [sorted(vars(part)) for part in model.modules()],
        "hooks": any(parameter._backward_hooks for parameter in model.parameters()),
    }
    with torch.no_grad():
        unrecorded = regularise(model, l1, l2)
    if penalty.dim() == 0 and penalty.isfinite():
        one, other = penalty.item(), float(unrecorded)
        words = f"the penalty is {one:g}, and inside torch.no_grad() it is {other:g}: ask the"
        words = f"{words} parameter itself for requires_grad, nothing that is made of it"
        assert math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-12), words
    for parameter in model.parameters():
        parameter.grad = None
    if penalty.requires_grad:
        penalty.sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return penalty.detach(), gradients, [name for name, is_so in changed.items() if is_so]


@ends_in_notebook
def check_penalty(found: tuple, model: nn.Module, l1: float, l2: float) -> None:
    """Compare a penalty, its gradients and what changed (by run_penalty) with the right ones."""
    __tracebackhide__ = True
    right, slopes, slips = penalty_truth(model, l1, l2)
    penalty, gradients, changed = found
    dtype = getattr(right, "dtype", None)
    check_number(penalty, right, f"l1={l1}, l2={l2}: the penalty", slips, dtype=dtype)
    assert not changed, f"the call changed the model: {', '.join(changed)}; leave it as it is"
    endless = [name for name, gradient in gradients.items() if not gradient.isfinite().all()]
    words = "a weight is 0 there, where the slope of a square root is infinite; take abs, or square"
    assert not endless, f"the gradient of {', '.join(endless)} has a nan: {words}"
    if not (l1 or l2) and any(p.dim() > 1 and p.requires_grad for p in model.parameters()):
        words = "l1 and l2 are 0, and no gradient flows: a term times 0 keeps its graph"
        assert gradients, words
    moved = sorted(name for name, gradient in gradients.items() if gradient.any())
    words = f"a gradient flows to {moved}, expected {sorted(slopes)}: detach, .data or no_grad?"
    assert moved == sorted(slopes), words
    for name, slope in slopes.items():
        check_close(gradients[name], slope, f"the gradient of {name}", rtol=1e-4, atol=1e-6)


def _of_a_list(error: TypeError, instead: str) -> Exception:
    """Words for what a list is asked to do as if it were a tensor, else the error itself."""
    asked = "'list'" in str(error) or "'generator'" in str(error)
    return AssertionError(f"a list is no tensor ({error}): {instead}") if asked else error


@ends_in_notebook
def check_shrink(shrink: Callable[..., Tensor], weight: Tensor, step: float) -> None:
    """Check soft thresholding: the values, and that they lie in a new tensor."""
    __tracebackhide__ = True
    what = f"shrink by {step}"
    try:
        with forbid_changes(weight):
            found = shrink(weight, step)
    except TypeError as error:
        shape = f"work on the whole tensor: its shape is {tuple(weight.shape)}"
        raise _of_a_list(error, shape) from None
    except RuntimeError as error:
        words = f"{what}: an `if` decides once; decide for each entry: torch.where, or clamp"
        raise AssertionError(words) if "Boolean value" in str(error) else error from None
    right = torch.where(weight.abs() > step, weight - step * weight.sign(), 0).to(weight)
    if isinstance(found, Tensor) and found.shape == weight.shape and not torch.equal(found, right):
        beyond = torch.equal(found, weight - step * weight.sign()) and (weight.abs() < step).any()
        assert not beyond, f"{what}: small weights went beyond 0; stop them there"
        small = torch.equal(found, torch.where(weight.abs() > step, right, weight))
        assert not small, f"{what}: small weights become 0; here they stay as they are"
        hard = torch.equal(found, weight * (weight.abs() > step))
        assert not hard, f"{what}: the large weights have to move, too"
        clamped = torch.equal(found, (weight - step).clamp(min=0))
        assert not clamped, f"{what}: negative weights move up towards 0, not to 0"
        one_sided = torch.equal(found, torch.where(weight > 0, right, weight))
        assert not one_sided, f"{what}: negative weights move towards 0, too"
        part = weight.numel() > 1 and torch.allclose(found, weight * (1 - step))
        assert not part, f"{what}: all move by the same amount, not in proportion to their size"
        assert not found.isnan().any(), f"{what}: there is a nan: is a weight of 0 divided by?"
    check_close(found, right, what)
    assert found.numel() == 0 or found.data_ptr() != weight.data_ptr(), "return a new tensor"
    kept = found.detach().clone()
    shrink(-weight - 1, step)
    assert torch.equal(found, kept), f"{what}: the next call changed the result: make a new tensor"
