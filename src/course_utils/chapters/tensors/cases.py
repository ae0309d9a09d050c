"""Arguments to try the answers of the chapter tensors with, by what is special in each."""

from __future__ import annotations

import itertools

import numpy as np
import torch

from course_utils.learner.devices import device

INF, NAN = float("inf"), float("nan")


def pictures() -> dict[str, np.ndarray]:
    """uint8 arrays of 252 different numbers or fewer, as images of many shapes."""
    every = np.arange(252, dtype=np.uint8)
    shapes = {"in colour": (6, 14, 3), "in grey": (12, 21), "a batch": (2, 6, 7, 3)}
    shapes |= {"of two channels": (9, 14, 2), "of five channels": (5, 10, 5)}
    shapes |= {"in grey, 3 wide": (84, 3), "in grey, 3 high": (3, 84)}
    shapes |= {"in grey, one high": (1, 252)}
    shapes |= {"in colour, 3 high": (3, 28, 3), "in colour, one high": (1, 84, 3)}
    shapes |= {"of four channels, 4 high": (4, 9, 7), "a batch of three": (3, 7, 4, 3)}
    shapes |= {"of one channel": (12, 21, 1), "a batch of one": (1, 12, 7, 3)}
    shapes |= {"a batch of grey ones": (2, 6, 21, 1), "a batch of none": (0, 6, 7, 3)}
    shapes |= {"of one channel, one high": (1, 5, 1), "of one channel, one wide": (5, 1, 1)}
    shapes |= {"of one number": (1, 1, 1), "of one grey number": (1, 1), "4 wide": (6, 4, 7)}
    shapes |= {"of two channels, 3 high": (3, 5, 2), "of six channels, one high": (1, 7, 6)}
    shapes |= {"a batch of one number": (1, 1, 1, 1), "a batch of grey, one wide": (4, 6, 1, 1)}
    shapes |= {"in grey, without a row": (0, 7), "in colour, without a row": (0, 7, 3)}
    found = {}
    for name, shape in shapes.items():
        called = name if name.startswith("a batch") else f"an image {name}"
        found[f"{called}, of shape {shape}"] = every[: int(np.prod(shape))].reshape(shape)
    found["an image of zeros and ones"] = every.reshape(14, 6, 3) % 2
    found["an image of zeros alone"] = every.reshape(14, 18) // 255
    found["one grey number, not 0"] = every[12:13].reshape(1, 1)
    found["an image that is a slice"] = every.reshape(12, 7, 3)[::2, 3:]
    found["an image that is turned by .T"] = every.reshape(3, 7, 12).T
    found["the same row again and again"] = np.broadcast_to(every[:21].reshape(1, 7, 3), (5, 7, 3))
    return found


