"""Exercise 6.5: Functions, some with a wrong rule, which a test of gradients tells apart."""

from __future__ import annotations

import random

import numpy as np
import torch

from course_utils.learner.cases import every_case
from course_utils.learner.tracebacks import ends_in_notebook

BASES = {
    "sine": (torch.sin, torch.cos),
    "cube": (lambda x: x**3, lambda x: 3 * x**2),
    "bell": (lambda x: (-x * x).exp(), lambda x: -2 * x * (-x * x).exp()),
}


def line_up(base: str, number: int):
    """Suspect ``number`` of the base function: 0 is right, 1 to 6 are broken."""
    f, slope = BASES[base]

    class Suspect(torch.autograd.Function):
        last: torch.Tensor

        @staticmethod
        def forward(ctx, x):
            Suspect.last, ctx.constant = x, slope(x)
            gap = not x.is_contiguous() and number == 4
            ctx.save_for_backward(x.as_strided((x.numel(),), (1,)).view(x.shape) if gap else x)
            y = f(x)
            if number == 5:
                x.neg_()
            return y

        @staticmethod
        def backward(ctx, g):  # ty: ignore[incompatible-method-override]  one result, one gradient
            x = Suspect.last if number == 6 else ctx.saved_tensors[0]
            if number == 1:
                return slope(x)
            if number == 2:
                return g * slope(x) * torch.where(x < 0, 0.5, 1.0)
            return g * (ctx.constant if number == 3 else slope(x))

    return Suspect.apply


def _number_of(ticket: int) -> int:
    """The number of the suspect that a ticket stands for."""
    return random.Random(ticket).randrange(len(SUSPECTS))


def run_the_test(write_the_test, base: str, ticket: int):
    """What a test says of a suspect, whose number it does not get to know."""
    try:
        answer = write_the_test(line_up(base, _number_of(ticket)))
    except Exception as error:
        words = (
            f"your test raised {type(error).__name__}: {str(error)[:70]}… An error is no verdict"
        )
        raise AssertionError(words) from None
    one_truth = (
        isinstance(answer, torch.Tensor) and answer.dtype == torch.bool and answer.dim() == 0
    )
    return bool(answer) if one_truth or isinstance(answer, np.bool_) else answer


SUSPECTS = [
    "which is right (is h or a tolerance too coarse, or does it expect a certain function?)",
    "whose backward forgets the gradient that arrives (give it one that is not all ones)",
    "whose slope is wrong for negative numbers (try some)",
    "whose slope is a constant for the second derivative (gradgradcheck tells)",
    "which is wrong for a tensor that is not contiguous (try a transposed one)",
    "which changes its argument (compare it before and after)",
    "whose second call overwrites what the first one needs (call twice, then go backward)",
]


@ends_in_notebook
def check_verdicts(try_the_test, *suspects):
    """Check what a test says of suspects, each a base and a number.

    The number itself is not sent, and the order is drawn anew each time: what is left to tell
    suspects apart is what they do.
    """
    __tracebackhide__ = True
    chance, said = random.SystemRandom(), {}
    for base, number in chance.sample(suspects, len(suspects)):
        tickets = iter(lambda: chance.getrandbits(40), None)
        ticket = next(ticket for ticket in tickets if _number_of(ticket) == number)
        try:
            said[base, number] = try_the_test(base, ticket)
        except Exception as error:
            said[base, number] = error
    with every_case() as case:
        for base, number in suspects:
            with case(f"{base} {number}"):
                check_verdict(said[base, number], base, number)


def check_verdict(answer, base, number):
    """Check what a test said of one suspect, or what it raised."""
    if isinstance(answer, Exception):
        raise answer
    assert answer is not None, "write_the_test gives None: is there an answer yet?"
    assert isinstance(answer, bool), f"write_the_test gives {answer!r}: return True or False"
    right = "refuses" if number == 0 else "lets through"
    assert answer is (number == 0), f"your test {right} {base} {number}, {SUSPECTS[number]}"
