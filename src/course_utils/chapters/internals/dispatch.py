"""Which kernels a call goes through, read from the dispatcher's own table and key sets."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from course_utils import check_predictions
from course_utils.learner.tracebacks import ends_in_notebook

# A kernel under one of these calls the operator again, with what comes below it in the order.
_PASSES_ON = ("Autocast", "Autograd", "ADInplaceOrView", "BackendSelect")


class Stop(NamedTuple):
    """A kernel that a call goes through.

    Attributes:
        key: the dispatch key, such as ``"AutogradCPU"``.
        kind: what the table says of the kernel, such as ``"autograd kernel"``.
        file: the name of the source file that registered it.
    """

    key: str
    kind: str
    file: str


def keys_of(*values: Any) -> list[str]:
    """The dispatch keys of a call with these arguments, in the order in which they are asked.

    The keys of all tensors together, with what the thread adds and takes away (``no_grad``,
    ``inference_mode``, ``autocast``).
    """
    keys = torch._C._dispatch_tls_local_include_set()
    for leaf in tree_leaves(values):
        if isinstance(leaf, torch.Tensor):
            keys = keys | torch._C._dispatch_keys(leaf)
    keys = keys - torch._C._dispatch_tls_local_exclude_set()
    found = []
    while str(keys.highestPriorityTypeId()).rsplit(".", 1)[-1] != "Undefined":
        key = keys.highestPriorityTypeId()
        found.append(torch._C._dispatch_key_name(key))
        keys = keys.remove(key)
    return found


def table_of(operator: torch._ops.OpOverload) -> dict[str, tuple[str, str]]:
    """The operator's dispatch table: for each key what kind of entry, and the file it is from.

    A key that steps aside has the kind ``"fallthrough"``.
    """
    found = {}
    for line in torch._C._dispatch_dump_table(operator.name()).splitlines():
        match = re.fullmatch(r"(\w+): (.*) \[([^\]]*)\]", line.strip())
        if match:
            kind = "fallthrough" if match[2].startswith("fallthrough") else match[3]
            found[match[1]] = (kind, re.split(r"[/\\]", match[2])[-1].split(":")[0])
    return found


def path_of(operator: torch._ops.OpOverload, *values: Any) -> list[Stop]:
    """The kernels that ``operator(*values)`` goes through here and now, in order.

    It is read from the tables, not watched: no kernel runs. A composite kernel ends the path: the
    operators that it calls start paths of their own.
    """
    stops = []
    for key in keys_of(*values):
        kind, file = table_of(operator).get(key, ("", ""))
        if kind == "fallthrough":
            continue
        stops.append(Stop(key, kind, file))
        if not key.startswith(_PASSES_ON) or kind == "math kernel":
            break
    return stops


def _quiz() -> dict[str, tuple[list[str], str]]:
    """For each call of the exercise: the keys whose kernels run, and a word on each mistake."""
    a, aten = torch.ones(2, 2, device="cpu"), torch.ops.aten
    g, m, s = a.clone().requires_grad_(), a.to("meta"), a.to_sparse()
    here = "the key says what kind of tensor it is, not whether something is recorded"
    found = {
        "torch.mul(a, b)": (path_of(aten.mul.Tensor, a, a), here),
        "torch.mul(m, m)": (path_of(aten.mul.Tensor, m, m), "the device is in two of the keys"),
        "torch.mul(s, s)": (path_of(aten.mul.Tensor, s, s), "the layout is in the last key alone"),
        "a.mul_(b)": (path_of(aten.mul_.Tensor, a, a), "it writes in place: a version is counted"),
        "a.view(4)": (path_of(aten.view.default, a, [4]), "a view notes its base"),
        "torch.matmul(a, b)": (
            path_of(aten.matmul.default, a, a),
            "a composite kernel calls other operators; its path ends at the first key",
        ),
    }
    with torch.no_grad():
        path = path_of(aten.mul.Tensor, g, a)
        found["torch.mul(g, b), under no_grad"] = (path, "no_grad is a flag; the path stays")
    with torch.inference_mode():
        path = path_of(aten.mul.Tensor, g, a)
        found["torch.mul(g, b), under inference_mode"] = (path, "it takes a key out")
    with torch.autocast("cpu"):
        path = path_of(aten.mm.default, a, a)
        cast = "products are cast to a lower precision, and autograd records these casts too"
        found["torch.mm(a, b), under autocast"] = (path, cast)
        path = path_of(aten.relu.default, a)
        found["torch.relu(a), under autocast"] = (path, "autocast leaves relu alone")
    return {name: ([stop.key for stop in stops], words) for name, (stops, words) in found.items()}


@ends_in_notebook
def check_paths(answer: Any) -> None:
    """Check the predicted paths: keys in order, in one string, whatever is between them."""
    __tracebackhide__ = True
    with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
        right = _quiz()
    if isinstance(answer, dict):
        answer = {
            name: " ".join(re.findall(r"\w+", value)) if isinstance(value, str) else value
            for name, value in answer.items()
        }
    because = {name: words for name, (_, words) in right.items()}
    for name, found in answer.items() if isinstance(answer, dict) else ():
        if isinstance(found, (list, tuple)):
            because[name] = 'the keys go into one string, such as "AutogradCPU CPU"'
    check_predictions(answer, {name: " ".join(keys) for name, (keys, _) in right.items()}, because)
