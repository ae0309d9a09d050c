"""Count the moments at which a program would wait for its device, also where there is none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.tracebacks import add_words, ends_in_notebook
from course_utils.learner.values import check_value

# Functions that bring values to the host; on the CPU some of them run no operator.
_TO_HOST = {"tolist": "tolist", "numpy": "numpy", "__array__": "numpy", "cpu": "cpu"}
_PRINTS = {"__repr__", "__str__", "__format__"}
# Operators that bring one number to the host, or whose result's shape depends on values.
_OPERATORS = {
    "_local_scalar_dense": "item", "nonzero": "nonzero", "masked_select": "masked_select",
    "_unique2": "unique", "unique_dim": "unique", "unique_consecutive": "unique",
    "equal": "equal", "allclose": "allclose",
}  # fmt: skip


class count_syncs:
    """Count the moments in a ``with`` block at which a GPU's host would wait for its results.

    It counts on the CPU as well, where nothing waits: ``item`` (also as ``float``, ``int``, a
    branch or a Python comparison), ``tolist``, ``numpy``, ``cpu``, printing, and operators whose
    result has a shape that depends on values (``nonzero``, indexing by a mask, ``unique``).

    ::

        with count_syncs() as counts:
            if loss > 1:
                print(loss)
        counts  # {"item": 1, "print": 1}
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        functions = _Functions(self.counts)
        self.modes = functions, _Operators(self.counts, functions)

    def __enter__(self) -> Counter[str]:
        for mode in self.modes:
            mode.__enter__()
        return self.counts

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self.modes):
            mode.__exit__(*error)


def _goes_to_host(args: tuple, kwargs: dict) -> bool:
    """Whether ``x.to(…)`` names the CPU. On the CPU only its name in quotes is meant so."""
    target = kwargs.get("device", args[1] if len(args) > 1 else None)
    away = args[0].device.type != "cpu"
    if isinstance(target, str):
        return torch.device(target).type == "cpu"
    return away and isinstance(target, torch.device) and target.type == "cpu"


class _Functions(TorchFunctionMode):
    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self.counts, self.quiet = counts, 0

    def __torch_function__(self, func, types, args: tuple = (), kwargs=None):
        name = getattr(func, "__name__", "")
        known = _TO_HOST.get(name) or ("print" if name in _PRINTS else "")
        if name == "to" and _goes_to_host(args, kwargs or {}):
            known = "cpu"
        if name in ("tensor", "as_tensor", "asarray") and isinstance(args[0], (list, tuple)):
            known = "item" if any(isinstance(v, torch.Tensor) for v in tree_leaves(args[0])) else ""
        if not known:
            return func(*args, **(kwargs or {}))
        if not self.quiet:
            self.counts[known] += 1
        self.quiet += 1
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.quiet -= 1


class _Operators(TorchDispatchMode):
    def __init__(self, counts: Counter[str], functions: _Functions) -> None:
        super().__init__()
        self.counts, self.functions = counts, functions

    def __torch_dispatch__(self, func, types, args: tuple = (), kwargs=None):
        name = func.overloadpacket.__name__
        known = _OPERATORS.get(name, "")
        if name in ("index", "index_put", "index_put_") and any(
            isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)
            for index in args[1]
        ):
            known = "mask"
        if known and not self.functions.quiet:
            self.counts[known] += 1
        return func(*args, **(kwargs or {}))


