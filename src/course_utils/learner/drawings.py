"""Figures that carry their own alt text, and how a notebook shows them."""

from __future__ import annotations

import io
import math
import os

from matplotlib.figure import Figure
from PIL import Image

WIDTH_INCHES = 9.0
DOTS_PER_INCH = 100
# A picture has this many dots for each that it takes on the page: sharp on today's screens.
SHARPNESS = 2
ROUGH_DOTS_PER_INCH = 20

# Light tints of the colour-blind-safe Okabe-Ito palette, with the strong colour for lines.
TINTS = ("#bfe0f5", "#fbdcb0", "#c2e8d9", "#f3d3e4", "#fdf3b4", "#f6cdb6")
LINES = ("#0072b2", "#b86e00", "#00805c", "#a84a82", "#8a7a00", "#b04500")
EMPTY, FAINT, INK = "#ffffff", "#8a8a8a", "#1a1a1a"
# A picture is a white card: the frame parts it from a light page, and makes it one on a dark page.
FRAME, FRAME_POINTS = "#b4b4b4", 1.5


class Drawing(Figure):
    """A matplotlib figure that shows itself once in a notebook, with its alt text.

    Attributes:
        alt: what the picture shows, in words, for who cannot see it.
    """

    alt: str = ""
    shown: tuple[bytes, dict] = b"", {}

    def _repr_mimebundle_(self, include=None, exclude=None):
        from IPython import get_ipython

        if words_only():
            return {"text/plain": self.alt}, {}
        data, metadata = as_png(self, self.alt)
        self.shown = data["image/png"], metadata["image/png"]
        if shell := get_ipython():
            # Of two pictures IPython takes the one that matplotlib's inline backend has registered
            # for every figure, unless there is one for this very class.
            formatter = shell.display_formatter.formatters["image/png"]
            formatter.for_type(Drawing, lambda drawing: drawing.shown)
        return data, metadata


def words_only() -> bool:
    """Whether pictures are shown as their alt text: graders run notebooks that nobody looks at.

    Drawing is by far the slowest thing that a chapter does.
    """
    return os.environ.get("COURSE_PICTURES") == "words"


def as_png(figure: Figure, alt: str) -> tuple[dict[str, bytes], dict[str, dict]]:
    """A figure as Jupyter shows it: a framed PNG, its alt text, and its size on the page."""
    # Outputs that are compared, pictures left aside: whatever fails in a drawing fails in a rough
    # one too, and that takes half as long.
    rough = os.environ.get("COURSE_PICTURES") == "rough"
    buffer = io.BytesIO()
    figure.set_linewidth(FRAME_POINTS)
    figure.savefig(
        buffer, format="png", dpi=ROUGH_DOTS_PER_INCH if rough else SHARPNESS * DOTS_PER_INCH,
        facecolor=EMPTY, edgecolor=FRAME, bbox_inches="tight", pil_kwargs={"compress_level": 0},
    )  # fmt: skip
    image, small = Image.open(buffer), buffer
    if not rough:
        # 256 colours are enough for a drawing, and take a third of the bytes.
        image = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        small = io.BytesIO()
        image.save(small, format="png", optimize=True)
    width, height = image.size
    size = {"width": math.ceil(width / SHARPNESS), "height": math.ceil(height / SHARPNESS)}
    return {"image/png": small.getvalue()}, {"image/png": {"alt": alt, **size}}


def show(figure: Figure, alt: str) -> None:
    """Display a figure made with ``plt.subplots`` once, as PNG, with alt text, and close it.

    Args:
        figure: the figure to show.
        alt: what the picture shows, in words, for who cannot see it.

    Raises:
        ValueError: ``alt`` is empty.
    """
    import matplotlib.pyplot as plt
    from IPython.display import display

    if not alt.strip():
        raise ValueError("alt is empty: say in a sentence what the picture shows")
    if words_only():
        display({"text/plain": alt}, raw=True)
    else:
        data, metadata = as_png(figure, alt)
        display(data, metadata=metadata, raw=True)
    plt.close(figure)


def text_of(value) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)
