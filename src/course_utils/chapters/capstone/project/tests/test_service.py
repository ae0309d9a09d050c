import io
import json
import struct
import warnings
import zlib
from unittest.mock import patch

from expect import NOTHING
from PIL import Image, ImageFile

from shapefinder.service import answer_request

SHAPE = {"shape": "circle", "confidence": 0.9, "box": [1.0, 2.0, 3.0, 4.0]}


def a_file(size=(30, 20), kind="PNG", mode="RGB"):
    file = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert(mode).save(file, kind)
    return file.getvalue()


class Finder:
    def __init__(self, *found, error=None):
        self.found, self.error, self.got = list(found), error, []
        self.spent, self.body, self.pixel = False, "", None

    def __call__(self, image):
        assert isinstance(image, Image.Image), f"find got a {type(image).__name__}, not an image"
        try:
            image.load()
        except Exception:
            self.spent = True
            raise
        self.got.append((image.size, image.mode))
        self.pixel = image.getpixel((0, 0))
        if self.error:
            raise self.error
        return self.found


def ask(body, finder, *limit):
    result = answer_request(body, finder, *limit)
    assert result is not None, NOTHING
    assert not finder.spent, (
        f"{finder.body}find got an image that PIL can't read to its end: call `load()` before; "
        "`verify()` reads no pixels, and leaves an image that is spent"
    )
    assert isinstance(result, tuple) and len(result) == 2, "a status and a dict are wanted"
    status, content = result
    assert isinstance(status, int) and isinstance(content, dict), (
        f"{type(status).__name__} and {type(content).__name__} came back, not int and dict"
    )
    json.dumps(content)
    if status != 200:
        assert set(content) == {"error"} and isinstance(content["error"], str), (
            f'a refusal is {{"error": words}}, not {content}'
        )
    return status, content


def test_shapes_are_found():
    other = {"shape": "square", "confidence": 0.04, "box": [9.0, 9.0, 20.0, 18.0]}
    for found in ([], [SHAPE], [SHAPE, SHAPE], [SHAPE, other], [other, *[SHAPE] * 20]):
        finder, wanted = Finder(*found), json.loads(json.dumps(found))
        status, content = ask(a_file(), finder)
        assert status == 200, f"{len(found)} shapes were found, and the status is {status}"
        assert content == {"count": len(found), "shapes": wanted}, (
            f"{len(found)} shapes were found; the answer has the keys {sorted(content)}, and count "
            f"{content.get('count')}: the list is that of find, in its order, unchanged and "
            "however sure, and count is its length"
        )
        assert finder.got == [((30, 20), "RGB")], f"find was called with {finder.got}"


def test_shapes_of_another_finder():
    found = [{"shape": "circle", "box": [1.0, 2.0, 3.0, 4.0]}, {"confidence": 0.0}, {}]
    wanted = json.loads(json.dumps(found))
    try:
        status, content = ask(a_file(), Finder(*found))
    except KeyError as error:
        raise AssertionError(
            f"find gave a dict without {error}, and a KeyError reached the caller: a dict may hold "
            "anything"
        ) from None
    assert status == 200, (
        f"find gave dicts without a confidence: the status is {status}, and a dict may hold "
        "anything"
    )
    assert content.get("count") == 3, (
        "find gave three dicts, of which one has a confidence: count is "
        f"{content.get('count')}, and it is the length of find's list, whatever its dicts hold"
    )
    assert content.get("shapes") == wanted, "the list is that of find, whatever its dicts hold"


