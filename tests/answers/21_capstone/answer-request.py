# %% [markdown]
# Rules:
#
# - "a dict that `json.dumps` can write"
# - "more than `limit` bytes: 413"
# - "can open and read to the end: 400"
# - "more than `MOST_PIXELS` pixels"
# - "by its header: 413"
# - "without decoding it"
# - "what PIL itself refuses to open for its size"
# - "in the mode that it has"
# - "how many"
# - "a list of dicts, whatever they hold"
# - "whatever exception `find` raises: 500"
# - "nothing of its words in the answer"
# - "All but 200 have the content"
# - "limit: int = 1_000_000"
#
# Admits:
#
# - "bytes that aren't an image": no bytes
# - "read to the end": half a PNG file
# - "(`Image.DecompressionBombError`)": a header that claims
# - "in the mode that it has": is an image as well
# - "whatever exception `find` raises": for a whole image: the status is

# %% wrong="opens the header alone" breaks="can open and read to the end: 400" says=["half a JPEG file"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="tells what went wrong" breaks="nothing of its words in the answer" says=["is told to the caller"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception as error:
        return 500, {"error": str(error)}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="looks at bytes alone" breaks="by its header: 413" says=["2001 x 2000 pixels"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if False:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="blames the caller" says=["find raised RuntimeError"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 400, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="converts first" breaks="in the mode that it has" says=["find gets the image as it is"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image.convert("RGB"))
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="one kind of error" says=["truncated"]
import io
from collections.abc import Callable

from PIL import Image, UnidentifiedImageError

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except UnidentifiedImageError:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="off by one" breaks="more than `limit` bytes: 413" says=["exactly the limit is allowed"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) >= limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="blames itself" says=["the caller's mistake is a 400"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 500, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="a limit on the sides" breaks="more than `MOST_PIXELS` pixels" says=["4000 x 900"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if max(image.size) > 2000:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="its own limit" breaks="limit: int = 1_000_000" says=["a byte too many"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > 1_000_000:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% right="verify, then open again"
import io

from PIL import Image

MOST_PIXELS = 4_000_000


class Refused(Exception):
    pass


def opened(body):
    try:
        with Image.open(io.BytesIO(body)) as header:
            wide, high = header.size
    except Image.DecompressionBombError:
        raise Refused(413, "too many pixels") from None
    except Exception:
        raise Refused(400, "not an image") from None
    if wide * high > MOST_PIXELS:
        raise Refused(413, "too many pixels")
    try:
        image = Image.open(io.BytesIO(body))
        image.load()
    except Exception:
        raise Refused(400, "a damaged image") from None
    return image


def answer_request(body, find, limit=1_000_000):
    try:
        if len(body) > limit:
            raise Refused(413, "too many bytes")
        image = opened(body)
    except Refused as refused:
        return refused.args[0], {"error": refused.args[1]}
    try:
        shapes = list(find(image))
        return 200, {"shapes": shapes, "count": len(shapes)}
    except BaseException:
        return 500, {"error": "our mistake"}


# %% wrong="expects only OSError" breaks="what PIL itself refuses to open for its size" says=["DecompressionBombError"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too long"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except OSError:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something failed here"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% right="reads in a helper, which raises the status"
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


class Refused(Exception):
    pass


def _open(body, limit):
    if len(body) > limit:
        raise Refused(413, "The body is too large.")
    try:
        picture = Image.open(io.BytesIO(body))
        w, h = picture.size
    except Exception:
        raise Refused(400, "This is no picture.")
    if w * h > MOST_PIXELS:
        raise Refused(413, "The picture is too large.")
    try:
        picture.load()
    except Exception:
        raise Refused(400, "This picture is broken.")
    return picture


def answer_request(body, find, limit=1_000_000):
    try:
        picture = _open(body, limit)
    except Refused as refused:
        return refused.args[0], {"error": refused.args[1]}
    try:
        found = find(picture)
        return 200, {"count": len(found), "shapes": found}
    except Exception:
        return 500, {"error": "Internal error."}


# %% wrong="decoded before its size is looked at" breaks="without decoding it" says=["too many pixels are not decoded", "they were decoded before their number was looked at"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        image.load()
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="one try for both" breaks="whatever exception `find` raises: 500" says=["find raised OSError", "a mistake of ours is a 500"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
        shapes = find(image)
        return 200, {"count": len(shapes), "shapes": shapes}
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except OSError:
        return 400, {"error": "this is not an image"}
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="shapes as a tuple of a generator" breaks="a dict that `json.dumps` can write" says=["JSON"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": iter(shapes)}


# %% wrong="reason in place of error" breaks="All but 200 have the content" says=["a refusal is"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"reason": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="count is left out" breaks="how many" says=["the answer has the keys"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"shapes": shapes}


# %% right="copy and a flag"
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def no(status, words):
    return status, {"error": words}


def answer_request(body, find, limit=1_000_000):
    if limit < len(body):
        return no(413, "too long")
    try:
        with Image.open(io.BytesIO(bytes(body))) as picture:
            w, h = picture.size
            large = w * h > MOST_PIXELS
            whole = None if large else picture.copy()
    except Exception:
        return no(400, "not a readable image")
    if large:
        return no(413, "too many pixels")
    try:
        shapes = list(find(whole))
    except Exception:
        return no(500, "internal error")
    return 200, dict(count=len(shapes), shapes=shapes)


# %% wrong="catches OSError and no more" says=["a PNG file whose chunk pHYs is short", "PIL's ValueError reached the caller"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except OSError:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="verify and no more" says=["`verify()` reads no pixels"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.verify()
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="verify, then opened once more, not read" says=["half a JPEG file: find got an image that PIL can't read"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.verify()
        image = Image.open(io.BytesIO(body))
    except Exception:
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="exactly MOST_PIXELS is too many" breaks="more than `MOST_PIXELS` pixels" says=["exactly MOST_PIXELS are allowed"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        pixels = image.width * image.height
    except Exception:
        return 400, {"error": "not an image"}
    if pixels >= MOST_PIXELS:
        return 413, {"error": "too many pixels"}
    try:
        image.load()
    except Exception:
        return 400, {"error": "a broken image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "our fault"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="a side of more than 2000" says=["width times height counts"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        wide = max(image.size) > 2000
    except Exception:
        return 400, {"error": "not an image"}
    if wide:
        return 413, {"error": "too many pixels"}
    try:
        image.load()
    except Exception:
        return 400, {"error": "a broken image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "our fault"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="the picture is turned as its file says" says=["find got a turned image"]
import io

from PIL import Image, ImageOps

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(ImageOps.exif_transpose(image))
    except Exception:
        return 500, {"error": "our mistake"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="a limit of 0 is taken for none" says=["the limit is 0"]
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    limit = limit or 1_000_000
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "our mistake"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="shapes are sorted" says=["in its order"]
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "our mistake"}
    return 200, {"count": len(shapes), "shapes": sorted(shapes, key=str)}


# %% wrong="one frame alone is an image" says=["a GIF file that moves"]
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
        assert getattr(image, "n_frames", 1) == 1
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "our mistake"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="large JPEG images are read smaller" says=["came smaller"]
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.draft("RGB", (64, 64))
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "our mistake"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% right="a refusal of its own"
import io

from PIL import Image, UnidentifiedImageError

MOST_PIXELS = 4_000_000


class Refused(Exception):
    pass


def opened(body, limit):
    if len(body) > limit:
        raise Refused(413, f"at most {limit} bytes")
    try:
        image = Image.open(io.BytesIO(body))
    except Image.DecompressionBombError:
        raise Refused(413, "a bomb") from None
    except Exception:
        raise Refused(400, "unknown file") from None
    w, h = image.size
    if w * h > MOST_PIXELS:
        raise Refused(413, f"{w} x {h} is too large")
    try:
        image.load()
    except Exception as error:
        raise Refused(400, "cut short: " + str(error)) from error
    return image


def answer_request(body, find, limit=1_000_000):
    try:
        image = opened(body, limit)
    except Refused as refused:
        status, words = refused.args
        return status, {"error": words}
    try:
        shapes = find(image)
        return 200, dict(count=len(shapes), shapes=shapes)
    except Exception:
        return 500, {"error": "internal error"}


# %% wrong="exceptions of Python alone" breaks="whatever exception `find` raises: 500" says=["a class of its own"]
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except (
        ArithmeticError,
        LookupError,
        OSError,
        RuntimeError,
        ValueError,
        TypeError,
        SyntaxError,
        Image.DecompressionBombError,
    ):
        return 500, {"error": "our mistake"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="two shapes at most" says=["21 shapes were found"]
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "our mistake"}
    return 200, {"count": len(shapes), "shapes": shapes[:2]}


# %% wrong="tells the later words of the error" says=["is told to the caller"]
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception as error:
        return 500, {"error": "our mistake: " + " ".join(str(a) for a in error.args[1:])}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="tells the cause of the error" breaks="nothing of its words in the answer" says=["is told to the caller"]
import io

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception as error:
        return 500, {"error": f"our mistake {error.__cause__ or ''}"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="counts what is sure" says=["count is its length"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something went wrong here"}
    return 200, {"count": sum(s.get("confidence", 0) >= 0.5 for s in shapes), "shapes": shapes}


# %% wrong="counts what has a confidence" breaks="a list of dicts, whatever they hold" says=["of which one has a confidence", "count is 1"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something went wrong here"}
    return 200, {"count": sum("confidence" in s for s in shapes), "shapes": shapes}


# %% wrong="looks for the confidence of each" breaks="a list of dicts, whatever they hold" says=["a KeyError reached the caller"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something went wrong here"}
    return 200, {"count": len([s["confidence"] for s in shapes]), "shapes": shapes}


# %% wrong="rounds the confidence in place" breaks="a list of dicts, whatever they hold" says=["shapes were found; the answer has the keys"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something went wrong here"}
    for shape in shapes:
        if "confidence" in shape:
            shape["confidence"] = round(shape["confidence"], 1)
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="PIL's warning is a refusal" says=["150 million pixels"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Image.open(io.BytesIO(body))
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something went wrong here"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="five formats" says=["TIFF is an image as well"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body), formats=["JPEG", "PNG", "GIF", "BMP", "WEBP"])
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something went wrong here"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="pixels times their numbers" says=["however many numbers a pixel has"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height * len(image.getbands()) > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something went wrong here"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="rare modes become RGB" breaks="in the mode that it has" says=["TIFF, mode F: find gets the image as it is"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(
            image if image.mode in ("1", "L", "P", "RGB", "RGBA") else image.convert("RGB")
        )
    except Exception:
        return 500, {"error": "something went wrong here"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="the last picture of a file that moves" says=["the first picture"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": "too many pixels"}
        image.load()
        image.seek(getattr(image, "n_frames", 1) - 1)
    except Exception:
        return 400, {"error": "not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "something went wrong here"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="what load raises is an OSError, it thinks" says=["lacks six of its nine numbers", "reached the caller"]
import io
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body, find, limit=1_000_000):
    if len(body) > limit:
        return 413, {"error": "too many bytes"}
    try:
        image = Image.open(io.BytesIO(body))
    except Exception:
        return 400, {"error": "no image"}
    if image.width * image.height > MOST_PIXELS:
        return 413, {"error": "too many pixels"}
    try:
        image.load()
    except OSError:
        return 400, {"error": "broken image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "internal"}
    return 200, {"count": len(shapes), "shapes": shapes}


# %% wrong="a list of the exceptions of broken files" breaks="can open and read to the end: 400" says=["PIL raised KeyError while it read a file, and that reached the caller"]
import io
import struct
from collections.abc import Callable

from PIL import Image

MOST_PIXELS = 4_000_000


def answer_request(body: bytes, find: Callable, limit: int = 1_000_000) -> tuple[int, dict]:
    """Answer a request whose body is an image file: an HTTP status, and what is sent as JSON."""
    if len(body) > limit:
        return 413, {"error": f"at most {limit} bytes"}
    try:
        image = Image.open(io.BytesIO(body))
        if image.width * image.height > MOST_PIXELS:
            return 413, {"error": f"at most {MOST_PIXELS} pixels"}
        image.load()
    except Image.DecompressionBombError:
        return 413, {"error": f"at most {MOST_PIXELS} pixels"}
    except (OSError, ValueError, SyntaxError, struct.error):
        return 400, {"error": "this is not an image"}
    try:
        shapes = find(image)
    except Exception:
        return 500, {"error": "the image could not be searched"}
    return 200, {"count": len(shapes), "shapes": shapes}
