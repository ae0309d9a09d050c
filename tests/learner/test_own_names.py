"""A check whose names are spelt otherwise means the same, and leaves the learner's names alone."""

import ast

import pytest

from course_utils.learner.as_it_was import stored_names
from course_utils.learner.own_names import PREFIX, respelt, spelt_otherwise

CHECKS = {
    "a variable": "x = 1\nx += 1\nseen = x",
    "read before it is bound": "x = x * 2\nseen = x",
    "a with block": "import io\nwith io.StringIO('a') as x: seen = x.read()",
    "a loop": "for x in range(3): pass\nseen = x",
    "a walrus": "seen = [(x := 3), x]",
    "a comprehension": "x = 2\nseen = [x for x in range(3)] + [x]",
    "a function": "def x(): return 1\nseen = x()",
    "a parameter": "x = 1\ndef f(x, *, y=x): return x + y\nseen = f(x=5)",
    "a lambda's parameter": "x = 1\nf = lambda x: x + 1\nseen = f(x=5) + x",
    "an enclosed function": "x = 1\ndef f():\n    def g(): return x\n    return g()\nseen = f()",
    "a local variable": "x = 1\ndef f():\n    x = 2\n    return x\nseen = f() + x",
    "nonlocal": "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n"
    "    g()\n    return x\nx = 5\nseen = f()",
    "global": "x = 1\ndef f():\n    global x\n    x = 2\nf()\nseen = x",
    "a class": "class x: y = 1\nseen = x.y",
    "an attribute": "x = 1\nclass C:\n    x = 3\n    def y(self): return self.x\nseen = C().y()",
    "a method": "x = 1\nclass C:\n    def x(self): return 2\nseen = C().x() + x",
    "a base and a keyword": "x = type\nclass C(object, metaclass=x): pass\nseen = type(C)",
    "a decorator": "def x(f): return f()\n@x\ndef y(): return 4\nseen = y",
    "an annotation": "x: int = 3\ndef f(y: x) -> x: return y\nseen = f.__annotations__",
    "an import": "import math as x\nseen = x.pi",
    "an import of a name": "from math import pi as x\nfrom math import pi\nseen = x - pi",
    "an import below a module": "import os.path\nimport os.path as x\nseen = x.join(os.sep, 'b')",
    "an exception": "try: 1 / 0\nexcept ZeroDivisionError as x: seen = str(x)",
    "a match": "match [1, 2]:\n    case [x, *y]: seen = x, y",
    "a deletion": "x = 1\ndel x\nx = 2\nseen = x",
    "a keyword of a call": "x = 1\nseen = dict(x=x)",
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_it_means_the_same(check):
    plain = {"x": 10, "f": "the learner's"}
    exec(check, plain)
    # An import of a module below another binds that one's name, which is not spelt otherwise.
    taken = stored_names(check) - {"seen", "os"}
    assert taken
    names = dict.fromkeys(taken, 10) | {"f": "the learner's"}
    before = dict(names)
    names |= spelt_otherwise(names, taken)
    exec(compile(respelt(ast.parse(check), taken), "check", "exec"), names)
    assert names["seen"] == plain["seen"]
    assert {name: names[name] for name in before} == before


def test_names_that_are_not_taken_stay():
    tree = respelt(ast.parse("x = y = 1"), {"y"})
    assert ast.unparse(tree) == f"x = {PREFIX}y = 1"
