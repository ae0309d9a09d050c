"""A snapshot of the student's kernel, as the judge has it: the learner's names are stand-ins.

A learner's function is a stand-in that sends its arguments to the snapshot (``answering.py``) and
rebuilds what comes back: plain values, and tensors over storages of the judge's own. Where the
answer's result lies in an argument's memory, or the answer changed an argument, the same is done
here, so a check sees it with PyTorch's own means. Operators that ran are told to the modes
(``count_operators``, ``forbid_copies``) that are active around the call.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Generator
from typing import Any

import torch
from torch.utils._python_dispatch import (
    _disable_current_modes,
    _get_current_dispatch_mode_stack,
)

from course_utils import exercises
from course_utils.grading.verdict import encoding, memory, messages, wire, witness
from course_utils.grading.verdict.answering import WATCHING
from course_utils.grading.verdict.changes import Changes
from course_utils.grading.verdict.choices import chosen_by
from course_utils.grading.verdict.genuine import REBOUND, Trials
from course_utils.grading.verdict.known import Known
from course_utils.grading.verdict.messages import (
    Attribute,
    Call,
    Called,
    Digest,
    Fingerprints,
    Genuine,
    Integrity,
    Left,
    Names,
    Value,
    Words,
)
from course_utils.grading.verdict.watching import judges_own, salted
from course_utils.grading.verdict.wording import fit_to_print, raised
from course_utils.learner.as_it_was import FIXED, LEFT
from course_utils.learner.operators import OperatorMode

TAMPERED = (
    "PyTorch's or the course's own functions were replaced in this notebook: "
    "the operators of the answer cannot be watched. Restart the kernel and leave them as they are."
)
HIDDEN_OPERATORS = "operators ran that were hidden from this check: {}"
NOT_WATCHED = (
    "the operators of the answer could not be watched: it starts or stops PyTorch's profiler, or "
    "the notebook left one running. Leave the profiler alone here."
)


class NoAnswer(Exception):
    """The student's side cannot be asked any more."""


@contextlib.contextmanager
def readable() -> Generator[None]:
    """What a reply makes go wrong in here is a reply that cannot be read.

    Raises:
        NoAnswer: it is malformed.
    """
    # The Python of a reply is the student's: nothing of it may come out as an error of our own.
    unreadable = (
        wire.WireError,
        *(ValueError, TypeError, LookupError, RuntimeError),
        *(AttributeError, OverflowError, MemoryError),
    )
    try:
        yield
    except unreadable as error:
        raise NoAnswer(f"what the answer gave back cannot be read ({error})") from None


@contextlib.contextmanager
def heard() -> Generator[None]:
    """Words for a snapshot that cannot be talked to in here.

    Raises:
        NoAnswer: it is gone, or says what is no message.
    """
    try:
        yield
    except wire.Gone:
        raise NoAnswer("the process of the answer ended while a check asked it") from None
    except wire.WireError as error:
        raise NoAnswer(f"what the answer gave back cannot be read ({error})") from None


