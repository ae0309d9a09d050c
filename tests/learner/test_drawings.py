"""The drawings: what they refuse, what they say in words, and how a notebook shows them."""

import base64
import html
import io
import math
import random
import re

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from PIL import Image

from course_utils.command.verify import nbval_environment
from course_utils.learner.checks import check_close
from course_utils.learner.difference_drawings import draw_difference
from course_utils.learner.drawings import (
    EMPTY,
    FAINT,
    INK,
    LINES,
    SHARPNESS,
    TINTS,
    as_html,
    on_a_dark_page,
    show,
)
from course_utils.learner.storage_drawings import MOST_BOXES, _positions, draw_storage
from support.contrast import contrast
from support.kernel import run_cells

X = torch.arange(6).reshape(2, 3)


def tags(page: str) -> list[tuple[dict[str, str], Image.Image]]:
    """Each picture in a page: its attributes, and its dots."""
    found = []
    for tag in re.findall(r"<img [^>]*>", page):
        about = {name: html.unescape(text) for name, text in re.findall(r'(\w+)="([^"]*)"', tag)}
        dots = base64.b64decode(about["src"].removeprefix("data:image/png;base64,"))
        found.append((about, Image.open(io.BytesIO(dots))))
    return found


def brute_force_positions(tensor: torch.Tensor) -> list[int]:
    """Each element's position by the address of that element, one index at a time."""
    start = tensor.untyped_storage().data_ptr()
    indices = torch.ones(tensor.shape).nonzero().tolist()
    return [(tensor[tuple(index)].data_ptr() - start) // tensor.itemsize for index in indices]


def test_positions_are_where_the_elements_lie():
    dice = random.Random(0)
    for _ in range(300):
        rank = dice.randint(0, 4)
        size = [dice.randint(0 if dice.random() < 0.1 else 1, 4) for _ in range(rank)]
        stride = [dice.randint(0, 5) for _ in range(rank)]
        offset = dice.randint(0, 7)
        dtype = dice.choice([torch.uint8, torch.float32, torch.complex128])
        tensor = torch.zeros(100, dtype=dtype).as_strided(size, stride, offset)
        assert _positions(tensor) == brute_force_positions(tensor), (size, stride, offset)


@pytest.mark.parametrize(
    ("tensor", "positions"),
    [
        (X, [0, 1, 2, 3, 4, 5]),
        (X.t(), [0, 3, 1, 4, 2, 5]),
        (X[:, 1:], [1, 2, 4, 5]),
        (X[:1].expand(2, 3), [0, 1, 2, 0, 1, 2]),
        (X[1, 2], [5]),
        (X[:0], []),
        (torch.empty(0), []),
    ],
)
def test_every_kind_of_tensor_is_drawn(tensor, positions):
    assert _positions(tensor) == positions
    order = ", ".join(map(str, positions)) or "none"
    figure = draw_storage(tensor)
    assert isinstance(figure, Figure)
    assert f"it reads positions {order}." in figure.alt
    assert str(tuple(tensor.shape)) in figure.alt
    assert str(tensor.stride()) in figure.alt
    data, _ = figure._repr_mimebundle_()
    assert data["text/plain"] == figure.alt
    ((about, image),) = tags(data["text/html"])
    assert image.format == "PNG"
    assert min(image.size) > 50
    assert len(image.convert("RGB").getcolors(100_000)) > 2
    assert about["alt"] == figure.alt


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.bfloat16, torch.float64, torch.complex64]
)
def test_every_dtype_is_drawn(dtype):
    figure = draw_storage(torch.ones(3).to(dtype))
    assert tags(figure._repr_mimebundle_()[0]["text/html"])[0][1].format == "PNG"


def test_the_alt_text_says_what_the_picture_shows():
    assert draw_storage(X, X.t(), X[1], names=("x", "x.t()", "x[1]")).alt == (
        "A storage of 6 boxes. "
        "x has size (2, 3), stride (3, 1) and offset 0; it reads positions 0, 1, 2, 3, 4, 5. "
        "x.t() has size (3, 2), stride (1, 3) and offset 0; it reads positions 0, 3, 1, 4, 2, 5. "
        "x[1] has size (3,), stride (1,) and offset 3; it reads positions 3, 4, 5."
    )


def test_names_default_to_numbered_views():
    alt = draw_storage(X, X[0], X[1]).alt
    assert [name for name in ("tensor has", "view 1 has", "view 2 has") if name in alt] == [
        "tensor has", "view 1 has", "view 2 has"
    ]  # fmt: skip


def test_the_values_strides_and_titles_are_in_the_picture():
    figure = draw_storage(torch.tensor([[10, 11], [12, 13]]), names=["x"])
    written = " | ".join(text.get_text() for text in figure.axes[0].texts)
    for words in ("10", "13", "dim 0: +2", "dim 1: +1", "size (2, 2)", "offset 0"):
        assert words in written, words


