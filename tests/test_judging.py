"""The judge: what a check may do with a learner's names, and what its failure says."""

import contextlib
import os
import socket

import pytest
import torch

from course_utils import count_operators, forbid_changes, forbid_copies
from course_utils.grading.answering import Answering
from course_utils.grading.execution import top_level_names
from course_utils.grading.judging import (
    Answers,
    NoAnswer,
    explain,
    hidden_lines,
    raised,
)


class Counter:
    """An object with a state, an attribute, and a ``with`` block."""

    def __init__(self):
        self.count = 0

    def step(self):
        self.count += 1
        return self.count

    def __enter__(self):
        self.count += 10
        return self

    def __exit__(self, *_):
        self.count += 100


def fail(kind, *words):
    raise kind(*words)


class Refusal(ValueError):
    pass


def resize(x):
    return x.resize_(1)


NAMES = {
    "draw": lambda n, generator=None: torch.rand(n, generator=generator),
    "grad": torch.is_grad_enabled,
    "first_row": lambda x: x[0],
    "copy_row": lambda x: x[0].clone(),
    "same": lambda x: x,
    "add_one": lambda x: x.add_(1),
    "resize": resize,
    "transpose": lambda x: x.t_(),
    "are_one": lambda x, y: x is y,
    "apply": lambda f, x: f(x),
    "counter": Counter(),
    "Counter": Counter,
    "refuse": lambda: fail(Refusal, "no"),
    "leave": lambda: fail(SystemExit, 3),
    "decode": lambda: b"\xff".decode(),
    "die": lambda: os._exit(3),
}


@pytest.fixture
def names():
    """The names above, as a check sees them, answered by a process of their own."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            ours.close()
            torch.set_num_threads(1)
            Answering(theirs, NAMES).serve()
        os._exit(0)
    theirs.close()
    answers = Answers(ours)
    yield answers.names(list(NAMES))
    answers.hang_up()
    os.waitpid(pid, 0)


def test_a_view_comes_back_as_a_view_of_the_checks_own_tensor(names):
    x = torch.arange(12.0).view(3, 4)
    row = names["first_row"](x)
    row[0] = 99
    assert x[0, 0] == 99
    copy = names["copy_row"](x)
    copy[1] = 77
    assert x[0, 1] == 1
    assert names["same"](x) is x
    assert names["are_one"](x, x)
    assert not names["are_one"](x, x.view(3, 4))


def test_what_an_answer_does_to_its_argument_is_done_here(names):
    x = torch.arange(4.0)
    names["add_one"](x[1:3])
    assert x.tolist() == [0, 2, 3, 3]
    for name in ("add_one", "transpose"):
        matrix = torch.zeros(2, 3)
        with pytest.raises(AssertionError, match="argument was changed"), forbid_changes(matrix):
            names[name](matrix)
    y = torch.arange(4.0)
    names["resize"](y)
    assert y.shape == (1,)


def test_operators_are_told_and_refused(names):
    x = torch.arange(12.0).view(3, 4)
    with count_operators() as counts:
        names["first_row"](x)
        names["copy_row"](x)
    assert counts == {"select": 2, "clone": 1}
    with forbid_copies():
        names["first_row"](x)
    words = "clone allocated a new storage of 16 bytes"
    with pytest.raises(AssertionError, match=words), forbid_copies():
        names["copy_row"](x)


def test_random_numbers_go_on_where_they_were(names):
    torch.manual_seed(3)
    there = [names["draw"](3), names["draw"](2)]
    here = torch.rand(2)
    torch.manual_seed(3)
    assert all(torch.equal(x, torch.rand(len(x))) for x in [*there, here])
    generator = torch.Generator().manual_seed(5)
    there = [names["draw"](3, generator), names["draw"](2, generator=generator)]
    here = torch.rand(2, generator=generator)
    generator.manual_seed(5)
    assert all(torch.equal(x, torch.rand(len(x), generator=generator)) for x in [*there, here])


def test_autograd_records_there_as_it_does_here(names):
    assert names["grad"]() is True
    with torch.no_grad():
        assert names["grad"]() is False


def test_objects_stay_there_and_are_used_from_here(names):
    counter = names["counter"]
    assert [counter.step(), counter.step(), counter.count] == [1, 2, 2]
    with counter as entered:
        assert entered.count == 12
    assert counter.count == 112
    assert type(counter).__name__ == "Counter"
    assert counter != 112
    assert names["Counter"]().step() == 1
    with pytest.raises(AttributeError, match="nothing"):
        _ = counter.nothing


def test_functions_that_can_be_imported_cross_over_and_others_do_not(names):
    x = torch.tensor([-1.0, 2.0])
    assert names["apply"](torch.relu, x).tolist() == [0, 2]
    with pytest.raises(TypeError, match="cannot travel"):
        names["apply"](lambda x: x, x)


def test_errors_come_back_as_the_nearest_builtin_one(names):
    with pytest.raises(ValueError, match="Refusal: no") as caught:
        names["refuse"]()
    assert type(caught.value) is ValueError
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        names["leave"]()
    with pytest.raises(RuntimeError, match="UnicodeDecodeError"):
        names["decode"]()


def test_an_answer_that_ends_its_process_is_no_answer(names):
    with pytest.raises(NoAnswer, match="ended while a check asked it"):
        names["die"]()
    with pytest.raises(NoAnswer):
        names["grad"]()


CHECK = """def check_case(x):
    assert f(x) == x, f"f({x}) is not {x}"

check_case(1)
### BEGIN HIDDEN TESTS
check_case(2)
secret = 3; f(secret)
### END HIDDEN TESTS
"""


def failure_of(f):
    try:
        exec(compile(CHECK, "<check>", "exec"), {"__name__": "__main__", "f": f})
    except Exception as error:
        return explain(error, CHECK)
    raise AssertionError("the check passed")


def test_a_visible_test_shows_its_line_and_a_hidden_one_only_its_words():
    assert hidden_lines(CHECK) == {5, 6, 7, 8}
    assert failure_of(lambda x: 0) == (
        "AssertionError",
        "f(1) is not 1",
        ["  in the check, line 4: check_case(1)"],
    )
    assert failure_of(lambda x: 1) == ("AssertionError", "f(2) is not 2", ["  in a hidden test"])


def test_an_error_of_the_answer_in_a_hidden_test_keeps_its_message_back():
    told = {"classes": [["builtins", "KeyError"]], "message": "secret 2", "lines": [[7, "d[x]"]]}

    def f(x):
        if x == 2:
            raise raised(told)
        return x

    name, words, lines = failure_of(f)
    assert (name, lines) == ("KeyError", ["  in a hidden test", "  in your answer, line 7"])
    assert "secret" not in words


@pytest.mark.parametrize("told", [None, [], {}, {"classes": "x"}, {"classes": [[1]], "lines": 3}])
def test_a_malformed_error_is_still_an_error(told):
    assert isinstance(raised(told), Exception)


def test_the_names_of_an_exercise():
    source = "import os\nx = y, (z, *w) = f()\ndef g(a):\n    b = 1\nclass C: d = 1\n[e for e in x]"
    assert top_level_names(source) == ["x", "y", "z", "w", "g", "C", "e"]
