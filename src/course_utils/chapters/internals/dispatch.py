"""Which kernels a call goes through, read from the dispatcher's own table and key sets."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

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
