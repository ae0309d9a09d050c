"""How the exercises on the dispatcher, and on autograd in front of it, are tried."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any

from course_utils.chapters.internals.scenarios import Scenario, error_of, given
from course_utils.chapters.internals.small_torch import FALLTHROUGH, Handle

ORDER = ("Log", "Autograd", "View", "List", "NumPy")


class _Named(Handle):
    """A handle of a subclass."""


def _new(Dispatcher: Callable, log: list) -> Any:
    """A dispatcher with kernels for ``add`` that note who ran, with which arguments."""
    dispatcher = given(Dispatcher, "Dispatcher")(ORDER)
    for key in ORDER[1:]:
        dispatcher.register("add", key, _noting(log, key))
    return dispatcher


def _noting(log: list, name: str) -> Callable:
    def kernel(*values):
        log.append(name)
        return name, [value.stored if isinstance(value, Handle) else value for value in values]

    return kernel


def _call(*handles: Any, setup: Callable | None = None, operator: str = "add") -> Callable:
    def run(Dispatcher):
        log = []
        dispatcher = _new(Dispatcher, log)
        if setup:
            setup(dispatcher, log)
        result = given(dispatcher.call(operator, *deepcopy(handles)), "what call returned")
        return result, log

    return run


def _raised(*handles: Any, setup: Callable | None = None, operator: str = "add") -> Callable:
    def run(Dispatcher):
        dispatcher = _new(Dispatcher, [])
        if setup:
            setup(dispatcher, [])
        return error_of(lambda: dispatcher.call(operator, *deepcopy(handles)))

    return run


def _aside(key: str, operator: str = "add") -> Callable:
    return lambda dispatcher, log: dispatcher.register(operator, key, FALLTHROUGH)


def _fallback(dispatcher, log) -> None:
    def kernel(operator, *values):
        log.append(f"Log of {operator}")
        words = "inside below('Log') the key Log was asked again: below skips the key itself, too"
        assert len(log) < 50, words
        with dispatcher.below("Log"):
            return dispatcher.call(operator, *values)

    dispatcher.register("*", "Log", kernel)


def _own_before_fallback(dispatcher, log) -> None:
    _fallback(dispatcher, log)
    dispatcher.register("add", "Log", _noting(log, "Log of its own"))


def _aside_before_fallback(dispatcher, log) -> None:
    _fallback(dispatcher, log)
    _aside("Log")(dispatcher, log)


def _failing(dispatcher, log) -> None:
    def kernel(x):
        raise KeyError("of the kernel")

    dispatcher.register("add", "List", kernel)


def _replaced(dispatcher, log) -> None:
    dispatcher.register("add", "List", _noting(log, "a second List"))


def _twice(Dispatcher):
    """Two dispatchers, and a registration after the first call."""
    log, other = [], []
    one, two = _new(Dispatcher, log), _new(Dispatcher, other)
    one.call("add", Handle(1, "List"))
    one.register("add", "List", _noting(log, "newer"))
    two.register("add", "List", _noting(other, "of the second"))
    one.call("add", Handle(1, "List"))
    two.call("add", Handle(1, "List"))
    return log, other


def _with_blocks(run: Callable) -> Callable:
    """A program with blocks; a ``below`` without a ``yield`` is told in words."""

    def told(Dispatcher):
        try:
            return run(Dispatcher)
        except TypeError as error:
            if "'NoneType' object is not an iterator" in str(error):
                raise AssertionError("below has no yield: is there an answer yet?") from None
            raise

    return told


def _nested(Dispatcher):
    """Which kernel answers inside and after nested blocks."""
    log = []
    dispatcher = _new(Dispatcher, log)
    dispatcher.register("*", "Log", FALLTHROUGH)
    x = Handle(0, "List", "Autograd", "View")
    with dispatcher.below("Autograd"):
        dispatcher.call("add", x)
        with dispatcher.below("View"):
            dispatcher.call("add", x)
        dispatcher.call("add", x)
    dispatcher.call("add", x)
    return log


def _wider(Dispatcher):
    """A wider block inside a narrower one."""
    log = []
    dispatcher = _new(Dispatcher, log)
    x = Handle(0, "List", "Autograd", "View")
    with dispatcher.below("View"), dispatcher.below("Autograd"):
        dispatcher.call("add", x)
    return log


def _all_before(Dispatcher):
    """Keys that come before the one of the block."""
    log = []
    dispatcher = _new(Dispatcher, log)
    dispatcher.register("add", "Log", _noting(log, "Log"))
    with dispatcher.below("View"):
        dispatcher.call("add", Handle(0, "List", "Autograd", "View", "Log"))
    dispatcher.call("add", Handle(0, "List", "Autograd", "View", "Log"))
    return log


def _broken(Dispatcher):
    """Which kernel answers after a block that an exception left."""
    log = []
    dispatcher = _new(Dispatcher, log)
    x = Handle(0, "List", "Autograd")
    try:
        with dispatcher.below("Autograd"):
            raise KeyError("from inside")
    except KeyError:
        log.append("KeyError came out")
    dispatcher.call("add", x)
    return log


def _broken_inside(Dispatcher):
    """Which kernel answers in the outer block after an exception has left the inner one."""
    log = []
    dispatcher = _new(Dispatcher, log)
    x = Handle(0, "List", "Autograd", "View")
    with dispatcher.below("Autograd"):
        with suppress(KeyError), dispatcher.below("View"):
            raise KeyError("from inside")
        dispatcher.call("add", x)
    return log


def _calls_another(Dispatcher):
    """A kernel that calls another operator, outside of any block."""
    log = []
    dispatcher = _new(Dispatcher, log)
    dispatcher.register("twice", "Autograd", lambda x: dispatcher.call("add", x, x))
    dispatcher.call("twice", Handle(0, "List", "Autograd"))
    return log


def _apart(Dispatcher):
    """A block of one dispatcher leaves another alone."""
    log = []
    one, two = _new(Dispatcher, []), _new(Dispatcher, log)
    with one.below("Autograd"):
        two.call("add", Handle(0, "List", "Autograd"))
    return log


def _after_falling(Dispatcher):
    """Two calls that fall through, and one of another operator with a kernel under that key."""
    log = []
    dispatcher = _new(Dispatcher, log)
    dispatcher.register("add", "Autograd", FALLTHROUGH)
    dispatcher.register("mul", "Autograd", _noting(log, "mul under Autograd"))
    x = Handle(1, "List", "Autograd")
    for name in ("add", "mul", "add"):
        dispatcher.call(name, x)
    return log


def _themselves(Dispatcher):
    """Whether the kernel gets the very arguments of the call."""
    dispatcher = _new(Dispatcher, [])
    values = (Handle(1, "List"), 2.5, Handle(3, "NumPy"))
    same = lambda *found: [one is other for one, other in zip(found, values, strict=True)]  # noqa: E731
    dispatcher.register("add", "List", same)
    return dispatcher.call("add", *values)


def _not_implemented(dispatcher, log) -> None:
    def kernel(x):
        raise NotImplementedError("of the kernel")

    dispatcher.register("add", "Autograd", kernel)


def _refuses_below(Dispatcher):
    """What a call raises inside a block that skips all keys."""
    dispatcher = _new(Dispatcher, [])
    with dispatcher.below("NumPy"):
        return error_of(lambda: dispatcher.call("add", Handle(1, "List", "NumPy")))


def _returns(Dispatcher):
    """What an operator gives that returns nothing."""
    dispatcher = _new(Dispatcher, [])
    dispatcher.register("print", "List", lambda x: None)
    return dispatcher.call("print", Handle(1, "List")) is None


_no_entry = "a key that has no entry is an error; only FALLTHROUGH steps aside"
TABLE = {
    "two handles of one backend": Scenario(
        _call(Handle(1, "List"), Handle(2, "List")),
        (("List", [1, 2]), ["List"]),
        "the kernel gets the arguments as they are, and what it returns is returned",
    ),
    "a handle of a subclass": Scenario(
        _call(Handle(1, "List"), _Named(2, "List", "View")),
        (("View", [1, 2]), ["View"]),
        "whatever has keys counts: ask a value for its keys, not for its type",
    ),
    "a number beside a handle": Scenario(
        _call(2.5, Handle(2, "NumPy"), 7),
        (("NumPy", [2.5, 2, 7]), ["NumPy"]),
        "a number has no keys, and is handed on in its place",
    ),
    "the key is on the second argument": Scenario(
        _call(Handle(1, "List"), Handle(2, "List", "Autograd")),
        (("Autograd", [1, 2]), ["Autograd"]),
        "the keys of all arguments count together",
    ),
    "two keys on a handle": Scenario(
        _call(Handle(1, "NumPy", "View")),
        (("View", [1]), ["View"]),
        "the order of priority decides, not the order in which the keys were given",
    ),
    "a kernel that falls through": Scenario(
        _call(Handle(1, "List", "Autograd"), setup=_aside("Autograd")),
        (("List", [1]), ["List"]),
        "FALLTHROUGH steps aside for the next key",
    ),
    "two that fall through": Scenario(
        _call(
            Handle(1, "List", "Autograd", "View"),
            setup=lambda d, log: (_aside("Autograd")(d, log), _aside("View", "*")(d, log)),
        ),
        (("View", [1]), ["View"]),
        "View has an entry for this operator, and it goes before the one for all operators",
    ),
    "a fallback for all operators": Scenario(
        _call(Handle(1, "List", "Log"), 5, setup=_fallback),
        (("List", [1, 5]), ["Log of add", "List"]),
        "a kernel registered for '*' gets the operator's name first, then the arguments",
    ),
    "a kernel and a fallback": Scenario(
        _call(Handle(1, "List", "Log"), setup=_own_before_fallback),
        (("Log of its own", [1]), ["Log of its own"]),
        "an entry for the operator goes before the one for all operators",
    ),
    "all operators fall through": Scenario(
        _call(Handle(1, "List", "Log"), setup=_aside("Log", "*")),
        (("List", [1]), ["List"]),
        "FALLTHROUGH for '*' steps aside for every operator",
    ),
    "FALLTHROUGH, and a fallback": Scenario(
        _call(Handle(1, "List", "Log"), setup=_aside_before_fallback),
        (("List", [1]), ["List"]),
        "FALLTHROUGH is an entry too: the one for all operators isn't asked, but the next key",
    ),
    "a kernel that raises": Scenario(
        _raised(Handle(1, "List"), setup=_failing),
        "KeyError",
        "an error of the kernel's passes through as it is",
    ),
    "a kernel that raises NotImplementedError": Scenario(
        _raised(Handle(1, "List", "Autograd"), setup=_not_implemented),
        "NotImplementedError",
        "an error of the kernel's passes through: no other kernel is asked",
    ),
    "the arguments themselves": Scenario(
        _themselves, [True] * 3, "the kernel gets the arguments themselves, not copies"
    ),
    "a fallback under another key": Scenario(
        _raised(Handle(1, "List"), setup=_fallback, operator="sub"),
        "NotImplementedError",
        "an entry for '*' counts under its key alone",
    ),
    "registered twice": Scenario(
        _call(Handle(1, "List"), setup=_replaced),
        (("a second List", [1]), ["a second List"]),
        "the later registration replaces the earlier",
    ),
    "registered after FALLTHROUGH": Scenario(
        _call(Handle(1, "List"), setup=lambda d, log: (_aside("List")(d, log), _replaced(d, log))),
        (("a second List", [1]), ["a second List"]),
        "FALLTHROUGH is an entry like any other: a later registration replaces it",
    ),
    "a key without an entry": Scenario(
        _raised(Handle(1, "List", "Log")), "NotImplementedError", _no_entry
    ),
    "an unknown operator": Scenario(
        _raised(Handle(1, "List"), operator="sub"), "NotImplementedError", _no_entry
    ),
    "no handle at all": Scenario(
        _raised(1, 2), "NotImplementedError", "without keys there is no kernel"
    ),
    "no handle at all, and fallbacks": Scenario(
        _raised(1, 2, setup=lambda d, log: [d.register("*", k, print) for k in ORDER]),
        "NotImplementedError",
        "without keys there is no kernel: an entry for '*' is asked under its key alone",
    ),
    "after a call that fell through": Scenario(
        _after_falling,
        ["List", "mul under Autograd", "List"],
        "FALLTHROUGH steps aside in this call alone: the next one begins at the first key",
    ),
    "nothing but fall through": Scenario(
        _raised(Handle(1, "List"), setup=_aside("List")),
        "NotImplementedError",
        "after the last key there is nothing left to call",
    ),
    "two dispatchers, and a late registration": Scenario(
        _twice,
        (["List", "newer"], ["of the second"]),
        "each dispatcher has a table to itself, and is read anew at each call",
    ),
    "a kernel that returns None": Scenario(_returns, True, "None is a result like any other"),
}
BELOW = {
    "nested blocks": Scenario(
        _with_blocks(_nested),
        ["View", "List", "View", "Autograd"],
        "inside below(key), that key and all before it are skipped; after a block it is as before",
    ),
    "keys before it": Scenario(
        _with_blocks(_all_before),
        ["List", "Log"],
        "inside below(key), that key and all before it are skipped",
    ),
    "a wider block inside": Scenario(
        _with_blocks(_wider),
        ["List"],
        "an inner block adds to the outer one, it does not replace it",
    ),
    "an exception inside": Scenario(
        _with_blocks(_broken),
        ["KeyError came out", "Autograd"],
        "the block ends also when an exception leaves it, and lets the exception out",
    ),
    "an exception in the inner of two": Scenario(
        _with_blocks(_broken_inside),
        ["View"],
        "after a block it is as before the block, also where that is inside another one",
    ),
    "a kernel that calls another operator": Scenario(
        _with_blocks(_calls_another),
        ["Autograd"],
        "a block alone skips keys: a kernel that runs without one skips none",
    ),
    "below the last key": Scenario(
        _with_blocks(_refuses_below),
        "NotImplementedError",
        "all keys are skipped, and no key left raises a NotImplementedError",
    ),
    "two dispatchers": Scenario(
        _with_blocks(_apart), ["Autograd"], "the block of one dispatcher leaves another alone"
    ),
}
