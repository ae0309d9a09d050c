"""What a call does besides its result: its errors in words, marks it leaves, operators, memory."""

from __future__ import annotations

import weakref
from contextlib import suppress

import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.learner.operators import OperatorMode
from course_utils.learner.other_states import check_states
from course_utils.learner.tracebacks import what_was_raised
from course_utils.learner.values import agrees

WRITES = "backward writes into the gradient that arrives, which others use too: make a new tensor"
OVERWRITTEN = "a second call overwrites what the first one's backward needs: keep it on ctx"
AGAIN = "backward comes a second time (retain_graph=True): what is kept on ctx has to stay"
ANEW = "backward comes a second time, with another gradient: multiply by what arrives each time"

OPEN = "a dual level stays open: a with block, forward_ad.dual_level(), leaves it in any case"


def require_written(function):
    """Refuse a Function without a rule of its own, wherever it may have it from."""
    base = torch.autograd.Function
    words = f"{function.__name__} is no Function: derive it from torch.autograd.Function"
    kind = function if isinstance(function, type) else object
    assert issubclass(kind, base), words
    written = function.backward is not base.backward or function.vjp is not base.vjp
    assert written, f"{function.__name__} has no backward: is there an answer yet?"


def gradient_words(call, lost="was the result made with detach, item or NumPy?", rule=False):
    """``call()``; an error of PyTorch's about the gradients that a rule returned, in words."""
    try:
        result = call()
    except RuntimeError as error:
        text = str(error)
        if "invalid gradient" in text or "number of gradients" in text:
            text += ": backward returns one gradient for each input, of that input's shape"
        elif "does not require grad" in text or "not have been used in the graph" in text:
            text = f"no gradient comes back: {lost}"
        elif "backward through the graph a second time" in text:
            text = "the graph was freed by the first pass: retain_graph=True keeps it for the next"
        elif "must match the size" in text:
            text += ": in backward the shapes don't fit; a dimension is missing (unsqueeze)"
        elif "Nested forward mode AD" in text:
            text = OPEN
        elif "modified by an inplace operation" in text:
            text = "a tensor that backward needs was changed in place after it was saved"
        elif "view size is not compatible" in text:
            text += " Neither x nor what arrives in backward need be contiguous"
        elif rule and "used in an in-place operation" in text:
            text = "backward writes into the gradient that arrives, which others use too: "
            text += "multiply by a mask, or clone"
        else:
            raise
        raise AssertionError(text) from None
    except TypeError as error:
        if rule and "positional argument" in str(error):
            text = f"{error}: besides ctx, backward gets one gradient for each output"
            raise AssertionError(text) from None
        raise
    finally:
        left_open = _close_dual_levels()
    assert not left_open, OPEN
    return result


def _close_dual_levels():
    """Whether a level of forward mode was left open; then it is closed."""
    left_open = forward_ad._current_level >= 0
    while forward_ad._current_level >= 0:
        forward_ad.exit_dual_level()
    return left_open


def grad_again(y, wanted, g):
    """Two backward passes through one graph, the second with 2 g; what each gives for g."""
    once = torch.autograd.grad(y, wanted, g, allow_unused=True, retain_graph=True)
    try:
        twice = torch.autograd.grad(y, wanted, 2 * g, allow_unused=True)
        return once, [None if x is None else x / 2 for x in twice]
    except Exception as error:
        raise AssertionError(f"{AGAIN} (it {what_was_raised(error)})") from None


def same_gradients(first, second):
    """Whether two lists of gradients agree; a NaN equals a NaN."""
    pairs = [(x, y) for x, y in zip(first, second, strict=True) if x is not None and y is not None]
    return all(torch.equal(x.nan_to_num(), y.nan_to_num()) for x, y in pairs)


def left_behind(*tensors):
    """What a call left on tensors that required no gradient and had none."""
    marks = ["requires_grad"] if any(t.requires_grad for t in tensors) else []
    return marks + [".grad"] * any(t.is_leaf and t.grad is not None for t in tensors)


