"""Which sections teach which name of PyTorch: found in their cells.

Code tells by its syntax: ``F.gelu`` and ``x.as_strided(…)``. A sentence tells by what it sets in
code. A name that is only used somewhere is not taught there, so a section needs a word about it, or
to be where it is used most.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import types
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from course_site.chapters import Section

# Where a name is looked for that a sentence gives alone, best first.
MODULES = (
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.utils.data",
    "torch.utils.checkpoint",
    "torch.utils.tensorboard",
    "torch.autograd",
    "torch.autograd.graph",
    "torch.autograd.profiler",
    "torch.amp",
    "torch.profiler",
    "torch.export",
    "torch.func",
    "torch.library",
    "torch.linalg",
    "torch.nn.init",
    "torch.nn.attention",
    "torch.nn.parallel",
    "torch.nn.utils",
    "torch.nn.utils.parametrize",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.rnn",
    "torch.nn.utils.prune",
    "torch.distributed",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "torch.distributed.tensor.parallel",
    "torch.distributed.checkpoint",
    "torch.distributed.device_mesh",
    "torch.distributed.pipelining",
    "torch.distributed.optim",
    "torch.distributed.algorithms.ddp_comm_hooks.default_hooks",
    "torch.accelerator",
    "torch.cuda",
    "torch.backends",
    "torch.fx",
    "torch.sparse",
    "torch.multiprocessing",
    "torchvision",
    "torchvision.transforms.v2",
    "torchvision.transforms.v2.functional",
    "torchvision.tv_tensors",
    "torchvision.ops",
    "torchvision.io",
    "torchvision.utils",
    "torchvision.models",
    "torchvision.datasets",
)
# Classes whose methods count, with the module that has them.
CLASSES = (
    ("torch", "Tensor"),
    ("torch.nn", "Module"),
    ("torch", "Generator"),
    ("torch.optim", "Optimizer"),
    ("torch.amp", "GradScaler"),
)
ALIASES = {
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "dist": "torch.distributed",
    "v2": "torchvision.transforms.v2",
    "torchvision": "torchvision",
    "optim": "torch.optim",
}
# Methods of Python's own types under the same name: a dot before them tells nothing.
ORDINARY = {
    name for kind in (dict, list, set, str, bytes, tuple, int, float, slice) for name in dir(kind)
}
IN_CODE = re.compile(r"`+([^`]+)`+")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
HEADING_WEIGHT, SAID_WEIGHT = 6, 3
# How many sections a name has in the index, and how much of the best one's weight they need.
MOST, SHARE = 5, 0.3


@dataclass
class Name:
    """A name of PyTorch, and the sections that teach it, the best first.

    Attributes:
        name: the last part, as one searches for it.
        homes: the modules and classes in which the course uses it.
    """

    name: str
    homes: set[str] = field(default_factory=set)
    sections: list[Section] = field(default_factory=list)


def index_of_names(sections: Iterable[Section]) -> list[Name]:
    """Every name of PyTorch that the sections' cells use, by the alphabet."""
    weights: dict[str, Counter[str]] = defaultdict(Counter)
    said: dict[str, set[str]] = defaultdict(set)
    names: dict[str, Name] = {}
    sections, pages = list(sections), {}
    imported: dict[str, dict[str, str]] = defaultdict(dict)
    for section in sections:
        for tree in _trees(section):
            imported[section.chapter] |= _imported(tree)
    for section in sections:
        pages[section.page] = section
        for home, name in used_names(section, imported[section.chapter]):
            names.setdefault(name, Name(name)).homes.add(home)
            weights[name][section.page] += 1
        for home, name in said_names(section):
            names.setdefault(name, Name(name)).homes.add(home)
            weights[name][section.page] += SAID_WEIGHT
            said[name].add(section.page)
        for _, name in _resolved(IN_CODE.findall(section.title)):
            weights[name][section.page] += HEADING_WEIGHT
    for name, entry in names.items():
        taught = Counter({page: weights[name][page] for page in said[name]}) or weights[name]
        taught = Counter({page: taught[page] * pages[page].weight for page in taught})
        best = taught.most_common(MOST)
        enough = SHARE * best[0][1]
        entry.sections = [pages[page] for page, weight in best if weight >= enough]
    return sorted(names.values(), key=lambda entry: (entry.name.lower().strip("_"), entry.name))


