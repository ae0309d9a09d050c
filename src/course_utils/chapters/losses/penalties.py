"""Penalties, a loss of one's own, and digits with wrong labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    models: dict[str, nn.Module] = {
        "linear": nn.Linear(2, 1),
        "nested": nn.Sequential(nn.Sequential(conv), nn.Linear(2, 2), nn.LayerNorm(2)),
        "tied": nn.ModuleDict({"a": twin, "b": nn.Sequential(twin)}),
        "frozen": nn.Sequential(frozen, nn.Linear(2, 1)),
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


def made_loss(
    kind: Callable[..., nn.Module], device: torch.device, *options: Tensor | float | None
) -> nn.Module:
    """A learner's loss module on ``device``, with words where it never became a module.

    ``options`` are its weight and q, or none of them.
    """
    try:
        return kind(*options).to(device)
    except AttributeError as error:
        early = "_modules" in str(error) or "__init__() call" in str(error)
        words = "CustomLoss.__init__ begins with super().__init__(): that makes it a module"
        raise AssertionError(words) if early else error from None


def after_an_earlier_batch(
    module: nn.Module, fresh: nn.Module, logits: Tensor, target: Tensor, *options: Any
) -> str:
    """Words for a loss that a module gives only because another batch went before, if it does.

    ``options`` are its weight and q, or none: without a weight that batch has a class less.
    """
    classes = logits.shape[1]
    classes -= classes > 1 and (not options or options[0] is None)
    with torch.no_grad():
        module(logits.flip(1)[:, :classes], (target + 1) % classes)
        other = fresh(logits, target)
        try:
            one = module(logits, target)
        except Exception as error:
            told = f"for {logits.shape[1]} classes it raises {type(error).__name__}"
            words = f"the module keeps something of an earlier batch: {told} after {classes}"
            raise AssertionError(words) from None
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return "" if torch.allclose(one, other, equal_nan=True) else ", as its loss tells"
    return ""


def left_on_the_cpu(module: nn.Module, logits: Tensor, target: Tensor) -> bool:
    """Whether a loss that was moved to the device ``meta`` fails, for it holds a tensor elsewhere.

    That finds a tensor wherever it is kept: in a closure, an object, a list of lists.
    """
    try:
        module.to("meta")(logits.to("meta"), target.to("meta"))
    except (RuntimeError, NotImplementedError) as error:
        return "expected device" in str(error) or "same device" in str(error)
    return False


def generalised_truth(
    logits: Tensor, target: Tensor, weight: Tensor | None, q: float
) -> tuple[Tensor, Tensor, dict]:
    """Generalised cross-entropy, its gradient by the logits, and slips."""
    leaf, rows = logits.clone().requires_grad_(), torch.arange(len(target), device=target.device)
    log_p = leaf.log_softmax(dim=1)[rows, target]
    price = -torch.expm1(q * log_p) / q
    share = torch.ones_like(price) if weight is None else weight.to(price)[target]
    twice = -torch.expm1(q * leaf.softmax(dim=1).log_softmax(dim=1)[rows, target]) / q

    def mean(price: Tensor) -> Tensor:
        return ((share * price).sum() / share.sum()).detach()

    right = (share * price).sum() / share.sum()
    others = -torch.expm1(0.9 * log_p) / 0.9
    floors = [-float(k) for k in (*range(5, 31), *range(40, 105, 5), 87, 88, 104)]
    cut = [mean(-torch.expm1(q * log_p.clamp(min=floor)) / q) for floor in floors]
    p, small = log_p.detach().exp(), [2.0**-126, *(10.0**-k for k in range(3, 46))]
    kept_off = [mean((1 - p.clamp(min=least) ** q) / q) for least in [0.0, *small]]
    kept_off += [mean((1 - (p + added) ** q) / q) for added in small]
    slips = {
        "another CustomLoss has changed this one: keep weight and q in self": (
            others.mean(),
            mean(others),
        ),
        "divided by the number of rows, not by the weights of the targets": (share * price).mean(),
        "the weights are missing": price.mean(),
        "that is the sum": (share * price).sum(),
        "the division by q is missing": right * q,
        "softmax was applied twice": mean(twice),
        "q has no effect": mean(1 - log_p.exp()),
        "q = 0.7 was taken, not the q that was asked for": mean(-torch.expm1(0.7 * log_p) / 0.7),
        "the weights of the targets stand below the bar, not those of all classes": (
            (share * price).sum() / (price.numel() if weight is None else weight.sum()),
            (share * price).mean() / (1 if weight is None else weight.mean()),
        ),
        "p was clamped, or something added to it, or is 0 in its dtype; stay with log p": tuple(
            number for number in kept_off if not torch.isclose(number, right, rtol=2.5e-4)
        ),
        "the weight belongs before the price, not into p": (
            (-torch.expm1(q * share * log_p) / q).mean(),
            (-torch.expm1(q * share * log_p) / q).sum() / share.sum(),
            mean(-torch.expm1(q * share * log_p) / q),
        ),
        "that is cross-entropy": mean(-log_p),
        "the logarithm of p was cut off: it may be as low as -2000": tuple(
            number for number in cut if not torch.isclose(number, right, rtol=1e-6)
        ),
        "that has the wrong sign": -right,
    }
    return right.detach(), torch.autograd.grad(right, leaf, retain_graph=True)[0], slips


@ends_in_notebook
def check_generalised(
    trial: Callable[..., dict], logits: Tensor, target: Tensor, *options: Any
) -> None:
    """Check what a generalised cross-entropy gives as a function and as a module.

    ``trial`` gives for "function" and "module" the value, the gradient and gradcheck's word, and
    the module's tensors that are "left" behind by a move, whether it fails after the move, how
    many are "trained", and what it has "kept" of an earlier batch. ``options`` are the weight and
    q, or none, where both were left out.
    """
    __tracebackhide__ = True
    with forbid_changes(*(t for t in (logits, target, *options) if isinstance(t, Tensor))):
        found = trial(logits, target, *options)
    weight, q = options or (None, 0.7)
    right, slope, slips = generalised_truth(logits, target, weight, q)
    what = f"q={q}" if options else "weight and q left out"
    guess = "" if options else "by default there is no weight, and q is 0.7"
    kept = found.get("kept", "")
    assert not kept, f"the module keeps something of an earlier batch{kept}: each call is its own"
    for name in ("function", "module"):
        value, gradient, passes = found[name]
        asked = f"{what}, the {name}'s loss"
        check_number(value, right, asked, slips, dtype=logits.dtype, guess=guess)
        words = f"the {name}'s gradient is nan or inf: p is 0 there, and p ** q has no slope at 0"
        assert gradient.isfinite().all(), words
        check_close(gradient, slope, f"the gradient through the {name}", rtol=1e-3, atol=1e-5)
        assert passes, f"the {name} fails gradcheck: is something detached, or made float32?"
    left, trained = found["left"], found["trained"]
    assert not left, f"after .to(device) these stay behind: {left}; register them as buffers"
    words = "after .to(device) a tensor stays behind, in a closure or an object: register a buffer"
    assert not found["behind"], words
    assert trained == 0, f"{trained} of its parameters would be trained: use a buffer"


def spoilt_digits(share: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """1200 handwritten digits and labels, a share of which is wrong; others with true labels."""
    from sklearn.datasets import load_digits

    digits, generator = load_digits(), torch.Generator().manual_seed(0)
    order = torch.randperm(len(digits.target), generator=generator)
    pictures = torch.tensor(digits["data"], dtype=torch.float32)[order] / 16
    labels = torch.tensor(digits.target)[order]
    wrong = torch.rand(1200, generator=generator) < share
    shifted = (labels[:1200] + torch.randint(1, 10, (1200,), generator=generator)) % 10
    given = torch.where(wrong, shifted, labels[:1200])
    return pictures[:1200], given, pictures[1200:], labels[1200:]
