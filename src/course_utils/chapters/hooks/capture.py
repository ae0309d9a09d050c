"""Exercise 7.2: outputs that forward hooks capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.chapters.hooks.counting import Network, bystander, hooks_on
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.checks import check_close, check_equal
from course_utils.learner.tracebacks import ends_in_notebook


def run_capture(
    capture: Callable, network: Network, names: list[str], x: Tensor, goes_wrong: bool, grad: bool
) -> dict:
    """What ``capture`` saw of one call, what was raised, and what is left behind."""
    found: dict[str, Any] = {"error": "", "words": ""}
    seen = None
    network.stem.register_forward_hook(bystander)
    network.block.eval()
    network.head.bias.requires_grad_(False)
    network.head.weight.grad = torch.ones_like(network.head.weight)
    watched = forbid_side_effects(network, but=("hooks",)).__enter__()
    given = [*names]
    try:
        manager = capture(network, given)
        if not hasattr(manager, "__enter__"):
            return found | {"error": "no manager", "words": f"capture returned {manager!r}"}
        with manager as seen, torch.set_grad_enabled(grad):
            y = network(x)
            found["output"], found["flows"] = y.detach().clone(), _flows(network, y)
            if goes_wrong:
                raise ZeroDivisionError("on purpose")
    except Exception as caught:
        found |= {"error": type(caught).__name__, "words": str(caught)}
    network(2 * x)  # outside the block
    if isinstance(seen, dict):
        found["bytes"] = {
            name: [t.untyped_storage().nbytes() for t in some if isinstance(t, Tensor)]
            for name, some in seen.items()
            if isinstance(some, list)
        }
        seen = dict(seen)
    changed = watched.changes() + ["the caller's list of names was changed"] * (given != names)
    return found | {"seen": seen, "hooks": hooks_on(network), "changed": changed}


def _flows(network: nn.Module, y: Tensor) -> bool:
    """Whether y's gradient reaches every parameter that asks for one."""
    asking = [one for one in network.parameters() if one.requires_grad]
    found = torch.autograd.grad(y.sum(), asking, allow_unused=True) if y.requires_grad else (None,)
    return all(gradient is not None for gradient in found)


def _captured(network: Network, x: Tensor) -> dict[str, list[Tensor]]:
    """What each module of the chapter's network puts out, call by call."""
    with torch.no_grad():
        stem = network.stem(x)
        leaky = F.leaky_relu(stem, 0.1)
        crop = leaky[:, :6]
        first = network.block(crop)
        blocks = [first, network.block(first)]
        head = network.head(blocks[1])
        inner = [network.block[0](h) for h in (crop, first)]
    return {"stem": [stem], "leaky": [leaky], "crop": [crop], "block": blocks, "block.0": inner} | {
        "head": [head],
        "": [head],
    }


@ends_in_notebook
def check_capture(
    trial: Callable,
    network: nn.Module,
    names: list[str],
    x: Tensor,
    goes_wrong: bool = False,
    grad: bool = True,
) -> None:
    """Check what ``capture`` saw of one call of the network."""
    __tracebackhide__ = True
    truth, found = _captured(network, x), trial(names, x, goes_wrong, grad)
    assert found["error"] != "no manager", f"{found['words']}, no context manager"
    told = f"{found['error']} came out of the block ({found['words']})"
    told += "; inputs passed by keyword are not in args" * (found["error"] == "IndexError")
    if goes_wrong and not found["error"]:
        told = "the exception was swallowed: __exit__ returned True, or an except caught it"
    assert found["error"] == ("ZeroDivisionError" if goes_wrong else ""), told
    seen = found["seen"]
    assert isinstance(seen, dict), f"the block was given {seen!r}, expected a dict of lists"
    check_equal(sorted(seen), sorted(names), "the keys of seen")
    for name in names:
        _check_outputs(name, seen[name], truth[name], found["bytes"].get(name, []))
    check_close(found["output"], truth[""][0], "what the model puts out inside the block")
    kept = "a hook's return value replaces the output. Return nothing, and detach a copy"
    assert found["flows"] == grad, f"the model's own output has lost its graph: {kept}"
    check_equal(found["hooks"], {"stem": 1}, "hooks left", "one on stem, which is not yours")
    assert not found["changed"], "; ".join(found["changed"])


@ends_in_notebook
def _check_outputs(name: str, outputs: Any, truth: list[Tensor], sizes: list[int]) -> None:
    __tracebackhide__ = True
    assert isinstance(outputs, list), f"seen[{name!r}] is no list, with one entry for each call"
    why = "one for each call inside the block, and none after it"
    check_equal(len(outputs), len(truth), f"the length of seen[{name!r}]", why)
    for number, (output, right) in enumerate(zip(outputs, truth, strict=True)):
        if isinstance(output, Tensor) and output.shape == right.shape:
            later = "as it is after the activation in place: detach() shares the memory"
            leaked = torch.equal(output, F.leaky_relu(right, 0.1))
            leaked = leaked and not torch.equal(output, right)
            assert not leaked, f"seen[{name!r}] is not what the module returned, but {later}"
        check_close(output, right, f"seen[{name!r}]")
        assert not output.requires_grad, f"seen[{name!r}] hangs on the graph: detach it"
        held, need = sizes[number], right.numel() * right.element_size()
        small = f"its {need} bytes lie in a storage of {held}: keep a copy of these alone"
        assert held <= need, f"seen[{name!r}]: {small}"


@ends_in_notebook
def check_unknown_name(trial: Callable, network: nn.Module, x: Tensor) -> None:
    """Check that ``capture`` refuses a name that the network doesn't have."""
    __tracebackhide__ = True
    known = ", ".join(map(repr, dict(network.named_modules())))
    for name in ("nose", "training", "forward", "stem.weight", "block.nose", "Head"):
        found = trial(["head", name], x, False, True)
        told = f"raised {found['error'] or 'nothing'}, expected a KeyError: the names are {known}"
        assert found["error"] == "KeyError", f"{name!r} is no module's name: {told}"
        check_equal(found["hooks"], {"stem": 1}, "hooks left", "one on stem, which is not yours")
