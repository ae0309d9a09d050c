"""What a check's failure says to the learner: the author's words, and no line of a hidden test."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from course_utils.cells import HIDDEN_TESTS
from course_utils.learner.tracebacks import in_one

LONGEST_WORDS = 10_000
# So many characters of a text are known again where a message cuts it off.
BEGINNING = 12
MOST_LINES = 10_000
RAISED = "your answer raised this error in a hidden test"
TOO_LONG = "the answer did not return in time: is there a loop that does not end?"


def fit_to_print(text: str) -> str:
    """``text`` as a message can carry it: an answer may say what has no end, or half characters."""
    if len(text) > LONGEST_WORDS:
        text = f"{text[:LONGEST_WORDS]} … and {len(text) - LONGEST_WORDS:,} characters more"
    return text.encode(errors="replace").decode()


def raised(error: Any) -> Exception:
    """An exception of the answer's as the nearest built-in one; where it was raised goes along."""
    names, message, lines = [], "", []
    if isinstance(error, dict):
        names = [pair for pair in error.get("classes", []) if isinstance(pair, list)]
        message, lines = str(error.get("message", "")), error.get("lines")
        lines = lines[-3:] if isinstance(lines, list) else []
    found, own = RuntimeError, ""
    for module, name in (pair for pair in names if len(pair) == 2):
        kind = getattr(builtins, str(name), None) if module == "builtins" else None
        if isinstance(kind, type) and issubclass(kind, Exception):
            found = kind
            break
        own = own or str(name)[:60]
    words = fit_to_print(f"{own}: {message}" if own else message)
    if found is KeyError and re.fullmatch(r"'[^'\\]*'", words):
        # Its text is its key, quoted; without this it would be quoted twice.
        words = words[1:-1]
    try:
        exception = found(words)
    except TypeError:  # UnicodeDecodeError and its like take more than a message.
        exception = RuntimeError(f"{found.__name__}: {words}")
    exception.of_the_answer = [  # ty: ignore[invalid-assignment]  read by explain
        (number, in_one(line))
        for number, line in (pair for pair in lines if isinstance(pair, list) and len(pair) == 2)
        if type(number) is int and 0 < number < MOST_LINES and isinstance(line, str)
    ]
    return exception


def hidden_lines(source: str) -> set[int]:
    """The numbers of a check's lines, from 1, that learners never see."""
    found: set[int] = set()
    for match in HIDDEN_TESTS.finditer(source):
        first = source.count("\n", 0, match.start()) + 1
        found.update(range(first, first + match[0].count("\n") + 1))
    return found


def may_tell(source: str, number: int) -> bool:
    """Whether what fails at a line of a check may tell of what its hidden lines hold.

    So it is in a hidden line, in any below, which may go over cases that a hidden line added, and
    in a block around hidden lines.
    """
    secret = hidden_lines(source)
    if not secret:
        return False
    ends = [part.end_lineno or number for part in ast.parse(source).body if part.lineno <= number]
    return max([number, *ends[-1:]]) >= min(secret)


def without(words: str, chosen: Iterable[str]) -> str:
    """``words`` in which a dot stands for each text that an answer chose, or one of its lines.

    And for its beginning, where a message quotes no more of it.
    """
    texts = {text for text in chosen if text}  # an error may have no words
    lines = {line.strip() for text in texts for line in text.splitlines()}
    texts |= {line for line in lines if len(line) >= BEGINNING}
    for text in sorted(texts, key=len, reverse=True):
        if text.startswith("shape ("):
            # A right shape may be named as what was expected.
            inner = re.escape(text.removeprefix("shape (").rstrip("),"))
            shape = rf"(torch\.Size\()?[(\[]{inner},?[)\]]+"
            words = re.sub(rf"(shapes?|sizes?) {shape}", r"\1 …", words)
        else:
            words = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", "…", words)
            words = without_beginnings(words, text)
    return words


def without_beginnings(words: str, text: str) -> str:
    """``words`` in which a dot stands for each piece of it that ``text`` begins with."""
    start = words.find(text[:BEGINNING]) if len(text) > BEGINNING else -1
    while start >= 0:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(words[start:], text, strict=False))
        words = f"{words[:start]}…{words[start + sum(1 for _ in same) :]}"
        start = words.find(text[:BEGINNING], start + 1)
    return words


def explain(
    error: BaseException, source: str, chosen: Iterable[str] = frozenset()
) -> tuple[str, str, list[str]]:
    """What a check's failure says to the learner.

    In a visible test: the error's words, the check's lines, and the answer's own line where it
    raised. In a hidden test, and in what may be one (:func:`may_tell`): the author's words; of an
    error that the answer raised only its kind and its line's number, because its message, and what
    it says its line is, may quote what the test handed over. For the same reason the words hold
    nothing of ``chosen``, what it chose.

    Returns:
        The error's name, its words, and further lines.
    """
    text = source.splitlines()
    secret = hidden_lines(source)
    frames: list[tuple[int, str]] = []
    trace, file = error.__traceback__, None
    while trace is not None:
        code = trace.tb_frame.f_code
        if trace.tb_frame.f_globals.get("__name__") == "__main__":
            # The outermost is the check's own; the functions of locked cells have other files.
            file = file or code.co_filename
            if code.co_filename == file:
                frames.append((trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    hidden = any(number in secret for number, _ in frames)
    telling = hidden or any(may_tell(source, number) for number, _ in frames[:1])
    name, words = type(error).__name__, str(error)
    if isinstance(error, KeyboardInterrupt):
        name, words = "TimeoutError", TOO_LONG
    own = getattr(error, "of_the_answer", None)
    where = [f"  in your answer, line {number}" for number, _ in own or []]
    if telling:
        if own is not None:
            words = RAISED if hidden else f"{RAISED}, or beside one"
        words = without(words, chosen)
    if hidden:
        return name, words, ["  in a hidden test", *where]
    if not telling:
        where = [f"{place}: {line}" for place, (_, line) in zip(where, own or [], strict=True)]
    shown = [
        f"  in the check, line {number}: {text[number - 1].strip()}"
        for number, function in frames
        if not function.startswith("check_") and number <= len(text)
    ]
    return name, words, [*shown, *where]
