"""Predictions with other numbers: whoever remembers the answer has not remembered why.

Only where an exercise's check computes by running what it expects. What changes is written down
below, text by text, since a statement and a check's reasons speak of the numbers as well.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode

# By grade id, the ways in which an exercise is asked again: in each, what stands for what.
FRESH: dict[str, list[dict[str, str]]] = {
    "predict-warm-up": [
        {
            "torch.zeros(3), torch.zeros(4, 1), torch.zeros(2, 3), torch.zeros(2)": (
                "torch.zeros(5), torch.zeros(6, 1), torch.zeros(2, 5), torch.zeros(2)"
            ),
            "| `a` | `(3,)` |": "| `a` | `(5,)` |",
            "| `b` | `(4, 1)` |": "| `b` | `(6, 1)` |",
            "| `c` | `(2, 3)` |": "| `c` | `(2, 5)` |",
            "you would write `(3,)`": "you would write `(5,)`",
        },
        {
            "torch.zeros(3), torch.zeros(4, 1), torch.zeros(2, 3), torch.zeros(2)": (
                "torch.zeros(4), torch.zeros(7, 1), torch.zeros(3, 4), torch.zeros(3)"
            ),
            "| `a` | `(3,)` |": "| `a` | `(4,)` |",
            "| `b` | `(4, 1)` |": "| `b` | `(7, 1)` |",
            "| `c` | `(2, 3)` |": "| `c` | `(3, 4)` |",
            "| `d` | `(2,)` |": "| `d` | `(3,)` |",
            "you would write `(3,)`": "you would write `(4,)`",
        },
    ],
    "read-the-photo": [
        {
            "shape (60, 90, 3)": f"shape ({high}, {wide}, 3)",
            "24 such photos": f"{frames} such photos",
            "torch.empty(24, 60, 90, 3)": f"torch.empty({frames}, {high}, {wide}, 3)",
        }
        for frames, high, wide in ((30, 48, 80), (16, 100, 70))
    ],
    "predict-strides": [
        {
            "torch.arange(10, 22).view(3, 4)": "torch.arange(10, 30).view(4, 5)",
            "the 3 × 4 tensor of the pictures": "a contiguous 4 × 5 tensor",
            "`((4,), (1,), 4)`": "`((5,), (1,), 5)`",
            "Use the picture, a pencil": "Use a pencil",
            "[0, 0], [1, 1] and [2, 2]": "[0, 0], [1, 1], [2, 2] and [3, 3]",
            "two rows of four": "two rows of five",
            "x.view(2, 6)": "x.view(2, 10)",
            "rows of six now": "rows of ten now",
            "passes six boxes": "passes ten boxes",
        }
    ],
    "product-shapes": [
        {
            "(2, 3) @ (3,)": "(4, 5) @ (5,)",
            "(2, 3) * (3,)": "(4, 5) * (5,)",
            "torch.ones(2, 3) @ torch.ones(3)": "torch.ones(4, 5) @ torch.ones(5)",
            "torch.ones(2, 3) * torch.ones(3)": "torch.ones(4, 5) * torch.ones(5)",
            "the 3 is summed over": "the 5 is summed over",
            "(7, 2, 3) @ (3, 4)": "(6, 2, 5) @ (5, 3)",
            "torch.ones(7, 2, 3) @ torch.ones(3, 4)": "torch.ones(6, 2, 5) @ torch.ones(5, 3)",
            "each of the 7 matrices": "each of the 6 matrices",
        }
    ],
    "pencil-slopes": [
        {
            "at a = 2 and b = 5": f"at a = {a} and b = {b}",
            "torch.tensor(2.0, requires_grad=True)": f"torch.tensor({a}.0, requires_grad=True)",
            "torch.tensor(5.0, requires_grad=True)": f"torch.tensor({b}.0, requires_grad=True)",
            "2 · 5 + 2": f"{a} · {b} + {a}",
        }
        for a, b in ((3, 4), (4, 6), (6, 3))
    ],
    "predict-reductions": [
        {
            "[[1.0, 9.0], [2.0, 9.0], [9.0, 3.0], [9.0, 6.0]]": (
                "[[2.0, 9.0], [4.0, 9.0], [9.0, 1.0], [9.0, 5.0]]"
            ),
            "are 1, 2, 3 and 6": "are 2, 4, 1 and 5",
            "[[2.0, 4.0, 7.0], [6.0, 7.0, 7.0]]": "[[1.0, 3.0, 7.0], [5.0, 7.0, 7.0]]",
            "[[3.0, 0.0, 0.0], [0.0, 0.0, 3.0]]": "[[6.0, 0.0, 0.0], [0.0, 0.0, 6.0]]",
        }
    ],
    "predict-the-loader": [
        {
            "the numbers 0 to 9": "the numbers 0 to 10",
            "data = list(range(10))": "data = list(range(11))",
            "4, 4 and 2: the short one counts": "4, 4 and 3: the short one counts",
            "two are left for it": "three are left for it",
        }
    ],
}


def freshen(cells: list[NotebookNode], name: str, turn: int) -> None:
    """Give an exercise's cells other numbers, where it can have any.

    Args:
        cells: all that the exercise needs; they are changed.
        turn: which of its ways: they come in turns.
    """
    ways = FRESH.get(name)
    if not ways:
        return
    way = ways[turn % len(ways)]
    # All at once: what was put in is not replaced again.
    pattern = re.compile("|".join(re.escape(old) for old in sorted(way, key=len, reverse=True)))
    for cell in cells:
        cell.source = pattern.sub(lambda found: way[found[0]], cell.source)
