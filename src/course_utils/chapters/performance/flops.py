"""Programs whose flops are counted, and what known slips count."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from course_utils.learner.tracebacks import add_words, ends_in_notebook

PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")
_CONVOLUTIONS = ("convolution", "convolution_backward")


class _Counter(TorchDispatchMode):
    """Flops by operator; switches for what goes wrong."""

    def __init__(self, slip: str = "") -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.slip = slip
        self.known: dict[tuple, int] = {}

    def __torch_dispatch__(self, func, types, args: tuple = (), kwargs=None):
        result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
        name = name.rstrip("_") if self.slip == "in place" else name
        if name in PRODUCTS:
            later = name in ("addmm", "baddbmm") and self.slip != "factors"
            first = args[1] if later else args[0]
            sums = args[0] if later and self.slip == "addend" else result
            terms = 2 * first.shape[-1] + (self.slip == "bias" and name in ("addmm", "baddbmm"))
            alone = self.slip == "one of the batch" and name in ("bmm", "baddbmm")
            self._add(name, (result[0] if alone else sums).numel() * terms, args)
        elif name == "convolution":
            image = self.slip in ("places", "places everywhere")
            places = args[0][:, :1] if image else result[:, :1]
            count = _undilated(args) if self.slip == "undilated" else places.numel()
            flops = 2 * count * len(args[1]) * self._terms(args[1])
            self._add(name, self._grouped(flops, args[8], args[1]), args)
        elif name == "convolution_backward" and self.slip != "no backward":
            parts = sum(args[10][:2])
            parts = {"mask": 2, "third": sum(args[10])}.get(self.slip, parts)
            if self.slip == "library":
                parts = args[10][0] + args[9] * args[10][1]
            places = args[1] if self.slip == "image" else args[0]
            flops = 2 * places.numel() * self._terms(args[2]) * parts
            if self.slip == "undilated":
                flops = 2 * _undilated(args[1:]) * args[2].numel() * parts
            if self.slip == "elements of x":
                by_x = 2 * args[1].numel() * args[2][:, 0].numel() // args[9]
                flops = by_x * args[10][0] + flops // max(parts, 1) * args[10][1]
            if self.slip == "places everywhere":
                flops = 2 * args[1][:, :1].numel() * args[2].numel() * parts
            self._add(name, self._grouped(flops, args[9], args[2]), args)
        return result

    def _add(self, name: str, flops: int, args: tuple) -> None:
        if self.slip == "known":  # by the name and the shapes, as the first such call was
            shapes = [arg.shape for arg in args if isinstance(arg, torch.Tensor)]
            flops = self.known.setdefault((name, *shapes), flops)
        if self.slip != "first" or name not in self.counts:
            self.counts[name] = flops + (0 if self.slip == "last" else self.counts[name])

    def _terms(self, weight: torch.Tensor) -> int:
        inputs, *window = weight.shape[1:]
        side = {"square": -1, "square, first": 0}.get(self.slip)
        return inputs * (math.prod(window) if side is None else window[side] ** len(window))

    def _grouped(self, flops: int, groups: int, weight: torch.Tensor) -> int:
        if self.slip == "filters":
            return flops * len(weight)
        if self.slip == "groups":
            return flops * groups
        return flops // groups if self.slip == "groups twice" else flops


def _undilated(args: tuple) -> int:
    """How many places a convolution's result would have without its dilation."""
    x, weight, _, stride, padding = args[:5]
    sizes = zip(x.shape[2:], weight.shape[2:], stride, padding, strict=True)
    return len(x) * math.prod((n + 2 * p - k) // s + 1 for n, k, s, p in sizes)


def _program(name: str, device: str) -> Callable[[], torch.Tensor]:
    """A program by its name, with its own weights, the same each time."""
    generator = torch.Generator().manual_seed(1)

    def draw(*size, grad=True):
        return torch.randn(size, generator=generator).to(device).requires_grad_(grad)

    if name == "linear":
        x, w, b = draw(5, 3, grad=False), draw(7, 3), draw(7)
        return lambda: F.linear(x, w, b)
    if name == "two layers, backward":
        x, w, v = draw(5, 3, grad=False), draw(7, 3), draw(2, 7)
        return lambda: torch.autograd.grad(F.linear(F.linear(x, w).tanh(), v).sum(), (w, v))[0]
    if name == "attention, backward":
        q, k, v = draw(6, 4, 3), draw(6, 5, 3), draw(6, 5, 2)
        return lambda: torch.autograd.grad(((q @ k.mT).softmax(-1) @ v).sum(), (q, k, v))[0]
    if name == "baddbmm":
        c, x, y = draw(2, 3, 5), draw(2, 3, 4), draw(2, 4, 5)
        return lambda: torch.baddbmm(c, x, y)
    if name == "no rows":
        x, w = draw(0, 3, grad=False), draw(7, 3)
        return lambda: F.linear(x, w)
    if name == "nothing to multiply":
        x = draw(6, 4)
        return lambda: (x * x).sum(0)
    if name == "a factor made with a dtype":
        y = draw(4, 2).double()
        return lambda: torch.ones(3, 4, dtype=torch.float64, device=device) @ y
    if name in _MORE:
        return _more_program(name, draw)
    shape = {
        "convolution": (2, 4, 6, 1, 1, 2),
        "strided, dilated": (3, 2, 6, 1, 2, 2),
        "groups, backward": (2, 6, 6, 3, 2, 2),
        "depthwise, backward": (2, 6, 6, 6, 1, 2),
        "no gradient by the image": (2, 3, 4, 1, 1, 2),
        "backward by the image alone": (2, 3, 4, 1, 1, 2),
        "one dimension, backward": (2, 6, 6, 3, 1, 1),
        "three dimensions": (1, 2, 4, 1, 1, 3),
        "one filter, backward": (2, 4, 1, 1, 1, 2),
        "without a bias, backward": (2, 3, 4, 1, 2, 2),
    }[name]
    batch, inputs, outputs, groups, stride, dims = shape
    bare = name == "without a bias, backward"
    wide, alone = name != "no gradient by the image", name == "backward by the image alone"
    x = draw(batch, inputs, *(7, 8, 5)[:dims], grad=wide)
    w, b = (
        draw(*size, grad=not alone)
        for size in ((outputs, inputs // groups, *(3, 2, 3)[:dims]), (outputs,))
    )
    conv = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[dims]

    def run():
        y = conv(
            x, w, None if bare else b, stride=stride, padding=1, dilation=stride, groups=groups
        )
        if "backward" in name or not wide:
            by = (x,) if alone else (x, w) if bare else (x, w, b) if wide else (w, b)
            return torch.autograd.grad(y.sum(), by)[-1]
        return y

    return run


_MORE = (
    "factors beta and alpha", "edited in place", "drawn numbers", "in inference mode",
    "terms: none", "without gradients", "a batch, beta and alpha", "out=, twice",
    "mm and others", "the same shapes, other strides", "backward by the bias alone",
    "baddbmm, one row for all",
)  # fmt: skip


def _more_program(name: str, draw: Callable[..., torch.Tensor]) -> Callable[[], torch.Tensor]:
    """A program whose result shows whether each operator ran once, with all of its arguments."""
    c, x, y = (draw(*size, grad=False) for size in ((3, 5), (3, 4), (4, 5)))
    if name == "factors beta and alpha":
        return lambda: torch.addmm(c, x, y, beta=0.5, alpha=3)
    if name == "a batch, beta and alpha":
        return lambda: torch.baddbmm(c[None], x[None], y[None], beta=-1, alpha=0.5)
    if name == "baddbmm, one row for all":
        return lambda: torch.baddbmm(c[None, :1], torch.stack((x, -x)), torch.stack((y, y + 1)))
    if name == "backward by the bias alone":
        image, weight, bias = draw(2, 3, 7, grad=False), draw(4, 3, 3, grad=False), draw(4)
        return lambda: torch.autograd.grad(F.conv1d(image, weight, bias).sum(), bias)[0]
    if name == "out=, twice":  # other overloads of the same operators
        return lambda: torch.addmm(c, x, y, out=torch.mm(x, y, out=torch.empty_like(c)))
    if name == "mm and others":  # each of the others has a name of its own
        factors = x[None], y[None]
        return lambda: torch.mm(x, y).addmm_(x, y).addbmm(*factors)[None].baddbmm_(*factors)
    if name == "the same shapes, other strides":
        image, weight = draw(2, 3, 7, 8), draw(4, 3, 3, 3)

        def strided():
            one, two = (F.conv2d(image, weight, stride=n, padding=1) for n in (1, 2))
            by_both = torch.autograd.grad(one.sum(), (image, weight), retain_graph=True)
            return by_both[1] + torch.autograd.grad(one.mean(), weight)[0] + two.mean()

        return strided
    if name == "edited in place":
        return lambda: torch.mm(x.clone().add_(1), y)
    if name == "drawn numbers":
        generator = torch.Generator(x.device)
        return lambda: torch.mm(
            x, torch.rand(4, 5, generator=generator.manual_seed(7)).to(x.device)
        )
    if name == "terms: none":
        return lambda: torch.mm(x[:, :0], y[:0])
    mode = torch.inference_mode if name == "in inference mode" else torch.no_grad

    def run():
        with mode():
            return torch.mm(x, y)

    return run


def run_counter(count: Callable[..., Any], names: list[str], device: str) -> dict:
    """What a learner's counter says of one program, or of several run after another."""
    programs, calls = [_program(name, device) for name in names], []

    def run():
        calls.append([program() for program in programs])
        return calls[-1]

    try:
        found = count(run)
    except (RuntimeError, TypeError, ValueError) as error:
        if "values to unpack" in str(error):
            told = "a weight has two sizes more than its convolution has dimensions: one to three"
        elif "same dtype" in str(error) or "missing value for argument" in str(error):
            told = "an operator gets its kwargs as well: func(*args, **(kwargs or {}))"
        elif "None" in str(error):
            told = "what func gives is what __torch_dispatch__ returns"
        elif "does not require grad" in str(error):
            told = "run records gradients: leave them on"
        else:
            raise
        add_words(error, told)
        raise
    # A copy: a mode that is left on counts what runs afterwards, too.
    found = dict(found) if isinstance(found, dict) else found
    alone = [_program(name, device)() for name in names]
    same = len(calls) != 1 or all(
        torch.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(calls[0], alone, strict=True)
    )
    for kind in (ZeroDivisionError, RuntimeError):

        def fails(kind: type[Exception] = kind) -> None:
            raise kind("on purpose")

        try:
            count(fails)  # a mode that this leaves on is told of like any other
        except kind:
            continue
        except Exception as error:
            words = (
                f"run raised a {kind.__name__}, and a {type(error).__name__} came out: let it pass"
            )
            raise AssertionError(words) from error
        words = f"run raised a {kind.__name__}, and the caller isn't told: let it pass"
        assert found is None, words
    return {"found": found, "calls": len(calls), "same": same}


def _truth(names: list[str], device: str, slip: str = "") -> dict:
    counter = _Counter(slip)
    programs = [_program(name, device) for name in names]
    with torch.enable_grad(), counter:
        for program in programs:
            program()
    return {name: flops for name, flops in counter.counts.items() if flops}


@ends_in_notebook
def check_flops(outcome: dict, names: list[str], device: str) -> None:
    """Compare counted flops with what is right."""
    __tracebackhide__ = True
    found = outcome["found"]
    assert found is not None, "the function returned None: is there an answer yet?"
    assert isinstance(found, dict), f"a {type(found).__name__} came back, expected a dict"
    keys = all(isinstance(key, str) for key in found)
    assert keys, "the keys are names, such as 'addmm': func.overloadpacket.__name__"
    assert outcome["calls"] == 1, f"run was called {outcome['calls']} times; call it once"
    assert outcome["same"], (
        "run computes something else while it is counted: call each func once, with its args and "
        "its kwargs, and return what it gives"
    )
    right, mine = _truth(names, device), {key: value for key, value in found.items() if value}
    if mine == right:
        return
    halves = {key: value // 2 for key, value in right.items()}
    slips = {
        "an operator may run several times: add its calls up": _truth(names, device, "last"),
        "an operator may run several times: add all its calls up, not the first alone": _truth(
            names, device, "first"
        ),
        "those are multiply-adds; each is two flops": halves,
        "a weight of a grouped convolution has inputs / groups channels: nothing to multiply": (
            _truth(names, device, "groups")
        ),
        "a weight of a grouped convolution has inputs / groups channels: nothing to divide": (
            _truth(names, device, "groups twice")
        ),
        "convolution_backward computes only what output_mask asks for": _truth(
            names, device, "mask"
        ),
        "with groups, the gradient by the weight takes the forward pass's flops, no more": (
            _truth(names, device, "library")
        ),
        "convolution_backward: the bias's gradient, the third of the mask, isn't counted; where it "
        "alone is asked for, that is 0": _truth(names, device, "third"),
        "convolution_backward is missing": _truth(names, device, "no backward"),
        "biases aren't counted": _truth(names, device, "bias"),
        "bmm and baddbmm do a product for each of the batch": _truth(
            names, device, "one of the batch"
        ),
        "convolution: each element of the result is a sum; count its places, not the image's": (
            _truth(names, device, "places")
        ),
        "each element of a convolution's result is a sum; count its places, not the image's, also "
        "on the way back": _truth(names, device, "places everywhere"),
        "a filter needn't be square: each of its sizes counts": _truth(names, device, "square"),
        "a filter needn't be square: each of its sizes counts ": _truth(
            names, device, "square, first"
        ),
        "a bias may have fewer elements than the result, and each of these is a sum": _truth(
            names, device, "addend"
        ),
        "addmm(bias, x, y): the factors come after the bias": _truth(names, device, "factors"),
        "each element of a result is a sum over one filter, weight[0], not over all": (
            _truth(names, device, "filters")
        ),
        "convolution_backward: count the places of grad_output, not those of x": (
            _truth(names, device, "image")
        ),
        "convolution_backward: count the places of grad_output, not those of x ": (
            _truth(names, device, "elements of x")
        ),
        "a filter with dilation reaches further; take the places of the result itself": (
            _truth(names, device, "undilated")
        ),
        "addmm_, in place, is another operator than addmm, and isn't counted: its name differs": (
            _truth(names, device, "in place")
        ),
        "calls of the same shapes differ by stride and mask: count each by itself": (
            _truth(names, device, "known")
        ),
    }
    differ = [key for key in mine.keys() | right.keys() if mine.get(key) != right.get(key)]
    fits = [w for w, slip in slips.items() if all(mine.get(k) == slip.get(k) for k in differ)]
    fits.sort(key=lambda words: slips[words] != mine)  # first those that explain the rest as well
    assert not fits, fits[0].strip()
    more = sorted(mine.keys() - right.keys())
    counted = [name for name in more if name in (*PRODUCTS, *_CONVOLUTIONS)]
    assert not counted or len(counted) < len(more), (
        f"{', '.join(map(repr, counted))} didn't run in this call: is it from an earlier one?"
    )
    assert not more, f"{', '.join(map(repr, more))} is not among the operators that are counted"
    missing = sorted(right.keys() - mine.keys())
    assert not missing, f"{', '.join(missing)} ran, and is not counted"
    wrong = [key for key in right if mine[key] != right[key]]
    ratios = {key: mine[key] / right[key] for key in wrong}
    raise AssertionError("; ".join(f"{k}: {r:.4g} times what is right" for k, r in ratios.items()))
