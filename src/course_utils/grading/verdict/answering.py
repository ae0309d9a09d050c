"""The answer's side of the verdict: a snapshot of the student's kernel that answers the judge.

Where a check stands in the notebook, the student's kernel forks. The copy tells the values of the
names that the check uses and waits; when the whole notebook has run, the judge reads them and calls
their functions. So a check sees the answer as it was at that place, and nothing that a hidden test
hands to an answer can reach the notebook's outputs. All of this runs in the student's process and
can be tampered with there: what it says is a claim, and the judge takes no more from it than plain
values.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable
from operator import gt
from typing import Any

import torch
from ipykernel.compiler import get_tmp_directory
from IPython import get_ipython
from IPython.core.displaypub import CapturingDisplayPublisher
from torch.utils._python_dispatch import _disable_current_modes

from course_utils.grading.verdict import (
    encoding,
    genuine,
    memory,
    messages,
    watching,
    wire,
    witness,
)
from course_utils.grading.verdict.at_once import named_values, small_message
from course_utils.grading.verdict.changes import all_there, items_of
from course_utils.grading.verdict.known import Known
from course_utils.grading.verdict.memory import differing
from course_utils.grading.verdict.messages import (
    Attribute,
    Call,
    Called,
    Digest,
    Fingerprints,
    Genuine,
    Integrity,
    Left,
    Message,
    Value,
    Words,
)
from course_utils.learner import as_it_was, operators
from course_utils.learner.changes import ASKED, ITEMS, NOTED, notes_on
from course_utils.learner.tracebacks import ANSWER, lines_in

LONGEST_TEXT = 2000
# What these change may last until another of them is called.
LASTING = ("__enter__", "__exit__", "__next__")


def wait_for_the_judge(descriptor: int, names: list[str], answers_file: str) -> None:
    """Tell the judge the values of the notebook's names, and answer what it asks about them.

    Small values that travel whole are sent at once, and that is all. If there is more to them, a
    function to be called for one, a fork of this process stays behind until the judge hangs up.

    Args:
        descriptor: an open socket, the judge's at its other end; closed in this process.
        names: what the check uses of the learner's.
        answers_file: the last part of what the answer's code has for a file name.
    """
    namespace = get_ipython().user_ns
    message = small_message(namespace, names)
    if message is not None:
        with socket.socket(fileno=descriptor) as connection:
            connection.sendall(message)
        return
    # Before the fork: the kernel's process id is part of it.
    file = os.path.join(get_tmp_directory(), answers_file)
    child = os.fork()
    if child:
        # Out of the kernel's process group, which ends with the kernel; still in its session. Here,
        # for by the time that the child gets to run, the kernel may have ended.
        os.setpgid(child, child)
        os.close(descriptor)
        return
    connection = socket.socket(fileno=descriptor)
    try:
        _go_quiet(descriptor)
        Answering(connection, namespace, file).serve(names)
    except wire.Gone:
        os._exit(0)  # the judge needs no more
    except BaseException:
        # For the log. Where even this fails, the judge sees the connection close.
        with contextlib.suppress(BaseException):
            failed = messages.Failed(traceback.format_exc()[-messages.LONGEST_FAULT :])
            wire.send(connection, failed.fields(), [])
        os._exit(1)
    os._exit(0)


def _go_quiet(descriptor: int) -> None:
    """Cut the copy off from the kernel: its sockets, terminal, displays and signals."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The sockets of later checks too: who waits there must see when the kernel itself is gone.
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = sys.stdout
    shell = get_ipython()
    if shell is not None:
        shell.display_pub = CapturingDisplayPublisher()
    # The threads of PyTorch's pool stayed behind in the fork; waiting for them would never end.
    torch.set_num_threads(1)


class Refused(BaseException):
    """The check refuses the call for what has run: it need not go on."""


class Recorder(operators.OperatorMode):
    """Writes down every operator that runs: its name and the bytes of each new storage.

    Args:
        refused: as :class:`OperatorMode` has it; there the call ends.
        largest: likewise.
    """

    def __init__(self, refused: Iterable[str] = (), largest: int | None = None) -> None:
        super().__init__()
        self.refused, self.largest = frozenset(refused), largest
        self.operators: list[list] = []

    def before(self, name: str) -> None:
        self.operators.append([name, []])
        if name in self.refused:
            raise Refused

    def after(self, name: str, new_storages: list[int]) -> None:
        self.operators[-1][1].extend(new_storages)
        if self.largest is not None and max(new_storages, default=0) > self.largest:
            raise Refused


