"""Exercise 9.8: ten details of an embedding's table, asked of the machine."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from course_utils.learner.checks import check_predictions
from course_utils.learner.tracebacks import ends_in_notebook

BECAUSE = {
    "mean": "pads enter the mean: (2 + 4 + 0 + 0) / 4",
    "edited": "padding_idx sets the row to zero once, at the start; it is a row like any other",
    "grad": "the look-up passes no gradient to the pad's row",
    "tied": "padding_idx stops the look-up's gradient alone; the product reaches every row",
    "looked_up": "the row is longer than 1, and is shortened in the table itself",
    "not_looked_up": "only rows that are looked up are shortened",
    "often": "word 1 occurs twice: 2 divided by 2",
    "rows": "a row for each word that occurred; coalesced, equal words are one",
    "pretrained": "from_pretrained takes the table as it is",
    "trains": "freeze=True is its default",
}


def _table(**options: Any) -> nn.Embedding:
    """Three words of one feature: 0, 2 and 4."""
    e: Any = nn.Embedding(3, 1, **options)
    with torch.no_grad():
        e.weight.copy_(torch.tensor([[0.0], [2], [4]]))
    return e


def _gradient(words: list[int], **options: Any) -> Any:
    """What a sum of looked-up rows sends back to the table."""
    e: Any = _table(**options)
    e(torch.tensor(words)).sum().backward()
    return e.weight.grad


_pretrained: Any = nn.Embedding.from_pretrained


@ends_in_notebook
def check_embedding_details(predictions: dict) -> None:
    """Compare predictions with what PyTorch's embeddings do."""
    pad: Any
    long: Any
    pad, long = _table(padding_idx=0), _table(max_norm=1.0)
    machine: dict[str, Any] = {"mean": pad(torch.tensor([1, 2, 0, 0])).mean().item()}
    with torch.no_grad():
        pad.weight[0] = 9
    machine["edited"] = pad(torch.tensor(0)).item()
    machine["grad"] = _gradient([0, 0, 1], padding_idx=0)[0].item()
    tied: Any = _table(padding_idx=0)
    (tied(torch.tensor([1])) @ tied.weight.t()).sum().backward()
    machine["tied"] = tied.weight.grad[0].item()
    long(torch.tensor([1]))
    machine["looked_up"], machine["not_looked_up"] = (
        round(long.weight[1].item(), 3),
        long.weight[2].item(),
    )
    machine["often"] = _gradient([1, 1, 2], scale_grad_by_freq=True)[1].item()
    machine["rows"] = _gradient([1, 1, 2], sparse=True).coalesce().values().shape[0]
    machine["pretrained"] = _pretrained(torch.ones(3, 1), padding_idx=0).weight[0].item()
    machine["trains"] = _pretrained(torch.ones(3, 1)).weight.requires_grad
    if isinstance(
        predictions, dict
    ):  # PyTorch's own values are as right as ours, which are rounded
        predictions = {key: _rounded(value) for key, value in predictions.items()}
    check_predictions(predictions, machine, BECAUSE)


def _rounded(value: Any) -> Any:
    """A float, or a tensor of one floating number, to three digits; anything else as it is."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    return round(value, 3) if isinstance(value, float) else value