def planes_of_pictures() -> list[tuple]:
    """float32 planes, the image that they are, a name, and for some why."""
    pixel = torch.tensor([[[1.0]], [[0.0]], [[0.2]]], device=device)
    gray = torch.tensor([[[1.2, -0.1, 0.5]]], device=device)
    every, bytes_ = torch.arange(256, device=device) / 255, np.arange(256, dtype=np.uint8)
    early = (torch.arange(256, device=device) + 0.02) / 256  # near the beginning of each bin
    four, images = early.view(4, 8, 8), bytes_.reshape(4, 8, 8)
    late = (torch.arange(256, device=device) + 0.98) / 256  # near its end
    keeps = "a batch keeps its channel"
    return [
        (pixel, [[[255, 0, 51]]], "of one pixel"),
        (pixel[None], [[[[255, 0, 51]]]], "a batch of one image", "a batch stays a batch"),
        (pixel[:2], [[[255, 0]]], "of two channels"),
        (gray, [[255, 0, 127]], "in grey, out of range", "one channel: two dimensions"),
        (gray.clone()[None], [[[[255], [0], [127]]]], "a grey batch", keeps),
        (gray.clone().requires_grad_(), [[255, 0, 127]], "with a gradient"),
        (gray * torch.ones((), requires_grad=True), [[255, 0, 127]], "in a graph"),
        (gray.mT, [[255], [0], [127]], "in grey, transposed"),
        (gray[None][:0], np.empty((0, 1, 3, 1)), "a batch of none", keeps),
        (gray[:, :0], np.empty((0, 3)), "in grey, no row"),
        (torch.tensor([[[INF, -INF, 3e38]]]), [[255, 0, 255]], "infinite, and huge"),
        (every.view(1, 16, 16), bytes_.reshape(16, 16), "of all 256 values"),
        (late.view(1, 16, 16), bytes_.reshape(16, 16), "near the end of each bin"),
        (pixel[:1], [[255]], "of one number"),
        (gray[..., None, :1, 0].expand(2, 1, 1, 1), [[[[255]]]] * 2, "two of one number", keeps),
        (gray[:, :, :0], np.empty((1, 0)), "in grey, no column"),
        (pixel[:, :, :0], np.empty((1, 0, 3)), "in colour, no column"),
        (four, images.transpose(1, 2, 0), "of four channels"),
        (four[:, 1::2, 2:], images[:, 1::2, 2:].transpose(1, 2, 0), "a slice"),
        (four.view(2, 2, 8, 8), images.reshape(2, 2, 8, 8).transpose(0, 2, 3, 1), "a batch of two"),
        (gray.expand(3, 1, 3), [[[255] * 3, [0] * 3, [127] * 3]], "one plane three times"),
    ]


def shapes_in_pairs() -> list[tuple]:
    """Pairs of shapes: all of at most two dimensions and sizes 0, 1, 3, and longer ones."""
    small = [s for dims in range(3) for s in itertools.product((0, 1, 3), repeat=dims)]
    longer: list[tuple] = [((2, 1, 3), (4, 1)), ((4, 1), (2, 1, 3)), ((1, 1, 5), (2, 3, 1))]
    longer += [
        ((7,), (1, 1, 1)),
        ((2, 3, 4), (2, 3, 5)),
        ((2, 3, 4), (2, 5, 4)),
        ((2, 3, 4), (3, 4, 5)),
    ]
    longer += [((6, 1, 4, 1), (5, 1, 3)), ((2, 3), (5, 4, 3)), ((9, 3, 4), (2, 4))]
    longer += [((2,) + (1,) * 10, (3,) + (4,) * 10), ((10**6, 1, 10**6), (10**6, 1))]
    longer += [((128, 64), (256, 64)), ((1,) * 9, (7,)), ((0, 2, 1), (1, 1, 0)), ((0, 2), (5, 2))]
    return [*itertools.product(small, small), *longer]


