"""Patterns of einops, and tiles of a picture."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from einops import rearrange, reduce, repeat

from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close


def truths_of_six(x: torch.Tensor, tokens: torch.Tensor) -> dict:
    """For each name of the table: function, its operands, the result without einops, a hint."""
    patches = F.unfold(x, 2, stride=2).transpose(1, 2)
    wide = x.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
    heads = tokens.unflatten(2, (4, 3)).transpose(1, 2)
    order = "are a patch's pixels neighbours? which index is first?"
    return {
        "channels first": (rearrange, (x.movedim(1, -1),), x, "the channels move to the front"),
        "global average": (reduce, (x, "mean"), x.mean((2, 3)), "one number for each channel"),
        "upsample": (repeat, (x,), wide, "does each pixel stay beside its copies?"),
        "heads": (rearrange, (tokens,), heads, "4 heads of 3 neighbouring channels"),
        "patches": (rearrange, (x,), patches, order),
        "back": (rearrange, (patches,), x, "the way back from the patches"),
    }


def draw_tiles() -> torch.Tensor:
    """Six tiles (6, 9, 7, 3), each with a ground of its own and its number on it."""
    # A digit of a text is a row of three pixels, as a number.
    rows = ("75557", "26227", "71747", "71717", "55711", "74717")
    tiles = torch.empty(6, 9, 7, 3)
    for n, digit in enumerate(rows):
        tiles[n] = torch.tensor(plt.colormaps["Dark2"](n)[:3])
        for y, row in enumerate(digit):
            for x in range(3):
                if int(row) >> (2 - x) & 1:
                    tiles[n, 2 + y, 2 + x] = 1.0
    return tiles


def truths_of_tiles(tiles: torch.Tensor) -> dict:
    """The three pictures, without einops, in the form of ``truths_of_six``."""
    turned = tiles.transpose(1, 2)
    columns = torch.cat([torch.cat([*tiles[j : j + 2]]) for j in (0, 2, 4)], dim=1)
    pairs = torch.cat([torch.cat([*turned[i : i + 2]], dim=1) for i in (0, 2, 4)])
    return {
        "a row": (rearrange, (tiles,), torch.cat([*tiles], dim=1), "all tiles side by side"),
        "columns": (rearrange, (tiles,), columns, "tile 1 lies below tile 0: which runs faster?"),
        "turned": (rearrange, (tiles,), pairs, "two in a row; a tile's rows have become columns"),
    }


def check_patterns(einops_six, truths, name):
    with every_case() as case:
        for key, (function, operands, expected, because) in truths.items():
            pair = einops_six.get(key)
            with case(f"{key}, {name}"):
                fits = isinstance(pair, (tuple, list)) and len(pair) == 2
                fits = fits and isinstance(pair[0], str) and isinstance(pair[1], dict)
                form = '("pattern", {}), with sizes in the dict'
                assert fits, f"it is {pair!r}: is there an answer yet? write {form}"
                try:
                    result = function(operands[0], pair[0], *operands[1:], **pair[1])
                except Exception as error:
                    reason = " ".join(str(error).split("}.\n")[-1].split())
                    reason += ": sizes go into the dict" * ("Non-unitary" in reason)
                    told = "; does a size in the dict hold for other images only?"
                    reason += told * ("mismatch" in reason)
                    raise AssertionError(f"einops refuses {pair[0]!r} ({reason})") from None
                check_close(result, expected, f"the result ({because})")
