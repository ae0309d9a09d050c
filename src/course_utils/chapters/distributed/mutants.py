"""What a slip makes of an answer that several ranks run: for ``course mutants``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

# Also the operators on ranks that several chapters share.
FAMILIES = ("ranks",)
# Where the number of the other rank stands, counted among the arguments.
PEERS = {"send": 1, "recv": 1, "isend": 1, "irecv": 1, "broadcast": 1, "P2POp": 2}
TOGETHER = {"all_reduce", "all_gather", "broadcast", "barrier"}


def peers(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Another source or destination: rank 0, or each rank itself."""
    place = PEERS.get(_of_dist(node))
    if isinstance(node, ast.Call) and place is not None and len(node.args) > place:
        for words, other in (("rank 0", "0"), ("each rank itself", "dist.get_rank()")):
            changed = copy.deepcopy(node)
            changed.args[place] = ast.parse(other, mode="eval").body
            yield f"the other rank is {words}", changed


def company(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """A collective that rank 0 alone calls."""
    if isinstance(node, ast.Expr) and _of_dist(node.value) in TOGETHER:
        alone = ast.parse("dist.get_rank() == 0", mode="eval").body
        yield "rank 0 alone calls it", ast.If(alone, [copy.deepcopy(node)], [])


def _of_dist(node: ast.AST) -> str:
    """The function of ``dist`` that a node calls; empty where it calls none."""
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return name.removeprefix("dist.") if name.startswith("dist.") else ""


CHANGES = (peers, company)
