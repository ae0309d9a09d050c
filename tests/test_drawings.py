"""The drawings: what they refuse, what they say in words, and how a notebook shows them."""

import base64
import io
import random

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

from course_utils.drawings import MOST_BOXES, _positions, draw_storage, show
from support.kernel import run_cells

X = torch.arange(6).reshape(2, 3)


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
    data, metadata = figure._repr_mimebundle_()
    image = Image.open(io.BytesIO(data["image/png"]))
    assert image.format == "PNG"
    assert min(image.size) > 50
    assert len(image.convert("RGB").getcolors(100_000)) > 2
    assert metadata["image/png"]["alt"] == figure.alt


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.bfloat16, torch.float64, torch.complex64]
)
def test_every_dtype_is_drawn(dtype):
    figure = draw_storage(torch.ones(3).to(dtype))
    assert figure._repr_mimebundle_()[0]["image/png"].startswith(b"\x89PNG")


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
    return [output for output in cell.outputs if "image/png" in output.get("data", {})]


def test_a_notebook_shows_each_picture_once_with_its_alt_text():
    draw = "draw_storage(torch.arange(3))"
    before, after, as_last_of_many, shown, quiet = run_cells(
        f"import torch\nfrom course_utils import draw_storage, show\n{draw}",
        f"import matplotlib.pyplot as plt\nassert len(plt.get_fignums()) == 0\n{draw}",
        f"figure = {draw}\nfigure",
        'fig, ax = plt.subplots()\nax.plot([1, 2])\nshow(fig, "a rising line")',
        f"figure = {draw}",
    )
    for cell in (before, after, as_last_of_many):
        assert len(cell.outputs) == 1, cell.outputs
        (output,) = pictures(cell)
        assert output.metadata["image/png"]["alt"].startswith("A storage of 3 boxes.")
        assert base64.b64decode(output.data["image/png"]).startswith(b"\x89PNG")
    assert len(shown.outputs) == 1, shown.outputs
    assert pictures(shown)[0].metadata["image/png"]["alt"] == "a rising line"
    assert quiet.outputs == []
