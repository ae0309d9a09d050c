"""Plain values between the judge and an answer: JSON for the structure, raw bytes for tensors.

Nothing is unpickled: what arrives is rebuilt from numbers and names, by exact type, or refused. A
tensor travels with its layout, and its storage with it, so that two tensors which share memory on
one side share memory on the other.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import importlib
import json
import math
import socket
import struct
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, BinaryIO

import numpy as np
import torch

# Frames larger than this are refused before they are read: they come from untrusted code.
MOST_BYTES = 256 * 2**20
# Of the JSON in a frame: small things in it become large ones.
MOST_TEXT = 16 * 2**20
DEEPEST = 60
MOST_FIELDS = 50  # of a named tuple
LONGEST_NAME = 60
HEADER = struct.Struct("!II")
NUMBERS = frozenset(np.dtype(code).type for code in "?bhilqBHILQefd")
DTYPES = {str(value): value for value in vars(torch).values() if isinstance(value, torch.dtype)}


class WireError(Exception):
    """What arrived is no message, or describes no value."""


class Gone(WireError):
    """The other side has closed the connection."""


def pack(message: Any, blobs: list[bytes]) -> bytes:
    """One message as it is sent: a JSON value and byte strings that it refers to by number."""
    text = json.dumps([message, [len(blob) for blob in blobs]]).encode()
    data = b"".join(blobs)
    if len(text) > MOST_TEXT or len(text) + len(data) > MOST_BYTES:
        raise WireError(f"a message of {len(text) + len(data)} bytes is too long")
    return HEADER.pack(len(text), len(data)) + text + data


def send(connection: socket.socket, message: Any, blobs: list[bytes]) -> None:
    """Send one message; see ``pack``."""
    try:
        connection.sendall(pack(message, blobs))
    except OSError as error:
        raise Gone("the other side has gone") from error


def receive(stream: BinaryIO) -> tuple[Any, list[bytes]]:
    """Wait for one message on a socket's ``makefile("rb")``.

    Raises:
        Gone: the other side closed the connection.
        WireError: it is malformed or too long.
    """
    text_length, data_length = HEADER.unpack(_read(stream, HEADER.size))
    if text_length > MOST_TEXT or text_length + data_length > MOST_BYTES:
        raise WireError(f"a message of {text_length + data_length} bytes is too long")
    text, data = _read(stream, text_length), _read(stream, data_length)
    try:
        message, lengths = json.loads(text)
        if any(type(length) is not int or length < 0 for length in lengths):
            raise ValueError("a length is no number")
        if sum(lengths) != data_length:
            raise ValueError("the lengths do not add up")
    except (ValueError, TypeError, RecursionError) as error:
        raise WireError(f"malformed message: {error}") from None
    blobs, start = [], 0
    for length in lengths:
        blobs.append(data[start : start + length])
        start += length
    return message, blobs


def _read(stream: BinaryIO, count: int) -> bytes:
    try:
        content = stream.read(count)
    except OSError as error:
        raise Gone("the other side has gone") from error
    if len(content) < count:
        raise Gone("the other side has gone")
    return content


def storage_bytes(storage: torch.UntypedStorage) -> bytes:
    """A CPU storage's content."""
    return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""


def fill_storage(storage: torch.UntypedStorage, content: bytes) -> None:
    """Write ``content``, of the storage's own length, into a CPU storage."""
    if storage.nbytes() != len(content):
        raise WireError(f"{len(content)} bytes for a storage of {storage.nbytes()}")
    if content:
        ctypes.memmove(storage.data_ptr(), content, len(content))


def new_storage(content: bytes) -> torch.UntypedStorage:
    """A CPU storage that holds ``content``."""
    storage = torch.UntypedStorage(len(content))
    fill_storage(storage, content)
    return storage


def state_bytes(generator: torch.Generator) -> bytes:
    """The state of a CPU generator."""
    return storage_bytes(generator.get_state().untyped_storage())


def set_state(generator: torch.Generator, state: bytes) -> None:
    """Bring a CPU generator into a state.

    Raises:
        WireError: it is none.
    """
    try:
        generator.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    except (RuntimeError, ValueError) as error:
        raise WireError("no state of a random generator") from error


def layout_of(tensor: torch.Tensor) -> list:
    """Size, stride, offset in elements, and the dtype's name."""
    return [list(tensor.shape), list(tensor.stride()), tensor.storage_offset(), str(tensor.dtype)]


