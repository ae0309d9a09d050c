"""Exercise 15.1: programs that fail."""

from __future__ import annotations

import traceback
from collections.abc import Iterable

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.learner.tracebacks import ends_in_notebook

PROGRAMS = {
    "A": """hidden = nn.Linear(8, 4)
head = nn.Linear(8, 2)
x = torch.ones(3, 8)
y = head(hidden(x))""",
    "B": """layers = [nn.Linear(2, 2), nn.ReLU()]
model = nn.Squential(*layers)
y = model(torch.ones(1, 2))""",
    "C": """layer = nn.Linear(3, 1)
photo = torch.tensor([[255, 0, 7]], dtype=torch.uint8)
y = layer(photo)""",
    "D": """table = nn.Embedding(10, 4)
words = torch.tensor([1, 9, 10])
vectors = table(words)""",
    "E": """x = torch.ones(2, 3, device="meta")
layer = nn.Linear(3, 1)
y = layer(x)""",
    "F": """class Double(nn.Module):
    def forward(self, x):
        2 * x

y = Double()(torch.ones(1, 2))
z = nn.Linear(2, 2)(y)""",
    "G": """w = torch.ones(2, requires_grad=True)
y = w.exp()
y += 1
y.sum().backward()""",
    "H": """def scale(x):
    return x / x.mean()

counts = torch.tensor([1, 2, 3])
y = scale(counts)""",
}


def run_program(source: str) -> tuple[str, int]:
    """The message of what a program raises, and the number of its lowest line in the traceback."""
    try:
        exec(compile(source, "the program", "exec"), {"torch": torch, "nn": nn, "F": F})
    except Exception as error:
        entries = traceback.extract_tb(error.__traceback__)
        lines = [entry.lineno or 0 for entry in entries if entry.filename == "the program"]
        return f"{type(error).__name__}: {error}", lines[-1]
    return "", 0


@ends_in_notebook
def check_pairs(guesses: dict, names: Iterable[str]) -> None:
    """Check the form of predictions: each a word and a line number, or still blank.

    Raises:
        AssertionError: one has another form.
    """
    __tracebackhide__ = True
    kind = type(guesses).__name__
    assert isinstance(guesses, dict), f"read_the_message is a {kind}: leave the dict, fill it in"
    for name in names:
        guess = guesses.get(name)
        pair = isinstance(guess, (tuple, list)) and [type(part) for part in guess] == [str, int]
        assert guess is None or pair, f"{name}: {guess!r}? Write a pair such as ('range', 2)"


def explain(guesses: dict, truth: dict, whats: dict[str, str], wheres: dict[str, str]) -> dict:
    """Words for the wrong half of each wrong prediction: for what broke, or for where."""
    words = {}
    for name, right in truth.items():
        guess = guesses.get(name) or right
        halves = zip(guess, right, (whats[name], wheres[name]), strict=True)
        words[name] = "; ".join(why for mine, true, why in halves if mine != true)
    return words
