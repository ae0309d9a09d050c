"""Pictures of this chapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_matrix(
    place: Axes, shaded: torch.Tensor, title: str, rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Draw a matrix whose shaded entries are those that one walk computes."""
    from matplotlib.colors import ListedColormap

    place.imshow(shaded, cmap=ListedColormap(["#ffffff", "#bfe0f5"]), vmin=0, vmax=1)
    place.set_title(title, fontsize=9)
    place.set_yticks(range(len(rows)), rows)
    place.set_xticks(range(len(columns)), columns)
    place.set_xticks([n - 0.5 for n in range(1, len(columns))], minor=True)
    place.set_yticks([n - 0.5 for n in range(1, len(rows))], minor=True)
    place.grid(which="minor", color="#6b6b6b")
    place.tick_params(which="both", length=0)