def lay_out(storage: torch.UntypedStorage, layout: list) -> torch.Tensor:
    """A tensor over ``storage``.

    Raises:
        WireError: the layout is malformed or reaches outside the storage.
    """
    try:
        size, stride, offset, name = layout
        dtype = DTYPES[name]
        numbers = [*size, *stride, offset]
        if len(size) != len(stride) or any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError("sizes and strides are not whole numbers from 0, one for each dim")
        if name.startswith("torch.q"):
            raise ValueError("quantized numbers")
        empty = 0 in size
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if not empty and (last + 1) * dtype.itemsize > storage.nbytes():
            raise ValueError("it reaches outside its storage")
        if empty and offset * dtype.itemsize > storage.nbytes():
            offset = 0
        return torch.empty(0, dtype=dtype).set_(storage, offset, tuple(size), tuple(stride))
    except (ValueError, TypeError, KeyError, RuntimeError, OverflowError) as error:
        raise WireError(f"no tensor: {error}") from None


@dataclass
class Storages:
    """The storages that one exchange of messages has named so far, by number, on this side."""

    known: list[torch.UntypedStorage] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)

    def add(self, storage: torch.UntypedStorage, content: bytes) -> int:
        self.known.append(storage)
        self.contents.append(content)
        return len(self.known) - 1

    def find(self, storage: torch.UntypedStorage) -> tuple[int, int] | None:
        """The number of the storage that ``storage`` lies in, and where in it, in bytes.

        Addresses are compared: a tensor that went through NumPy has another storage object over
        the same bytes.
        """
        start, length = storage.data_ptr(), storage.nbytes()
        for number, known in enumerate(self.known):
            begin = known.data_ptr() - start
            if storage is known or (length and begin <= 0 and length - begin <= known.nbytes()):
                return number, -begin
        return None


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
        storages: those that both sides know already; new ones are added.
        same: tensors that both sides know already, in the order in which they travelled.
        handle: makes the number of a handle for a value that cannot travel; what it raises goes
            to the caller.
    """

    def __init__(
        self, storages: Storages, same: list[torch.Tensor], handle: Callable[[Any], list]
    ) -> None:
        self.storages, self.same, self.handle = storages, same, handle
        self.blobs: list[bytes] = []
        self.sent: list[torch.Tensor] = []
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
        for number, known in enumerate([*self.same, *self.sent]):
            if known is tensor:
                return ["same", number]
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            plain = plain_tensor(tensor)
            if plain is None:
                return self.handle(tensor)
            storage, blob = plain.untyped_storage(), None
            number, start = self.storages.find(storage) or (None, 0)
            if start % plain.element_size():
                return self.handle(tensor)
            if number is None:
                content = storage_bytes(storage)
                number, blob = self.storages.add(storage, content), self.add_blob(content)
            size, stride, offset, dtype = layout_of(plain)
            layout = [size, stride, offset + start // plain.element_size(), dtype]
            nameable = type(tensor) is torch.Tensor
            if nameable:
                self.sent.append(tensor)
            # The base's property, whatever a subclass says; its stub calls it a bool.
            own = torch.Tensor.requires_grad.__get__  # ty: ignore[missing-attribute]
            requires_grad = bool(own(tensor))
            return ["tensor", number, blob, layout, requires_grad, nameable]


def plain_tensor(tensor: torch.Tensor) -> torch.Tensor | None:
    """An ordinary tensor over the same memory; None where there is no such memory."""
    try:
        plain = torch.Tensor.detach(tensor)
        if type(plain) is not torch.Tensor:
            plain = plain.as_subclass(torch.Tensor)
        ordinary = plain.layout is torch.strided and plain.device.type == "cpu"
        if not ordinary or plain.is_nested or plain.is_quantized or str(plain.dtype) not in DTYPES:
            return None
        plain = plain.resolve_conj().resolve_neg()
        plain.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # of a class that only wraps other tensors
        return None
    return plain


def _exactly(base: type, value: Any) -> Any:
    """A value of a subclass of ``int``, ``float`` or ``str`` as the plain value inside it."""
    if base is int:
        return int.__add__(value, 0)
    return float.__add__(value, 0.0) if base is float else str.__add__(value, "")


class Decoder:
    """Turns a message back into values.

    Args:
        blobs: the byte strings that came with it.
        storages: those that both sides know already; new ones are added.
        same: tensors that both sides know already.
        handle: makes something of a handle.
    """

    def __init__(
        self,
        blobs: list[bytes],
        storages: Storages,
        same: list[torch.Tensor],
        handle: Callable[[list], Any],
    ) -> None:
        self.blobs, self.storages, self.same, self.handle = blobs, storages, same, handle
        self.received: list[torch.Tensor] = []
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
        return [*self.same, *self.received][_index(number)]

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

    def _tensor(self, number, blob, layout, requires_grad, nameable):
        if blob is not None:
            if number != len(self.storages.known):
                raise WireError("storages out of order")
            content = self.blobs[_index(blob)]
            self.storages.add(new_storage(content), content)
        tensor = lay_out(self.storages.known[_index(number)], layout)
        if requires_grad is True:
            tensor.requires_grad_()
        if nameable:
            self.received.append(tensor)
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