def why_they_fit(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    """Which part of the rule decides."""
    if any({m, n} == {0, 1} for m, n in zip(a[::-1], b[::-1], strict=False)):
        return "1 is stretched to the other size, and that is 0 here"
    if len(a) != len(b):
        return "align the shapes at the right; a missing size counts as 1"
    return "each place is judged for itself"


def labels_to_encode(*others: torch.dtype) -> list[tuple]:
    """Labels, the number of classes, a dtype, and what is special."""
    two, one = torch.tensor([0, 2], device=device), torch.tensor(1, device=device)
    kinds = torch.float32, torch.float16, torch.int64, torch.bfloat16, torch.float64
    found = [(two, 3, kind, "[0, 2]") for kind in kinds]
    found += [(two.flip(0), 3, kind, "[2, 0]") for kind in others]
    found += [
        (one, 3, torch.bool, "of shape (), a single one"),
        (two, 3, torch.complex64, "[0, 2]"),
    ]
    found += [(two[:0], 3, torch.uint8, "of shape (0,)"), (two[:0].view(2, 0), 3, *_SHAPE_2_0)]
    found += [(two.expand(3, 2).t(), 3, torch.int32, "[[0, 0, 0], [2, 2, 2]]")]
    found += [(two.view(1, 2, 1), 4, torch.float32, "of shape (1, 2, 1)")]
    found += [(one.view(1, 1), 12, torch.float32, "of shape (1, 1)")]
    found += [(two * 0, 1, torch.float32, "[0, 0], the only class")]
    found += [(two * 300, 1000, torch.float32, "[0, 600] of a thousand")]
    wide = torch.arange(24, device=device).view(2, 3, 4)[..., ::2] % 5
    return [*found, (wide, 5, torch.float16, "of shape (2, 3, 2), a slice")]


_SHAPE_2_0 = torch.float32, "of shape (2, 0)"


def scores_with_labels() -> dict[str, tuple]:
    """Scores (..., classes) and labels (...)."""
    logits = torch.tensor([[2.0, 0.5, 0.0], [0.25, 1.5, 0.5], [1.25, 0.0, 1.0]], device=device)
    truth = torch.tensor([0, 1, 2], device=device)
    sentences = torch.arange(12.0, device=device).view(2, 2, 3)
    words = torch.tensor([[0, 2], [1, 1]], device=device)
    odd = torch.tensor([[1.0, NAN, INF], [NAN, 2.0, -INF], [NAN, NAN, INF]], device=device)
    return {
        "the first three photos": (logits, truth),
        "a batch of one": (logits[:1], truth[1:2]),
        "a batch of none": (logits[:0], truth[:0]),
        "(classes,) and a label of shape ()": (logits[1], truth[1]),
        "(batch, time, classes)": (sentences, words),
        "(batch, 1, classes)": (sentences[:, :1], words[:, 1:]),
        "(1, 1, classes)": (sentences[1:, 1:], words[:1, 1:]),
        "(2, 1, 2, classes)": (sentences[:, None], words[:, None]),
        "transposed logits and labels": (sentences.transpose(0, 1), words.t()),
        "(2, 0, classes), a time of none": (sentences[:, :0], words[:, :0]),
        "an expanded row": (logits[1].expand(3, 3), truth),
        "a single class": (logits[:, :1], truth * 0),
        "nan and infinite scores elsewhere": (odd, truth),
        "labels whose own score is nan, inf or -inf": (odd, truth.new_tensor([1, 2, 2])),
        "torch.float64, beyond float32": (logits.to(torch.float64) * 1e200, truth),
        "torch.bfloat16": (logits.to(torch.bfloat16), truth),
        "torch.float16": (logits.to(torch.float16), truth),
    }


def rows_to_average() -> dict[str, tuple]:
    """Values and which of them are valid, by what is special in the table."""
    values = torch.tensor([[1.0, 2.0, 9.0], [4.0, 9.0, 9.0]], device=device)
    mask = torch.tensor([[True, True, False], [False, False, False]], device=device)
    kinds = (torch.float32, torch.float16, torch.float64, torch.bfloat16)
    empty = ((0, 3), (3, 0), (1, 1), (1, 4), (4, 1))
    tables = {f"a row that has no valid entry, in {d}": (values.to(d), mask) for d in kinds}
    tables |= {f"a table of shape {s}": (values.new_ones(s), mask.new_ones(s)) for s in empty}
    large = torch.tensor([[2.0**30 + 1, -(2.0**30), 9.0]], dtype=torch.float64, device=device)
    tables["large numbers that cancel, in torch.float64"] = (large, mask[:1])
    tables["a transposed table"] = (values.t().clone().t(), mask.t().clone().t())
    tables["299 columns"] = (values.repeat(1, 100)[:, 1:], ~mask[1:].repeat(2, 100)[:, 1:])
    tables["an expanded row and mask"] = (values[0].expand(4, 3), mask[0].expand(4, 3))
    return tables


def rows_with_gradients(*kinds: torch.dtype) -> dict[str, tuple]:
    """Values and which of them are valid, to look at the gradient of their means."""
    values = torch.tensor([[1.0, 2.0, 9.0], [4.0, 9.0, 9.0]], device=device)
    mask = torch.tensor([[True, True, False], [False, False, False]], device=device)
    tables = {"the example": (values, mask), "a row that is all valid": (values, ~mask | mask)}
    for kind in kinds:
        tables[f"a table in {kind}"] = (values.to(kind), mask)
    for odd in (INF, NAN):
        tables[f"padding that is {odd}"] = (values.masked_fill(~mask[:1], odd), mask[[0, 0]])
        tables[f"a valid entry that is {odd}"] = (values.masked_fill(mask, odd), mask)
    tables["a table without a column"] = (values[:, :0], mask[:, :0])
    return tables | {"a table without a row": (values[:0], mask[:0])}


def scores_in_rows() -> dict[str, tuple]:
    """The same of two dimensions alone, and some more."""
    tables = {name: given for name, given in scores_with_labels().items() if given[0].dim() == 2}
    logits, truth = tables["the first three photos"]
    return tables | {
        "transposed": (logits.t(), truth),
        "sixty": (logits.repeat(20, 1), truth.repeat(20)),
    }


def segments_to_sum() -> dict[str, tuple]:
    """Values, the segment of each row, and how many there are."""
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device)
    segments = torch.tensor([2, 0, 2], device=device)
    wide = torch.arange(48.0, device=device).view(6, 8)
    six = torch.tensor([1, 1, 0, 3, 1, 0], device=device)
    tables = {
        "the example, where a segment comes twice": (values, segments, 4),
        "values of shape (3,)": (values[:, 0], segments, 4),
        "values of shape (3, 2, 1)": (values[..., None], segments, 4),
        "values of shape (3, 2, 1, 2)": (values[..., None, None].repeat(1, 1, 1, 2), segments, 3),
        "the last segment too": (values, segments, 3),
        "a single segment": (values, segments * 0, 1),
        "segments in falling order": (values, segments.new_tensor([3, 2, 0]), 4),
        "one row": (values[:1], segments[:1], 3),
        "a row with an infinite value": (values / values[:1].sub(1), segments, 4),
        "a row with nan": (values / (values - 3) * 0, segments, 4),
        "values in torch.float64 beyond float32": (values.double() * 1e200, segments, 4),
        "no row": (values[:0], segments[:0], 2),
        "no column": (values[:, :0], segments, 4),
        "no row and no segment": (values[:0], segments[:0], 0),
        "no row, one dimension": (values[:0, 0], segments[:0], 2),
        "a transposed table": (values.t(), segments[:2], 4),
        "a slice": (wide[:, ::2], six, 4),
        "an expanded row": (wide[0, :5].expand(6, 5), six, 4),
        "values of shape (3, 2, 0)": (values[..., None][..., :0], segments, 4),
        "300 rows in one segment": (wide[:1].expand(300, 8), segments[:1].expand(300), 4),
    }
    kinds = torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32
    tables["complex values"] = (values * (1 + 2j), segments, 4)
    for dtype in (*kinds, torch.uint8):
        tables[f"values in {dtype}"] = (values.to(dtype), segments, 4)
        tables[f"a single segment, in {dtype}"] = (values.to(dtype), segments * 0, 1)
        tables[f"values of shape (3,) in {dtype}"] = (values[:, 1].to(dtype), segments, 3)
    large = torch.tensor([[2, 2**53 + 1], [2**53 + 1, 2], [3, 3]], device=device)
    return tables | {"whole numbers beyond float64's": (large, segments, 4)}