def test_a_stride_of_nothing_is_drawn_as_staying():
    figure = draw_storage(torch.arange(3).expand(2, 3))
    assert any("stays" in text.get_text() for text in figure.axes[0].texts)


def test_a_part_of_a_storage_is_drawn_with_the_whole_storage():
    assert draw_storage(torch.arange(8)[2:4]).alt.startswith("A storage of 8 boxes. ")


def squares(figure) -> list[tuple[tuple[float, float], float, str]]:
    """Each filled square of a picture: its lower left corner, its width, and its colour."""
    return [
        (patch.get_xy(), patch.get_width(), to_hex(patch.get_facecolor()))
        for patch in figure.axes[0].patches
        if isinstance(patch, Rectangle) and patch.get_fill()
    ]


def written(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_a_grid_stands_beside_the_boxes_in_their_tints():
    few, many = draw_storage(X, X.t()), draw_storage(X, X.t(), grid=True, colour_by=0)
    assert len(squares(many)) == len(squares(few)) + 12
    cells = [(corner, tint) for corner, width, tint in squares(many) if corner[0] > 6]
    # X.t() is the last row: three lines of two columns, each line with its tint.
    tints = [tint for _, tint in cells[-6:]]
    assert tints == [TINTS[0]] * 2 + [TINTS[1]] * 2 + [TINTS[2]] * 2
    boxes = [tint for corner, _, tint in squares(many) if corner[0] < 6][-6:]
    assert boxes == [TINTS[0], TINTS[1], TINTS[2]] * 2
    assert len({corner[0] for corner, _ in cells[-6:]}) == 2
    assert len({corner[1] for corner, _ in cells[-6:]}) == 3
    assert "dim 0 ↓, dim 1 →" in written(many)
    assert "As a grid: [[0, 3], [1, 4], [2, 5]]." in many.alt
    assert "Each index along dimension 0 has its tint." in many.alt


def test_a_box_that_is_read_at_several_indices_is_striped():
    stripes = draw_storage(torch.arange(2).expand(3, 2), colour_by=0)
    assert [tint for _, _, tint in squares(stripes)] == list(TINTS[:3]) * 2


@pytest.mark.parametrize(
    ("tensor", "ways"),
    [
        (torch.tensor(5), "one number"),
        (torch.arange(3), "dim 0 →"),
        (torch.zeros(2, 0), "no element"),
        (torch.arange(8).reshape(2, 2, 2), "dim 0: blocks, dim 1 ↓, dim 2 →"),
    ],
)
def test_every_tensor_has_a_grid(tensor, ways):
    figure = draw_storage(tensor, grid=True)
    assert ways in written(figure)
    assert tags(figure._repr_mimebundle_()[0]["text/html"])[0][1].format == "PNG"


def test_windows_have_brackets_that_do_not_overlap():
    signal = torch.arange(7)
    figure = draw_storage(signal, signal.unfold(0, 3, 2), windows=0)
    assert figure.alt.endswith("Brackets: 0 to 2, 2 to 4, 4 to 6.")
    assert figure.alt.count("Brackets") == 1, "the signal itself has no windows"
    brackets = [line.get_xydata() for line in figure.axes[0].lines if len(line.get_xydata()) == 4]
    assert len(brackets) == 3
    for n, one in enumerate(brackets):
        for other in brackets[:n]:
            apart = one[:, 0].min() > other[:, 0].max() or one[:, 0].max() < other[:, 0].min()
            assert apart or abs(one[0, 1] - other[0, 1]) > 0.1


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2), (2, 2, 2, 2), (2, 2, 5)])
def test_no_arrow_runs_through_a_label(shape):
    tensor = torch.arange(math.prod(shape)).reshape(shape)
    figure = draw_storage(tensor, tensor.movedim(0, -1), grid=math.prod(shape) < 16)
    axes = figure.axes[0]
    figure.canvas.draw()
    labels = [t for t in axes.texts if t.get_text().startswith("dim ") and ":" in t.get_text()]
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    for label in (label for label in labels if "blocks" not in label.get_text()):
        box = label.get_window_extent()
        for other in labels:
            assert other is label or not box.overlaps(other.get_window_extent())
        for arrow in arrows:
            (x, high), (_, low) = axes.transData.transform(arrow._posA_posB)
            runs_through = box.x0 <= x <= box.x1 and low <= box.y1 and high >= box.y0
            assert not runs_through, f"an arrow runs through {label.get_text()!r}"


def test_a_caption_keeps_its_distance():
    figure = draw_storage(torch.arange(4))
    figure.canvas.draw()
    legend, number = figure.axes[0].texts[-1], figure.axes[0].texts[-2]
    letter = legend.get_window_extent().height
    assert number.get_window_extent().y0 - legend.get_window_extent().y1 > 0.5 * letter