# Batches (rows, size of the numbers) and the state of model and optimizer, by the case's name.
LOOPS: dict[str, dict] = {
    "steep and flat batches": dict(batches=[(8, 5.0), (8, 0.1), (3, 1.0)]),
    "flat batches": dict(batches=[(4, 0.01), (64, 0.01)], seed=4),
    "one row": dict(batches=[(1, 1.0)], seed=2),
    "no batch": dict(batches=[]),
    "no batch, float64": dict(batches=[], dtype="float64"),
    "float64": dict(batches=[(5, 2.0), (6, 0.5)], dtype="float64", seed=3),
    "bfloat16": dict(batches=[(6, 0.5)], dtype="bfloat16", seed=3),
    "frozen, with old gradients": dict(batches=[(8, 0.5), (4, 0.1)], old=True, seed=5),
    "a layer that isn't used": dict(batches=[(8, 1.0)], spare=True, seed=6),
    "a layer that isn't used, weight decay": dict(
        batches=[(8, 1.0), (4, 0.5)], spare=True, decay=True, seed=6
    ),
    "two layers with one weight": dict(batches=[(8, 1.0), (4, 0.5)], tied=True, seed=8),
    "a norm of thousands": dict(batches=[(6, 1.0), (3, 2.0)], steep=True, seed=14),
    "a parameter that isn't held": dict(batches=[(8, 0.5), (4, 0.1)], loose=True, seed=9),
    "batches of the same sizes": dict(batches=[(8, 2.0), (8, 1.0), (3, 0.5)], seed=10),
    "frozen, held, with old gradients": dict(batches=[(8, 0.5), (4, 0.1)], decay=True, seed=5),
    "gradients that are all 0": dict(batches=[(6, 1.0), (3, 2.0)], sure=True, seed=13),
    "batch norm": dict(batches=[(8, 2.0), (4, 0.5)], norm=True, seed=16),
    "two groups of parameters": dict(batches=[(8, 2.0), (4, 0.5)], groups=True, seed=15),
    "a model in eval mode": dict(batches=[(4, 1.0), (4, 2.0)], eval=True, norm=True, seed=11),
    "a norm in eval mode": dict(batches=[(4, 1.0), (4, 2.0)], part=True, norm=True, seed=18),
    "called twice": dict(batches=[(8, 2.0), (4, 0.5)], again=True, seed=17),
    "longer": dict(batches=[(4, 0.3 * n) for n in range(1, 9)], seed=7),
}


class _WithSpare(nn.Sequential):
    """A Sequential that may have a layer, spare, which its forward pass doesn't use."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        for name, layer in self.named_children():
            input = input if name == "spare" else layer(input)
        return input


def _task(case: dict) -> tuple[nn.Module, torch.optim.Optimizer, list]:
    """A model with a frozen layer, an optimizer and batches, the same for the same case."""
    generator = torch.Generator().manual_seed(case.get("seed", 0))
    dtype, device = getattr(torch, case.get("dtype", "float32")), case["device"]

    def draw(*size):
        return torch.randn(size, generator=generator).to(device, dtype)

    model = _WithSpare(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Linear(4, 3))
    if case.get("spare"):
        model.add_module("spare", nn.Linear(2, 2))
    if case.get("tied"):
        model.extend([nn.Linear(3, 3), nn.Linear(3, 3)])
        model[5].weight = model[4].weight
    if case.get("norm"):
        model.append(nn.BatchNorm1d(3))
    model.to(device, dtype)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(draw(*p.shape))
    model[2].requires_grad_(False)
    for p in model[0].parameters():
        p.grad = torch.ones_like(p)  # left over from before
    held = list(model.parameters())
    if case.get("old"):
        for p in model[2].parameters():
            p.grad = torch.full_like(p, 2.0)
        held = [p for p in held if p.requires_grad]
    if case.get("loose"):
        *held, bias = held
        bias.grad = torch.full_like(bias, 0.5)
    if case.get("decay"):
        for p in model[2].parameters():
            p.grad = torch.full_like(p, 2.0)
    if case.get("sure") or case.get("steep"):
        with torch.no_grad():
            model.get_parameter("3.weight").mul_(1e4)
    decay = 0.1 if case.get("decay") else 0.0  # moves a parameter whose gradient is 0
    groups: list = held
    if case.get("groups"):
        other = {"lr": 0.02, "nesterov": True, "weight_decay": 0.1}
        groups = [{"params": held[:2]}, {"params": held[2:], **other}]
    optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9, weight_decay=decay)
    batches = []
    for size, factor in case["batches"]:
        labels = torch.randint(0, 3, (size,), generator=generator).to(device)
        x = factor * draw(size, 3)
        with torch.no_grad():
            labels = model(x).argmax(1) if case.get("sure") else labels
        batches.append((x, labels))
    model.train(not case.get("eval"))
    if case.get("part"):
        model[-1].eval()
    return model, optimizer, batches


def _numbers(model: nn.Module) -> list[torch.Tensor]:
    """Copies of a model's parameters and buffers, on the host."""
    return [t.detach().cpu().clone() for t in (*model.parameters(), *model.buffers())]


