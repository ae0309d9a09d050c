"""The way of a data set into a spawned worker."""

from __future__ import annotations

import io
import pickle
from typing import Any


def through_pickle(thing: Any) -> Any:
    """A copy of ``thing`` as a spawned worker would get it.

    Classes and functions that a notebook defines at its top go by reference, as if they stood in a
    module; local functions and lambdas can't be pickled.

    Raises:
        Exception: whatever pickle raises for what can't be pickled.
    """
    known: dict[str, Any] = {}

    class Pickler(pickle.Pickler):
        def persistent_id(self, part):
            name = getattr(part, "__qualname__", "<none>")
            if getattr(part, "__module__", "") != "__main__" or "<" in name:
                return None
            known[name] = part
            return name

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, name):
            return known[name]

    buffer = io.BytesIO()
    Pickler(buffer).dump(thing)
    buffer.seek(0)
    return Unpickler(buffer).load()