class Snapshot:
    """A snapshot of the student's kernel, as one check sees it.

    Args:
        connection: to the snapshot.
        may_seed: whether the check lets an answer seed global generators.
    """

    def __init__(self, connection: socket.socket, may_seed: bool = False) -> None:
        self.connection, self.may_seed = connection, may_seed
        self.stream = connection.makefile("rb")
        # Whether any code of the learner's ran there since.
        self.asked = False
        self.watched = False
        self.trials = Trials()
        # The names of the locked functions that try an answer, by their numbers there.
        self.trial_names: dict[int, str] = {}
        # Those that have been seen to be the chapter's own.
        self.genuine: set[int] = set()
        # Texts that an answer chose when it was called: no message about a hidden test holds one.
        self.chosen: set[str] = set()
        # Of PyTorch's global generator, as the snapshot has it.
        self.state = b""
        # What the next call begins with; None for nothing.
        self.known: Known | None = None
        # What the snapshot says of its own failure, for the log.
        self.fault = ""

    def hang_up(self) -> None:
        """Tell the snapshot that it is no longer needed."""
        with contextlib.suppress(ValueError):
            exercises.before_passing.remove(self.refuse_what_is_left)
        self.stream.close()
        self.connection.close()

    def ask(self, request: messages.Message, blobs: list[bytes]) -> tuple[Any, list[bytes]]:
        """Send a request and wait for the reply.

        Raises:
            NoAnswer: the snapshot is gone, or says what is no reply.
        """
        with heard():
            wire.send(self.connection, messages.request(request), blobs)
            return self.receive()

    def receive(self) -> tuple[Any, list[bytes]]:
        """What the snapshot says next.

        Raises:
            wire.WireError: it is gone, or says what is no message.
        """
        message, blobs = wire.receive(self.stream)
        if isinstance(message, dict) and message.keys() == {"fault"}:
            self.fault = str(message["fault"])[: messages.LONGEST_FAULT]
            raise wire.Gone("the other side failed")
        return message, blobs

    def names(self, names: list[str], trials: Trials | None = None) -> dict[str, Any]:
        """The values of those names that the learner's notebook has; the snapshot tells them first.

        Args:
            names: what the check uses of the learner's.
            trials: the locked functions among them, which try an answer.

        Raises:
            NoAnswer: as ``ask`` says.
        """
        self.trials = trials or self.trials
        with heard():
            reply, blobs = self.receive()
        decoder = encoding.Decoder(blobs, Known(), self._stand_in)
        with readable():
            told = Names.read(reply).values
            found = {name: decoder.decode(value) for name, value in told if name in names}
        exercises.before_passing.append(self.refuse_what_is_left)
        for name, value in found.items():
            if name in self.trials.own and isinstance(value, StandIn):
                self.trial_names[object.__getattribute__(value, "_number")] = name
        return found

    def left(self) -> str:
        """Words for what the calls until here changed in what their whole process shares.

        Raises:
            NoAnswer: as ``ask`` says.
        """
        if not self.asked:
            return ""
        message, _ = self.ask(Left(self.may_seed), [])
        with readable():
            left = [str(words) for words in Words.read(message).words]
        fixed = [words for words in left if words in FIXED]
        own = ["; ".join(words for words in left if words not in FIXED)] if left != fixed else []
        self.chosen.update(own)
        return LEFT.format("; ".join(fixed + own)) if left else ""

    def refuse_what_is_left(self) -> None:
        """Refuse an answer that leaves something behind; before its check passes."""
        if left := self.left():
            raise AssertionError(left)

    def call(self, number: int, attribute: str | None, args: tuple, kwargs: dict) -> Any:
        """Call a function of the learner's, and do here what it did to its arguments."""
        self.asked = True
        modes = [m for m in _get_current_dispatch_mode_stack() if isinstance(m, OperatorMode)]
        # What the judge itself computes here is not the answer's doing.
        with _disable_current_modes() if modes else contextlib.nullcontext():
            if modes and not self.watched:
                self.check_integrity()
                self.watched = True
            if number in self.trial_names.keys() - self.genuine:
                self.check_trial(self.trial_names[number])
                self.genuine.add(number)
            known, self.known = self.known, None
            written = known.written() if known else None
            known = Known() if known is None or written is None else known
            encoder = encoding.Encoder(known, self._hand_over)
            arguments = encoder.encode((args, kwargs))
            known.results -= known.mentioned
            state = memory.state_bytes(torch.default_generator)
            trial = number in self.trial_names
            request = Call(
                number=number,
                attribute=attribute,
                arguments=arguments,
                grad=torch.is_grad_enabled(),
                random=None if state == self.state else encoder.add_blob(state),
                watched=bool(modes),
                refused=sorted(name for mode in modes for name in mode.refused),
                largest=min((m.largest for m in modes if m.largest is not None), default=None),
                trial=trial,
                again=written is not None,
                written=[[place, encoder.add_blob(content)] for place, content in written or ()],
            )
            self.state = state
            message, blobs = self.ask(request, encoder.blobs)
            with readable():
                reply = Called.read(message)
                contents = {place: blobs[blob] for place, blob in reply.contents}
                changes = Changes(known, contents, dict(reply.layouts))
                unasked = changes.unasked(trial, reply.error is not None)
                result = self._take(reply, blobs, changes, encoder.generators, unasked)
                ran = [(str(name), list(map(int, made))) for name, made in reply.operators]
            same = unasked is None and not changes.layouts and not changes.resized
            if same and reply.error is None and not trial:
                self.known = known.kept()
        for name, made in ran:
            for mode in reversed(modes):
                mode.before(name)
                mode.after(name, made)
        if reply.error is not None:
            error = self._raised(reply.error)
            raise AssertionError(f"{unasked}; it also raised {error}") if unasked else error
        self.chosen |= chosen_by(result, StandIn)
        if modes:
            compare_witnesses(reply, [name for name, _ in ran])
        if unasked:
            raise AssertionError(unasked)
        return result

    def _take(
        self,
        reply: Called,
        blobs: list[bytes],
        changes: Changes,
        generators: list[torch.Generator],
        unasked: str | None,
    ) -> Any:
        """Do to the arguments what the answer did to its copies, and rebuild its result.

        What is ``unasked``, as :meth:`Changes.unasked` has it, is not done to the arguments: where
        it is not refused either, the result lies in copies.
        """
        for number, blob in reply.states:
            memory.set_state([torch.default_generator, *generators][number], blobs[blob])
            if number == 0:
                self.state = blobs[blob]
        if unasked:
            return None
        known = changes.known
        if unasked is None:
            changes.do()
        else:
            known = changes.copied()
        before = len(known.storages.known)
        decoder = encoding.Decoder(blobs, known, self._stand_in)
        decoder.generators = generators
        result = decoder.decode(reply.result) if reply.error is None else None
        known.results.update(range(before, len(known.storages.known)))
        return result

    def _raised(self, told: Any) -> Exception:
        """An exception of the answer's: its words and lines are of the answer's choice."""
        error = raised(told)
        lines = error.of_the_answer  # ty: ignore[missing-attribute]  raised gives it
        self.chosen |= {str(error), *(line for _, line in lines)}
        return error

    def attribute(self, number: int, name: str) -> Any:
        """An attribute of an object of the learner's."""
        self.asked = True
        with _disable_current_modes():
            message, blobs = self.ask(Attribute(number, name), [])
            decoder = encoding.Decoder(blobs, Known(), self._stand_in)
            with readable():
                reply = Value.read(message)
                error = self._raised(reply.error) if reply.error is not None else None
                value = decoder.decode(reply.result) if error is None else None
        if error is not None:
            raise error
        return value

    def check_integrity(self) -> None:
        """Refuse an answer in whose process the watching functions are not PyTorch's and ours."""
        salt = secrets.token_hex()
        message, _ = self.ask(Integrity(salt), [])
        with readable():
            told = Digest.read(message).digest
        if told != salted(salt, judges_own(*WATCHING)):
            raise AssertionError(TAMPERED)

    def check_trial(self, name: str) -> None:
        """Refuse a notebook that gives a locked function, or what it goes by, another meaning."""
        salt = secrets.token_hex()
        message, _ = self.ask(Genuine(name, sorted(self.trials.skipped), salt), [])
        with readable():
            told = dict(Fingerprints.read(message).digests)
        rebound = self.trials.rebound(name, told, salt)
        if rebound:
            raise AssertionError(REBOUND.format(rebound))

    def _stand_in(self, parts: list) -> StandIn:
        kind, number, module, name, text = parts
        if kind != "object" or type(number) is not int or not isinstance(name, str):
            raise wire.WireError(f"unknown: {kind!r}")
        # A class of its own for each kind, so that a message says "of type Counter".
        words = name.rsplit(".", 1)[-1][:60]
        return type(words, (StandIn,), {})(self, number, str(module), fit_to_print(str(text)))

    def _hand_over(self, value: Any) -> list:
        if isinstance(value, StandIn):
            return messages.given_back(object.__getattribute__(value, "_number"))
        name = encoding.importable_name(value)
        if name is None:
            raise TypeError(
                f"a check hands a {type(value).__name__} to an answer, which cannot travel: "
                "hand it numbers, strings, tensors, arrays, containers of these, or a function "
                "or class that can be imported"
            )
        return messages.imported(*name)


class StandIn:
    """An object that stays in the student's process; what is done to it is done there."""

    def __init__(self, snapshot: Snapshot, number: int, module: str, text: str) -> None:
        vars(self).update(_snapshot=snapshot, _number=number, _module=module, _text=text)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._snapshot.call(self._number, None, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._snapshot.attribute(self._number, name)

    def __enter__(self) -> Any:
        return self._snapshot.call(self._number, "__enter__", (), {})

    def __exit__(self, kind, error, trace) -> bool:
        result = self._snapshot.call(self._number, "__exit__", (None, None, None), {})
        return error is None and bool(result)

    def __repr__(self) -> str:
        return self._text


def compare_witnesses(reply: Called, told: list[str]) -> None:
    """Refuse an answer of whose operators the profiler saw more than the recorder told.

    Args:
        reply: to a call that was watched.
        told: the operators that the recorder told of.

    Raises:
        AssertionError: it saw more, or was not there for the whole call.
    """
    try:
        hidden = witness.hidden_operators(reply.events, told, reply.error is not None)
    except ValueError:
        raise AssertionError(NOT_WATCHED) from None
    if hidden:
        raise AssertionError(HIDDEN_OPERATORS.format(", ".join(hidden)))
