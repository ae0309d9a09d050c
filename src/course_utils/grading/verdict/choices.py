"""What an answer chose by itself: texts that no message about a hidden test may hold."""

from __future__ import annotations

import builtins
import contextlib
import types
from collections.abc import Generator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

# Of a result, that are looked at for what a message could quote.
MOST_LEAVES = 1000
# Shorter texts hold nothing that would matter.
SHORT = 3
KNOWN_TYPES = frozenset(
    name
    for module in (builtins, types, torch, torch.nn)
    for name, value in vars(module).items()
    if isinstance(value, type)
) | {"function", "builtin_function_or_method", "method", "generator", "module"}


def containers(value: Any) -> Generator[tuple | list | dict]:
    """A value, and what it holds, as far as these are tuples, lists and dicts."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (tuple, list, dict)):
            yield part
            waiting += part.values() if isinstance(part, dict) else part


def chosen_by(result: Any, stand_in: type) -> set[str]:
    """What a message could quote of a result beyond a number: class names, shapes, long texts.

    Args:
        result: what a call of an answer returned, as the judge has it.
        stand_in: the class of what stays in the answer's process.
    """
    leaves = tree_leaves(result)
    chosen = set()
    for leaf in leaves[:MOST_LEAVES]:
        if isinstance(leaf, torch.Tensor):
            chosen.add(f"shape {tuple(leaf.shape)}")
        elif isinstance(leaf, stand_in):
            chosen |= {type(leaf).__name__, repr(leaf)} - KNOWN_TYPES
        elif isinstance(leaf, (str, bytes)) or (type(leaf) is int and leaf.bit_length() > 64):
            with contextlib.suppress(ValueError):  # a number too long to be written is not quoted
                chosen |= {repr(leaf), str(leaf)}
    if len(leaves) <= MOST_LEAVES:
        for part in containers(result):
            if all(isinstance(leaf, (str, int, float)) for leaf in tree_leaves(part)):
                with contextlib.suppress(ValueError):
                    chosen.add(repr(part))
    return {text for text in chosen if len(text) > SHORT}