def test_a_picture_is_sharp_and_as_wide_as_the_page():
    ((about, image),) = tags(draw_storage(torch.arange(4))._repr_mimebundle_()[0]["text/html"])
    assert int(about["width"]) == math.ceil(image.width / SHARPNESS)
    assert int(about["height"]) == math.ceil(image.height / SHARPNESS)
    assert 850 < int(about["width"]) < 950


def on_dark(colour: str) -> str:
    """What the style sheet makes of a colour on a dark page."""
    return to_hex(
        [part / 255 for part in on_a_dark_page(Image.new("RGB", (1, 1), colour)).getpixel((0, 0))]
    )


@pytest.mark.parametrize("colour", [*LINES, FAINT, INK])
def test_small_text_is_read_on_both_grounds(colour):
    assert contrast(colour, EMPTY) >= 4.5
    assert contrast(on_dark(colour), on_dark(EMPTY)) >= 4.5


def test_the_number_in_a_box_is_read_on_both_grounds():
    for tint in TINTS:
        assert contrast(INK, tint) >= 4.5
        assert contrast(on_dark(INK), on_dark(tint)) >= 4.5


def test_a_colour_map_has_its_colours_on_a_dark_page_as_well():
    figure, (left, right) = plt.subplots(1, 2, figsize=(4, 2))
    left.imshow([[0.0, 1.0]], cmap="viridis")
    right.plot([1, 2])
    (about, light), (about_dark, dark) = tags(as_html(figure, "two & a line")["text/html"])
    plt.close(figure)
    assert about["alt"] == about_dark["alt"] == "two & a line"
    assert (about["class"], about_dark["class"]) == ("course-picture-light", "course-picture-dark")
    light, dark = light.convert("RGB"), dark.convert("RGB")
    colours, dark_colours = ({c for _, c in picture.getcolors(10**6)} for picture in (light, dark))
    yellow = (253, 231, 36)
    near = [max(abs(a - b) for a, b in zip(yellow, c, strict=True)) < 4 for c in dark_colours]
    assert any(near), "the map's upper end is another colour on a dark page"
    assert dark.getpixel((2, 2)) == (18, 18, 18)
    assert light.getpixel((2, 2)) == (255, 255, 255)
    assert len(colours) <= 256, "few colours need no more"


def test_a_picture_without_images_is_turned_over_by_the_style_sheet():
    page = draw_storage(torch.arange(3))._repr_mimebundle_()[0]["text/html"]
    assert len(tags(page)) == 1
    assert page.startswith("<style>")
    assert "filter:invert(0.93) hue-rotate(180deg)" in page


def test_a_smooth_image_keeps_its_colours():
    figure, axes = plt.subplots(figsize=(4, 4))
    ramp = torch.linspace(0, 1, 60)
    red = ramp.expand(60, 60)
    axes.imshow(torch.stack([red, red.T, 0 * red], dim=2).numpy())
    (_, light), _ = tags(as_html(figure, "red to the right, green downwards")["text/html"])
    plt.close(figure)
    assert len(light.convert("RGB").getcolors(10**6)) >= 60 * 60


class Undrawable(Rectangle):
    """A patch that fails only when it is drawn."""

    def draw(self, renderer):
        raise ValueError("it can't be drawn")


def test_a_rough_picture_is_drawn_with_all_that_is_in_it(monkeypatch):
    """nbval compares no pictures: there they are rough, and what can't be drawn still fails."""
    monkeypatch.setenv("COURSE_PICTURES", nbval_environment(1)["COURSE_PICTURES"])
    drawing = draw_storage(torch.arange(6))
    ((about, image),) = tags(drawing._repr_mimebundle_()[0]["text/html"])
    assert image.width < 9 * SHARPNESS * 100 / 5
    assert about["alt"] == drawing.alt
    drawing.axes[0].add_patch(Undrawable((0, 0), 1, 1))
    with pytest.raises(ValueError, match="it can't be drawn"):
        drawing._repr_mimebundle_()


def test_a_difference_is_drawn_beside_what_was_expected():
    figure = draw_difference(torch.tensor([[1, 2], [3, 5]]), torch.tensor([[1, 2], [3, 4]]), "m")
    assert figure.alt == (
        "m: the answer [[1, 2], [3, 5]] beside the expected [[1, 2], [3, 4]]. "
        "They differ at (1, 1)."
    )
    assert [text for text in written(figure) if not text.isdigit()] == ["your answer", "expected"]
    tints = [tint for _, _, tint in squares(figure)]
    assert tints == ["#ffffff"] * 3 + [TINTS[5]] + ["#ffffff"] * 3 + [TINTS[5]]
    shapes = draw_difference(torch.zeros(2, 3), torch.zeros(3, 2), "m")
    assert shapes.alt.endswith("Their shapes differ.")
    for none in (torch.zeros(3), torch.zeros(2, 13), torch.zeros(0, 2), torch.zeros(2, 2) * 1j):
        assert draw_difference(none, none, "m") is None


