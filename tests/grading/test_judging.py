"""The judge: what a check may do with a learner's names, and what its failure says."""

import ast
import contextlib
import inspect
import linecache
import os
import socket
import subprocess
import sys

import nbformat
import numpy as np
import pytest
import torch

# What PyTorch imports when it first tells a mode of an operator: once here, not in every fork.
import torch._dynamo
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from course_utils import (
    allow_changes,
    count_operators,
    every_case,
    forbid_changes,
    forbid_copies,
    forbid_operators,
)
from course_utils.exercises import passed
from course_utils.grading.solution import bound_names, names_of_the_answer, read_solution
from course_utils.grading.verdict import wire
from course_utils.grading.verdict.answering import Answering, integrity
from course_utils.grading.verdict.at_once import small_message
from course_utils.grading.verdict.snapshot import NoAnswer, Snapshot, StandIn
from course_utils.grading.verdict.witness import hidden_operators
from course_utils.grading.verdict.wording import explain, hidden_lines, raised, without
from support.judged import answered


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


class Hiding:
    """Its attribute says what it was made of."""

    def __init__(self, x):
        self.x = x

    @property
    def size(self):
        raise Refusal(f"LEAKED {self.x}")


OWN_LINE = "def f(x):\n    raise ValueError('expected ' + 'LEAKED')  # LEAKED, my line\n"


def resize(x):
    return x.resize_(1)


def resize_storage(x, size):
    x.untyped_storage().resize_(size)


def copy_and_go_on(x):
    with contextlib.suppress(Exception):
        x.clone()
    for _ in range(100):
        x.sum()


def change_and_refuse(x):
    x.add_(1)
    raise ValueError("no")


def leave_and_refuse(x):
    os.environ["LEFT"] = "1"
    raise ValueError("no")


def copy_with_a_note(x):
    x = x.clone()
    x.seen = True
    return x


NAMES = {
    "draw": lambda n, generator=None: torch.rand(n, generator=generator),
    "grad": torch.is_grad_enabled,
    "first_row": lambda x: x[0],
    "copy_row": lambda x: x[0].clone(),
    "same": lambda x: x,
    "add_one": lambda x: x.add_(1),
    "take_one": lambda known: known.pop("a"),
    "sort_inside": lambda pair: pair[0].sort(),
    "sorted": lambda pair: sorted(pair[0]),
    "give_up_gradients": lambda x: len(x.requires_grad_(False)),
    "put_a_gradient": lambda x: setattr(x, "grad", x.clone()),
    "put_a_note": lambda x: setattr(x, "seen", True),
    "copy_with_a_note": copy_with_a_note,
    "ask_for_gradients": lambda x: len(x.requires_grad_()),
    "leave_a_dtype": lambda x: torch.set_default_dtype(torch.float64),
    "leave_a_variable_and_refuse": leave_and_refuse,
    "turn_gradients_off": lambda: len([torch.set_grad_enabled(False)]),
    "resize": resize,
    "shrink": lambda x: resize_storage(x, 4),
    "grow": lambda x: resize_storage(x, 400),
    "change_and_refuse": change_and_refuse,
    "transpose": lambda x: x.t_(),
    "are_one": lambda x, y: x is y,
    "apply": lambda f, x: f(x),
    "counter": Counter(),
    "Counter": Counter,
    "copy_and_go_on": copy_and_go_on,
    "refuse": lambda: fail(Refusal, "no"),
    "leave": lambda: fail(SystemExit, 3),
    "decode": lambda: b"\xff".decode(),
    "die": lambda: os._exit(3),
}


@pytest.fixture
def names():
    with answered(NAMES) as found:
        yield found


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


def test_what_an_answer_does_to_its_argument_is_done_here_where_it_is_asked_for(names):
    x = torch.arange(4.0)
    with allow_changes(x):
        names["add_one"](x[1:3])
    assert x.tolist() == [0, 2, 3, 3]
    for name in ("add_one", "transpose"):
        matrix = torch.zeros(2, 3)
        with pytest.raises(AssertionError, match="argument was changed"), forbid_changes(matrix):
            names[name](matrix)
    y = torch.arange(4.0)
    with allow_changes(y):
        names["resize"](y)
    assert y.shape == (1,)