def _modes(model: nn.Module) -> list[bool]:
    return [part.training for part in model.modules()]


def _look(module: nn.Module, args: tuple, output: torch.Tensor) -> None:
    """A hook that was there before: it looks, and changes nothing."""


def _joined(first: Any, second: Any) -> Any:
    """What two calls gave, as of one call with the batches of both."""
    pairs = all(isinstance(found, (tuple, list)) and len(found) == 2 for found in (first, second))
    if not pairs or not all(isinstance(part, torch.Tensor) for part in (*first, *second)):
        return first
    return torch.cat([first[0], second[0]]), first[1] + second[1]


def run_loop(loop: Callable[..., Any], case: dict) -> dict:
    """What a training loop leaves behind, as plain values and tensors."""
    model, optimizer, batches = _task(case)
    next(model.children()).register_forward_hook(_look)
    same = forbid_side_effects(model, but=("mode", "grad", "values"))
    with same, count_syncs() as counts:
        try:
            found = loop(model, optimizer, batches)
            if case.get("again"):
                found = _joined(found, loop(model, optimizer, batches))
        except (AttributeError, TypeError) as error:
            if "NoneType" not in str(error):
                raise
            words = "a parameter that is frozen or isn't used may have no gradient: .grad is None"
            add_words(error, words)
            raise
        except RuntimeError as error:
            if batches:
                raise
            add_words(error, "batches may be empty, and so is losses then")
            raise
    words = "batches is the caller's list: go through it, and leave it as it is"
    assert len(batches) == len(case["batches"]), words
    loose = isinstance(found, (tuple, list)) and len(found) == 2
    kept = [part.requires_grad for part in found if isinstance(part, torch.Tensor)] if loose else []
    return {
        "found": [
            part.detach().cpu() if isinstance(part, torch.Tensor) else type(part).__name__
            for part in found
        ]
        if loose
        else type(found).__name__,
        "graph": any(kept),
        "syncs": dict(counts),
        "weights": _numbers(model),
        "momentum": len(optimizer.state),
        "modes": _modes(model),
    }


def _truth(case: dict, limit: float = 1.0, clip: str = "norm") -> tuple:
    """Losses, hits and weights of the loop that the exercise shows; ``clip`` switches slips."""
    model, optimizer, batches = _task(case)
    if clip in ("train", "eval"):
        model.train(clip == "train")
    losses, hits = [], 0
    for x, y in batches * (2 if case.get("again") and clip != "once" else 1):
        if clip == "all zero_grad":
            model.zero_grad()
        elif clip == "zeros":
            optimizer.zero_grad(set_to_none=False)
        elif clip != "no zero_grad":
            optimizer.zero_grad()
        scores = model(x)
        if clip == "twice":
            model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        if clip == "unused zeros":
            for p in model.parameters():
                p.grad = torch.zeros_like(p) if p.grad is None and p.requires_grad else p.grad
        groups = [{"params": model.parameters()}] if clip != "held" else optimizer.param_groups
        if clip == "shared":
            groups = [{"params": [*part.parameters(recurse=False)]} for part in model.modules()]
        grads = [p.grad for group in groups for p in group["params"] if p.grad is not None]
        norm = math.sqrt(sum(g.square().sum().item() for g in grads))
        norm = norm**2 if clip == "squared" else norm
        for g in grads:
            own = g.norm().item()
            if clip == "always" and norm:
                g.div_(norm)
            elif clip == "each" and own > limit:
                g.div_(own)
            elif clip not in ("always", "each", "none") and norm > limit:
                g.mul_(max(limit / norm, 1e-3 if clip == "least" else 0))
        if clip == "one rate":
            for group in optimizer.param_groups:
                group["lr"] = optimizer.param_groups[0]["lr"]
        optimizer.step()
        losses.append(loss.item())
        if clip == "after":
            scores = model(x)
            losses[-1] = F.cross_entropy(scores, y).item()
        hits = 0 if clip == "last" else hits
        hits += (scores.argmax(1) == y).sum().item()
    return losses, hits, _numbers(model)