def test_other_kinds_of_images():
    for kind, mode in (
        ("JPEG", "L"),
        ("PNG", "RGBA"),
        ("GIF", "P"),
        ("BMP", "RGB"),
        ("WEBP", "RGB"),
        ("TIFF", "L"),
        ("TIFF", "F"),
        ("TIFF", "CMYK"),
        ("PNG", "1"),
        ("PNG", "LA"),
        ("PNG", "I;16"),
        ("PPM", "RGB"),
        ("TGA", "RGB"),
    ):
        finder = Finder(SHAPE)
        assert ask(a_file(kind=kind, mode=mode), finder)[0] == 200, f"{kind} is an image as well"
        assert finder.got == [((30, 20), mode)], (
            f"{kind}, mode {mode}: find gets the image as it is, and got {finder.got}"
        )
    finder = Finder(SHAPE)
    assert ask(a_file((600, 400), "JPEG"), finder)[0] == 200, "a JPEG file of 600 x 400 pixels"
    assert finder.got[0][0] == (600, 400), "a large JPEG image came smaller: find gets it as it is"
    file = io.BytesIO()
    frames = [Image.new("L", (30, 20), shade) for shade in (0, 90, 180)]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    finder = Finder(SHAPE)
    status, _ = ask(file.getvalue(), finder)
    assert status == 200, f"a GIF file that moves is an image as well: the status is {status}"
    assert finder.pixel == 0, (
        "of a GIF file that moves, find gets what PIL opens: the first picture"
    )


def test_a_photograph_that_was_taken_sideways():
    file, exif, finder = io.BytesIO(), Image.Exif(), Finder(SHAPE)
    exif[0x0112] = 6  # the camera was turned, and viewers turn the picture
    Image.new("RGB", (30, 20)).save(file, "JPEG", exif=exif)
    assert ask(file.getvalue(), finder)[0] == 200, "a JPEG file with a note of its camera"
    assert finder.got == [((30, 20), "RGB")], (
        "find got a turned image: it gets the image as PIL opens it, 30 wide and 20 high"
    )