@pytest.mark.parametrize("name", ["add_one", "transpose", "resize", "shrink", "grow"])
def test_a_change_that_nobody_asked_for_is_refused_and_not_done_here(names, name):
    x, other = torch.zeros(2, 3), torch.zeros(2)
    with allow_changes(other), pytest.raises(AssertionError, match="argument was changed"):
        names[name](x)
    assert torch.equal(x, torch.zeros(2, 3))


@pytest.mark.parametrize("name", ["shrink", "grow"])
def test_a_storage_keeps_its_length_even_where_changes_are_asked_for(names, name):
    x = torch.zeros(6)
    with allow_changes(x), pytest.raises(AssertionError, match="stride or storage"):
        names[name](x[:2])
    assert x.untyped_storage().nbytes() == 24


def test_an_error_of_the_answer_is_told_before_a_change_unless_that_is_forbidden(names):
    x = torch.zeros(2)
    with pytest.raises(ValueError, match="no"):
        names["change_and_refuse"](x)
    assert x.tolist() == [0, 0]
    both = "its values.*it also raised no"
    with forbid_changes(x), pytest.raises(AssertionError, match=both):
        names["change_and_refuse"](x)
    assert x.tolist() == [0, 0]


def test_a_trial_that_changes_its_argument_is_not_refused_but_changes_nothing_here():
    x = torch.zeros(2)
    with answered(NAMES, trials=["add_one"]) as names:
        assert names["add_one"](x).tolist() == [1, 1]
        assert x.tolist() == [0, 0]
        with pytest.raises(AssertionError, match="its values"), forbid_changes(x):
            names["add_one"](x)


def test_an_argument_that_is_asked_for_gradients_is_refused_unless_by_a_trial(names):
    x = torch.zeros(2)
    with pytest.raises(AssertionError, match="its requires_grad"):
        names["ask_for_gradients"](x)
    assert not x.requires_grad
    with answered(NAMES, trials=["ask_for_gradients"]) as others:
        assert others["ask_for_gradients"](x) == 2


@pytest.mark.parametrize(
    ("name", "words"), [("put_a_gradient", r"its \.grad"), ("put_a_note", r"its \.seen")]
)
def test_an_argument_on_which_something_is_put_is_refused_unless_by_a_trial(names, name, words):
    with pytest.raises(AssertionError, match=words):
        names[name](torch.zeros(2))
    with answered(NAMES, trials=[name]) as others:
        assert others[name](torch.zeros(2)) is None


def test_a_result_with_a_note_on_it_may_be_an_argument(names):
    x = names["copy_with_a_note"](torch.zeros(2))
    assert names["first_row"](x) == 0


@pytest.mark.parametrize("trials", [[], ["give_up_gradients"]])
def test_an_argument_that_gives_up_its_gradient_is_refused_by_a_trial_too(trials):
    x = torch.zeros(2, requires_grad=True)
    with answered(NAMES, trials) as names, pytest.raises(AssertionError, match="its requires_grad"):
        names["give_up_gradients"](x)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("take_one", {"a": 1, "b": 2}),
        ("take_one", {"a": torch.ones(2)}),
        ("sort_inside", ([2, 1],)),
    ],
)
def test_an_argument_whose_items_change_is_refused_unless_by_a_trial(names, name, argument):
    with pytest.raises(AssertionError, match="its items"):
        names[name](argument)
    assert names["sorted"](([2, 1], {"a": 1})) == [1, 2]
    with answered(NAMES, trials=[name]) as others:
        others[name](argument)


def test_what_calls_leave_behind_is_told_before_the_check_passes():
    with answered(NAMES) as names:
        names["leave_a_dtype"](torch.zeros(2))
        names["turn_gradients_off"]()
        assert names["grad"](), "each call begins with gradients as the check has them"
        with pytest.raises(ValueError, match="no"):
            names["leave_a_variable_and_refuse"](torch.zeros(2))
        words = r"gradients are off.*dtype is torch\.float64.*LEFT"
        with pytest.raises(AssertionError, match=words):
            passed("a check", 1)
        passed("a check", 1)  # it is put back
        names["leave_a_dtype"](torch.zeros(2))
    passed("a check", 1)  # of others


