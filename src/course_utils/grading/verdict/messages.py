"""What the judge and a snapshot of a student's kernel say to each other: a class for each message.

The snapshot begins with ``Names``. Then the judge asks, with ``Call``, ``Attribute``,
``Integrity``, ``Genuine`` or ``Left``, and the snapshot answers, with ``Called``, ``Value``,
``Digest``, ``Fingerprints`` or ``Words``. A snapshot that fails says ``Failed`` in place of what it
was to say. ``wire`` carries their fields, and makes the encoded values in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

# Of what a student's process says of its own failure.
LONGEST_FAULT = 2000


@dataclass(frozen=True)
class Message:
    """A message; its fields are fit for JSON."""

    @classmethod
    def read(cls, fields: Any) -> Self:
        """The message with these fields.

        Raises:
            TypeError: they are not its own.
        """
        return cls(**fields)

    def fields(self) -> dict[str, Any]:
        return vars(self)


@dataclass(frozen=True)
class Names(Message):
    """What the snapshot tells first.

    Attributes:
        values: name and encoded value of each name of the learner's that there is.
    """

    values: list


@dataclass(frozen=True)
class Call(Message):
    """Call an object, or its attribute.

    Attributes:
        number: the object's.
        attribute: the name of the attribute to call; None for the object itself.
        arguments: positional and keyword arguments, encoded.
        grad: whether autograd records.
        random: the blob with the state of PyTorch's global generator; None to leave it.
        watched: whether operators are written down.
        refused: the operators at which the check fails, so that the call need not go on.
        largest: likewise, the most bytes that a new storage may have; None for any.
        trial: whether it is a locked function, which may ask for gradients of its arguments.
        again: whether the call begins with what the one before mentioned; else with nothing.
        written: number and blob of each storage of these that the check wrote into since.
    """

    number: int
    attribute: str | None
    arguments: Any
    grad: bool
    random: int | None
    watched: bool
    refused: list[str]
    largest: int | None
    trial: bool
    again: bool
    written: list


@dataclass(frozen=True)
class Attribute(Message):
    """Tell the value of an attribute of the object of that number."""

    number: int
    name: str


@dataclass(frozen=True)
class Integrity(Message):
    """Tell the digest of the code that watches operators, which begins with ``salt``."""

    salt: str


@dataclass(frozen=True)
class Genuine(Message):
    """Tell the ``genuine.fingerprints`` of the locked function of that name.

    Attributes:
        name: the function's.
        skipped: names that aren't looked at.
        salt: goes into each digest first.
    """

    name: str
    skipped: list[str]
    salt: str


@dataclass(frozen=True)
class Left(Message):
    """Tell what all calls together left behind in the process.

    Attributes:
        may_seed: whether they may leave a global generator seeded.
    """

    may_seed: bool


@dataclass(frozen=True)
class Value(Message):
    """What came of a request.

    Attributes:
        result: the value, encoded.
        error: what was raised, as ``raised`` has it; None if nothing was.
    """

    result: Any
    error: Any


@dataclass(frozen=True)
class Called(Value):
    """What came of a call.

    Attributes:
        operators: of each operator that ran, its name and the bytes of each new storage.
        events: what the profiler saw; None if nobody watched.
        contents: number and blob of each storage of the arguments that was changed.
        layouts: number and layout of each tensor of the arguments that was laid out anew.
        states: number and blob of each generator that was moved on; 0 is PyTorch's global one.
    """

    operators: list
    events: Any
    contents: list
    layouts: list
    states: list


@dataclass(frozen=True)
class Digest(Message):
    """The digest that was asked for; empty where no answer can be watched."""

    digest: str


@dataclass(frozen=True)
class Fingerprints(Message):
    """A digest for each name that was asked for."""

    digests: dict[str, str]


@dataclass(frozen=True)
class Words(Message):
    """Words for each thing that was left behind."""

    words: list[str]


@dataclass(frozen=True)
class Failed(Message):
    """Told last, by a snapshot that can't go on: the traceback."""

    fault: str


REQUESTS = {kind.__name__: kind for kind in (Call, Attribute, Integrity, Genuine, Left)}


def request(message: Message) -> list:
    """A request as it is sent: its name and its fields."""
    return [type(message).__name__, message.fields()]


def read_request(sent: list) -> Message:
    """The request that was sent so."""
    name, fields = sent
    return REQUESTS[name].read(fields)


def of_the_answer(number: int, module: str, name: str, text: str) -> list:
    """A value that stays in the answer's process: its number, its class and how it looks."""
    return ["object", number, module, name, text]


def given_back(number: int) -> list:
    """Such a value as an argument of a call."""
    return ["object", number]


def imported(module: str, name: str) -> list:
    """A function or class that both sides can import."""
    return ["import", module, name]


def raised(classes: list[list[str]], message: str, lines: list[list]) -> dict[str, Any]:
    """An exception.

    Args:
        classes: module and name of each class that it derives from.
        message: its words.
        lines: number and text of the answer's lines that it passed, outermost first.
    """
    return {"classes": classes, "message": message, "lines": lines}