def _trees(section: Section) -> Iterator[ast.AST]:
    for cell in section.cells:
        if cell.kind != "markdown":
            # A cell may hold a line for the shell, or be meant to fail.
            with contextlib.suppress(SyntaxError):
                yield ast.parse(cell.source)


def used_names(section: Section, imported: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Home and name of each use in a section's code, under what its chapter imports."""
    aliases = {**ALIASES, **imported}
    for tree in _trees(section):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                yield from _used(node, aliases)
            elif isinstance(node, ast.Name) and "." in aliases.get(node.id, ""):
                yield from _resolved([aliases[node.id]])


def _used(node: ast.Attribute, aliases: dict[str, str]) -> Iterator[tuple[str, str]]:
    path = _dotted(node)
    first = path.split(".")[0]
    if first in aliases:
        yield from _resolved([aliases[first] + path[len(first) :]])
    elif node.attr not in ORDINARY and not node.attr.startswith("__"):
        home = methods().get(node.attr)
        if home:
            yield home, node.attr


def said_names(section: Section) -> Iterator[tuple[str, str]]:
    """Home and name of each that the section's sentences set in code."""
    yield from _resolved(IN_CODE.findall(section.prose()))


def _resolved(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The names of PyTorch in snippets of code: ``as_strided(…)``, ``torch.amp.GradScaler``."""
    for text in texts:
        for path in NAME.findall(text):
            found = _look_up(path)
            if found:
                yield found


@cache
def _look_up(path: str) -> tuple[str, str] | None:
    """Home and name of what a dotted path is; None where PyTorch has nothing by that name."""
    *owner, name = path.split(".")
    if name.startswith("__") or (not owner and (len(name) < 3 or name in ORDINARY)):
        return None
    if owner and owner[0] in ALIASES:
        home = ".".join([ALIASES[owner[0]], *owner[1:]])
        return (home, name) if _has(home, name) else None
    if not owner:
        # Alone, an ordinary word such as `input` or `data` is rarely PyTorch's.
        distinct = "_" in name.strip("_") or name != name.lower() or name in methods()
        if not distinct and name not in _functions():
            return None
        for home in MODULES:
            if _has(home, name) and not isinstance(_get(home, name), types.ModuleType):
                return home, name
    home = methods().get(name)
    return (home, name) if home and name not in ORDINARY else None


@cache
def _functions() -> frozenset[str]:
    """Functions of one plain word that are PyTorch's alone: ``einsum``, ``gather``, ``vmap``."""
    homes = ("torch", "torch.nn.functional", "torch.func")
    builtin = set(dir(importlib.import_module("builtins")))
    return frozenset(
        name
        for home in homes
        for name in dir(importlib.import_module(home))
        if callable(_get(home, name)) and name not in builtin
    )


@cache
def methods() -> dict[str, str]:
    """Where a method is at home: ``Tensor``, ``nn.Module`` and the like."""
    found: dict[str, str] = {}
    for module, kind in CLASSES:
        owner = getattr(importlib.import_module(module), kind)
        for name in dir(owner):
            if not name.startswith("_"):
                found.setdefault(name, f"{module}.{kind}")
    return found


def _get(home: str, name: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(_module(home), name, None)
        except Exception:  # a lazy attribute may want what is not installed
            return None


@cache
def _module(path: str) -> object:
    """A module or what it holds by a dotted path; None where there is nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(path)
        except Exception:
            owner, _, name = path.rpartition(".")
            return getattr(_module(owner), name, None) if owner else None


@cache
def _has(home: str, name: str) -> bool:
    return not name.startswith("_") and _module(home) is not None and _get(home, name) is not None


def _imported(tree: ast.AST) -> dict[str, str]:
    """What the imports of a cell call a name of PyTorch: ``{"AveragedModel": "torch.optim.…"}``."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch"):
            found |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                name.asname: name.name
                for name in node.names
                if name.asname and name.name.startswith("torch")
            }
    return found


def _dotted(node: ast.expr) -> str:
    """``"F.gelu"`` for its syntax; ``"….gelu"`` where it hangs on something computed."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "…"