def words_of_packed(packed: torch.Tensor, padded: torch.Tensor, lengths: torch.Tensor) -> str:
    """Words for entries packed under the mask of the rows as they came; "" if they aren't."""
    order = lengths.argsort(descending=True, stable=True)
    place = torch.arange(padded.shape[1], device=padded.device)
    early, late = (place < some[:, None] for some in (lengths, lengths[order]))
    alike = isinstance(packed, torch.Tensor) and packed.dtype == padded.dtype
    if not alike or torch.equal(packed, padded[order][late]):
        return ""
    slips = {
        "the rows are sorted and the mask isn't: compare with the sorted lengths": padded[order],
        "the rows are packed in the order in which they came: sort them first": padded,
    }
    return next((words for words, rows in slips.items() if torch.equal(packed, rows[early])), "")


def rows_to_sort() -> dict[str, tuple]:
    """A table, the lengths of its rows, and for some why."""
    table = torch.tensor([[5, 0, 0], [7, 8, 9], [4, 6, 0]], device=device)
    sizes, other = torch.tensor([1, 3, 2], device=device), torch.tensor([2, 1, 3], device=device)
    forty, ties = torch.arange(120, device=device), [2, 0, 2, 0] * 10
    ties, many = torch.tensor(ties, device=device), torch.arange(5000, device=device)
    nan = torch.tensor([[NAN, 1.0, INF], [2.0, NAN, 3.0]], device=device)
    keep = "rows of equal length keep their order"
    return {
        "the example": (table, sizes, ""),
        "zeros everywhere": (table * 0, other, "a real entry may be equal to the padding"),
        "-1 everywhere": (table * 0 - 1, other, "a real entry may be equal to the padding"),
        "ties": (forty.view(40, 3), ties, keep),
        "2500 rows of at most two": (many.view(2500, 2), many[:2500] * 7 % 3, keep),
        "all of one length": (table, sizes * 0 + 2, keep),
        "all of length 0": (table, sizes * 0, ""),
        "one row": (table[:1], sizes[:1], ""),
        "rows of 100 and 200": (
            many[:600].view(2, 300),
            torch.tensor([100, 200], device=device),
            "",
        ),
        "one column": (table[:, :1], torch.tensor([1, 0, 1], device=device), keep),
        "a column that no row reaches": (table, sizes - 1, ""),
        "nan among real entries": (nan, sizes[1:], "nan is real where the length says so"),
        "a table in torch.bool": (table > 4, sizes, ""),
        "a table in torch.float64, transposed": (table.t() * 1e200, other, ""),
        "a slice": (forty.view(10, 12)[::3, 1::4], torch.tensor([2, 0, 3, 2], device=device), keep),
        "no row": (table[:0], sizes[:0], ""),
        "no column": (table[:, :0], sizes * 0, keep),
        "complex numbers": (table * (1 + 2j), sizes, ""),
        "whole numbers beyond float64's": (table + 2**53, sizes, ""),
        "a table in torch.float64, with many digits": (
            table / torch.tensor(3.0).double(),
            sizes,
            "",
        ),
        **{f"a table in {kind}": (table.to(kind), sizes, "") for kind in _KINDS},
    }


_KINDS = torch.float16, torch.bfloat16, torch.float32, torch.int32, torch.uint8


def tables_to_draw_from() -> dict[str, tuple]:
    """What is allowed, k, and a seed."""
    example = torch.tensor([[True, False, True], [True, True, True]], device=device)
    wide = torch.ones(60, 9, dtype=torch.bool, device=device)
    long = torch.ones(2, 300, dtype=torch.bool, device=device)
    ranks = torch.arange(512, device=device)[None]
    return {
        "the example": (example, 2, 0),
        "one row, k = 1": (example[:1], 1, 3),
        "one row of one column": (example[:1, :1], 1, 4),
        "exactly k allowed in each row": (example[:1].expand(5, 3), 2, 5),
        "all of nine columns": (wide[:4], 9, 6),
        "a transposed slice": (wide[:, ::2].t(), 4, 5),
        "300 columns, all allowed": (long, 100, 7),
        "the last of 300 columns alone": (torch.arange(300, device=device)[None] == 299, 1, 8),
        "one column whose key in torch.rand is exactly 0": (ranks == 190, 1, 28587),
        "more and more columns allowed": (ranks[:, :40] <= ranks[:, 3:12].t(), 4, 9),
    }
