"""Exports to ONNX in half the time: the exporter's table of operators, made once for a process."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Generator
from typing import Any

_TABLES: dict[tuple, Any] = {}


@contextlib.contextmanager
def one_table() -> Generator[None]:
    """In this block each export gets a copy of one table of operators.

    ``torch.onnx.export`` reads five hundred functions' sources for its table, each time. Where
    another version of PyTorch has it elsewhere, nothing is different but the time.
    """
    try:
        from torch.onnx._internal.exporter._registration import ONNXRegistry

        made = vars(ONNXRegistry)["from_torchlib"]
    except (ImportError, KeyError):
        yield
        return

    def from_torchlib(cls: type, *arguments: Any, **named: Any) -> Any:
        key = (cls, arguments, *sorted(named.items()))
        if key not in _TABLES:
            _TABLES[key] = made.__get__(None, cls)(*arguments, **named)
        table = copy.copy(_TABLES[key])
        table.functions = {name: list(ways) for name, ways in table.functions.items()}
        return table

    name = "from_torchlib"
    setattr(ONNXRegistry, name, classmethod(from_torchlib))
    try:
        yield
    finally:
        setattr(ONNXRegistry, name, made)
