"""Operators on expressions: what a slip of the pen makes of one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

Change = tuple[str, ast.AST]


def _names(text: str) -> set[str]:
    return set(text.split())


ARITHMETIC: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
# x.name(…) becomes x.
TAKEN_AWAY = _names(
    "detach clone contiguous abs float double half long int to cpu item tolist type_as eval "
    "train requires_grad_ requires_grad flatten squeeze unsqueeze clamp clamp_min relu exp "
    "log sqrt square neg conj resolve_conj copy items sort strip lower zero_ manual_seed "
    "sigmoid expand expand_as coalesce tril triu numpy keys"
)
# name(x, …) becomes x.
UNWRAPPED = _names(
    "abs int float list tuple dict set sorted reversed max min round bool deepcopy copy "
    "detach clone contiguous relu sqrt exp log ceil floor iter Parameter as_tensor tensor "
    "enumerate"
)
SWAPPED = {
    **{"amax": "amin", "amin": "amax", "max": "min", "min": "max", "argmax": "argmin"},
    **{"argmin": "argmax", "sum": "mean", "mean": "sum", "any": "all", "all": "any"},
    **{"floor": "ceil", "ceil": "floor", "zeros": "ones", "ones": "zeros", "var": "std"},
    **{"zeros_like": "ones_like", "ones_like": "zeros_like", "std": "var", "cos": "sin"},
    **{"sin": "cos", "exp": "expm1", "log": "log1p", "log1p": "log", "cat": "stack"},
    **{"stack": "cat", "append": "extend", "reshape": "view", "rand": "randn", "randn": "rand"},
    **{"parameters": "buffers", "named_parameters": "named_buffers", "children": "modules"},
    **{"modules": "children", "named_modules": "named_children", "tril": "triu", "triu": "tril"},
    **{"empty_like": "zeros_like", "cumsum": "cumprod", "maximum": "minimum", "isnan": "isinf"},
    **{"minimum": "maximum", "train": "eval", "eval": "train", "softmax": "log_softmax"},
    **{"log_softmax": "softmax", "mm": "mul", "new_zeros": "new_ones", "repeat": "tile"},
    **{"isfinite": "isinf", "repeat_interleave": "repeat", "state_dict": "named_parameters"},
}
IN_PLACE = _names(
    "add sub mul div clamp masked_fill relu exp neg sqrt square scatter_add index_add "
    "copysign index_fill lerp addcmul addcdiv tanh sigmoid fill transpose unsqueeze squeeze"
)
TEXTS = {"mean": "sum", "sum": "mean", "none": "mean", "reflect": "constant", "ij": "xy"}
COMMUTATIVE = _names(
    "max min maximum minimum gcd equal allclose add mul logical_and logical_or zip isclose"
)
# What a slip takes for the first: a rank, a worker, an epoch.
TAKEN_AS_ZERO = {"rank", "epoch", "worker", "worker_id", "step", "offset", "start"}


def changes(node: ast.AST) -> Iterator[Change]:
    """Every way in which one expression is changed, and what kind of change it is."""
    maker = MAKERS.get(type(node))
    if maker is not None:
        yield from maker(node)


def _with(node: ast.AST, **fields) -> ast.AST:
    changed = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _binary(node: ast.BinOp) -> Iterator[Change]:
    for kind in ARITHMETIC.get(type(node.op), ()):
        yield "arithmetic", _with(node, op=kind())
    if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)):
        yield "operands swapped", _with(node, left=node.right, right=node.left)
    if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr)):
        yield "operand lost", copy.deepcopy(node.left)


def _compare(node: ast.Compare) -> Iterator[Change]:
    for place, operator in enumerate(node.ops):
        for kind in COMPARISONS.get(type(operator), ()):
            yield "comparison", _with(node, ops=[*node.ops[:place], kind(), *node.ops[place + 1 :]])


def _boolean(node: ast.BoolOp) -> Iterator[Change]:
    yield "and, or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for place in range(len(node.values)):
        rest = [*node.values[:place], *node.values[place + 1 :]]
        yield "condition lost", rest[0] if len(rest) == 1 else _with(node, values=rest)


def _unary(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        yield "sign or not lost", copy.deepcopy(node.operand)


def _constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        for other in dict.fromkeys((value + 1, value - 1, 0, -value)):
            if other != value:
                yield "constant", ast.Constant(other)
    elif isinstance(value, float):
        for other in dict.fromkeys((0.0, -value, value * 10, value / 10)):
            if other != value:
                yield "constant", ast.Constant(other)
    elif isinstance(value, str) and value in TEXTS:
        yield "reduction or mode", ast.Constant(TEXTS[value])


def _is_named(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _call(node: ast.Call) -> Iterator[Change]:
    for place, keyword in enumerate(node.keywords):
        if keyword.arg and not (keyword.arg == "strict" and _is_named(node.func, "zip")):
            rest = [*node.keywords[:place], *node.keywords[place + 1 :]]
            yield f"{keyword.arg} lost", _with(node, keywords=rest)
    if len(node.args) >= 2:
        yield "argument lost", _with(node, args=node.args[:-1])
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called not in COMMUTATIVE and not _is_named(node.func, *COMMUTATIVE):
            yield (
                "arguments swapped",
                _with(node, args=[node.args[1], node.args[0], *node.args[2:]]),
            )
    elif len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        yield "argument lost", _with(node, args=[])
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Attribute) and name in TAKEN_AWAY:
        if not _is_named(node.func.value, "torch", "F"):
            yield f"{name} taken away", copy.deepcopy(node.func.value)
        elif node.args:
            yield f"{name} taken away", copy.deepcopy(node.args[0])
    called = name or (node.func.id if isinstance(node.func, ast.Name) else "")
    if called in UNWRAPPED and node.args and not isinstance(node.args[0], ast.Starred):
        many = 2 if called in ("max", "min") else 1
        for place, argument in enumerate(node.args[:many]):
            yield f"{called} taken away ({place})", copy.deepcopy(argument)
    if called in ("get_rank", "get_worker_info"):
        yield "rank 0", ast.Constant(0)
    if called in SWAPPED:
        other = SWAPPED[called]
        if name:
            yield "function swapped", _with(node, func=_with(node.func, attr=other))
        elif called in ("max", "min", "sum", "any", "all"):
            other = "len" if called == "sum" else other
            yield "function swapped", _with(node, func=ast.Name(other, ast.Load()))
    library = isinstance(node.func, ast.Attribute) and _is_named(
        node.func.value, "torch", "F", "np"
    )
    if name in IN_PLACE and not library:
        yield "in place", _with(node, func=_with(node.func, attr=name + "_"))
    if name.endswith("_") and not name.startswith("_") and name[:-1] in IN_PLACE:
        yield "out of place", _with(node, func=_with(node.func, attr=name[:-1]))


def _attribute(node: ast.Attribute) -> Iterator[Change]:
    if isinstance(node.ctx, ast.Load) and node.attr in ("T", "mT", "H", "mH", "data", "real"):
        yield f"{node.attr} taken away", copy.deepcopy(node.value)
    other = {"float64": "float32", "float32": "float64", "int64": "int32"}.get(node.attr)
    if other and isinstance(node.value, ast.Name) and node.value.id == "torch":
        yield "dtype", _with(node, attr=other)
    if node.attr in TAKEN_AS_ZERO and isinstance(node.ctx, ast.Load):
        yield f"{node.attr} is 0", ast.Constant(0)


def _name(node: ast.Name) -> Iterator[Change]:
    if node.id in TAKEN_AS_ZERO and isinstance(node.ctx, ast.Load):
        yield f"{node.id} is 0", ast.Constant(0)


def _slice(node: ast.Slice) -> Iterator[Change]:
    for field in ("lower", "upper", "step"):
        if getattr(node, field) is not None:
            yield "bound of a slice lost", _with(node, **{field: None})


def _choice(node: ast.IfExp) -> Iterator[Change]:
    yield "branch always taken", copy.deepcopy(node.body)
    yield "branch never taken", copy.deepcopy(node.orelse)


def _comprehension(node: ast.comprehension) -> Iterator[Change]:
    for place in range(len(node.ifs)):
        yield "condition lost", _with(node, ifs=[*node.ifs[:place], *node.ifs[place + 1 :]])
    whole = ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
    for words, part in (
        ("the first alone", ast.Slice(upper=ast.Constant(1))),
        ("the last forgotten", ast.Slice(upper=ast.UnaryOp(ast.USub(), ast.Constant(1)))),
    ):
        yield words, _with(node, iter=ast.Subscript(whole, part, ast.Load()))


MAKERS: dict[type, Callable[[Any], Iterator[Change]]] = {
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Constant: _constant,
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Name: _name,
    ast.Slice: _slice,
    ast.IfExp: _choice,
    ast.comprehension: _comprehension,
}
