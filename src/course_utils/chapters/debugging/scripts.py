"""Exercise 15.12: what a shorter program has to satisfy, and a script."""

from __future__ import annotations

from collections.abc import Callable

from course_utils.learner.tracebacks import ends_in_notebook

SHRUNK: dict[str, Callable[[list[str]], bool]] = {
    "3 and 6": lambda lines: {"3", "6"} <= set(lines),
    "the last": lambda lines: "399" in lines,
    "7 and 390": lambda lines: {"7", "390"} <= set(lines),
    "0 and 399": lambda lines: {"0", "399"} <= set(lines),
    "everything": lambda lines: len(lines) >= 5,
    "anything": lambda lines: True,
    "not as a whole": lambda lines: 0 < len(lines) < 9,
    "nothing": lambda lines: False,
    "twins": lambda lines: lines.count("same") >= 2,
    "order": lambda lines: lines == sorted(lines, key=int) and {"2", "5"} <= set(lines),
    "a stack": lambda lines: lines == [*map(str, range(len(lines) - 1)), "x"],
    "no line at all": lambda lines: not lines,
    "a line of two letters": lambda lines: "ab" in lines,
    "deep": lambda lines: any("deep" in line for line in lines),
    "an odd number": lambda lines: len(lines) % 2 == 1 and "1" in lines,
    "a queue": lambda lines: lines == ["x", *map(str, range(21 - len(lines), 20))],
    "one of the twins": lambda lines: {"same", "b"} <= set(lines),
    "every third": lambda lines: {str(3 * k) for k in range(40)} <= set(lines),
    "1 and 7": lambda lines: {"1", "7"} <= set(lines) and ("0" not in lines or "5" in lines),
    "an onion": lambda lines: (
        "x" in lines
        and lines
        == [
            *map(str, range(6 - lines.index("x"), 6)),
            "x",
            *map(str, range(6, 5 + len(lines) - lines.index("x"))),
        ]
        and lines.index("x") - (len(lines) - 1 - lines.index("x")) in (0, -1)
    ),
    "a, and later b": lambda lines: "b" in lines[lines.index("a") :] if "a" in lines else False,
    "a, or nothing": lambda lines: not lines or "a" in lines,
    "an empty line": lambda lines: "" in lines,
    "two empty lines": lambda lines: lines.count("") >= 2,
    "brackets": lambda lines: "1" in lines and lines.count("(") == lines.count(")"),
    "one of two": lambda lines: "1" in lines or {"4", "5"} <= set(lines),
}


# Lines of an unusual kind: as cases of the check.
ODD_LINES: list[tuple] = [
    ("0 and 399", [str(number) for number in range(400)], "", 150),
    ("no line at all", ["0", "1", "2"], "", None),
    ("a line of two letters", ["ab", "a", "b"], "ask about lists: a, b is another than ab", None),
    ("an empty line", ["", "x"], "a list of an empty line is another than the empty list", None),
    ("two empty lines", ["", "x", "", "y"], "an empty line is a line: fails may be about it", None),
    ("a, and later b", [*"aba"], "leave out the line at its place, not an equal one before", None),
    ("a, or nothing", ["a", "b"], "ask about the empty list itself", None),
    ("deep", ["if True:", "    deep = 1"], "indented lines stay indented", None),
]


def numbers(n: int) -> list[str]:
    """Lines "0", "1", …, n of them."""
    return [str(number) for number in range(n)]


def shrink_with(shrink_it: Callable, test: str, lines: list[str]) -> tuple:
    """The answer, or the words of its ValueError; the calls of the test; the lines afterwards."""
    calls, given = [], list(lines)

    def fails(tried: list[str]) -> bool:
        kind = type(tried).__name__
        assert isinstance(tried, list), (
            f"fails was called with a thing of type {kind}, expected a list of lines"
        )
        calls.append(1)
        words = "the given list was changed when fails was asked, which may look at it: take a copy"
        assert given == lines, words
        assert len(calls) <= 20_000, "fails was called 20000 times: does the loop end?"
        return SHRUNK[test](tried)

    try:
        answer = shrink_it(given, fails)
    except ValueError as error:
        answer = f"ValueError: {error}"
    except Exception as error:
        if SHRUNK[test](lines):
            raise
        words = f"raised {type(error).__name__}, expected a ValueError: the lines don't fail"
        raise AssertionError(words) from error
    return answer, len(calls), given


