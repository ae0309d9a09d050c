"""Tensors' memory: storages, what lies in them, and how tensors are laid out over them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import torch

from course_utils.grading.verdict.wire import WireError

DTYPES = {str(value): value for value in vars(torch).values() if isinstance(value, torch.dtype)}


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


def differing(before: list, now: list) -> list[list]:
    """Number and new value of each entry that is not what it was."""
    pairs = enumerate(zip(before, now, strict=True))
    return [[number, new] for number, (old, new) in pairs if old != new]
