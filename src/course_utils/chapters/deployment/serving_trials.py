"""Exercise 19.7: what a server is sent, by people who mean well and by others."""

from __future__ import annotations

import contextlib
import io
import json
import random
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from PIL import Image

from course_utils.chapters.deployment.runtime import BUGS, Examiner
from course_utils.chapters.deployment.serving import WebServer
from course_utils.learner.servers import ServerError
from course_utils.learner.tracebacks import ends_in_notebook

DAMAGED = 120
# An answer to a body that is too long may take so long on a busy machine.
WAIT_SECONDS = 12
# Between two chunks: the server gets them one at a time.
CHUNK_SECONDS = 0.1
# What a process may grow by while it refuses a picture of 81 million pixels: they take 243 MB.
BOMB_BYTES = 60_000_000
# Two pictures that are looked at at once.
TWO_COLOURS = [(200, 30, 10), (9, 80, 7)]


def file_of(mode: str, size: tuple[int, int], kind: str = "PNG", colour: Any = None) -> bytes:
    """A picture of one colour as the bytes of a file."""
    full: dict[str, Any] = {"RGB": (200, 30, 10), "L": 90, "P": 7}
    full |= {"RGBA": (200, 30, 10, 255), "CMYK": (0, 99, 0, 0), "1": 1, "LA": (90, 255)}
    picture = Image.new(mode, size, full[mode] if colour is None else colour)
    if mode == "P":
        picture.putpalette([value for k in range(256) for value in (k, 255 - k, 40)])
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()


