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
    return 200, {"count": len(shapes), "shapes": shapes}