def words_of_states(call, *arguments):
    """Words for what ``call`` gives or does amiss in other states of its arguments; "" if nothing.

    Not where gradients are off: what the chapter asks for needs them. Nor with the first result
    overwritten, for that is the one that is compared.
    """
    needs = []

    def noted(*given):
        answer = call(*given)
        needs.extend(getattr(t, "requires_grad", False) for t in tree_leaves(answer))
        return answer

    but = ("no_grad", "inference_mode", "result_overwritten")
    try:
        check_states(noted, *arguments, what="the call", but=but)
    except AssertionError as error:
        return str(error)
    return "where an argument requires grad, so does the result: detach it" if any(needs) else ""


def words_of_broken(call, *tensors):
    """Words for what ``call(f, *tensors)`` does to tensors where ``f`` raises; "" if nothing."""

    def breaks(point):
        raise RuntimeError("f breaks off")

    for owns in (False, True):
        given = [t.detach().clone().requires_grad_(owns) for t in tensors]
        for t in given:
            t.grad = torch.full_like(t, 7) if owns else None
        with suppress(Exception):
            call(breaks, *given)
        if _close_dual_levels():
            return f"where f raises, {OPEN}"
        for t in given:
            kept = bool((t.grad == 7).all()) if t.grad is not None else False
            if t.requires_grad != owns or (not kept if owns else t.grad is not None):
                what = ".grad" if t.requires_grad == owns else "requires_grad"
                return (
                    f"where f raises, {what} of an argument is not as it was: work on a leaf of "
                    "your own"
                )
    return ""


def words_of_kept(call, f, x, *rest):
    """Words where ``call(f, x)`` gives what belongs to another x with the same f; "" if not."""
    other = 0.75 * x + 0.25
    call(f, x, *rest)
    fresh = call(lambda point: f(point), other, *rest)
    if agrees(lambda: call(f, other, *rest), fresh):
        return ""
    return "called with the same f at another x, it gives something else: keep nothing by f"


def require_digits(actual, truth, what, rtol=1e-11, atol=1e-300):
    """Refuse float64 that holds the digits of a float32."""
    few = truth.dtype == torch.float64 and not torch.allclose(
        actual, truth, rtol, atol, equal_nan=True
    )
    words = f"{what} is right to seven digits alone: was it computed in float32, or a small number "
    assert not few, f"{words}added?"


class Largest(OperatorMode):
    """A ``with`` block that notes the bytes of the largest storage made inside it."""

    most = 0

    def after(self, name, new_storages):
        self.most = max([self.most, *new_storages])


class LiveBytes(TorchDispatchMode):
    """A ``with`` block that notes, after each operation, how many bytes made inside it live."""

    def __init__(self):
        super().__init__()
        self.now, self.curve, self.known = 0, [], set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        old = {t.data_ptr() for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        result = func(*args, **kwargs)
        for t in tree_leaves(result):
            if isinstance(t, torch.Tensor) and t.data_ptr() not in old | self.known:
                storage, place = t.untyped_storage(), t.data_ptr()
                self.known.add(place)
                self.now += storage.nbytes()
                weakref.finalize(storage, self.free, place, storage.nbytes())
        self.curve.append(self.now)
        return result

    def free(self, place, size):
        self.known.discard(place)
        self.now -= size


def memory_of(run, blocks):
    """Live bytes after each operation of a forward and backward pass, and where the turn is."""
    for block in blocks:
        for parameter in block.parameters():
            parameter.grad = torch.zeros_like(parameter)  # there already, so not counted
    h = torch.ones(512, 64, requires_grad=True)
    with LiveBytes() as live:
        y = h
        for block in blocks:
            y = run(block, y)
        turn = len(live.curve)
        y.backward(torch.ones_like(y))
    return live.curve, turn
