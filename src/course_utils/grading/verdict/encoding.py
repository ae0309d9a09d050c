"""Values as JSON and byte strings, and back.

Nothing is unpickled: what arrives is rebuilt from numbers and names, by exact type, or refused. A
tensor travels with its layout, and its storage with it, so that two tensors which share memory on
one side share memory on the other.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import math
from collections import namedtuple
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from course_utils.grading.verdict.known import Known
from course_utils.grading.verdict.memory import (
    DTYPES,
    lay_out,
    layout_of,
    new_storage,
    plain_tensor,
    set_state,
    state_bytes,
    storage_bytes,
)
from course_utils.grading.verdict.wire import WireError

DEEPEST = 60
MOST_FIELDS = 50  # of a named tuple
LONGEST_NAME = 60
NUMBERS = frozenset(np.dtype(code).type for code in "?bhilqBHILQefd")


def fields_of(value: Any) -> list[str]:
    """The names of a named tuple's fields, or of a result such as ``torch.max``'s; else none."""
    fields = getattr(type(value), "__match_args__", None) if isinstance(value, tuple) else None
    if not isinstance(fields, tuple) or len(fields) != tuple.__len__(value):
        return []
    try:
        named_tuple(type(value).__name__, fields)
    except WireError:
        return []
    return list(fields)


@lru_cache(maxsize=100)
def named_tuple(name: str, fields: tuple[str, ...]) -> type:
    """A class of named tuples.

    Raises:
        WireError: these are no names for it.
    """
    for text in (name, *fields):
        if not isinstance(text, str) or not text.isascii() or len(text) > LONGEST_NAME:
            raise WireError(f"no name: {text!r:.80}")
    if len(fields) > MOST_FIELDS:
        raise WireError(f"{len(fields)} fields")
    try:
        return namedtuple(name, fields)
    except ValueError as error:
        raise WireError(f"no named tuple: {error}") from None


class Encoder:
    """Turns values into a message.

    Args:
        known: the storages and tensors that both sides know already; new ones are added.
        handle: makes the number of a handle for a value that cannot travel; what it raises goes
            to the caller.
    """

    def __init__(self, known: Known, handle: Callable[[Any], list]) -> None:
        self.known, self.handle = known, handle
        self.blobs: list[bytes] = []
        self.generators: list[torch.Generator] = []

    def add_blob(self, content: bytes) -> int:
        """The number of a byte string that is sent along."""
        self.blobs.append(content)
        return len(self.blobs) - 1

    def encode(self, value: Any, depth: int = 0) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str, float):
            return value
        if depth > DEEPEST:
            return self.handle(value)
        # By the exact base class's own methods: a subclass's may say anything.
        if kind is torch.Tensor or issubclass(kind, torch.Tensor):
            return self._tensor(value)
        if issubclass(kind, torch.Size):
            return ["size", [int(n) for n in tuple.__iter__(value)]]
        if fields := fields_of(value):
            entries = [self.encode(entry, depth + 1) for entry in tuple.__iter__(value)]
            return ["named", kind.__name__, fields, entries]
        for base, name in ((tuple, "tuple"), (list, "list"), (set, "set"), (frozenset, "set")):
            if issubclass(kind, base):
                return [name, [self.encode(entry, depth + 1) for entry in base.__iter__(value)]]
        if issubclass(kind, dict):
            items = dict.items(value)
            pairs = [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in items]
            return ["dict", pairs]
        return self._rare(value, kind)

    def _rare(self, value: Any, kind: type) -> Any:
        if value is ...:
            return ["ellipsis"]
        if kind is complex:
            return ["complex", value.real, value.imag]
        if kind is bytes:
            return ["bytes", base64.b64encode(value).decode()]
        if kind is torch.dtype:
            return ["dtype", str(value)]
        if kind is torch.device:
            return ["device", str(value)]
        if kind is range:
            return ["range", value.start, value.stop, value.step]
        if kind is slice:
            return ["slice", *map(self.encode, (value.start, value.stop, value.step))]
        for base in (int, float, str):
            if issubclass(kind, base) and kind not in NUMBERS:
                return _exactly(base, value)
        if kind in NUMBERS:
            return ["number", str(value.dtype), self.encode(np.generic.item(value))]
        if kind is np.ndarray and value.dtype.type in NUMBERS:
            blob = self.add_blob(np.ascontiguousarray(value).tobytes())
            return ["array", str(value.dtype), list(value.shape), blob]
        if kind is torch.Generator and value.device.type == "cpu":
            return self._generator(value)
        return self.handle(value)

    def _generator(self, generator: torch.Generator) -> Any:
        for number, known in enumerate(self.generators):
            if known is generator:
                return ["same_generator", number]
        self.generators.append(generator)
        return ["generator", self.add_blob(state_bytes(generator))]

    def _tensor(self, tensor: torch.Tensor) -> Any:
        same = self.known.number_of(tensor)
        if same is not None:
            return ["same", same]
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            plain = plain_tensor(tensor)
            if plain is None:
                return self.handle(tensor)
            storage, blob = plain.untyped_storage(), None
            number, start = self.known.storages.find(storage) or (None, 0)
            if start % plain.element_size():
                return self.handle(tensor)
            if number is None:
                content = storage_bytes(storage)
                number = self.known.storages.add(storage, content)
                blob = self.add_blob(content)
            self.known.mentioned.add(number)
            size, stride, offset, dtype = layout_of(plain)
            layout = [size, stride, offset + start // plain.element_size(), dtype]
            # The base's property, whatever a subclass says; its stub calls it a bool.
            own = torch.Tensor.requires_grad.__get__  # ty: ignore[missing-attribute]
            requires_grad = bool(own(tensor))
            nameable = type(tensor) is torch.Tensor
            if nameable:
                self.known.name(tensor, number, requires_grad)
            is_view = bool(torch.Tensor._is_view(tensor))
            return ["tensor", number, blob, layout, requires_grad, nameable, is_view]


def _exactly(base: type, value: Any) -> Any:
    """A value of a subclass of ``int``, ``float`` or ``str`` as the plain value inside it."""
    if base is int:
        return int.__add__(value, 0)
    return float.__add__(value, 0.0) if base is float else str.__add__(value, "")


class Decoder:
    """Turns a message back into values.

    Args:
        blobs: the byte strings that came with it.
        known: the storages and tensors that both sides know already; new ones are added.
        handle: makes something of a handle.
    """

    def __init__(self, blobs: list[bytes], known: Known, handle: Callable[[list], Any]) -> None:
        self.blobs, self.known, self.handle = blobs, known, handle
        self.generators: list[torch.Generator] = []

    def decode(self, value: Any) -> Any:
        """The value that ``value`` describes.

        Raises:
            WireError: it describes none.
        """
        try:
            return self._decode(value)
        except WireError:
            raise
        except (
            ValueError,
            TypeError,
            LookupError,
            RuntimeError,
            OverflowError,
            MemoryError,
        ) as error:
            raise WireError(f"no value: {error}") from None

    def _decode(self, value: Any) -> Any:
        if not isinstance(value, list):
            if isinstance(value, dict):
                raise WireError("no value: an object")
            if isinstance(value, str):
                value.encode()  # half a character could not be passed on in a message
            return value
        kind, *parts = value
        return getattr(self, f"_{kind}")(*parts) if kind in KINDS else self.handle(value)

    def _same(self, number):
        named = self.known.tensors[_index(number)]
        self.known.mentioned.add(named.place)
        return named.tensor

    def _size(self, entries):
        return torch.Size(entries)

    def _tuple(self, entries):
        return tuple(self._decode(entry) for entry in entries)

    def _named(self, name, fields, entries):
        return named_tuple(name, tuple(fields))(*map(self._decode, entries))

    def _list(self, entries):
        return [self._decode(entry) for entry in entries]

    def _set(self, entries):
        return {self._decode(entry) for entry in entries}

    def _dict(self, pairs):
        return {self._decode(key): self._decode(value) for key, value in pairs}

    def _ellipsis(self):
        return ...

    def _complex(self, real, imaginary):
        return complex(real, imaginary)

    def _bytes(self, text):
        return base64.b64decode(text)

    def _dtype(self, name):
        return DTYPES[name]

    def _device(self, name):
        try:
            return torch.device(name)
        except RuntimeError as error:
            raise WireError(f"no device: {name!r}") from error

    def _range(self, *numbers):
        return range(*numbers)

    def _slice(self, *numbers):
        return slice(*map(self._decode, numbers))

    def _number(self, dtype, value):
        if not isinstance(value, (bool, int, float)):
            raise WireError(f"no number: {value!r:.50}")
        return _numeric(dtype).type(value)

    def _array(self, dtype, shape, blob):
        array = np.frombuffer(self.blobs[_index(blob)], dtype=_numeric(dtype))
        if math.prod(shape) != array.size:
            raise WireError("an array's bytes do not fit its shape")
        return array.reshape(shape).copy()

    def _generator(self, blob):
        generator = torch.Generator()
        set_state(generator, self.blobs[_index(blob)])
        self.generators.append(generator)
        return generator

    def _same_generator(self, number):
        return self.generators[_index(number)]

    def _tensor(self, number, blob, layout, requires_grad, nameable, is_view):
        if blob is not None:
            if number != len(self.known.storages.known):
                raise WireError("storages out of order")
            content = self.blobs[_index(blob)]
            self.known.storages.add(new_storage(content), content)
        tensor = lay_out(self.known.storages.known[_index(number)], layout)
        self.known.mentioned.add(number)
        if is_view is True:
            # Some methods in place, such as detach_, refuse a view: over here as over there.
            with torch.enable_grad():
                tensor = tensor.view_as(tensor)
        if requires_grad is True:
            tensor.requires_grad_()
        if nameable:
            self.known.name(tensor, number, requires_grad is True)
        return tensor


KINDS = frozenset(
    name[1:]
    for name in vars(Decoder)
    if name.startswith("_") and not name.startswith("__") and name != "_decode"
)


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise WireError(f"no index: {number!r}")
    return number


def _numeric(name: str) -> np.dtype:
    dtype = np.dtype(name)
    if dtype.type not in NUMBERS:
        raise WireError(f"no numbers: {name!r}")
    return dtype


def importable_name(value: Any) -> list[str] | None:
    """Module and name under which both sides can import ``value``; None if there is none."""
    simple = getattr(value, "__name__", None)
    # PyTorch's own functions do not say where they live.
    places = [
        [getattr(value, "__module__", None), getattr(value, "__qualname__", None)],
        *([module, simple] for module in ("torch", "torch.nn.functional", "torch.linalg")),
    ]
    for module, name in places:
        if isinstance(module, str) and isinstance(name, str) and module != "__main__":
            with contextlib.suppress(WireError):
                if import_name(module, name) is value:
                    return [module, name]
    return None


def import_name(module: str, name: str) -> Any:
    """The function or class of that name.

    Raises:
        WireError: there is none.
    """
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise WireError(f"nothing to import as {module}.{name}") from error
    return found