def test_what_is_no_image():
    whole = a_file((300, 200), "JPEG")
    short = b"pHYs\0\1"  # a chunk of two bytes, where nine belong
    short = struct.pack(">I", 2) + short + struct.pack(">I", zlib.crc32(short))
    for name, body in (
        ("no bytes", b""),
        ("text", b"hello"),
        ("half a JPEG file", whole[: len(whole) // 2]),
        ("half a PNG file", a_file()[:60]),
        ("a PNG file whose chunk pHYs is short", a_file()[:33] + short + a_file()[33:]),
        ("a PGM file that lacks six of its nine numbers", b"P2 3 3 255\n1 2 3"),
    ):
        finder = Finder(SHAPE)
        finder.body = f"{name}: "
        try:
            status, _ = ask(body, finder)
        except (OSError, ValueError, SyntaxError, struct.error) as error:
            raise AssertionError(
                f"{name}: PIL's {type(error).__name__} reached the caller: {str(error)[:60]}; PIL "
                "raises exceptions of many kinds for broken files"
            ) from None
        assert status == 400, f"{name}: the status is {status}, and the caller's mistake is a 400"
        assert not finder.got, f"{name}: find was called all the same"


def test_whatever_pil_raises():
    class OfAPlugin(Exception):
        pass

    for kind in (KeyError, EOFError, TypeError, AttributeError, OfAPlugin):

        def broken(image, kind=kind):
            raise kind("a part of the file is missing")

        finder = Finder(SHAPE)
        try:
            with patch.object(ImageFile.ImageFile, "load", broken):
                status, _ = ask(a_file(), finder)
        except kind:
            raise AssertionError(
                f"PIL raised {kind.__name__} while it read a file, and that reached the caller: "
                "PIL raises exceptions of many kinds for broken files, and except Exception takes "
                "them all"
            ) from None
        assert status == 400, (
            f"PIL raised {kind.__name__} while it read a file: the status is {status}, and what "
            "can't be read to the end is a 400"
        )
        assert not finder.got, "find was called for a file that PIL can't read to its end"


def test_too_many_bytes():
    body, finder = a_file(), Finder(SHAPE)
    assert ask(body, finder, len(body))[0] == 200, "exactly the limit is allowed"
    finder = Finder(SHAPE)
    status, _ = ask(body, finder, len(body) - 1)
    assert status == 413, f"a byte too many: the status is {status}, not 413"
    assert not finder.got, "find was called with too many bytes"
    status, _ = ask(body, finder, 0)
    assert status == 413, f"the limit is 0: any byte is too many, and the status is {status}"
    status, _ = ask(b"", finder, 0)
    assert status == 400, (
        f"the limit is 0, and no bytes are not more: they are no image, and the status is {status}"
    )
    status, _ = ask(b"x" * 1_000_001, finder)
    assert status == 413, f"without a limit it is a million: the status is {status}, not 413"


def test_too_many_pixels():
    for size, right in (
        ((2000, 2000), 200),
        ((4000, 900), 200),
        ((2001, 2000), 413),
        ((8000, 1000), 413),
    ):
        file, finder = io.BytesIO(), Finder(SHAPE)
        Image.new("1", size).save(file, "PNG")
        status, _ = ask(file.getvalue(), finder)
        why = ""
        if right == 200 and status == 413:
            exact = size[0] * size[1] == 4_000_000
            why = ": exactly MOST_PIXELS are allowed" if exact else ": width times height counts"
        assert status == right, (
            f"{size[0]} x {size[1]} pixels in {len(file.getvalue())} bytes: the status is "
            f"{status}, not {right}{why}"
        )
        assert bool(finder.got) == (right == 200), "find is called for what is allowed, no more"


def test_pixels_are_counted_not_bytes():
    for mode in ("RGBA", "I;16"):
        file, finder = io.BytesIO(), Finder(SHAPE)
        Image.new(mode, (2100, 1000)).save(file, "PNG")
        status, _ = ask(file.getvalue(), finder)
        assert status == 200, (
            f"2.1 million pixels of mode {mode}: the status is {status}; width times height "
            "counts, however many numbers a pixel has"
        )


def test_too_many_pixels_are_not_decoded():
    file = io.BytesIO()
    Image.new("1", (9000, 9000)).save(file, "PNG")
    whole = file.getvalue()
    decoded, load = [], ImageFile.ImageFile.load

    def watched(image):
        decoded.append(image.size)
        return load(image)

    for name, body in (("whole", whole), ("cut after 200 bytes", whole[:200])):
        finder = Finder(SHAPE)
        with patch.object(ImageFile.ImageFile, "load", watched):
            status, _ = ask(body, finder)
        assert (9000, 9000) not in decoded, (
            f"81 million pixels, {name}: they were decoded before their number was looked at"
        )
        assert status == 413, (
            f"81 million pixels, {name}: the header says so, and the status is {status}, not 413"
        )
        assert not finder.got, "find was called for 81 million pixels"


def test_more_pixels_than_pil_opens():
    for side, right in ((20_000, (400, 413)), (5_000, (413,))):  # at the second PIL only warns
        body, millions = bytearray(a_file()), 3 * side // 100
        body[16:24] = struct.pack(">II", 30_000, side)
        body[29:33] = struct.pack(">I", zlib.crc32(body[12:29]))
        finder = Finder(SHAPE)
        try:
            with warnings.catch_warnings(action="ignore"):
                status, _ = ask(bytes(body), finder)
        except Image.DecompressionBombError:
            raise AssertionError(
                f"a header that claims {millions} million pixels: PIL's DecompressionBombError "
                "isn't an OSError, and it reached the caller"
            ) from None
        assert status in right, (
            f"a header that claims {millions} million pixels: the status is {status}, not 413"
        )
        assert not finder.got, f"find was called for {millions} million pixels"


def test_a_mistake_of_ours():
    kinds = (RuntimeError, ValueError, KeyError, OSError, SyntaxError, Image.DecompressionBombError)

    class Ours(Exception):
        def __str__(self):
            return "secret words of its own"

    late = RuntimeError("no weights")
    late.__cause__ = OSError("a secret place")
    for error in (*[kind("a secret place") for kind in kinds], Ours("why", "a secret place"), late):
        kind = type(error)
        try:
            status, content = ask(a_file(), Finder(error=error))
        except Ours:
            raise AssertionError(
                "find raised an exception of a class of its own, and it reached the caller: "
                "whatever find raises is a 500"
            ) from None
        assert status == 500, (
            f"find raised {kind.__name__} for a whole image: the status is {status}, and a mistake "
            "of ours is a 500"
        )
        told = any(word in content["error"] for word in ("secret", "no weights"))
        assert not told, "what went wrong inside is told to the caller"


def test_one_request_after_another():
    finder = Finder(SHAPE)
    for body, right in ((b"x", 400), (a_file(), 200), (b"x", 400), (a_file(), 200)):
        assert ask(body, finder)[0] == right, "an answer depends on the requests before it"
