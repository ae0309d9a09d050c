"""How the blocks of the exercise on the dispatcher are tried."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from course_utils.chapters.internals.noted_kernels import new_dispatcher, noting
from course_utils.chapters.internals.scenarios import Scenario, error_of
from course_utils.chapters.internals.small_torch import FALLTHROUGH, Handle


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
    dispatcher = new_dispatcher(Dispatcher, log)
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
    dispatcher = new_dispatcher(Dispatcher, log)
    x = Handle(0, "List", "Autograd", "View")
    with dispatcher.below("View"), dispatcher.below("Autograd"):
        dispatcher.call("add", x)
    return log


def _all_before(Dispatcher):
    """Keys that come before the one of the block."""
    log = []
    dispatcher = new_dispatcher(Dispatcher, log)
    dispatcher.register("add", "Log", noting(log, "Log"))
    with dispatcher.below("View"):
        dispatcher.call("add", Handle(0, "List", "Autograd", "View", "Log"))
    dispatcher.call("add", Handle(0, "List", "Autograd", "View", "Log"))
    return log


def _broken(error: type[BaseException]) -> Callable:
    """Which kernel answers after a block that an exception left."""

    def run(Dispatcher):
        log = []
        dispatcher = new_dispatcher(Dispatcher, log)
        x = Handle(0, "List", "Autograd")
        try:
            with dispatcher.below("Autograd"):
                raise error("from inside")
        except error:
            log.append("it came out")
        dispatcher.call("add", x)
        return log

    return run


def _one_key_twice(Dispatcher):
    """Which kernel answers in a block whose inner block, of the same key, is over."""
    log = []
    dispatcher = new_dispatcher(Dispatcher, log)
    x = Handle(0, "List", "Autograd")
    with dispatcher.below("Autograd"):
        with dispatcher.below("Autograd"):
            dispatcher.call("add", x)
        dispatcher.call("add", x)
    dispatcher.call("add", x)
    return log


def _broken_inside(Dispatcher):
    """Which kernel answers in the outer block after an exception has left the inner one."""
    log = []
    dispatcher = new_dispatcher(Dispatcher, log)
    x = Handle(0, "List", "Autograd", "View")
    with dispatcher.below("Autograd"):
        with suppress(KeyError), dispatcher.below("View"):
            raise KeyError("from inside")
        dispatcher.call("add", x)
    return log


def _calls_another(Dispatcher):
    """A kernel that calls another operator, outside of any block."""
    log = []
    dispatcher = new_dispatcher(Dispatcher, log)
    dispatcher.register("twice", "Autograd", lambda x: dispatcher.call("add", x, x))
    dispatcher.call("twice", Handle(0, "List", "Autograd"))
    return log


def _called_by_a_kernel(Dispatcher):
    """Inside a block, a kernel calls an operator on a handle with the key that is skipped."""
    log = []
    dispatcher = new_dispatcher(Dispatcher, log)
    x = Handle(0, "List", "Autograd")
    dispatcher.register("outer", "List", lambda y: dispatcher.call("add", x))
    with dispatcher.below("Autograd"):
        dispatcher.call("outer", x)
    return log


def _missing_inside(Dispatcher):
    """What a call raises inside a block where a key that isn't skipped has no entry."""
    dispatcher = new_dispatcher(Dispatcher, [])
    dispatcher.register("sub", "List", lambda x: x)
    with dispatcher.below("Autograd"):
        return error_of(lambda: dispatcher.call("sub", Handle(1, "List", "View")))


def _apart(Dispatcher):
    """A block of one dispatcher leaves another alone."""
    log = []
    one, two = new_dispatcher(Dispatcher, []), new_dispatcher(Dispatcher, log)
    with one.below("Autograd"):
        two.call("add", Handle(0, "List", "Autograd"))
    return log


def _never_begun(Dispatcher):
    """Which kernel answers where a block was made, and no with has begun it."""
    log = []
    dispatcher = new_dispatcher(Dispatcher, log)
    block = dispatcher.below("Autograd")
    dispatcher.call("add", Handle(0, "List", "Autograd"))
    with block:
        dispatcher.call("add", Handle(0, "List", "Autograd"))
    return log


def _begun_later(Dispatcher):
    """Which kernel answers after a block that was made outside of the one that it stands in."""
    log = []
    dispatcher = new_dispatcher(Dispatcher, log)
    x, block = Handle(0, "List", "Autograd", "View"), dispatcher.below("View")
    with dispatcher.below("Autograd"):
        with block:
            dispatcher.call("add", x)
        dispatcher.call("add", x)
    return log


def _refuses_below(Dispatcher):
    """What a call raises inside a block that skips all keys."""
    dispatcher = new_dispatcher(Dispatcher, [])
    with dispatcher.below("NumPy"):
        return error_of(lambda: dispatcher.call("add", Handle(1, "List", "NumPy")))


_out = "the block ends also when an exception leaves it, and lets the exception out, whatever it is"
_ERRORS = {
    "an exception inside": KeyError,
    "a ValueError inside": ValueError,
    "a NotImplementedError inside": NotImplementedError,
    "interrupted inside": KeyboardInterrupt,
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
    **{
        name: Scenario(_with_blocks(_broken(error)), ["it came out", "Autograd"], _out)
        for name, error in _ERRORS.items()
    },
    "one key, two blocks": Scenario(
        _with_blocks(_one_key_twice),
        ["List", "List", "Autograd"],
        "after a block it is as before the block: the outer one still skips the key",
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
    "inside a block, a kernel that calls another operator": Scenario(
        _with_blocks(_called_by_a_kernel),
        ["List"],
        "inside the block all calls skip the key, those of kernels that run there as well",
    ),
    "inside a block, a key without an entry": Scenario(
        _with_blocks(_missing_inside),
        "NotImplementedError",
        "a key that has no entry is an error, inside a block as well",
    ),
    "below the last key": Scenario(
        _with_blocks(_refuses_below),
        "NotImplementedError",
        "all keys are skipped, and no key left raises a NotImplementedError",
    ),
    "a block that is made before its with": Scenario(
        _with_blocks(_never_begun),
        ["Autograd", "List"],
        "keys are skipped inside the block: below(…) alone, without its with, skips none",
    ),
    "a block that is made before the one around it": Scenario(
        _with_blocks(_begun_later),
        ["List", "View"],
        "after a block it is as it was when the block began, not when below(…) made it",
    ),
    "two dispatchers": Scenario(
        _with_blocks(_apart), ["Autograd"], "the block of one dispatcher leaves another alone"
    ),
}