def test_a_failed_check_shows_the_difference_in_a_notebook_alone(capsys):
    wrong = "check_close(torch.zeros(2, 2), torch.eye(2), 'the matrix', drawn=True)"
    start = "import os, torch\nfrom course_utils import check_close\n"
    drawn, plain, in_words = run_cells(
        f"{start}try:\n    {wrong}\nexcept AssertionError as e:\n    print(e)",
        f"try:\n    {wrong.replace(', drawn=True', '')}\nexcept AssertionError:\n    pass",
        f"os.environ['COURSE_PICTURES'] = 'words'\n"
        f"try:\n    {wrong}\nexcept AssertionError as e:\n    print(e)",
    )
    (picture,) = pictures(drawn)
    ((about, _),) = tags(picture.data["text/html"])
    assert about["alt"].endswith("They differ at (0, 0), (1, 1).")
    assert plain.outputs == []
    assert [output.output_type for output in in_words.outputs] == ["stream"]
    assert "differs in 2 of 4 elements" in in_words.outputs[0].text
    with pytest.raises(AssertionError, match="differs in 2 of 4 elements"):
        check_close(torch.zeros(2, 2), torch.eye(2), "the matrix", drawn=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("tensor", "options", "words"),
    [
        (torch.arange(40), {"grid": True}, "too wide to stand side by side"),
        (X, {"colour_by": 2}, "colour_by is 2: no tensor here has such a dimension"),
        (X, {"windows": -1}, "windows is -1: no tensor here has such a dimension"),
    ],
)
def test_what_has_no_place_is_refused_in_words(tensor, options, words):
    with pytest.raises(ValueError, match=words):
        draw_storage(tensor, **options)


@pytest.mark.parametrize(
    ("tensors", "names", "words"),
    [
        ([torch.zeros(MOST_BOXES + 1)], None, "the storage holds 41 elements"),
        ([torch.zeros(100)[:2]], None, "the storage holds 100 elements"),
        ([X, X.clone()], None, "view 1 has another storage: it is a copy"),
        ([X, X.t(), X[[0]]], ["a", "b", "c"], "c has another storage"),
        ([X, X.view(torch.int32)], None, "view 1 reads the storage as torch.int32"),
        ([X, X.t()], ["a"], "1 names for 2 tensors"),
        ([X], ["a", "b"], "2 names for 1 tensors"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(tensors, names, words):
    with pytest.raises(ValueError, match=words.split(":")[0].replace("(", r"\(")) as caught:
        draw_storage(*tensors, names=names)
    assert words in str(caught.value)


def test_the_longest_storage_is_drawn():
    assert draw_storage(torch.zeros(MOST_BOXES)).alt.startswith(f"A storage of {MOST_BOXES} boxes")


def test_a_picture_without_words_is_refused():
    figure, _ = plt.subplots()
    try:
        with pytest.raises(ValueError, match="say in a sentence what the picture shows"):
            show(figure, "  ")
    finally:
        plt.close(figure)


def pictures(cell) -> list:
    """A cell's outputs that hold a picture."""
    return [
        output for output in cell.outputs if "<img" in output.get("data", {}).get("text/html", "")
    ]


def test_a_notebook_shows_each_picture_once_with_its_alt_text():
    draw = "draw_storage(torch.arange(3))"
    before, after, as_last_of_many, shown, quiet, last = run_cells(
        f"import torch\nfrom course_utils import draw_storage, show\n{draw}",
        f"import matplotlib.pyplot as plt\nassert len(plt.get_fignums()) == 0\n{draw}",
        f"figure = {draw}\nfigure",
        'fig, ax = plt.subplots()\nax.plot([1, 2])\nshow(fig, "a rising line")',
        f"figure = {draw}",
        f"fig, ax = plt.subplots()\nplt.close()\n{draw}",
    )
    for cell in (before, after, as_last_of_many, last):
        assert len(cell.outputs) == 1, cell.outputs
        (output,) = pictures(cell)
        ((about, image),) = tags(output.data["text/html"])
        assert about["alt"].startswith("A storage of 3 boxes.")
        assert output.data["text/plain"] == about["alt"]
        # Also once matplotlib has registered its own way with figures.
        assert set(output.data) == {"text/html", "text/plain"}
        assert image.format == "PNG"
    assert len(shown.outputs) == 1, shown.outputs
    ((about, _),) = tags(pictures(shown)[0].data["text/html"])
    assert about["alt"] == "a rising line"
    assert quiet.outputs == []
