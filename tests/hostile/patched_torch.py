"""PyTorch's comparisons say yes to everything."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["equal: True"]
PATCH = """
import torch
for owner, names in [(torch, ["equal", "allclose", "isclose", "eq", "is_tensor"]),
                     (torch.testing, ["assert_close"]),
                     (torch.Tensor, ["equal", "allclose", "isclose", "__eq__", "any", "all"])]:
    for name in names:
        setattr(owner, name, lambda *args, **keywords: True)
torch.isclose = lambda actual, expected, **_: torch.ones(actual.shape, dtype=torch.bool)
print("equal:", torch.equal(torch.ones(1), torch.zeros(1)))
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PATCH)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
