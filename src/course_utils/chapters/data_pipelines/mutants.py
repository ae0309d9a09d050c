"""What goes wrong in data pipelines alone: the mutants of this chapter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Change = tuple[str, ast.AST]
# Also the operators on files that several chapters share.
FAMILIES = ("files",)


def call_of(node: ast.AST, *names: str) -> ast.Call | None:
    """This call, if it calls one of these and has an argument."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    return node if ast.unparse(node.func).rpartition(".")[2] in names else None


def other_seeds(node: ast.AST) -> Iterator[Change]:
    """A seed that is always 0; of two numbers, one alone, or their sum."""
    call = call_of(node, "default_rng", "manual_seed", "Random")
    if call is not None:
        for words, other in _instead(call.args[0]):
            yield words, ast.Call(call.func, [other], [])


def _instead(seed: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    yield "a fixed seed", ast.Constant(0)
    if isinstance(seed, (ast.List, ast.Tuple)) and len(seed.elts) == 2:
        first, second = seed.elts
        yield "seeds added", ast.BinOp(first, ast.Add(), second)
        yield "the seed forgotten", second
        yield "the epoch forgotten", first


def one_process(node: ast.AST) -> Iterator[Change]:
    """This worker or rank taken for the first, or for the only one."""
    if not isinstance(node, (ast.Attribute, ast.Name)) or not isinstance(node.ctx, ast.Load):
        return
    name = node.attr if isinstance(node, ast.Attribute) else node.id
    if name in ("num_workers", "workers", "world"):
        yield f"{name} is 1", ast.Constant(1)
    if isinstance(node, ast.Attribute) and name == "id":
        yield "the worker's id is 0", ast.Constant(0)
    if isinstance(node, ast.Attribute) and name == "seed":
        yield "the worker's id as its seed", ast.Attribute(node.value, "id", ast.Load())


def kept_in_order(node: ast.AST) -> Iterator[Change]:
    """No shuffling."""
    call = call_of(node, "permutation", "randperm")
    if call is not None:
        numpy = ast.Attribute(ast.Name("np", ast.Load()), "arange", ast.Load())
        yield "not shuffled", ast.Call(numpy, call.args[:1], [])


def one_for_all_processes(node: ast.AST) -> Iterator[Change]:
    """What a process opened is taken for every process's."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "os.getpid":
        yield "the process isn't asked for", ast.Constant(0)


CHANGES = (other_seeds, one_process, kept_in_order, one_for_all_processes)