@ends_in_notebook
def check_shrunk(
    result: tuple, test: str, lines: list[str], because: str, most: int | None
) -> None:
    """Check what :func:`shrink_with` gave: it fails, and no single line can be left out of it.

    Raises:
        AssertionError: one of the rules of the exercise is broken.
    """
    __tracebackhide__ = True
    (answer, calls, after), fails = result, SHRUNK[test]
    assert after == lines, "the given list was changed: work on a copy"
    if not fails(lines):
        raised = isinstance(answer, str) and answer.startswith("ValueError")
        assert raised, f"the lines as given don't fail, expected a ValueError, got {answer!r}"
        return
    words = "a ValueError, or a text for an answer, although the given lines fail"
    assert not isinstance(answer, str), words
    assert answer is not None, "the answer is None: is there an answer yet?"
    assert isinstance(answer, list), f"the answer is {answer!r}, expected a list of lines"
    rest = iter(lines)
    words = f"{answer[:9]} are not lines of it, in their order"
    if len(set(answer)) < len(answer) and len(set(lines)) == len(lines):
        words += ": a line is in it twice; where does the first block begin, below 0?"
    assert all(line in rest for line in answer), words
    why = f": {because}" if because else ""
    assert fails(answer), f"the result {answer[:9]} does not fail any more{why}"
    for n, line in enumerate(answer):
        left = answer[:n] + answer[n + 1 :]
        assert not fails(left), f"{line!r} can still be left out of {answer[:9]}{why}"
    said = "leave out whole blocks first"
    assert most is None or calls <= most, f"{calls} calls of fails, at most {most}: {said}"


SCRIPT = """\
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
width, batch, depth = 8, 16, 3
rate, decay, momentum = 0.05, 1e-4, 0.9
device = "cpu"
h = torch.randn(16, 8, requires_grad=True)
x = h
y = torch.randint(3, (batch,))
mean = x.mean(0)
std = x.std(0)
h = (x - mean) / std
order = torch.randperm(batch)
h, y = h[order], y[order]
w1 = torch.randn(8, 8) / math.sqrt(8)
b1 = torch.zeros(8)
w2 = torch.randn(8, 8) / math.sqrt(8)
b2 = torch.zeros(8)
w3 = torch.randn(8, 3) / math.sqrt(8)
parameters = [w1, b1, w2, b2, w3]
for p in parameters: p.requires_grad_()
count = sum(p.numel() for p in parameters)
optimizer = torch.optim.SGD(parameters, lr=rate, momentum=momentum)
losses, accuracies = [], []
best = math.inf
h = F.linear(h, w1, b1)
h = h - h.mean(0)
h = h / (h.std(0) + 1e-5)
h = torch.tanh(h)
kept = h.detach().clone()
residual = h
norm = nn.LayerNorm(width)
h = norm(h)
h = F.linear(h, w2, b2)
h = F.dropout(h, 0.1)
h = h + residual
h = torch.sigmoid(h)
size = h.detach().abs().mean().item()
gate = (h > 0.5).float()
h *= 0.9
h = h + 0.1 * kept
scores = h @ w3
probabilities = scores.softmax(-1)
predicted = scores.argmax(-1)
accuracy = (predicted == y).float().mean().item()
accuracies.append(accuracy)
loss = h.square().mean()
loss = loss + F.cross_entropy(scores, y)
losses.append(loss.item())
best = min(best, losses[-1])
penalty = sum(p.square().sum() for p in parameters)
loss = loss + decay * penalty
logs = probabilities.log()
entropy = -(probabilities * logs).sum(-1).mean()
loss = loss - 0.01 * entropy
optimizer.zero_grad()
loss.backward()
optimizer.step()
""".splitlines()
