"""How the table of the exercise on the dispatcher is tried."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from course_utils.chapters.internals.noted_kernels import ORDER, new_dispatcher, noting
from course_utils.chapters.internals.scenarios import Scenario, error_of, given
from course_utils.chapters.internals.small_torch import FALLTHROUGH, Handle


class _Named(Handle):
    """A handle of a subclass."""


class _Batch:
    """No handle, and it has keys."""

    keys = frozenset({"Autograd"})


def _call(*handles: Any, setup: Callable | None = None, operator: str = "add") -> Callable:
    def run(Dispatcher):
        log = []
        dispatcher = new_dispatcher(Dispatcher, log)
        if setup:
            setup(dispatcher, log)
        result = given(dispatcher.call(operator, *deepcopy(handles)), "what call returned")
        return result, log

    return run


def _raised(*handles: Any, setup: Callable | None = None, operator: str = "add") -> Callable:
    def run(Dispatcher):
        dispatcher = new_dispatcher(Dispatcher, [])
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
    dispatcher.register("add", "Log", noting(log, "Log of its own"))


def _aside_before_fallback(dispatcher, log) -> None:
    _fallback(dispatcher, log)
    _aside("Log")(dispatcher, log)


def _failing(Dispatcher):
    """What comes out of kernels that raise something else, or are called more than once."""
    dispatcher, found, calls = new_dispatcher(Dispatcher, []), {}, []

    def raising(error: type[Exception]) -> Callable:
        def kernel(*values):
            calls.append(len(values))
            raise error("of the kernel")

        return kernel

    for error in (KeyError, TypeError, AttributeError, IndexError, ValueError, RuntimeError):
        dispatcher.register("add", "List", raising(error))
        found[error.__name__] = error_of(lambda: dispatcher.call("add", Handle(1, "List")))
    return {name: said for name, said in found.items() if name != said}, calls


def _replaced(dispatcher, log) -> None:
    dispatcher.register("add", "List", noting(log, "a second List"))


def _twice(Dispatcher):
    """Two dispatchers, and a registration after the first call."""
    log, other = [], []
    one, two = new_dispatcher(Dispatcher, log), new_dispatcher(Dispatcher, other)
    one.call("add", Handle(1, "List"))
    one.register("add", "List", noting(log, "newer"))
    two.register("add", "List", noting(other, "of the second"))
    one.call("add", Handle(1, "List"))
    two.call("add", Handle(1, "List"))
    return log, other


def _entry_by_entry(Dispatcher):
    """Who runs in one and the same call after each of several registrations."""
    log, x = [], Handle(1, "List", "Log")
    dispatcher = new_dispatcher(Dispatcher, log)
    log.append(error_of(lambda: dispatcher.call("add", x)))
    entries = {"a fallback": "*", "a second fallback": "*", "its own": "add", "again": "add"}
    for name, operator in entries.items():
        dispatcher.register(operator, "Log", noting(log, name))
        dispatcher.call("add", x)
    return log


def _of_another_class(Dispatcher):
    log = []
    new_dispatcher(Dispatcher, log).call("add", Handle(1, "List"), _Batch())
    return log


def _after_falling(Dispatcher):
    """Two calls that fall through, and one of another operator with a kernel under that key."""
    log = []
    dispatcher = new_dispatcher(Dispatcher, log)
    dispatcher.register("add", "Autograd", FALLTHROUGH)
    dispatcher.register("mul", "Autograd", noting(log, "mul under Autograd"))
    x = Handle(1, "List", "Autograd")
    for name in ("add", "mul", "add"):
        dispatcher.call(name, x)
    return log


def _themselves(Dispatcher):
    """Whether the kernel gets the very arguments of the call."""
    dispatcher = new_dispatcher(Dispatcher, [])
    values = (Handle(1, "List"), 2.5, Handle(3, "NumPy"))
    same = lambda *found: [one is other for one, other in zip(found, values, strict=True)]  # noqa: E731
    dispatcher.register("add", "List", same)
    return dispatcher.call("add", *values)


def _not_implemented(dispatcher, log) -> None:
    def kernel(x):
        raise NotImplementedError("of the kernel")

    dispatcher.register("add", "Autograd", kernel)


def _returns(*results: Any) -> Callable:
    """What comes back of kernels that return these."""

    def run(Dispatcher):
        dispatcher, found = new_dispatcher(Dispatcher, []), []
        for result in results:
            dispatcher.register("print", "List", lambda x, result=result: result)
            found.append(dispatcher.call("print", Handle(1, "List")))
        return found

    return run


def _fallback_replaced(dispatcher, log) -> None:
    _fallback(dispatcher, log)
    dispatcher.register("*", "Log", noting(log, "a second fallback"))


_no_entry = "a key that has no entry is an error; only FALLTHROUGH steps aside"
TABLE = {
    "two handles of one backend": Scenario(
        _call(Handle(1, "List"), Handle(2, "List")),
        (("List", [1, 2]), ["List"]),
        "the kernel gets the arguments as they are, and what it returns is returned",
    ),
    "a handle of a subclass": Scenario(
        _call(_Named(1, "List"), _Named(2, "List")),
        (("List", [1, 2]), ["List"]),
        "whatever has keys counts: ask a value for its keys, not for its type",
    ),
    "keys on something that is no handle": Scenario(
        _of_another_class,
        ["Autograd"],
        "whatever has keys counts, a handle or not: ask a value for its keys, not for its type",
    ),
    "a number beside a handle": Scenario(
        _call(2.5, Handle(2, "NumPy"), 7),
        (("NumPy", [2.5, 2, 7]), ["NumPy"]),
        "a number has no keys, and is handed on in its place",
    ),
    "a list beside a handle": Scenario(
        _call(Handle(2, "NumPy"), [0, 1]),
        (("NumPy", [2, [0, 1]]), ["NumPy"]),
        "whatever has no keys, and no hash either, is handed on in its place",
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
        "Log is asked first; its kernel for '*' gets the operator's name first, then the arguments",
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
        _failing,
        ({}, [1] * 6),
        "an error of the kernel's passes through as it is, whatever its class, from one call",
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
    "a fallback registered twice": Scenario(
        _call(Handle(1, "List", "Log"), setup=_fallback_replaced),
        (("a second fallback", ["add", 1]), ["a second fallback"]),
        "the later registration replaces the earlier, that of an entry for '*' as well",
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
    "no value at all": Scenario(
        _raised(), "NotImplementedError", "no value, so no key and no kernel"
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
    "a call after each of several registrations": Scenario(
        _entry_by_entry,
        ["NotImplementedError", "a fallback", "a second fallback", "its own", "again"],
        "the table is read anew at each call: what was found before may be replaced since",
    ),
    "a kernel that returns None": Scenario(
        _returns(None), [None], "None is a result like any other"
    ),
    "kernels that return 0, False and an empty text": Scenario(
        _returns(0, False, ""), [0, False, ""], "what a kernel returns is returned, whatever it is"
    ),
    "a kernel that returns NotImplemented": Scenario(
        lambda Dispatcher: repr(_returns(NotImplemented)(Dispatcher)),
        "[NotImplemented]",
        "only the entry FALLTHROUGH steps aside; what a kernel returns is returned, whatever it is",
    ),
}