class Answering:
    """Answers the judge's requests about one namespace.

    Args:
        connection: to the judge.
        namespace: with the answer's names.
        file: what the answer's code has for a file name.
    """

    def __init__(self, connection: socket.socket, namespace: dict[str, Any], file: str) -> None:
        self.connection, self.namespace, self.file = connection, namespace, file
        self.stream = connection.makefile("rb")
        self.objects: list[Any] = []
        self.known = Known()
        # Of PyTorch's global generator, as the judge has it.
        self.state = b""
        self.before: as_it_was.State | None = None
        self.seeds: as_it_was.Seeds | None = None
        # Each call begins with gradients as the check has them; words for one that ended otherwise.
        self.gradients: list[str] = []

    def serve(self, names: list[str]) -> None:
        """Tell the values of names, then answer until the judge hangs up."""
        ANSWER.file = self.file  # a locked function may say, too, what an answer raised
        encoder = encoding.Encoder(Known(), self._handle)
        with _disable_current_modes():
            values = named_values(self.namespace, names, encoder)
        wire.send(self.connection, values.fields(), encoder.blobs)
        answers: dict[type[Message], Callable[..., tuple[Message, list[bytes]]]] = {
            Call: self.call,
            Attribute: self.attribute,
            Integrity: self.integrity,
            Genuine: self.genuine,
            Left: self.left,
        }
        while True:
            try:
                sent, blobs = wire.receive(self.stream)
            except wire.Gone:
                return
            request = messages.read_request(sent)
            reply, blobs = answers[type(request)](request, blobs)
            wire.send(self.connection, reply.fields(), blobs)

    def look(self) -> None:
        """Before the first call: keep the process as it is, and note from here on who seeds.

        Not earlier: it takes memory, and a dozen of these processes wait for their checks.
        """
        if self.before is None:
            self.before, self.seeds = as_it_was.State(), as_it_was.Seeds(self.file)

    def call(self, request: Call, blobs: list[bytes]) -> tuple[Called, list[bytes]]:
        """Call an object, or its attribute, and say what came of it."""
        self.look()
        # What is computed here around the answer, a mode that it leaves on must not see.
        with _disable_current_modes():
            known, self.known = self.known if request.again else Known(), Known()
            storages = known.storages
            for number, blob in request.written:
                known.write(number, blobs[blob])
            decoder = encoding.Decoder(blobs, known, self._given)
            args, kwargs = decoder.decode(request.arguments)
            if request.random is not None:
                self.state = blobs[request.random]
                memory.set_state(torch.default_generator, self.state)
            tensors, given = [named.tensor for named in known.tensors], len(storages.known)
            layouts = [memory.layout_of(tensor) for tensor in tensors]
            asked = [tensor.requires_grad for tensor in tensors]
            notes = [notes_on(tensor) for tensor in tensors]
            items = items_of((args, kwargs))
            generators = [torch.default_generator, *decoder.generators]
            states = [self.state, *map(memory.state_bytes, decoder.generators)]
            encoder = encoding.Encoder(known, self._handle)
            encoder.generators = decoder.generators
        result = failure = None
        recorder, profile = Recorder(request.refused, request.largest), witness.Profile()
        if request.watched:
            _forbid_threads()
        torch.set_grad_enabled(request.grad)
        try:
            target = self.objects[request.number]
            if request.attribute is not None:
                target = getattr(target, request.attribute)
            with contextlib.ExitStack() as watching:
                if request.watched:
                    watching.enter_context(profile)
                    watching.enter_context(recorder)
                result = target(*args, **kwargs)
            with _disable_current_modes():
                result = encoder.encode(result)
        except BaseException as error:
            result, failure = None, self.described(error)
        with _disable_current_modes():
            if request.attribute not in LASTING:
                if torch.is_grad_enabled() != request.grad:
                    words = as_it_was.SETTINGS["gradients"].words(request.grad, not request.grad)
                    self.gradients = [words]
                wrong: list[str] = []
                asks = [tensor.requires_grad for tensor in tensors]
                # A trial may ask for gradients, and has no reason to give one up.
                if asked != asks and (not request.trial or any(map(gt, asked, asks))):
                    wrong.append(ASKED)
                more = [notes_on(tensor) - old for tensor, old in zip(tensors, notes, strict=True)]
                # A trial makes its tensors itself.
                if any(more) and not request.trial:
                    wrong.append(NOTED.format(min(set().union(*more))))
                # The list is not sent back: nobody could see it there.
                if not request.trial and not all_there(items, items_of((args, kwargs))):
                    wrong.append(ITEMS)
                if wrong:
                    also = [f"it also raised {failure['message']}"] if failure else []
                    result, failure = None, self.described(AssertionError("; ".join(wrong + also)))
            contents_now = [memory.storage_bytes(storage) for storage in storages.known[:given]]
            contents = [
                [number, encoder.add_blob(content)]
                for number, content in differing(storages.contents[:given], contents_now)
            ]
            storages.contents[:given] = contents_now
            states_now = [memory.state_bytes(generator) for generator in generators]
            self.state = states_now[0]
            moved = [
                [number, encoder.add_blob(state)] for number, state in differing(states, states_now)
            ]
            reply = Called(
                result=result,
                error=failure,
                operators=recorder.operators,
                events=profile.events,
                contents=contents,
                layouts=differing(layouts, [memory.layout_of(tensor) for tensor in tensors]),
                states=moved,
            )
            self.known = known.kept()
        return reply, encoder.blobs

    def left(self, request: Left, _: list[bytes]) -> tuple[Words, list[bytes]]:
        """Words for what the calls left behind."""
        if self.before is None or self.seeds is None:
            return Words([]), []
        seeded = self.seeds.finish()
        torch.set_grad_enabled(self.before.values["gradients"])
        left = [*self.gradients, *self.before.put_back()]
        self.gradients = []
        return Words(left if request.may_seed else seeded + left), []

    def integrity(self, request: Integrity, _: list[bytes]) -> tuple[Digest, list[bytes]]:
        """The digest of the code that watches operators in this process.

        A thread that is there already could run operators unseen: then there is none.
        """
        alone = len(os.listdir("/proc/self/task")) == 1
        return Digest(integrity(request.salt) if alone else ""), []

    def genuine(self, request: Genuine, _: list[bytes]) -> tuple[Fingerprints, list[bytes]]:
        """What a locked function goes by, in this process."""
        skipped = frozenset(request.skipped)
        told = genuine.fingerprints(request.name, self.namespace, skipped, request.salt)
        return Fingerprints(told), []

    def attribute(self, request: Attribute, _: list[bytes]) -> tuple[Value, list[bytes]]:
        """The value of an object's attribute."""
        self.look()
        encoder = encoding.Encoder(Known(), self._handle)
        try:
            value = getattr(self.objects[request.number], request.name)
            with _disable_current_modes():
                return Value(encoder.encode(value), None), encoder.blobs
        except BaseException as error:
            return Value(None, self.described(error)), []

    def described(self, error: BaseException) -> dict[str, Any]:
        """An exception in plain values: its classes' names, its words, the answer's lines."""
        classes = [[kind.__module__, kind.__qualname__] for kind in type(error).__mro__]
        lines = [[number, line[:200]] for number, line in lines_in(error, self.file)]
        return messages.raised(classes, _text(str, error), lines[-3:])

    def _handle(self, value: Any) -> list:
        """What travels instead of a value that cannot: its number here and how it looks."""
        same = [number for number, known in enumerate(self.objects) if known is value]
        number = same[0] if same else len(self.objects)
        if not same:
            self.objects.append(value)
        kind = type(value)
        return messages.of_the_answer(
            number, kind.__module__, kind.__qualname__, _text(repr, value)
        )

    def _given(self, parts: list) -> Any:
        """An object of this side that comes back, or something that both sides can import."""
        kind, *rest = parts
        if kind == "object":
            return self.objects[rest[0]]
        if kind == "import":
            return encoding.import_name(*rest)
        raise wire.WireError(f"unknown: {kind!r}")


def _text(form: Any, value: Any) -> str:
    try:
        return str.__str__(form(value))[:LONGEST_TEXT]
    except BaseException:
        return f"<{type(value).__name__}>"


def _forbid_threads() -> None:
    """No thread or process from here on: what runs in one escapes the recorder."""
    import resource

    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def integrity(salt: str) -> str:
    """A digest of the Python code that watches operators, to be compared with the judge's own.

    It notices a replaced function or method. It is computed by the process that it is about, so it
    is a lock for honest people and for ready-made tricks, not for who rewrites this function too.

    Args:
        salt: goes into the digest first, so that one from before is no use.
    """
    return watching.salted(salt, watching.code(*WATCHING))


# Of this side, what has to be PyTorch's and the course's own.
WATCHING = (sys.modules[__name__], Recorder, Answering)
