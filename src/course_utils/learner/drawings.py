"""Figures that carry their own alt text, and how a notebook shows them."""

from __future__ import annotations

import base64
import html
import io
import math
import os

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from PIL import Image

WIDTH_INCHES = 9.0
DOTS_PER_INCH = 100
# A picture has this many dots for each that it takes on the page: sharp on today's screens.
SHARPNESS = 2
ROUGH_DOTS_PER_INCH = 20

# Light tints of the colour-blind-safe Okabe-Ito palette, with the strong colour for lines.
TINTS = ("#bfe0f5", "#fbdcb0", "#c2e8d9", "#f3d3e4", "#fdf3b4", "#f6cdb6")
LINES = ("#0072b2", "#aa6600", "#00805c", "#a84a82", "#847500", "#b04500")
EMPTY, FAINT, INK = "#ffffff", "#6b6b6b", "#1a1a1a"

# On a dark page a picture's lightness is turned over and its hues stay: white becomes #121212,
# JupyterLab's own ground but for a shade. The style sheet does that by a filter; where a picture
# holds images, whose colours mean something, a second rendering takes its place.
INVERTED = 0.93
DARK = (
    ':is(body[data-jp-theme-light="false"],body.vscode-dark,body.vscode-high-contrast,'
    'html[data-theme="dark"])'
)
STYLE = (
    f"<style>{DARK} .course-picture{{filter:invert({INVERTED}) hue-rotate(180deg)}}"
    f"{DARK} .course-picture-light{{display:none!important}}"
    f"{DARK} .course-picture-dark{{display:inline!important}}</style>"
)
# The filter hue-rotate(180deg), from red, green and blue to each of the three (Filter Effects
# Module Level 1, section 7.1).
HALF_TURN = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))
# An image with more colours than these loses some, and steps appear where it has none.
FEW_COLOURS = 128
PADDING_INCHES = 0.1


class Drawing(Figure):
    """A matplotlib figure that shows itself once in a notebook, with its alt text.

    Attributes:
        alt: what the picture shows, in words, for who cannot see it.
    """

    alt: str = ""

    def _repr_mimebundle_(self, include=None, exclude=None):
        from IPython import get_ipython

        if words_only():
            return {"text/plain": self.alt}, {}
        if shell := get_ipython():
            # matplotlib's inline backend registers a PNG, without words, for every figure.
            shell.display_formatter.formatters["image/png"].for_type(Drawing, lambda _: None)
        return as_html(self, self.alt), {}


def words_only() -> bool:
    """Whether pictures are shown as their alt text: graders run notebooks that nobody looks at.

    Drawing is by far the slowest thing that a chapter does.
    """
    return os.environ.get("COURSE_PICTURES") == "words"


def as_png(figure: Figure, alt: str) -> tuple[dict[str, bytes], dict[str, dict]]:
    """A figure as a PNG, as Jupyter shows it: its alt text, and its size on the page."""
    ((png, size), *_) = renderings(figure)
    return {"image/png": png}, {"image/png": {"alt": alt, **size}}


def as_html(figure: Figure, alt: str) -> dict[str, str]:
    """A figure as a notebook shows it, on light pages and on dark ones, with its words.

    As HTML, since JupyterLab reads no alt text beside a PNG.
    """
    names = ("course-picture",)
    pictures = renderings(figure)
    if len(pictures) == 2:
        names = ("course-picture-light", "course-picture-dark")
    # Twice: some pages take away the attribute, and others overrule it.
    aside = ("", ' hidden=""'), ("", "display:none;")
    shown = [
        f'<img class="{name}" alt="{html.escape(alt)}"{hidden} '
        f'style="{display}max-width:100%;height:auto" width="{size["width"]}" '
        f'height="{size["height"]}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        for name, hidden, display, (png, size) in zip(names, *aside, pictures, strict=False)
    ]
    return {"text/html": "\n".join([STYLE, *shown]), "text/plain": alt}


def renderings(figure: Figure) -> list[tuple[bytes, dict[str, int]]]:
    """A figure as PNG with its size on the page; if it holds images, also one for dark pages."""
    # Outputs that are compared, pictures left aside: whatever fails in a drawing fails in a rough
    # one too, and that takes half as long.
    rough = os.environ.get("COURSE_PICTURES") == "rough"
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format="png", dpi=ROUGH_DOTS_PER_INCH if rough else SHARPNESS * DOTS_PER_INCH,
        facecolor=EMPTY, bbox_inches="tight", pad_inches=PADDING_INCHES,
        pil_kwargs={"compress_level": 0},
    )  # fmt: skip
    image = Image.open(buffer).convert("RGB")
    places = places_of_images(figure, image.size)
    pictures = [image]
    if places:
        dark = on_a_dark_page(image)
        for place in places:
            dark.paste(image.crop(place), place)
        pictures.append(dark)
    few = all(image.crop(place).getcolors(FEW_COLOURS) for place in places)
    width, height = image.size
    size = {"width": math.ceil(width / SHARPNESS), "height": math.ceil(height / SHARPNESS)}
    return [(compressed(picture, few), size) for picture in pictures]


def compressed(image: Image.Image, few_colours: bool) -> bytes:
    """An image as PNG; with a palette, a third of the bytes, where its colours are few."""
    if few_colours:
        image = image.quantize(256, dither=Image.Dither.NONE)
    file = io.BytesIO()
    image.save(file, format="png", optimize=True)
    return file.getvalue()


def places_of_images(figure: Figure, size: tuple[int, int]) -> list[tuple[int, int, int, int]]:
    """Where a saved figure's axes with images or colour maps are: left, top, right, bottom.

    Args:
        figure: it was saved before, so that its layout is known.
        size: of the saved image, in dots.
    """
    whole = figure.get_tightbbox().padded(PADDING_INCHES)
    across, down = size[0] / whole.width, size[1] / whole.height
    places = []
    for axes in figure.axes:
        if any(_is_mapped(artist) for artist in axes.get_children()):
            box = axes.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
            place = (
                math.floor((box.x0 - whole.x0) * across), math.floor((whole.y1 - box.y1) * down),
                math.ceil((box.x1 - whole.x0) * across), math.ceil((whole.y1 - box.y0) * down),
            )  # fmt: skip
            places.append(place)
    return places


def _is_mapped(artist) -> bool:
    """Whether an artist shows an image, or numbers by a colour map."""
    return isinstance(artist, ScalarMappable) and artist.get_array() is not None


def on_a_dark_page(image: Image.Image) -> Image.Image:
    """What the style sheet's filter makes of an image."""
    light = np.asarray(image, dtype=np.float32) / 255
    inverted = INVERTED + (1 - 2 * INVERTED) * light
    turned = inverted @ np.array(HALF_TURN, dtype=np.float32).T
    return Image.fromarray((turned.clip(0, 1) * 255).round().astype(np.uint8))


def show(figure: Figure, alt: str) -> None:
    """Display a figure made with ``plt.subplots`` once, with its alt text, and close it.

    It fits light pages and dark ones.

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
        display(as_html(figure, alt), raw=True)
    plt.close(figure)


def text_of(value) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)