def test_of_what_is_left_no_text_of_the_answers_is_told_in_a_hidden_test(names):
    snapshot = vars(names["turn_gradients_off"])["_snapshot"]
    names["turn_gradients_off"]()
    left = snapshot.left()
    assert "gradients are off" in left
    assert without(left, snapshot.chosen) == left
    with pytest.raises(ValueError, match="no"):
        names["leave_a_variable_and_refuse"](torch.zeros(2))
    left = snapshot.left()
    assert "LEFT" in left
    assert "LEFT" not in without(left, snapshot.chosen)
    assert snapshot.left() == ""


def test_an_error_without_words_strikes_nothing_out_of_a_message():
    assert without("a: b, (c)", {"", "c"}) == "a: b, (…)"


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


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (forbid_copies(up_to=4), "a copy was made: clone allocated a new storage of 48 bytes"),
        (forbid_operators("clone"), "the operator clone is not allowed here"),
    ],
)
def test_a_call_that_is_refused_ends_at_once(names, mode, words):
    """What follows may take all the time that there is."""
    x = torch.arange(12.0)
    with count_operators() as counts, pytest.raises(AssertionError, match=words), mode:
        names["copy_and_go_on"](x)
    assert counts["sum"] == 0


def backward(x):
    weight = torch.ones(4, requires_grad=True)
    (x @ weight).exp().sum().backward()
    torch.autograd.grad((weight**3).sum(), weight, create_graph=True)[0].sum().backward()
    return weight.grad


def in_place(x):
    y = x.clone().add_(1).mul_(2).t_()
    y[0] = 5.0
    y[[0, 1]] = torch.zeros(2, 3)
    y[y > 3] = 0
    return torch.add(y, 1, out=torch.empty(0))


def views(x):
    first, *_ = x.split(1)
    parts = x.tensor_split(2), x.unfold(0, 2, 1), x.expand(2, 3, 4), x[None, ..., ::2], first
    return parts, x.T, x.mT, x.reshape(4, 3), x.flatten(), x.diagonal(), x.view(torch.int32)


def numpy_bridges(x):
    y = torch.from_numpy(x.numpy() * 2) + torch.as_tensor(np.ones(4))
    return torch.tensor(np.ones(3)), torch.frombuffer(bytearray(8), dtype=torch.float32), y.tolist()


def printing(x):
    kinds = [x, x[0, 0], x > 2, x.half(), torch.rand(100, 100), torch.arange(3), x * float("nan")]
    with_a_gradient = torch.nn.Parameter(x) * 2
    return f"{kinds} {with_a_gradient} {x.sum():.3f} {torch.ones(2, dtype=torch.cfloat).conj()}"


def new_tensors(x):
    return [
        torch.tensor([[1, 2], [3, 4]], dtype=torch.float32),
        torch.tensor([x.sum(), x.mean()]),
        torch.Tensor([1, 2]),
        x.new_tensor([1.0]),
        torch.rand(2),
        torch.normal(0.0, 1.0, (2,)),
        torch.empty(2).stride(),
        torch.nn.Parameter(x),
        x.as_subclass(type("Mine", (torch.Tensor,), {})) + 1,
    ]


def random_numbers(x):
    generator = torch.Generator().manual_seed(3)
    torch.rand(3, generator=generator), torch.randperm(4), torch.get_rng_state()
    return torch.nn.functional.dropout(x)


def error_in_the_middle(x):
    works = [torch.Tensor.inverse, lambda y: y.view(5), lambda y: torch.tensor([[1], y.shape])]
    for work in works:
        with contextlib.suppress(RuntimeError, ValueError):
            work(x.clone())
    raise KeyError("no")


@torch.no_grad()
def without_gradients(x):
    with torch.inference_mode():
        y = x.reshape(-1) * 2
    return torch.einsum("ij,kj->ik", x, x), y.sum(), x.std(), x.max(0), torch.var_mean(x)


def a_counter_of_ones_own(x):
    with count_operators() as counts:
        x.reshape(-1).clone().view(4, 3).contiguous()
    return counts


def learning(x):
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU(), torch.nn.LayerNorm(2))
    optimizer = torch.optim.Adam(model.parameters())
    torch.nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 0])).backward()
    optimizer.step()


def functions_of_functions(x):
    return torch.vmap(lambda row: row @ row)(x), torch.func.grad(lambda y: (y**2).sum())(x)


def forward_over_reverse(x):
    return torch.func.jvp(torch.func.grad(lambda y: (y**3).sum()), (x,), (x + 1,))


