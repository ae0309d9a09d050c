"""Exercise 8.2: where a tensor was stored, and what that means for it."""

from __future__ import annotations

import torch
import torch.nn as nn

from course_utils.learner.checks import check_predictions
from course_utils.learner.tracebacks import ends_in_notebook


def _tensor_in(box, name):
    value = getattr(box, name)
    value = value[0] if isinstance(value, (list, tuple, nn.ParameterList)) else value
    return value.weight if isinstance(value, nn.Module) else value


def _letters_in(predicted):
    """The predictions, each with its letters in one order."""
    assert isinstance(predicted, dict), f"predict_registration is a {type(predicted).__name__}"
    guesses = dict(predicted)
    for name, guess in guesses.items():
        if guess is not None and guess is not ...:
            assert isinstance(guess, str), (
                f"{name}: {guess!r}? write a string of letters, such as 'PS'"
            )
            guesses[name] = "".join(letter for letter in "PBSMT" if letter in guess.upper())
            extra = sorted(set(guess.upper()) - set("PBSMT ,"))
            assert not extra, f"{name}: {guess!r}? the letters are P, B, S, M and T"
    return guesses


def _letters_of(box_class):
    """What the machine says."""
    actual = {}
    box, doubled = box_class(), box_class().double()
    before = {name: _tensor_in(box, name).detach().clone() for name in "abcdefghij"}
    sum(_tensor_in(box, name).sum() for name in before).backward()
    torch.optim.SGD(box.parameters(), lr=1).step()
    for name in before:
        t = _tensor_in(box, name)
        holds = {
            "P": any(t is p for p in box.parameters()),
            "B": any(t is b for b in box.buffers()),
            "S": any(t.data_ptr() == saved.data_ptr() for saved in box.state_dict().values()),
            "M": _tensor_in(doubled, name).dtype == torch.float64,
            "T": not torch.equal(t, before[name]),
        }
        actual[name] = "".join(letter for letter, yes in holds.items() if yes)
    return actual


WHY_REGISTERED = {
    "a": "a Parameter goes through the door: known, saved, moved, trained",
    "b": "a plain tensor lands on the heap, whatever it is used for",
    "c": "no drawer holds it: it gets a gradient, and neither SGD nor double() is told of it",
    "d": "a buffer is saved and moved, and not trained",
    "e": "not persistent means only: not saved; it is a buffer and moves as any other",
    "f": "assignment looks at the list's type, and never into it",
    "g": "a ParameterList is a module: it makes Parameters of tensors and is known itself",
    "h": "a tuple is not looked into either; the layer in it is unknown",
    "i": "a frozen parameter is still a parameter; it only gets no gradient",
    "j": "times 1.0 gives a new tensor, a plain result of the graph and no Parameter",
}


@ends_in_notebook
def check_registration(answer: dict, box_class: type[nn.Module]) -> None:
    """Compare predictions, letters for each attribute of ``box_class``, with what it does."""
    __tracebackhide__ = True
    check_predictions(_letters_in(answer), _letters_of(box_class), WHY_REGISTERED)
