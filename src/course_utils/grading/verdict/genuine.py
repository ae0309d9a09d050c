"""Whether a locked function that tries an answer is the chapter's own, and all that it goes by.

A trial runs in the answer's process, among the answer's names. A notebook that gives ``try_race``,
or a name that ``try_race`` uses, another meaning would earn the points without an answer, or lose
them with a right one. So both processes look at the function's code, and at the code of each
function that it can reach in the notebook's locked cells and in the course's modules.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

OURS = "course_utils"
NOTEBOOK = "__main__"
PLAIN = (int, float, complex, str, bytes, bool, type(None))
REBOUND = (
    "this check can't be run: the notebook gives {} another meaning than the chapter does. Give "
    "your own variable or function another name, and leave the locked cells as they are"
)


def fingerprints(
    name: str,
    names: Mapping[str, Any],
    skipped: Container[str],
    salt: str,
    own: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, str]:
    """A digest of each thing that a function can reach, itself included.

    Args:
        name: of a function of a locked cell.
        names: the namespace that the cell ran in.
        skipped: names that other cells than locked ones may bind; they aren't looked at.
        salt: goes into each digest first, so that one from before is no use.
        own: goes before ``names``.

    Returns:
        The digests by name; the functions of the course's modules with the module's name before.
    """
    found: dict[str, str] = {}
    waiting: list[tuple[str, Any]] = [(name, own.get(name, names.get(name)))]
    while waiting:
        where, value = waiting.pop()
        if where in found:
            continue
        found[where] = hashlib.sha256(f"{salt}{described(value, names)}".encode()).hexdigest()
        for scope, used in reached(value, names):
            meant = scope.get(used, getattr(builtins, used, None))
            if scope is not names:
                waiting.append((f"{scope.get('__name__')}.{used}", meant))
            elif used not in skipped:
                waiting.append((used, own.get(used, meant)))
    return found


def reached(value: Any, names: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The global names that a function or a class uses, each with the names that it is among."""
    for function in functions_of(value):
        scope = function.__globals__
        if scope is names or home_of(function) == OURS:
            for used in global_names(function.__code__):
                yield scope, used


def functions_of(value: Any, depth: int = 5) -> Iterator[FunctionType]:
    """The Python functions that a value is, wraps or, as one of our classes, has."""
    if depth == 0:
        return
    inner: list[Any] = []
    if isinstance(value, FunctionType):
        yield value
        inner += [cell.cell_contents for cell in value.__closure__ or () if not is_empty(cell)]
    elif isinstance(value, type) and home_of(value) in (OURS, NOTEBOOK):
        inner += [part for _, part in sorted(vars(value).items(), key=lambda entry: entry[0])]
    elif isinstance(value, (classmethod, staticmethod)):
        inner.append(value.__func__)
    elif isinstance(value, property):
        inner += [value.fget, value.fset]
    inner.append(getattr(value, "__wrapped__", None))
    for part in inner:
        if part is not value and (callable(part) or isinstance(part, (property, classmethod))):
            yield from functions_of(part, depth - 1)


def described(value: Any, names: Mapping[str, Any]) -> str:
    """What a value is, as far as both processes must agree."""
    if isinstance(value, ModuleType):
        return f"module {value.__name__} {sys.modules.get(value.__name__) is value}"
    if isinstance(value, BuiltinFunctionType):
        return f"built-in {value.__module__} {value.__qualname__}"
    parts = [f"{kind_of(value)} {code_of(function, names)}" for function in functions_of(value)]
    return "\n".join([kind_of(value), *parts])


def kind_of(value: Any) -> str:
    """The kind of a value; a class or function by its own name."""
    if isinstance(value, (type, FunctionType)):
        return f"{type(value).__name__} {value.__module__} {value.__qualname__}"
    return f"a {type(value).__qualname__}"


def code_of(function: FunctionType, names: Mapping[str, Any]) -> str:
    """A function's code and plain defaults, and whether it lives where it says."""
    digest = hashlib.sha256()
    add_code(digest, function.__code__)
    home = sys.modules.get(function.__module__)
    at_home = function.__globals__ is names or function.__globals__ is vars(home or sys)
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    plain = [repr(value) for value in defaults if type(value) in PLAIN]
    return f"{digest.hexdigest()} {at_home} {plain}"


def add_code(digest: Any, code: CodeType) -> None:
    """Put a code object into the digest, and those inside it.

    Not by marshal: its bytes depend on how many references there are to each constant.
    """
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            add_code(digest, constant)
        elif isinstance(constant, frozenset):
            digest.update(repr(sorted(map(repr, constant))).encode())
        else:
            digest.update(repr(constant).encode())


def global_names(code: CodeType) -> Iterator[str]:
    """The names that code looks up outside of its function."""
    import dis

    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from global_names(constant)


def home_of(value: Any) -> str:
    """The package that a class or function says it is from."""
    return str(getattr(value, "__module__", "")).partition(".")[0]


def is_empty(cell: Any) -> bool:
    """Whether a closure's variable has no value yet."""
    try:
        cell.cell_contents  # noqa: B018  asking is the test
    except ValueError:
        return True
    return False


@dataclass
class Trials:
    """The locked functions that try an answer, as the chapter has them.

    Attributes:
        names: the namespace that the locked cells and checks ran in.
        skipped: the names that other cells bind.
        own: by name, the functions themselves; in ``names`` there may be stand-ins for them.
    """

    names: Mapping[str, Any] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    own: dict[str, Any] = field(default_factory=dict)

    def rebound(self, name: str, told: Mapping[str, Any], salt: str) -> str:
        """The first name to which the notebook gives another meaning; empty if there is none.

        Args:
            name: of a trial.
            told: the notebook's ``fingerprints`` for it, with the same salt.
            salt: see ``fingerprints``.
        """
        expected = fingerprints(name, self.names, self.skipped, salt, self.own)
        wrong = [where for where, digest in expected.items() if told.get(where) != digest]
        return wrong[0] if wrong else ""
