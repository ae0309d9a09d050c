"""How the exercise on operator schemas is tried."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch

from course_utils.chapters.internals.scenarios import given, refused, watched
from course_utils.learner.tracebacks import ends_in_notebook

EXAMPLES = {
    "a functional sum": "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "in place": (
        "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    ),
    "into out": (
        "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
    ),
    "a view": "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    "a list of views": "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) "
    "-> Tensor(a)[]",
    "a list that is written": (
        "aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()"
    ),
    "commas in defaults": (
        "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], "
        "int[2] padding=[0, 0], int[2] dilation=[1, 1], bool ceil_mode=False) -> Tensor"
    ),
    "an overload that is called outer": "mine::grow.outer(Tensor self, Tensor other) -> Tensor",
    "two outs": "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
    "Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)",
    "two outs, not in order of the alphabet": (
        "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, "
        "Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)"
    ),
    "two views, not in order of the alphabet": (
        "mine::pair(Tensor(b) second, int count, Tensor(a) first) -> (Tensor(a), Tensor(b))"
    ),
    "nothing in front of the *": ("mine::noise(*, float mean=0.0, Tensor(a!) out) -> Tensor(a!)"),
    "a view's base behind the *": (
        "mine::shade(Tensor self, *, Tensor(a) like, Tensor(b!) out) -> Tensor(a)"
    ),
    "a view's base behind an out": (
        "mine::tint(Tensor self, *, Tensor(a!) out, Tensor(b) like) -> Tensor(a!)"
    ),
    "names with digits": (
        "mine::halves.out(Tensor x1, *, Tensor(a!) out0, Tensor(b!) out1) "
        "-> (Tensor(a!), Tensor(b!))"
    ),
    "commas in a default, and an out behind": (
        "mine::norm.out(Tensor self, int[] dim=[-2, -1], *, Tensor(a!) out) -> Tensor(a!)"
    ),
    "a second argument is written": (
        "aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, "
        "Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) "
        "-> Tensor"
    ),
    "the last argument is named out, and there is no *": (
        "mine::copy(Tensor self, Tensor(a!) out) -> Tensor(a!)"
    ),
    "written in front of the * and behind it": (
        "mine::step.out(Tensor(a!) self, Tensor slope, *, Tensor(b!) out) -> Tensor(b!)"
    ),
    "a third mark, and names in capitals": (
        "aten::svd.U(Tensor self, bool some=True, bool compute_uv=True, *, Tensor(a!) U, "
        "Tensor(b!) S, Tensor(c!) V) -> (Tensor(a!) U, Tensor(b!) S, Tensor(c!) V)"
    ),
    "only the results have names": (
        "aten::sort(Tensor self, int dim=-1, bool descending=False) "
        "-> (Tensor values, Tensor indices)"
    ),
    "an optional one": (
        "mine::blend(Tensor(a) self, Tensor(b!)? mask=None, str mode='mean') -> Tensor(a)"
    ),
    "a list of views, and a write": (
        "mine::cut(Tensor(a -> *) self, Tensor(b!) places, int count=2) -> Tensor(a)[]"
    ),
    "a mark on an argument, none on the result": "mine::peek(Tensor(a) self, int place) -> Scalar",
    "a mark on an argument, no result": "mine::look(Tensor(a) self) -> ()",
    "a mark of two letters": "mine::fold(Tensor(ab!) self, Tensor(cd) other) -> Tensor(ab!)",
    "a write with an arrow": "mine::strip(Tensor(a! -> *) self, int n) -> Tensor(a!)[]",
    "a write in front of the *, a mark behind it": (
        "mine::mix(Tensor(a!) self, *, Tensor(b) like) -> Tensor(a!)"
    ),
    "nothing is written, a mark behind the *": (
        "mine::lay(Tensor self, *, Tensor(a) like) -> Tensor(a)"
    ),
    "defaults with brackets and commas, and marks behind": (
        "mine::tile(Tensor self, int[2] a=[0, 0], int[] b=[1, 2], str mode='x, y', *, "
        "bool[3] mask=[True, False, True], Tensor(a) base, Tensor(b!) out) -> Tensor(b!)"
    ),
    "an optional list, and a list": ("mine::keep(Tensor(a)[]? parts, Tensor(b!)[] kept) -> ()"),
    "no tensor at all": "aten::manual_seed(int seed) -> ()",
    "no argument": "aten::seed() -> int",
}


def truth(text: str) -> dict[str, Any]:
    """What PyTorch's own parser says of a schema."""
    schema = torch._C.parse_schema(text)
    marked = [(a, a.alias_info.is_write) for a in schema.arguments if a.alias_info]
    writes = [argument.name for argument, written in marked if written]
    views = [argument.name for argument, written in marked if not written]
    if any(argument.kwarg_only for argument, written in marked if written):
        variant = "out"
    else:
        variant = "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


def random_schemas(count: int) -> list[str]:
    """Seeded schemas of the operators that are built in, of all variants."""
    texts = sorted(str(s) for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::"))
    texts = [text for text in texts if not re.search(r"(?<!Tensor)\((\w!|\w\)|\w ->)", text)]
    draw = random.Random(7)
    marked = [text for text in texts if "(a" in text and "|" not in text]
    return draw.sample(marked, count // 2) + draw.sample(texts, count - count // 2)


def run_schema(answer: Callable, text: str) -> Any:
    """What the answer makes of a schema, without PyTorch's own parser."""
    words = "the answer has PyTorch parse the schema: read the text"
    with watched(torch._C.parse_schema, words), refused(torch._C, "parse_schema", words):
        found = given(answer(text), "what read_schemas returned")
        first = deepcopy(found)
        answer("mine::other(Tensor(a!) one, Tensor(b) two) -> ()")
    words = "the second call has changed what the first returned: make new lists in each call"
    assert found == first, words
    assert isinstance(found, dict), f"read_schemas returned a {type(found).__name__}, not a dict"
    return found


@ends_in_notebook
def check_schema(outcome: tuple[str, Any], text: str) -> None:
    """Check what :func:`run_schema` gave.

    Raises:
        AssertionError: naming the entry that is wrong.
    """
    __tracebackhide__ = True
    kind, found = outcome
    assert kind != "refused", found
    shown = text.split("::")[1]
    assert kind == "gave", f"the call raised {found}. The schema: {shown}"
    right = truth(text)
    assert set(found) == set(right), f"the keys are {', '.join(right)}"
    for entry, words in (
        ("writes", "arguments with a ! in their mark, in order"),
        ("views", "arguments with a mark without a !, in order; results don't count"),
    ):
        kind = type(found[entry]).__name__
        assert isinstance(found[entry], list), f"{entry} is a {kind}, not a list: {words}. {shown}"
        if found[entry] != right[entry]:
            raise AssertionError(f"{entry} is {found[entry]!r}: {words}. {shown}")
    words = {
        "out": "an argument after the * is written",
        "in place": "an argument is written, and none after the *",
        "view": "nothing is written, and an argument shares its memory with the result",
        "functional": "no argument has a mark",
    }[right["variant"]]
    if found["variant"] != right["variant"]:
        raise AssertionError(f"variant is {found['variant']!r}: {words}. {shown}")
