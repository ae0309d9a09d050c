"""The slips that the chapter on strides knows by name lead elsewhere than the right answer."""

import pytest
import torch
import torch.nn.functional as F

from course_utils import count_operators
from course_utils.chapters.storage_and_strides import slips as known

TABLE = torch.arange(48.0).view(6, 8) ** 2


def the_same(slips, right):
    return [words for words, wrong in slips.items() if torch.equal(wrong, right)]


@pytest.mark.parametrize("anti", [False, True])
@pytest.mark.parametrize("matrix", [TABLE[1:4, 2:5], TABLE[1:4, 2:5].t()])
def test_no_slip_gives_the_trace(matrix, anti):
    right = (matrix.flip(1) if anti else matrix).diagonal().sum()
    slips = known.traces(matrix, anti)
    assert len(slips) >= 5
    assert the_same(slips, right) == []


def test_a_slip_that_leaves_the_storage_is_left_out():
    short = torch.arange(12.0)[6:].as_strided((3, 3), (1, 1), 6)
    assert known.CONTIGUOUS not in known.traces(short, False)
    assert known.CONTIGUOUS in known.traces(TABLE[1:4, 2:5], False)


def test_no_slip_gives_the_windows():
    x = torch.arange(60)[1::3]
    slips = known.windows(x, 3, 2)
    assert len(slips) == 6
    assert the_same(slips, x.unfold(0, 3, 2)) == []


def test_no_slip_gives_the_convolution():
    images = (torch.arange(4 * 81.0) ** 2).view(2, 2, 9, 9)[:, :, 1:, :7]
    weight = torch.arange(24.0).view(2, 2, 2, 3) - 7
    slips = known.convolutions(images, weight, stride=2)
    assert len(slips) >= 5
    assert the_same(slips, F.conv2d(images, weight, stride=2)) == []
    plain = known.plain_convolutions(TABLE[1:5, 2:6], TABLE[:2, :3])
    assert len(plain) >= 5
    assert the_same(plain, F.conv2d(TABLE[None, None, 1:5, 2:6], TABLE[None, None, :2, :3])) == []


@pytest.mark.parametrize(
    ("pair", "words"), [(None, "is None"), ((1, 2, 3), "not a tuple"), (1, "not a int")]
)
def test_what_is_no_pair_is_refused(pair, words):
    with pytest.raises(AssertionError, match=words):
        known.check_pair(pair, "(a, b)")
    known.check_pair([1, 2], "(a, b)")


def test_windows_are_one_view():
    x = torch.ones(1, 1, 4, 4)
    for work, words in (
        (lambda: F.conv2d(x, x[..., :2, :2]), "convolution ran"),
        (lambda: F.unfold(x, 2), "im2col ran"),
        (lambda: x[..., :2, :2].sum(), "no view of the windows was made"),
        (lambda: [x.unfold(2, 2, 1) for _ in range(3)], "not by 3: no loop"),
    ):
        with count_operators() as counts:
            work()
        with pytest.raises(AssertionError, match=words):
            known.check_view_of_windows(counts)
    with count_operators() as counts:
        x.unfold(2, 2, 1).unfold(3, 2, 1)
    known.check_view_of_windows(counts)
    with count_operators() as counts:
        x.mul(2)
    known.check_view_of_windows(counts, needed=False)


def test_operators_that_return_views():
    views = ["as_strided", "t", "unbind", "detach", "slice"]
    others = ["sum", "add", "add_", "set_", "no_such"]
    assert [name for name in views + others if known.is_view(name)] == views


def test_the_bytes_that_a_view_keeps_are_none_of_its_slips():
    best = torch.zeros(1000)[:10]
    assert sorted(known.bytes_kept(best)) == [10, 40, 1000]


def test_formats():
    planes = torch.zeros(2, 3, 4, 4)
    pixels = planes.contiguous(memory_format=torch.channels_last)
    named = [planes, pixels, planes[:, :1].clone(), planes.transpose(2, 3)]
    formats = [known.format_of(image) for image in named]
    assert formats == ["contiguous", "channels_last", "both", "neither"]


def test_operands_of_an_outer_sum_are_views():
    a, b = torch.arange(2.0), torch.arange(3.0)
    known.check_outer(lambda a, b: (a[:, None].expand(2, 3), b.expand(2, 3)), a, b)
    with pytest.raises(AssertionError, match="a copy was made"):
        known.check_outer(lambda a, b: (a[:, None].repeat(1, 3), b.expand(2, 3)), a, b)
    with pytest.raises(AssertionError, match="q has shape"):
        known.check_outer(lambda a, b: (a[:, None].expand(2, 3), b), a, b)


def test_a_format_of_another_name_is_refused():
    known.check_format(lambda size, stride: "both", (1,), (1,), "both")
    with pytest.raises(AssertionError, match=r"memory_format\(\(1,\), \(1,\)\).*because"):
        known.check_format(lambda size, stride: "both", (1,), (1,), "neither", "because")
