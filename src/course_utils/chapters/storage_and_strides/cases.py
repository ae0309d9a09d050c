"""Arguments to try the answers of the chapter on storage and strides with, by what is special."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.chapters.storage_and_strides.slips import format_of
from course_utils.learner.devices import device


def tensors_to_view() -> list[Tensor]:
    """Tensors of many layouts, of no more than 24 elements."""
    row = torch.arange(200)
    table, cube = row[:24].view(4, 6), row[:24].view(2, 3, 4)
    odd = [((1,), (5,)), ((4, 1), (1, 9)), ((1, 4), (9, 1)), ((2, 1, 3), (3, 7, 1))]
    odd += [((2, 3, 4), (24, 4, 1)), ((2, 3, 4), (12, 8, 1)), ((2, 2, 3), (9, 3, 1))]
    odd += [((3, 3), (1, 1)), ((4, 2), (2, 1)), ((2, 3), (0, 1)), ((3, 2), (1, 0)), ((4,), (0,))]
    odd += [((1, 1, 1), (3, 5, 7)), ((2, 4), (1, 2)), ((2, 2, 2), (1, 2, 4)), ((6,), (3,))]
    found = [row.as_strided(size, stride, 1) for size, stride in odd]
    found += [row[7], row[:1], row[:0], table, table.t(), table[:, ::2], table[::2], table[:, 1:5]]
    found += [
        cube,
        cube.mT,
        cube.transpose(0, 1),
        cube.permute(2, 0, 1),
        cube[:, 1:],
        cube[..., :2],
    ]
    found += [
        cube[:, :0],
        cube[:0],
        table[:0, :0],
        row[:2].expand(3, 2),
        row[:2, None].expand(2, 3),
    ]
    four = row[:24].view(2, 3, 2, 2)
    return [*found, four.permute(3, 1, 0, 2), four.permute(2, 0, 3, 1), four[..., :1]]


def notes_to_view() -> list[tuple]:
    """Size, stride, new size, and the strides of the view; None where PyTorch makes none."""
    found = []
    asked = [(x, new_size) for x in tensors_to_view() for new_size in _sizes_of(x)]
    # All of them refuse no slip that these let through, and each is a call that the judge makes.
    for x, new_size in asked[2::4]:
        try:
            truth = x.view(new_size).stride()
        except RuntimeError:
            truth = None
        found.append((tuple(x.shape), x.stride(), new_size, truth, "PyTorch's own view"))
    return found


def _sizes_of(x: Tensor) -> list[tuple[int, ...]]:
    """Sizes of at most three dimensions with as many elements, the tensor's own, and one more."""
    n, own = x.numel(), tuple(x.shape)
    if not n:
        return [own, (0,), (0, 3), (2, 0, 5), (), (1,), (4,)]
    parts = [d for d in range(1, n + 1) if n % d == 0]
    pairs = [(a, n // a) for a in parts]
    triples = [(a, b, n // a // b) for a in parts for b in parts if n // a % b == 0]
    few = triples if n < 9 else triples[1::3]
    some = [own, (n,), *pairs, *few, (1, *own, 1), (n + 1,), (n, 2), (0, n)]
    return list(dict.fromkeys([*some, *([()] if n < 3 else [])]))


def square_matrices(*kinds: torch.dtype) -> dict[str, Callable[[], Tensor]]:
    """Square matrices, made anew at each call."""
    squares, line = torch.arange(48, device=device).view(6, 8) ** 2, torch.arange(9, device=device)
    cross = torch.eye(4, device=device) + torch.eye(4, device=device).flip(0) > 0
    found: dict[str, Callable[[], Tensor]] = {
        "[[1, 2], [3, 5]]": lambda: torch.tensor([[1, 2], [3, 5]], device=device),
        "a slice with an offset": lambda: squares[1:4, 2:5],
        "a transposed matrix": lambda: squares[:6, :6].t(),
        "a transposed slice with an offset": lambda: squares[1:4, 2:5].t(),
        "an expanded row": lambda: squares[1, :5].expand(5, 5),
        "an expanded column": lambda: squares[:5, 1:2].expand(5, 5),
        "windows that overlap": lambda: line.unfold(0, 5, 1),
        "windows that overlap, two apart": lambda: line.unfold(0, 4, 2)[:, :3],
        "every second row and third column": lambda: squares[::2, ::3],
        "three times 200 in torch.uint8": lambda: line.new_full((3, 3), 200).byte(),
        "a matrix of whole numbers that float64 would round": lambda: squares[:3, :3] + 2**60,
        "a matrix of complex numbers": lambda: squares[:3, :3] * (2 + 3j),
        "the real part of a complex matrix (every second number of its storage)": lambda: (
            (squares[:3, :3] * (2 + 3j)).real
        ),
        "nan beside the diagonals": lambda: torch.where(cross, 1.5, torch.nan),
        "inf beside the diagonals": lambda: torch.where(cross, 1.5, torch.inf),
        "a single number, expanded": lambda: squares[2, 1].expand(4, 4),
        "a 1 × 1 matrix": lambda: squares[3:4, 2:3],
        "a 1 × 1 matrix in torch.int32": lambda: squares[3:4, 2:3].int(),
        "a 0 × 0 matrix": lambda: squares[:0, :0],
        "a 0 × 0 matrix of a column": lambda: squares[2:2, 3:3],
    }
    halves = torch.arange(9.0, device=device).view(3, 3) / 2
    found["a matrix that requires a gradient"] = lambda: halves.clone().requires_grad_()
    for kind in kinds:
        found[f"a matrix in {kind}"] = lambda kind=kind: (squares[:4, :4] % 5).to(kind)
        found[f"a 0 × 0 matrix in {kind}"] = lambda kind=kind: squares[:0, :0].to(kind)
    return found


def lines() -> dict[str, tuple]:
    """Tensors (n,), the length of a window, and a step."""
    line = torch.arange(30, device=device)
    return {
        "of five elements, in torch.bool": (line[:5] > 2, 2, 3),
        "a view with stride 3, windows of one": (line[1::3], 1, 4),
        "of one element": (line[5:6], 1, 9),
        "of seven elements, that requires a gradient": ((line[:7] / 2).requires_grad_(), 3, 2),
    }


def images() -> dict[str, tuple]:
    """Grey images and kernels, all in float64."""
    table = torch.arange(1.0, 49.0, dtype=torch.float64, device=device).view(6, 8) ** 2
    return {
        "every second row and third column": (table[::2, ::3], table[:3, :2].t()[:, :2]),
        "a slice with gaps, a column as kernel": (table[1:, 1::2], table[:3, 1:2]),
        "an expanded column and kernel": (table[:, :1].expand(6, 5), table[1, 1].expand(2, 3)),
        "a row as wide as the image": (table[1:, 2:], table[:1, 1:7]),
        "an image of one number": (table[3:4, 2:3], table[1:2, 1:2]),
        "windows that overlap": (table[0].unfold(0, 4, 2), table[:1, :2]),
        "a square": (table[:, :6], table[:2, :2]),
        "this square, turned: in the same place, with other strides": (
            table[:, :6].t(),
            table[:2, :2],
        ),
    }


def pieces() -> dict[str, Callable[[Tensor], Tensor]]:
    """Views of 600 numbers, and of storages with as many boxes as the view has elements."""
    return {
        "a single number, expanded to (1, 1)": lambda big: big[7].expand(1, 1),
        "a single number in torch.float64": lambda big: big.double()[5],
        "a single number in torch.bool": lambda big: (big > 7)[9],
        "a whole storage, expanded": lambda big: big.expand(2, 600),
        "of which the first is NaN": lambda big: (big / big)[:3],
        "every second window of one": lambda big: big[:6].clone().unfold(0, 2, 2)[:, 0],
        "one number, expanded": lambda big: big[:4].clone()[1].expand(2, 2),
        "windows that overlap": lambda big: big[:4].clone().as_strided((2, 2), (1, 1)),
    }


def formats() -> list[tuple]:
    """Sizes and strides of images, and the names of their memory formats."""
    found = [((1, 1, 1, 1), (5, 5, 5, 5), "both", "of a single number no stride counts")]
    for size in itertools.product((1, 2, 3), (1, 3), (1, 2), (1, 2, 4)):
        rows = torch.empty(size)
        last = rows.contiguous(memory_format=torch.channels_last)
        holes, wide = (
            torch.empty(*size, 2)[..., 0],
            torch.empty(size[0], 5, *size[2:])[:, : size[1]],
        )
        deep = torch.empty(size[0], *size[2:], 5)[..., : size[1]].permute(0, 3, 1, 2)
        upright = torch.empty(size[0], *size[:1:-1], size[1]).permute(0, 3, 2, 1)
        apart = torch.empty(2 * size[0], *size[1:])[::2]
        far = torch.empty(2 * size[0], *size[1:]).contiguous(memory_format=torch.channels_last)[::2]
        odd = (holes, wide, deep, upright, last.mT, rows[:1].expand(size), far, apart)
        for y in (rows, last, *odd):
            found.append((tuple(y.shape), y.stride(), format_of(y), "as PyTorch has it"))
    # As with the notes.
    return list(dict.fromkeys(found))[::3]


def small_sizes() -> list[tuple]:
    """Sizes of at most three dimensions, with the strides of a contiguous tensor."""
    sizes = [s for dims in range(4) for s in itertools.product((0, 1, 2, 3), repeat=dims)]
    return [(size, torch.empty(size).stride()) for size in (*sizes, (5, 1, 0, 2, 3))]


def why(size: tuple[int, ...]) -> str:
    """Which part of the rule for row-major strides a size shows."""
    if math.prod(size) == 0:
        return "a size of 0 counts as 1"
    return "each stride is the product of all sizes after it"