@ends_in_notebook
def check_loop(outcome: dict, case: dict) -> None:
    """Compare what a loop gave with what the shown loop gives; it may not have waited."""
    __tracebackhide__ = True
    found, dtype = outcome["found"], getattr(torch, case.get("dtype", "float32"))
    if not isinstance(found, (list, tuple)):
        several = found in ("tuple", "list")
        blank = f"a {found} of another length than" if several else f"a {found}, expected"
        blank = "None: is there an answer yet? Expected" if found == "NoneType" else blank
        raise AssertionError(f"the loop returned {blank} a tuple (losses, hits)")
    for name, part in zip(("losses", "hits"), found, strict=True):
        kind = part if isinstance(part, str) else ""
        assert not kind, f"{name} is of type {kind}, expected a tensor: it stays on the device"
    losses, hits, weights = _truth(case)
    close = (1e-3, 1e-5) if dtype.itemsize > 2 else (0.05, 0.05)
    same = _near(outcome["weights"], weights, close)
    words = {
        "always": "a gradient whose norm is below 1 is left as it is",
        "each": "one norm over all gradients is asked for, not one for each parameter",
        "none": "the gradients are not clipped",
        "squared": "the norm is the root of the sum of all squares",
        "no zero_grad": "old gradients are still in .grad",
        "all zero_grad": "an old gradient that the optimizer doesn't hold stays, also of a frozen "
        "parameter; the norm is over all gradients",
        "zeros": "where a frozen parameter's gradient is 0 and not None, weight decay moves it",
        "unused zeros": "a layer that isn't used has no gradient; with zeros in its place weight "
        "decay moves it",
        "shared": "a parameter that two layers share counts once",
        "one rate": "each group of parameters has its own learning rate: optimizer.step() knows it",
        "train": "the model was put into training mode; the chatty loop leaves modes as they are",
        "eval": "the model was put into eval mode; the chatty loop leaves modes as they are",
        "once": "called again, it trains again",
        "twice": "the model runs once in each step: batch norm's averages move each time",
        "least": "the factor has no least value, however large the norm is",
        "held": "the norm is over all gradients, also where the optimizer doesn't hold a parameter",
    }
    nan = any(bool(part.isnan().any()) for part in outcome["weights"])
    why = ": where all gradients are 0, so is their norm" * bool(case.get("sure"))
    assert not nan, f"the weights afterwards are NaN{why}"
    for clip, reason in ({} if same else words).items():
        slip = _truth(case, clip=clip)[2]
        if _near(outcome["weights"], slip, close):
            raise AssertionError(f"the weights differ from those of the chatty loop: {reason}")
    assert same, "the weights afterwards differ from those of the chatty loop"
    dtype = dtype if losses else torch.float32
    right = torch.tensor(losses, dtype=dtype)
    late = torch.tensor(_truth(case, clip="after")[0], dtype=dtype).reshape(-1)
    mean = {"those from after the step; the chatty loop notes them before it": late}
    if case.get("again"):
        mean["the second call wrote into the first one's result"] = right[len(right) // 2 :].repeat(
            2
        )
    check_value(found[0], right.reshape(-1), "losses", mean, rtol=1e-3, atol=1e-5)
    slips = {
        "those of the last batch alone; they are added up": "last",
        "the scores from before the step are compared, as in the chatty loop": "after",
    }
    others = {words: torch.tensor(_truth(case, clip=clip)[1]) for words, clip in slips.items()}
    check_value(found[1], torch.tensor(hits), "hits", others)
    if outcome["syncs"]:
        names = ", ".join(f"{name} {count} times" for name, count in outcome["syncs"].items())
        raise AssertionError(f"the host waited for the device: {names}")
    assert not outcome["graph"], "losses keeps the graph of every step alive: detach"
    modes = _modes(_task(case)[0])
    assert outcome["modes"] == modes, "the model, or a part of it, is in another mode than before"


def _near(mine: list, right: list, close: tuple[float, float]) -> bool:
    return all(torch.allclose(a, b, *close) for a, b in zip(mine, right, strict=True))
