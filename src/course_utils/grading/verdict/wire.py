"""Messages between the judge and an answer: JSON, and the byte strings that it refers to."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any, BinaryIO

# Frames larger than this are refused before they are read: they come from untrusted code.
MOST_BYTES = 256 * 2**20
# Of the JSON in a frame: small things in it become large ones.
MOST_TEXT = 16 * 2**20
HEADER = struct.Struct("!II")


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
