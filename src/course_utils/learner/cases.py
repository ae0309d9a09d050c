"""What a check tries: several cases, and functions on the side of the answer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from course_utils.learner.tracebacks import RAISED, ends_in_notebook, what_was_raised

# With these words a checker asks who has not answered.
BLANK = "is there an answer yet"


class every_case:
    """Run several independent cases and list all that is wrong, not only the first.

    ::

        with every_case() as case:
            for name, text in examples.items():
                with case(name):
                    check_equal(answer(text), len(text), "the length")

    Inside ``case(name)`` an exception ends that case alone and is kept. At the end of the outer
    block the failures are listed, each behind its case's name; where there is no answer at all, the
    first stands for all.

    Args:
        at_most: how many failures are shown; the rest is counted.

    Raises:
        AssertionError: at the end of the outer block, if a case failed.
    """

    def __init__(self, at_most: int = 8) -> None:
        self.at_most = at_most
        self.cases = 0
        self.failures: list[tuple[str, str]] = []

    def __enter__(self) -> every_case:
        return self

    @contextmanager
    def __call__(self, name: str) -> Generator[None]:
        self.cases += 1
        try:
            yield
        except AssertionError as error:
            self.failures.append((name, str(error) or "this does not hold"))
        except Exception as error:
            self.failures.append((name, what_was_raised(error)))

    @ends_in_notebook
    def __exit__(self, kind, error, traceback) -> None:
        __tracebackhide__ = True
        if error is not None or not self.failures:
            return
        said = {words for _, words in self.failures}
        # Who has not answered yet is asked so once. In a single branch that was forgotten the words
        # differ and other cases hold: there each case is listed.
        unanswered = all(BLANK in words for words in said)
        same = unanswered and (len(said) == 1 or len(self.failures) == self.cases)
        shown, told = [], set()
        for name, words in self.failures[: 1 if same else self.at_most]:
            # A broken line of an answer fails every case: it is shown once.
            again = words in told and words.startswith(RAISED)
            shown.append(f"{name}: {RAISED} the same" if again else f"{name}: {words}")
            told.add(words)
        more = len(self.failures) - len(shown)
        if self.cases == 1:
            raise AssertionError(shown[0])
        lines = [f"{len(self.failures)} of {self.cases} cases fail:"]
        lines += [f"  {line}" for line in shown]
        lines += [f"  … and {more} more{', in the same way' if same else ''}"] if more else []
        raise AssertionError("\n".join(lines))


def runs_with_the_answer(function: Callable) -> Callable:
    """Mark a function of a locked cell that tries the learner's function out.

    A module, a context manager or a closure cannot travel from the judge to an answer. So a locked
    function makes them, calls the learner's function by its name and returns plain values; the
    judge lets it run in the learner's process. In a notebook the mark does nothing.
    """
    return function
