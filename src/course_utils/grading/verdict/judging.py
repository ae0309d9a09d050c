"""The judge: check cells run here, and the learner's names are stand-ins (``snapshot.py``).

This process never runs a student's code.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from course_utils.grading.verdict.genuine import Trials
from course_utils.grading.verdict.snapshot import NoAnswer, Snapshot, StandIn
from course_utils.grading.verdict.wording import explain, fit_to_print
from course_utils.learner.as_it_was import may_seed

NO_ANSWER = "The notebook's kernel had ended before this check."


class Judge:
    """Puts the learner's names in place before each check, and its failure into words.

    Args:
        namespace: where the check cells run.
        learner_names: every name that a check may use of the learner's.
        trials: those among them that are locked functions, which try an answer.
        skipped: names that other cells than the locked ones bind.
        shell: the IPython shell that runs them; its tracebacks become words without hidden lines.

    Attributes:
        failure: the last error's name, its words and further lines; None if there was none.
    """

    def __init__(
        self,
        namespace: dict[str, Any],
        learner_names: list[str],
        trials: list[str],
        skipped: list[str],
        shell: Any,
    ) -> None:
        self.namespace, self.learner_names, self.shell = namespace, learner_names, shell
        self.trial_names = trials
        self.trials = Trials(namespace, frozenset(skipped))
        self.snapshot: Snapshot | None = None
        self.source = ""
        self.failure: tuple[str, str, list[str]] | None = None
        shell._showtraceback = self.show
        # IPython's own rendering of the frames is not shown, and takes longer than most checks.
        shell.InteractiveTB.structured_traceback = lambda *_, **__: []

    def begin(self, descriptor: int, names: list[str], source: str) -> bool:
        """Get ready for a check: take the names that it uses.

        Args:
            descriptor: an open socket to the snapshot that was made where the check stands.
            names: those of the learner's names that the check uses.
            source: the check cell's text.

        Returns:
            Whether the answer is there to be checked; if not, ``failure`` says so.
        """
        self.end()
        self.source = source
        for name in self.learner_names:
            value = self.namespace.pop(name, None)
            if name in self.trial_names and not isinstance(value, StandIn | None):
                self.trials.own[name] = value
        self.snapshot = Snapshot(socket.socket(fileno=descriptor), may_seed(source))
        try:
            self.namespace.update(self.snapshot.names(names, self.trials))
        except NoAnswer:
            self.failure = (NoAnswer.__name__, NO_ANSWER, [f"{NoAnswer.__name__}: {NO_ANSWER}"])
            return False
        return True

    def fault(self) -> str:
        """What the check's snapshot said of its own failure; empty when it has been asked for."""
        if self.snapshot is None:
            return ""
        fault, self.snapshot.fault = self.snapshot.fault, ""
        return fault

    def end(self) -> None:
        """Hang up on the last check's snapshot."""
        if self.snapshot is not None:
            self.snapshot.hang_up()
            self.snapshot = None

    def show(self, kind: type, error: BaseException, _: list[str]) -> None:
        """Keep an error in the check's words, never the text of a hidden test."""
        if self.snapshot is not None and isinstance(error, AssertionError):
            with contextlib.suppress(NoAnswer):
                # It may be why the check fails: a notebook says so, too.
                error.args = ("\n".join(filter(None, (str(error), self.snapshot.left()))),)
        chosen = self.snapshot.chosen if self.snapshot is not None else set()
        name, words, lines = explain(error, self.source, chosen)
        words, *lines = map(fit_to_print, (words, *lines))
        self.failure = (name, words, [f"{name}: {words}", *lines])
