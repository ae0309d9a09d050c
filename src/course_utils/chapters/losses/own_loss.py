"""A loss of one's own, and digits with wrong labels."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.chapters.losses.numbers import check_number
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


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
    """Whether a loss that was moved to the device ``meta`` holds a tensor elsewhere, or fails so.

    That finds a tensor wherever it is kept: in a closure, an object, a list of lists. Where each
    call brings it over, nothing fails, and the move didn't take it along all the same.
    """
    try:
        module.to("meta")(logits.to("meta"), target.to("meta"))
    except (RuntimeError, NotImplementedError) as error:
        if "expected device" in str(error) or "same device" in str(error):
            return True
    return any(not held.is_meta for held in _reached(module))


def _reached(module: nn.Module) -> list[Tensor]:
    """The tensors that a module leads to: by attributes, containers, closures and defaults."""
    found, seen, waiting = [], set(), [module]
    while waiting and len(seen) < 10_000:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, (type, ModuleType)):
            continue
        seen.add(id(thing))
        if isinstance(thing, Tensor):
            found.append(thing)
        elif isinstance(thing, FunctionType):
            cells = [cell for cell in thing.__closure__ or () if cell != CellType()]
            waiting += [*(cell.cell_contents for cell in cells), *(thing.__defaults__ or ())]
            waiting += (thing.__kwdefaults__ or {}).values()
        else:
            waiting += gc.get_referents(thing)
    return found


def trained_as_given(
    kind: Callable[..., nn.Module], device: torch.device, *options: Tensor | float | None
) -> int:
    """How many parameters a learner's module would train whose weight came as a Parameter.

    ``options`` are its weight and q, or none of them; without a weight there are none.
    """
    if not options or options[0] is None:
        return 0
    weight = nn.Parameter(torch.as_tensor(options[0]).detach().clone())
    with torch.no_grad():  # what is written into the weight is told elsewhere
        module = made_loss(kind, device, weight, *options[1:])
    words = "CustomLoss froze the weight that it was given: leave the arguments as they are"
    assert weight.requires_grad, f"{words}; what you keep may be weight.detach()"
    return sum(parameter.requires_grad for parameter in module.parameters())


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
    the module's tensors that are "left" behind by a move, whether one is "behind" that no
    attribute holds, how many are "trained", also where the weight came "as" a Parameter, and what
    it has "kept" of an earlier batch. ``options`` are the weight and q, or none, where both were
    left out.
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
    words = "a weight that is an nn.Parameter becomes one of the module's, and would be trained"
    assert not found["as"], f"{words}: an assignment does that; register_buffer keeps a buffer"


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