HONEST = [
    backward,
    in_place,
    views,
    numpy_bridges,
    printing,
    new_tensors,
    random_numbers,
    error_in_the_middle,
    without_gradients,
    a_counter_of_ones_own,
    learning,
    functions_of_functions,
    forward_over_reverse,
]


@pytest.mark.parametrize("work", HONEST, ids=lambda work: work.__name__)
def test_nothing_honest_is_taken_for_hidden(work):
    x = torch.arange(12.0).view(3, 4)
    expected = pytest.raises(KeyError) if work is error_in_the_middle else contextlib.nullcontext()
    with answered({"work": work}) as names:
        for _ in range(2):
            with count_operators() as counts, expected:
                names["work"](x)
    assert counts


def with_modes_off(x):
    with _disable_current_modes():
        return x.clone()


def below_the_modes(x):
    with torch._C._DisableTorchDispatch():
        return x.clone()


def under_a_mode_of_ones_own(x):
    class Quiet(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            with _disable_current_modes():
                x.clone()
            return function(*args, **(kwargs or {}))

    with Quiet():
        return x.t()


def inside_an_operator_of_ones_own(x):
    @torch.library.custom_op("mine::quiet", mutates_args=())
    def quiet(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    return quiet(x)


def inside_a_class_of_ones_own(x):
    class Quiet(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            x.clone()
            return torch.ones(())

    return torch.Tensor._make_subclass(Quiet, torch.ones(2, 3)).t()


def struck_out(x):
    y = x.clone()
    frame = __import__("sys")._getframe()
    while "recorder" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["recorder"].operators.clear()
    return y


QUIET = [
    with_modes_off,
    below_the_modes,
    under_a_mode_of_ones_own,
    inside_an_operator_of_ones_own,
    inside_a_class_of_ones_own,
    struck_out,
]


@pytest.mark.parametrize("work", QUIET, ids=lambda work: work.__name__)
def test_hidden_operators_are_noticed(work):
    words = "hidden from this check: .*clone"
    expected = pytest.raises(AssertionError, match=words)
    with answered({"work": work}) as names, expected, count_operators():
        names["work"](torch.ones(2, 3))


def starts_again(x):
    torch.autograd._disable_profiler_legacy()
    y = x.clone()
    nothing = [False] * 5
    config = torch.autograd.ProfilerConfig(
        torch.autograd.ProfilerState.CPU, *nothing, torch._C._profiler._ExperimentalConfig()
    )
    torch.autograd._enable_profiler_legacy(config)
    return y


def stops(x):
    torch.autograd._disable_profiler_legacy()


@pytest.mark.parametrize("work", [starts_again, stops])
def test_a_profile_of_less_than_the_call_is_noticed(work):
    expected = pytest.raises(AssertionError, match="could not be watched")
    with answered({"work": work}) as names, expected, count_operators():
        names["work"](torch.ones(2, 3))


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


@pytest.mark.parametrize(
    "events",
    [
        None,
        [],
        3,
        [["the answer"], []],
        [["the answer"], [0]],
        [["the answer"], [-1]],
        [["the answer"], [0, -1, -1]],
        [["the answer"], [0, -1, 0, -1]],
        [["the answer", "aten::view"], [1, 0, -1, -1]],
        [["the answer"], [0, 7, -1, -1]],
        [["the answer", {}], [0, 1, -1, -1]],
        ["abc", [0, 1, -1, -1]],
    ],
)
def test_what_is_no_profile_is_refused(events):
    with pytest.raises(ValueError, match=r"profile|begin"):
        hidden_operators(events, [], False)


MALFORMED = [None, 3, "ab", [3], [[1, 2, 3]], {}, {"values": []}, {"result": ["tensor"]}]
NO_NAMES = [
    *(None, 3, "ab", [3], [["f", 3]], {}, {"result": 3}, {"values": 3}, {"values": ["f"]}),
    *({"values": [["f", ["object"]]]}, {"values": [["f", ["range", "a"]]]}),
]
WITHOUT_A_CALL = {"operators": [], "events": None, "contents": [], "layouts": [], "states": []}


@pytest.mark.parametrize("reply", NO_NAMES)
def test_names_that_cannot_be_read_are_no_answer(reply, monkeypatch):
    monkeypatch.setattr(wire, "receive", lambda stream: (reply, []))
    with socket.socket() as nobody, pytest.raises(NoAnswer, match="cannot be read"):
        Snapshot(nobody).names(["f"])


def ask_for_an_attribute(answers, reply, monkeypatch):
    monkeypatch.setattr(answers, "ask", lambda *request: (reply, []))
    return answers.attribute(0, "x")


def ask_for_a_call(answers, reply, monkeypatch):
    whole = WITHOUT_A_CALL | reply if isinstance(reply, dict) and "result" in reply else reply
    monkeypatch.setattr(answers, "ask", lambda *request: (whole, []))
    return answers.call(0, None, (), {})


@pytest.mark.parametrize(
    "reply",
    [
        *MALFORMED,
        *(
            {"result": r, "error": None}
            for r in (["tensor"], ["same", 9], ["object", "x", 1, 2, 3])
        ),
    ],
)
@pytest.mark.parametrize("ask", [ask_for_an_attribute, ask_for_a_call])
def test_what_cannot_be_read_is_no_answer(ask, reply, monkeypatch):
    with socket.socket() as nobody, pytest.raises(NoAnswer, match="cannot be read"):
        ask(Snapshot(nobody), reply, monkeypatch)


def test_a_reply_that_can_be_read_is_one(monkeypatch):
    with socket.socket() as nobody:
        for ask in (ask_for_an_attribute, ask_for_a_call):
            assert ask(Snapshot(nobody), {"result": 3, "error": None}, monkeypatch) == 3


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


CHOOSING = """def check_case(x):
    answer = f(x)
    assert answer is None, f"{say(answer)}, expected (2, 3)"

with every_case() as case:
    with case("the visible one"):
        VISIBLE
### BEGIN HIDDEN TESTS
with every_case() as case:
    with case("the hidden one"):
        HIDDEN_ONE
### END HIDDEN TESTS
"""
Secret = type("LEAKED_1_2_3", (), {})


def own_line():
    """A function of an answer's, whose line is known."""
    linecache.cache["<answer>"] = len(OWN_LINE), None, OWN_LINE.splitlines(True), "<answer>"
    space = {}
    exec(compile(OWN_LINE, "<answer>", "exec"), space)
    return space["f"]


CHOICES = {
    "a shape": (lambda x: torch.ones(2, 0, 987), "has shape (2, 0, 987)"),
    "another shape": (lambda x: torch.ones(2, 3), "has shape (2, 3)"),
    "a type": (lambda x: Secret(), "is of type LEAKED_1_2_3"),
    "a text": (lambda x: "LEAKED", "is 'LEAKED'"),
    "a large number": (lambda x: 987 * 2**70, str(987 * 2**70)),
    "a tuple": (lambda x: (9, 8, 7), "is (9, 8, 7)"),
    "a tuple in a list": (lambda x: [(9, 8, 7), torch.ones(1)], "(9, 8, 7)"),
    "a text's beginning": (lambda x: "LEAKED and more" + 90 * "!", "LEAKED and mo"),
    "one of its lines": (lambda x: "first\nLEAKED, the last", "LEAKED, the last"),
    "an error": (lambda x: fail(Refusal, f"LEAKED {x}"), "LEAKED 1"),
    "an attribute's error": (Hiding, "LEAKED 1"),
    "the line of an error": (own_line(), "LEAKED, my line"),
}


def say(answer):
    if isinstance(answer, torch.Tensor):
        return f"it has shape {tuple(answer.shape)}"
    if isinstance(answer, StandIn) and type(answer).__name__ == "Hiding":
        return f"its size is {answer.size}"
    if isinstance(answer, StandIn):
        return f"it is of type {type(answer).__name__}"
    if isinstance(answer, list):
        return f"it is {answer[0]!r}"
    if isinstance(answer, str):
        return f"it is {answer.splitlines()[-1]!r:.40}"
    return f"it is {answer!r}"


BESIDE = """cases = [1]
### BEGIN HIDDEN TESTS
cases += [2]
### END HIDDEN TESTS
def check(x):
    answer = f(x)
    assert answer is None, f"{say(answer)}, expected (2, 3)"

for x in cases:
    check(x)
"""


@pytest.mark.parametrize(("answer", "words"), CHOICES.values(), ids=CHOICES)
def test_what_goes_over_hidden_cases_quotes_no_choice_either(answer, words):
    with answered({"f": answer}) as names:
        chosen = object.__getattribute__(names["f"], "_snapshot").chosen
        space = {"__name__": "__main__", "say": say, **names}
        with pytest.raises(Exception, match=r"expected|LEAKED") as failed:
            exec(compile(BESIDE, "<check>", "exec"), space)
        name, said, lines = explain(failed.value, BESIDE, chosen)
    told = "\n".join([name, said, *lines])
    assert words not in told
    assert "in the check, line 10: check(x)" in told


@pytest.mark.parametrize(("answer", "words"), CHOICES.values(), ids=CHOICES)
def test_what_an_answer_chose_is_quoted_of_a_visible_test_alone(answer, words):
    for visible, hidden in (("check_case(1)", "pass"), ("pass", "check_case(1)")):
        source = CHOOSING.replace("VISIBLE", visible).replace("HIDDEN_ONE", hidden)
        with answered({"f": answer}) as names:
            answers = object.__getattribute__(names["f"], "_snapshot")
            space = {"__name__": "__main__", "say": say, "every_case": every_case, **names}
            with pytest.raises(AssertionError) as failed:
                exec(compile(source, "<check>", "exec"), space)
            _, said, lines = explain(failed.value, source, answers.chosen)
        told = "\n".join([said, *lines])
        assert (words in told) == (visible != "pass")
        assert "the hidden one" in told or hidden == "pass"
        assert "expected (2, 3)" in told or "error" in told or "raised" in told


def test_a_locked_function_at_a_like_numbered_line_hides_nothing():
    space = {"__name__": "__main__"}
    exec(compile("\n" * 5 + "def helper(x):\n    assert x, 'no'", "<locked>", "exec"), space)
    source = "helper(0)\n\n\n### BEGIN HIDDEN TESTS\n\n\n\n### END HIDDEN TESTS\n"
    with pytest.raises(AssertionError) as failed:
        exec(compile(source, "<check>", "exec"), space)
    assert explain(failed.value, source)[2] == ["  in the check, line 1: helper(0)"]


@pytest.mark.parametrize("told", [None, [], {}, {"classes": "x"}, {"classes": [[1]], "lines": 3}])
def test_a_malformed_error_is_still_an_error(told):
    assert isinstance(raised(told), Exception)


def test_the_names_of_an_exercise():
    source = "import os\nx = y, (z, *w) = f()\ndef g(a):\n    b = 1\nclass C: d = 1\n"
    assert bound_names(ast.parse(source)) == ["x", "y", "z", "w", "g", "C"]
    loops = "{e: 1 for e in x}; [(v := u) for u in x if (w := 1)]; {i for i in x}; f(t for t in x)"
    assert bound_names(ast.parse(f"{loops}\nfor k in x: pass")) == ["v", "w", "k"]


def cell_of(source, **marks):
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": marks} if marks else {})


def test_the_names_that_a_check_uses_by_way_of_locked_cells():
    notebook = nbformat.v4.new_notebook()
    tried = "@runs_with_the_answer\ndef try_rows(n):\n    return rows(n)"
    checks = "def check_rows(n):\n    assert try_rows(n) == right\nright = [columns]"
    notebook.cells = [
        cell_of(tried, grade_id="trials", locked=True),
        cell_of(checks, grade_id="checks", locked=True),
        cell_of("%matplotlib inline", grade_id="magic", locked=True),
        cell_of("def unmarked(n):\n    return other(n)"),
        cell_of("def rows(n): ...", grade_id="rows", solution=True),
        cell_of("def columns(n): ...\nother = 1", grade_id="columns", solution=True),
        cell_of("check_rows(2); unmarked(3)", grade_id="rows-check", grade=True),
        cell_of("columns(2)", grade_id="columns-check", grade=True),
    ]
    source = read_solution(nbformat.v4.writes(notebook))
    assert source.trials == ["try_rows"]
    assert source.names == {
        "rows-check": ["columns", "rows", "try_rows"],
        "columns-check": ["columns"],
    }


def test_the_digest_of_the_watching_code_does_not_depend_on_who_holds_its_constants():
    """The answer's process and the judge hold different objects when they are compared."""
    before = integrity("salt")
    functions = [value for value in vars(Answering).values() if inspect.isfunction(value)]
    held = [list(function.__code__.co_consts) for function in functions]
    assert integrity("salt") == before
    assert any(held)


OUT_OF_THE_GROUP = """
import os, signal, socket, time
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
from course_utils.grading.verdict import answering

os.setpgid(0, 0)
InteractiveShell.instance().user_ns["f"] = print
ours, theirs = socket.socketpair()
answering._go_quiet = lambda descriptor: time.sleep(60)  # a snapshot that does not get to run
answering.wait_for_the_judge(theirs.detach(), ["f"], "")
(child,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
print(os.getpgid(int(child)) != os.getpgrp())
os.kill(int(child), signal.SIGKILL)
"""


def test_a_snapshot_outlives_the_kernel_from_its_first_moment():
    """The kernel's end is the end of its process group, and may come before the snapshot runs."""
    command = [sys.executable, "-c", OUT_OF_THE_GROUP]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == "True\n"


class Loud(dict):
    """A learner's class; nothing of it may run in the kernel while a check gets ready."""

    def loud(self, *_):
        pytest.fail("the answer's own code ran")

    __repr__ = __iter__ = items = keys = __len__ = __eq__ = __reduce__ = loud


SMALL = [None, 3, 2.5, "text", (1, [2, {"a": True}]), {1, 2}, torch.Size([2]), Loud(a=1)]


@pytest.mark.parametrize("value", SMALL)
def test_small_values_are_sent_without_a_fork(value):
    ours, theirs = socket.socketpair()
    theirs.sendall(small_message({"x": value, "y": print}, ["x", "not there"]))
    theirs.close()
    (name, found), *others = Snapshot(ours).names(["x", "not there"]).items()
    assert (name, others) == ("x", [])
    assert found == (dict(dict.items(value)) if isinstance(value, Loud) else value)


LARGE = [print, int, torch.ones(2), np.ones(2), object(), "a" * 2**17, [[1] * 2**17]]


@pytest.mark.parametrize("value", LARGE)
def test_other_values_need_a_fork(value):
    assert small_message({"x": 1, "y": value}, ["x", "y"]) is None


LOCKED = """
import torch
from course_utils import runs_with_the_answer

def make():
    return torch.nn.Linear(2, 1)

@runs_with_the_answer
def try_it(x):
    return answer(make())(x)
"""


@pytest.mark.parametrize(
    ("marks", "names"),
    [
        ({"locked": True, "solution": False, "grade": False}, ["try_it"]),
        ({"locked": False, "solution": True, "grade": False}, ["make", "try_it"]),
        ({"locked": True, "solution": False, "grade": True}, []),
        ({}, []),
    ],
)
def test_a_marked_function_of_a_locked_cell_belongs_to_the_answer(marks, names):
    cell = nbformat.v4.new_code_cell(LOCKED, metadata={"nbgrader": marks})
    assert names_of_the_answer(cell) == names


@pytest.mark.parametrize("message", ["'x'", "3", "('a', 1)", "it's"])
def test_a_key_error_says_its_key_as_it_does_in_a_notebook(message):
    error = raised({"classes": [["builtins", "KeyError"]], "message": message, "lines": []})
    assert type(error) is KeyError
    said = str(error)
    assert said == message if message.startswith("'") else message in said


UNWATCHED = """
from course_utils.grading.verdict.judge_process import Checks
checks = Checks(seed=0, names=[], trials=[], skipped=[], output_bytes=1000)
assert not checks.run("from course_utils import device")
print([call.__name__ for call in checks.shell.events.callbacks["pre_run_cell"]])
"""


def test_the_judges_own_process_is_not_watched():
    """No answer runs there that could leave something behind, and a look takes milliseconds."""
    command = [sys.executable, "-c", UNWATCHED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


class Counting(TorchDispatchMode):
    seen = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Counting.seen += 1
        return func(*args, **(kwargs or {}))


def leaves_a_mode_on(x):
    Counting().__enter__()
    return x + 1


def test_a_mode_that_an_answer_leaves_on_does_not_see_what_the_judge_asks():
    """To read a storage byte by byte, each told to a mode, would never end."""
    with answered({"leave": leaves_a_mode_on, "seen": lambda: Counting.seen}) as names:
        for count in (0, 1):
            assert names["seen"]() == count
            assert names["leave"](torch.ones(3)).tolist() == [2, 2, 2]
