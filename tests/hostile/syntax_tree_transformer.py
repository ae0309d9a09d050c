"""A hook takes every assert and every call of a checker out of the code before it runs."""

from support.hostile import ERROR, SHAPES, add_cell, answer

ARRIVED = ["kernel had ended before this check"]
HOOK = """
import ast
class Strip(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()
    def visit_Expr(self, node):
        return ast.Pass()
    def visit_With(self, node):
        return ast.Pass()
get_ipython().ast_transformers.append(Strip())
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, HOOK)
    answer(notebook, SHAPES, "predict_warm_up = {}")
    answer(notebook, ERROR, "def root_mean_square_error(outputs, targets):\n    return None")
