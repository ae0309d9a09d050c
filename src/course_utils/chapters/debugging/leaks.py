"""Exercise 15.7: trainings, some of which keep what they should let go."""

from __future__ import annotations

import gc
import re
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn as nn

from course_utils.learner.checks import check_equal
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


def neighbours(thing: Any) -> list:
    """What a thing refers to: entries, attributes, closures, hooks; for a tensor also its graph.

    A NumPy array is handed out as a tensor that shares its memory, made for this call.
    """
    skipped = (type, types.ModuleType, types.FrameType, types.TracebackType, types.CodeType)
    if hasattr(thing, "next_functions"):  # a node of a graph
        found = [node for node, _ in thing.next_functions]
    elif isinstance(thing, torch.Tensor):
        found = [thing.grad_fn, thing.grad if thing.is_leaf else None, vars(thing)]
    elif isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        found = [*cells, *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
    else:
        found = gc.get_referents(thing)
    found = [entry for entry in found if entry is not None and not isinstance(entry, skipped)]
    return [torch.from_numpy(entry) if _is_numbers(entry) else entry for entry in found]


def _is_numbers(thing: Any) -> bool:
    return isinstance(thing, np.ndarray) and thing.dtype.kind in "fi" and thing.flags.writeable


def counts(thing: Any) -> bool:
    """Tensors count, and so do nodes of a graph."""
    return isinstance(thing, torch.Tensor) or hasattr(thing, "next_functions")


class Holder:
    """An object with attributes."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def make_training(leak: str) -> tuple[Callable[[], None], dict[str, Any], list]:
    """A step, the suspects (a model, an optimizer, and what the leak needs), and its calls."""
    first = nn.Linear(3, 2)
    model = nn.Sequential(first, nn.Tanh(), nn.Linear(2, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    log, many, calls, recent = [], [], [], deque(maxlen=2)
    book: dict[int, tuple] = {}
    chain, held = log, torch.ones(2)
    for _ in range(3000 if leak == "a long chain" else 0):
        chain = [chain]
    meter: Any = Holder(total=0.0, last=None)
    if leak == "a graph that grows longer":
        meter.total = first.bias.sum()
    rows: list = [[np.ones(2)] for _ in range(9)]
    nested: list = []
    innermost = nested
    carrier: Any = torch.ones(2)
    carrier.log = log
    ring: Any = Holder(log=log)
    ring.me = ring
    if "a list that empties" in leak:
        log += [torch.ones(2) for _ in range(9)]

    def hold(x: torch.Tensor, loss: torch.Tensor) -> None:
        nonlocal innermost
        if leak == "arrays":
            rows.append([np.ones(2)])
            innermost += [np.ones(2), []]
            innermost = innermost[-1]
        if leak == "a list of losses":
            log.append(loss)
        if leak in ("two sizes", "a long chain", "a list on a tensor", "one list by two names") or (
            {"one in three steps": 4, "one in the third step": 3}.get(leak) == len(calls)
        ):
            log.append(loss.detach())
        if leak == "weights by other names":
            log.append(first.weight.detach())
        if leak == "copies of the weights":
            log.append(nn.Parameter(first.weight.detach().clone()))
        if leak == "two sizes":
            many.extend([loss.detach(), loss.detach()])
        if leak == "a tensor that holds itself" and len(calls) == 3:
            carrier.me = carrier
        if leak == "the same again":
            log.append(held)
        if "a list that empties" in leak:
            log.pop()
        if leak == "a list that empties, and one that grows" and len(calls) == 3:
            many.append(held)
        if leak == "a sum of losses":
            meter.total = meter.total + loss
        if leak == "a hook in every step":
            model[1].register_forward_hook(lambda *_: x.sum() and None)
        if leak in ("a window of two", "two leaks"):
            recent.append(loss.detach())
        if leak == "pairs in a dict":
            book[len(calls)] = ([loss.detach()], "loss")
        if leak == "a tensor that grows":
            meter.total = torch.cat([torch.as_tensor(meter.total).view(-1), loss.detach()[None]])
        if leak == "numbers":
            log.append(loss.item())
        if leak in ("callbacks", "two leaks"):
            log.append(lambda: x)
        if leak == "a graph that grows longer":
            meter.total = meter.total * 2
        if leak == "the last one":
            meter.last = loss
        if leak == "a circle":
            ring.next = Holder(before=getattr(ring, "next", ring), x=x)

    def step() -> None:
        calls.append(1)
        x = torch.ones(4, 3, device=device)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hold(x, loss)

    needed = {
        "a list of losses": {"log": log},
        "a list that empties": {"log": log},
        "a list that empties, and one that grows": {"log": log, "many": many},
        "a sum of losses": {"meter": meter},
        "a graph that grows longer": {"meter": meter},
        "numbers": {"log": log},
        "pairs in a dict": {"book": book},
        "two sizes": {"log": log, "many": many},
        "one in three steps": {"log": log},
        "one in the third step": {"log": log},
        "a list on a tensor": {"carrier": carrier},
        "a tensor that holds itself": {"carrier": carrier},
        "one list by two names": {"log": log, "again": log},
        "weights by other names": {"log": log},
        "copies of the weights": {"log": log},
        "the same again": {"log": log},
        "a tensor that grows": {"meter": meter},
        "a long chain": {"chain": chain},
        "a window of two": {"recent": recent},
        "callbacks": {"log": log},
        "the last one": {"meter": meter},
        "a circle": {"ring": ring},
        "arrays": {"nested": nested, "rows": rows},
        "two leaks": {"ring": ring, "recent": recent, "log": log},
    }
    suspects = {"model": model, "optimizer": optimizer, **needed.get(leak, {})}
    return step, suspects if leak != "nobody is suspected" else {}, calls


def hunt_leaks(leak_hunt: Callable, leak: str) -> tuple:
    """What ``leak_hunt`` says of a training, and how often it called ``step()``.

    Raises:
        AssertionError: it changed the dict of suspects, or called itself too deep.
    """
    step, suspects, calls = make_training(leak)
    before = dict(suspects)
    try:
        answer = leak_hunt(step, suspects)
    except RecursionError as error:
        words = "RecursionError: calls can't be nested as deep; keep a list of what to do"
        raise AssertionError(words) from error
    except RuntimeError as error:
        if re.search("size of tensor|Boolean value of Tensor", str(error)):
            words = f"RuntimeError: {error} (`in` and == compare elements: know a thing by its id)"
            raise AssertionError(words) from error
        raise
    names = [*before]
    assert [*suspects] == names, f"the dict of suspects was changed: it had {names}"
    others = [name for name in names if suspects[name] is not before[name]]
    assert not others, f"the dict of suspects was changed: it has other values for {others}"
    return answer, len(calls)


# Leaks of a thing or two in a step: as cases of the check.
SMALL_LEAKS = [
    ("one in three steps", ["log"], "a single thing more is more"),
    ("one in the third step", ["log"], "it is there at step 5, not at step 2: count then"),
    ("a list that empties, and one that grows", ["many"], "count for each suspect, not for all"),
    ("pairs in a dict", ["book"], "a suspect may be a dict, and hold tuples: follow any thing"),
    ("weights by other names", ["log"], "tensors that share their memory are different things"),
    ("copies of the weights", ["log"], "a parameter is a tensor, and counts"),
    ("a tensor that grows", [], "it is one thing, however many numbers it holds"),
    ("nobody is suspected", [], "an empty dict, for which step() runs all the same"),
    ("one list by two names", ["log", "again"], "count for each name, whatever it is a name of"),
    ("a tensor that holds itself", [], "from step 3 on; the suspect itself counts before, too"),
    ("a list on a tensor", ["carrier"], "a tensor has attributes, too: follow its neighbours"),
]


@ends_in_notebook
def check_leaks(outcome: tuple, right: list[str], because: str) -> None:
    """Check the names that a hunt for leaks gave, and how often it called ``step()``.

    Args:
        outcome: what it gave, and its calls.
        right: the names of what leaks, in order.
        because: words for who missed one, or, where nothing leaks, for who named one.

    Raises:
        AssertionError: it gave other names, or did not call ``step()`` five times.
    """
    __tracebackhide__ = True
    answer, calls = outcome
    assert calls or answer is not None, "it returned None: is there an answer yet?"
    check_equal(calls, 5, "calls of step()", "two to warm up, three between the counts")
    names = isinstance(answer, (list, tuple)) and all(isinstance(name, str) for name in answer)
    assert names, f"{answer!r}, expected a list of names"
    same = sorted(answer) == sorted(right)
    explained = not right or not set(right) <= set(answer)
    why = "the names in the dict's order" if same else because if explained else ""
    check_equal([*answer], right, "the answer", why)