def noisy(kind: str) -> bytes:
    """A file with a picture that fills it: cut anywhere, it lacks pixels."""
    numbers = random.Random(19)
    picture = Image.frombytes("RGB", (48, 32), numbers.randbytes(48 * 32 * 3))
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG file of a few kilobytes, of so many grey pixels, made without making them."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        sum_ = zlib.crc32(kind + body).to_bytes(4, "big")
        return len(body).to_bytes(4, "big") + kind + body + sum_

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([1, 0, 0, 0, 0])
    packer = zlib.compressobj(9)
    row = bytes(1 + -(-width // 8))
    body = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def bad_chunk(body: bytes = b"pHYs\0\1", behind: bool = False) -> bytes:
    """A PNG file with a damaged chunk; pHYs has two bytes of nine, and Pillow raises a ValueError.

    It does so as it opens the file, or, where the chunk is behind the pixels, as it decodes them.
    """
    sound = file_of("RGB", (20, 10))
    chunk = (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    at = len(sound) - 12 if behind else 33  # in front of IEND, or after the signature and IHDR
    return sound[:at] + chunk + sound[at:]


def damaged(count: int, seed: int = 19) -> list[bytes]:
    """Files with bytes changed, cut out, doubled, or made of nothing but noise."""
    numbers = random.Random(seed)
    sound = [noisy("PNG"), noisy("JPEG"), file_of("P", (9, 9)), file_of("L", (30, 4), "JPEG")]
    files = []
    for _ in range(count):
        content = bytearray(numbers.choice(sound))
        for _ in range(numbers.randint(1, 9)):
            content[numbers.randrange(len(content))] = numbers.randrange(256)
        start = numbers.randrange(len(content))
        how = numbers.randrange(4)
        if how == 0:
            del content[start:]
        elif how == 1:
            del content[start : start + 30]
        elif how == 2:
            content += content[start:]
        else:
            content = bytearray(numbers.randbytes(numbers.randrange(200)))
        files.append(bytes(content))
    return files


def requests_of(most_bytes: int, most_pixels: int) -> dict[str, tuple[bytes, int]]:
    """Bodies of POST /detect, each with the status that it has to get."""
    exact = file_of("L", (24, 24))
    side = int(most_pixels**0.5)
    others = {f"a {kind}": (file_of("RGB", (8, 8), kind), 400) for kind in ("BMP", "TIFF", "WEBP")}
    bugs = {
        f"a picture for which detect raises: {kind.__name__}": (file_of("RGB", (n, n)), 500)
        for n, kind in BUGS.items()
    }
    return others | bugs | {
        "an RGB picture as PNG": (file_of("RGB", (20, 10)), 200),
        "the same file again": (file_of("RGB", (20, 10)), 200),
        "another picture of the same size": (file_of("RGB", (20, 10), colour=(9, 80, 7)), 200),
        "an RGB picture as JPEG": (file_of("RGB", (16, 32), "JPEG"), 200),
        "a grey picture": (file_of("L", (9, 7)), 200),
        "a picture with a palette": (file_of("P", (9, 9)), 200),
        "a picture with alpha": (file_of("RGBA", (6, 8)), 200),
        "a picture of black and white, a bit each": (file_of("1", (11, 8)), 200),
        "a grey picture with alpha": (file_of("LA", (8, 11)), 200),
        "a CMYK picture as JPEG": (file_of("CMYK", (16, 16), "JPEG"), 200),
        "a body of exactly most_bytes": (exact + bytes(most_bytes - len(exact)), 200),
        "a body of one byte more": (exact + bytes(most_bytes + 1 - len(exact)), 413),
        "a picture of exactly most_pixels": (bomb(side, most_pixels // side), 200),
        "a picture of one column more": (bomb(side + 1, most_pixels // side), 413),
        "a long strip of exactly most_pixels": (bomb(most_pixels // 4, 4), 200),
        "an empty body": (b"", 400),
        "a text": (b'{"picture": "a red circle"}', 400),
        "a GIF": (file_of("P", (8, 8), "GIF"), 400),
        "a PNG cut in half": (noisy("PNG")[: len(noisy("PNG")) // 2], 400),
        "a JPEG cut in half": (noisy("JPEG")[: len(noisy("JPEG")) // 2], 400),
        "a PNG with a chunk cut short": (bad_chunk(), 400),
        "a PNG with a chunk cut short behind its pixels": (bad_chunk(behind=True), 400),
        "a PNG with an unknown compression behind its pixels": (
            bad_chunk(b"zTXtk\0\1x", behind=True), 400,
        ),
        "a picture that detect refuses": (file_of("RGB", (3, 3)), 422),
        "one that detect refuses by a UnicodeError": (file_of("RGB", (4, 4)), 422),
        "one that detect refuses without a word": (file_of("RGB", (6, 6)), 422),
    }  # fmt: skip


def endless(server: WebServer, length: int, whole: int | None) -> int | str:
    """Send ``length`` bytes of a body, then wait: the status that comes, or words.

    Args:
        server: where to.
        length: how much is sent.
        whole: what the Content-Length promises; ``None``: nothing is promised, it comes in chunks.
    """
    head = "POST /detect HTTP/1.1\r\nHost: here\r\n"
    head += "Transfer-Encoding: chunked" if whole is None else f"Content-Length: {whole}"
    head += "\r\n\r\n"
    body = bytes(length)
    parts = [body]
    if whole is None:  # three chunks, none of them too long by itself, and no last one
        cuts = [body[k : k + -(-length // 3)] for k in range(0, length, -(-length // 3))]
        parts = [f"{len(cut):x}\r\n".encode() + cut + b"\r\n" for cut in cuts]
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_SECONDS) as line:
        with contextlib.suppress(OSError):
            line.sendall(head.encode())
            for part in parts:
                line.sendall(part)
                time.sleep(CHUNK_SECONDS)
        try:
            first = line.recv(64).split()
        except OSError:
            return "it waited for the rest of the body"
    return int(first[1]) if len(first) > 1 else "no answer"


def try_server(serve_it: Callable, most_bytes: int, most_pixels: int) -> dict[str, Any] | str:
    """Serve the answer's application in a process of its own, and send it everything."""
    try:
        with WebServer(serve_it, Examiner(), most_bytes, most_pixels) as server:
            return _send_all(server, most_bytes, most_pixels)
    except ServerError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _send_all(server: WebServer, most_bytes: int, most_pixels: int) -> dict[str, Any]:
    said: dict[str, Any] = {"health": _ask(server, "/health")}
    for name, (body, _) in requests_of(most_bytes, most_pixels).items():
        said[name] = _ask(server, "/detect", body)
    with ThreadPoolExecutor(2) as both:  # who waits for nothing does it for both at once
        chunks = both.submit(endless, server, most_bytes + 1, None)
        promise = both.submit(endless, server, most_bytes + 1, 1000 * most_bytes)
        said["a body in chunks, too long, without an end"] = [chunks.result(), ""]
        said["a body that promises 1000 times most_bytes"] = [promise.result(), ""]
    said["a body in two parts, another request in between"] = _in_between(server, most_bytes)
    before = server.peak_bytes()
    said["a bomb"] = [*_ask(server, "/detect", bomb(9000, 9000)), server.peak_bytes() - before]
    with ThreadPoolExecutor(2) as both:
        files = [file_of("RGB", (40, 40), colour=colour) for colour in TWO_COLOURS]
        two = [both.submit(_ask, server, "/detect", one) for one in files]
        said["two at once"] = [one.result() for one in two]
    statuses = [_ask(server, "/detect", body)[0] for body in damaged(DAMAGED)]
    said["damaged"] = sorted({str(one) for one in statuses})
    said["health, afterwards"] = _ask(server, "/health")
    said["a good one, afterwards"] = _ask(server, "/detect", file_of("RGB", (20, 10)))
    return said


def _in_between(server: WebServer, most_bytes: int) -> list:
    """What a request is answered if another one comes whole while its body does.

    Behind the pictures are zeros: half of one body and the other are more bytes than are allowed.
    """
    sizes = zip(TWO_COLOURS, (most_bytes * 6 // 10, most_bytes * 8 // 10), strict=True)
    one, other = (file_of("RGB", (20, 10), colour=c).ljust(size, b"\0") for c, size in sizes)

    def parts() -> Iterator[bytes]:
        yield one[: len(one) // 2]
        time.sleep(CHUNK_SECONDS)
        _ask(server, "/detect", other)
        yield one[len(one) // 2 :]

    return _ask(server, "/detect", parts())


def _ask(server: WebServer, path: str, body: bytes | Iterator[bytes] | None = None) -> list:
    try:
        status, answer = server.ask(path, body)
    except Exception as error:
        return [f"{type(error).__name__}", "" if server.alive() else "the server has ended"]
    return [status, json.loads(json.dumps(answer))]


@ends_in_notebook
def check_case(name: str, said: dict[str, Any], most_bytes: int, most_pixels: int) -> None:
    """Check one entry of what :func:`try_server` says."""
    __tracebackhide__ = True
    got = said[name]
    if name.startswith("health"):
        assert got[0] == 200, f"GET /health has status {got[0]}, expected 200"
        assert got[1] == {"status": "ok"}, f"GET /health says {got[1]!r}"
    elif name == "damaged":
        bad = [one for one in got if one not in ("200", "400", "413")]
        assert not bad, (
            f"of {DAMAGED} damaged files some got {', '.join(bad)}; Pillow raises many kinds of "
            "exceptions, at opening and at decoding"
        )
    elif name == "two at once":
        assert all(one[0] == 200 for one in got), f"status {got[0][0]} and {got[1][0]}"
        assert all(one[1].get("met") for one in got), (
            "they were looked at one after the other: while detect works in the event loop (or "
            "behind a lock), nobody else is answered; run it in a thread"
        )
        assert [tuple(one[1].get("pixel", ())) for one in got] == TWO_COLOURS, (
            "one was answered with the other's picture: keep what belongs to a request in names "
            "of its own function"
        )
    elif "in between" in name:
        pixel = got[1].get("pixel", ()) if isinstance(got[1], dict) else ()
        own = got[0] == 200 and tuple(pixel) == TWO_COLOURS[0]
        assert own, (
            f"status {got[0]}, and it isn't the answer for its own picture: the other one came "
            "while its body was read; keep what belongs to a request in names of its own function"
        )
    elif name == "a bomb":
        assert got[0] == 413, (
            f"81 million pixels in {len(bomb(9000, 9000))} bytes: status {got[0]}, expected 413"
        )
        _check_words(got[1])
        assert got[2] < BOMB_BYTES, (
            "the picture was decoded before its size was looked at: the process took "
            f"{got[2] // 10**6} MB more"
        )
    elif "without an end" in name or "promises" in name:
        assert got[0] == 413, f"expected 413 as soon as the body is too long, got: {got[0]}"
    elif "afterwards" in name:
        assert got[0] == 200, f"status {got[0]}, expected 200"
    else:
        body, status = requests_of(most_bytes, most_pixels)[name]
        _check_answer(name, got, body, status)
        if "again" in name:
            before = said["an RGB picture as PNG"]
            assert got != before, (
                "the answer to the same file before came back, and detect wasn't called: it may "
                "say something else by now, and nobody wants strangers' files kept; call it for "
                "each request"
            )


def _check_answer(name: str, got: list, body: bytes, status: int) -> None:
    reason, moment = "", "at decoding" if "behind" in name else "at opening"
    if status == 500 and got[0] in (400, 422, 413):
        reason = ": that blames the client for a bug of the detector; let FastAPI say 500"
    elif status == 413 and got[0] == 200:
        reason = ": it has to be refused"
    elif status == 400 and got[0] == 200:
        reason = ": it was answered as if it were a whole JPEG or PNG"
    elif status == 413 and "413" in str(got[1]):
        reason = ": an HTTPException is an Exception as well; raise it outside the `try`"
    elif got[0] == 413:
        reason = ": it is within both limits, which themselves are allowed; and what an earlier "
        reason += "request sent doesn't count"
    elif "without a word" in name:
        reason = ": `raise ValueError` has no words, and `error.args` is empty; `str(error)` works"
    elif got[0] == 405 or got[0] == 404:
        reason = ": is POST /detect served?"
    elif got[0] == 422 and "cut short" in name:
        reason = f": it wasn't `detect` that raised this ValueError, but Pillow, {moment}"
    elif got[0] == 500 and "cut in half" in name:
        reason = ": decode it inside the `try`: to open reads no more than the file's head"
    elif got[0] == 500 and "cut short" in name:
        reason = f": {moment} Pillow raises a ValueError, not an OSError"
    elif got[0] == 500 and "behind" in name:
        reason = f": {moment} Pillow raises a SyntaxError, and it may raise nearly anything"
    elif got[0] == 400 and status == 422:
        reason = ": it was `detect` that raised this ValueError, not Pillow: call it outside the "
        reason += "`try` in which the file is opened"
    elif got[0] == 500 and status == 422:
        reason = ": a UnicodeError is a ValueError as well" if "Unicode" in name else ""
    elif got[0] == 500 and status == 200:
        reason = ": the application itself raised; the body is the file's bytes, without a form"
    elif got[0] == 422 and status != 422:
        reason = ": that is FastAPI's own check; the body isn't a form and isn't JSON"
    assert got[0] == status, f"status {got[0]}, expected {status}{reason}" + (
        f"; it says {str(got[1])[:90]!r}" if got[0] != 200 else ""
    )
    if status == 200:
        said = got[1]
        with Image.open(io.BytesIO(body)) as picture:
            right = picture.convert("RGB") if picture.width < 100 else None
            size = list(picture.size)
        whole = isinstance(said, dict) and {"mode", "size", "pixel", "call"} <= said.keys()
        assert whole, f"expected what detect returned, as JSON; got {str(said)[:90]!r}"
        assert said["mode"] == "RGB", f"detect was handed a picture of mode {said['mode']}"
        assert said["size"] == size, "detect was handed a picture of another size"
        pixel = np.array(right)[0, 0].tolist() if right else said["pixel"]
        again = "; an earlier picture of this size had these" if "another" in name else ""
        assert said["pixel"] == pixel, f"detect was handed other pixels{again}"
    elif status == 500:
        assert "bug of the detector" not in str(got[1]), (
            "the answer tells a stranger the words of a bug of ours: they belong into the log; "
            "let FastAPI say 500 by itself"
        )
    elif "without a word" in name:
        said = got[1].get("detail") if isinstance(got[1], dict) else None
        assert isinstance(said, str), 'the answer is {"detail": words}; here the words may be ""'
    else:
        _check_words(got[1])
        if status == 422:
            assert "too small to see anything" in str(got[1]), "the words of detect are missing"


def _check_words(said: Any) -> None:
    words = said.get("detail") if isinstance(said, dict) else None
    spoken = isinstance(words, str) and len(words) > 3
    assert spoken, 'an error is answered by {"detail": words}, as HTTPException makes it'
