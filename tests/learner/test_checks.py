"""The checkers: right input passes, wrong input is refused with the words that help."""

import copy
import linecache

import numpy as np
import pytest
import torch

from course_utils.learner import tracebacks
from course_utils.learner.cases import every_case
from course_utils.learner.changes import forbid_changes
from course_utils.learner.checks import (
    TOLERANCES,
    check_close,
    check_copied,
    check_equal,
    check_layout,
    check_predictions,
    check_raises,
    check_shares_storage,
)

TENSOR = torch.arange(6.0).reshape(2, 3)
CHECKERS = {
    "check_equal": lambda actual: check_equal(actual, 1, "the answer"),
    "check_close": lambda actual: check_close(actual, TENSOR, "the answer"),
    "check_shares_storage": lambda actual: check_shares_storage(actual, TENSOR, "the answer"),
    "check_copied": lambda actual: check_copied(actual, TENSOR, "the answer"),
    "check_layout": lambda actual: check_layout(actual, size=(2, 3), what="the answer"),
}
TENSOR_CHECKERS = [name for name in CHECKERS if name != "check_equal"]


def refusal(call, *args, **kwargs) -> str:
    """The words with which a checker refuses; it must refuse."""
    with pytest.raises(AssertionError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize(
    ("missing", "words"), [(None, "is there an answer yet"), (..., "still the placeholder ...")]
)
def test_every_checker_says_that_there_is_no_answer_yet(checker, missing, words):
    said = refusal(CHECKERS[checker], missing)
    assert said.startswith("the answer is")
    assert words in said


@pytest.mark.parametrize("checker", TENSOR_CHECKERS)
@pytest.mark.parametrize(
    ("other", "kind"), [([0.0, 1.0], "list"), (np.zeros(3), "ndarray"), (TENSOR.shape, "Size")]
)
def test_every_tensor_checker_names_the_type_of_what_is_no_tensor(checker, other, kind):
    said = refusal(CHECKERS[checker], other)
    assert f"the answer is of type {kind}, expected a torch.Tensor" in said


# check_equal


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (3, 3),
        (3, 3.0),
        ("view", "view"),
        (None, None),
        ([2, 3], (2, 3)),
        (torch.Size([2, 3]), [2, 3]),
        (torch.zeros(2, 3).stride(), (3, 1)),
        ([(1, 2), [3]], ((1, 2), (3,))),
        ((), []),
        (True, True),
    ],
)
def test_equal_plain_values_pass(actual, expected):
    assert check_equal(actual, expected) is None


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (3, 4),
        (True, 1),
        (1, True),
        (0, False),
        ([True, 2], [1, 2]),
        ((2, 3), (3, 2)),
        ((2,), (2, 3)),
        (2, (2,)),
        ("view", "copy"),
        ((1,), None),
        ("1", 1),
    ],
)
def test_unequal_plain_values_are_shown_both(actual, expected):
    said = refusal(check_equal, actual, expected, "f(2)")
    assert said == f"f(2): expected {expected!r}, got {actual!r}"


def test_a_tensor_is_no_plain_value():
    said = refusal(check_equal, torch.tensor(3), 3, "f(2)")
    assert "f(2) is a tensor, expected the plain value 3" in said
    assert ".item()" in said
    assert ".tolist()" in said


@pytest.mark.parametrize("inside", [torch.tensor(3), torch.tensor([3, 3]), np.array([3, 3])])
def test_a_tensor_or_array_inside_a_tuple_is_no_plain_value_either(inside):
    assert "f(2): expected (3, 1), got (" in refusal(check_equal, (inside, 1), (3, 1), "f(2)")


# check_close


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).reshape(2, 3),
        torch.arange(6).reshape(2, 3).t(),
        torch.arange(3.0).expand(4, 3),
        torch.tensor(3.5),
        torch.empty(0, 3),
        torch.tensor([True, False]),
        torch.tensor([1 + 2j]),
        torch.tensor([float("nan"), float("inf"), 1.0]),
    ],
    ids=lambda tensor: f"{tensor.dtype}-{tuple(tensor.shape)}",
)
def test_equal_tensors_of_any_layout_pass(tensor):
    assert check_close(tensor, tensor.clone()) is None
    assert check_close(tensor.clone(), tensor) is None


def test_rounding_passes_and_a_tolerance_can_be_given():
    third = torch.tensor([1 / 3])
    check_close(third + 1e-8, third)
    check_close(third + 0.01, third, rtol=0, atol=0.02)
    assert ": expected 0.333333, got 0.363333" in refusal(
        check_close, third + 0.03, third, rtol=0, atol=0.02
    )


def test_integers_must_be_equal():
    assert "differs in 1 of 2 elements, first at index (1,): expected 2000000, got 2000001" in (
        refusal(check_close, torch.tensor([1, 2_000_001]), torch.tensor([1, 2_000_000]))
    )


@pytest.mark.parametrize(
    ("actual", "hint"),
    [
        (TENSOR.t(), "the same sizes in another order"),
        (TENSOR[None], "a dimension of size 1 is missing or too many"),
        (TENSOR.flatten(), "the same number of elements, arranged in other dimensions"),
        (torch.zeros(2, 4), ""),
    ],
)
def test_a_wrong_shape_is_named_with_a_hint(actual, hint):
    said = refusal(check_close, actual, TENSOR, "f(x)")
    assert said == f"f(x) has shape {tuple(actual.shape)}, expected (2, 3)" + (hint and f": {hint}")


def test_a_wrong_dtype_is_named():
    said = refusal(check_close, TENSOR.double(), TENSOR, "f(x)")
    assert said == "f(x) has dtype torch.float64, expected torch.float32"


def test_a_wrong_device_is_named():
    said = refusal(check_close, TENSOR.to("meta"), TENSOR, "f(x)")
    assert said == "f(x) is on meta, expected cpu"


def test_the_first_differing_index_is_named_in_reading_order():
    wrong = TENSOR.clone()
    wrong[0, 2], wrong[1, 0] = 7, 8
    expected = "f(x) differs in 2 of 6 elements, first at index (0, 2): expected 2, got 7"
    assert refusal(check_close, wrong, TENSOR, "f(x)") == expected
    # The same for other layouts of the same values: the index is the tensor's, not the storage's.
    strided = wrong.t().contiguous().t()
    assert refusal(check_close, strided, TENSOR.t().contiguous().t(), "f(x)") == expected


@pytest.mark.parametrize(
    ("actual", "expected", "words"),
    [
        (torch.tensor(1.0), torch.tensor(2.0), ": expected 2, got 1"),
        (torch.tensor([True]), torch.tensor([False]), "expected False, got True"),
        (torch.tensor([1j]), torch.tensor([2j]), "expected 0+2j, got 0+1j"),
        (torch.tensor([float("nan")]), torch.tensor([1.0]), "expected 1, got nan"),
        (torch.ones(1).expand(2, 3), torch.zeros(2, 3), "differs in 6 of 6 elements"),
        (torch.ones(1, requires_grad=True) * 2, torch.ones(1), "expected 1, got 2"),
        (torch.tensor([1.0000003]).double(), torch.ones(1).double(), "got 1.000000"),
    ],
)
def test_a_wrong_value_is_shown_beside_the_right_one(actual, expected, words):
    assert words in refusal(check_close, actual, expected)


def test_two_values_that_differ_are_never_shown_alike():
    right = torch.tensor([1 / 3], dtype=torch.float64)
    said = refusal(check_close, right + 3e-7, right)
    shown = said.split("expected ")[1].split(", got ")
    assert shown[0] != shown[1]


# check_shares_storage and check_copied

VIEWS = {
    "itself": lambda x: x,
    "slice": lambda x: x[1:, ::2],
    "transpose": lambda x: x.t(),
    "expand": lambda x: x[:, :1].expand(-1, 5),
    "zero-dim": lambda x: x[1, 2],
    "detach": lambda x: x.detach(),
    "bytes": lambda x: x.view(torch.uint8),
    "through NumPy and back": lambda x: torch.from_numpy(x.numpy()),
    "a slice through NumPy and back": lambda x: torch.from_numpy(x.numpy()[1:]),
}
COPIES = {
    "clone": lambda x: x.clone(),
    "fancy index": lambda x: x[[0, 1]],
    "reshape of a transpose": lambda x: x.t().reshape(-1),
    "another dtype": lambda x: x.double(),
    "NumPy copy": lambda x: torch.from_numpy(x.numpy().copy()),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_a_view_shares_storage_and_is_no_copy(make):
    x = torch.arange(6.0).reshape(2, 3)
    assert check_shares_storage(make(x), x) is None
    assert refusal(check_copied, make(x), x, "f(x)") == (
        "f(x) is still a view: it shares the storage of the original"
    )


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_a_copy_has_its_own_storage_and_is_no_view(make):
    x = torch.arange(6.0).reshape(2, 3)
    assert check_copied(make(x), x) is None
    assert refusal(check_shares_storage, make(x), x, "f(x)") == (
        "f(x) is a copy: the storage differs from the original's"
    )


def test_an_empty_tensor_shares_storage_with_any():
    check_shares_storage(TENSOR[:0], TENSOR)
    check_shares_storage(torch.empty(0, 3), TENSOR)
    check_copied(torch.empty(0, 3), TENSOR)


def test_a_tensor_on_another_device_is_a_copy():
    elsewhere = TENSOR.to("meta")
    check_copied(elsewhere, TENSOR)
    assert "is a copy" in refusal(check_shares_storage, elsewhere, TENSOR)


# check_layout


def test_a_right_layout_passes_and_what_is_left_out_is_not_checked():
    view = torch.arange(12).reshape(3, 4)[1:, ::2]
    check_layout(view, size=(2, 2), stride=(4, 2), offset=4)
    check_layout(view, size=[2, 2])
    check_layout(view, stride=(4, 2))
    check_layout(view, offset=4)
    check_layout(view)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"size": (4, 2)}, "f(x) has size (2, 4), expected (4, 2): the same sizes in another"),
        ({"size": (2, 4, 1)}, "f(x) has size (2, 4), expected (2, 4, 1): a dimension of size 1"),
        ({"stride": (1, 4)}, "f(x) has stride (4, 1), expected (1, 4): how many elements"),
        ({"stride": (4,)}, "f(x) has stride (4, 1), expected (4,)"),
        ({"stride": (4, 1, 1)}, "f(x) has stride (4, 1), expected (4, 1, 1)"),
        ({"offset": 0}, "f(x) starts at storage offset 4, expected 0"),
    ],
)
def test_a_wrong_layout_is_named(asked, words):
    view = torch.arange(12).reshape(3, 4)[1:]
    assert words in refusal(check_layout, view, what="f(x)", **asked)


def test_an_expanded_layout_is_read_as_it_is():
    view = torch.arange(3).expand(4, 3)
    check_layout(view, size=(4, 3), stride=(0, 1), offset=0)
    assert "has stride (0, 1), expected (3, 1)" in refusal(check_layout, view, stride=(3, 1))


def test_strides_that_reach_no_element_are_not_checked():
    one = torch.arange(3).as_strided((1, 3), (99, 1))
    check_layout(one, size=(1, 3), stride=(3, 1))
    assert "expected (3, 2)" in refusal(check_layout, one, stride=(3, 2))
    empty = torch.arange(6).reshape(2, 3)[:, 3:]
    check_layout(empty, size=(2, 0), stride=(77, 55), offset=11)
    assert "has size (2, 0), expected (0, 2)" in refusal(check_layout, empty, size=(0, 2))


def test_a_zero_dim_tensor_has_an_offset_and_no_strides():
    scalar = torch.arange(3)[2]
    check_layout(scalar, size=(), stride=(), offset=2)
    assert "offset 2, expected 0" in refusal(check_layout, scalar, offset=0)


def test_the_reason_stands_behind_the_values():
    said = refusal(check_equal, (2, 3), (3, 2), "f(2)", "the last comes first")
    assert said == "f(2): expected (3, 2), got (2, 3) (the last comes first)"
    said = refusal(check_equal, None, (3, 2), "f(2)", "the last comes first")
    words = "f(2): expected (3, 2), got None (the last comes first); or is there no answer yet?"
    assert said == words


def test_numbers_of_numpy_count_as_plain():
    check_equal((np.int64(2), np.float32(0.5)), (2, 0.5))
    check_equal(np.bool_(True), True)
    assert "got np.True_" in refusal(check_equal, np.True_, 1)


# forbid_changes


def add(x):
    x += 1


CHANGES = {
    "values": (add, "its values"),
    "a value to NaN": (lambda x: x.view(-1)[0].fill_(float("nan")), "its values"),
    "shape": (lambda x: x.unsqueeze_(0), "its shape, stride or storage"),
    "stride": (lambda x: x.t_(), "its shape, stride or storage"),
    "storage": (lambda x: x.untyped_storage().resize_(0), "its shape, stride or storage"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_argument_is_refused(change):
    call, words = CHANGES[change]
    x, y = torch.ones(2, 2), torch.ones(2, 2)

    def changes():
        with forbid_changes(x, y):
            call(y)

    said = refusal(changes)
    assert words in said
    assert "return a new tensor" in said


def test_an_argument_that_needs_a_gradient_now_is_refused():
    def asks():
        with forbid_changes(x):
            x.requires_grad_()

    x = torch.ones(2, 2)
    said = refusal(asks)
    assert "its requires_grad" in said
    assert "let a copy need it" in said


def test_an_argument_with_a_gradient_that_it_did_not_ask_for_or_a_note_is_refused():
    def marks(tensor, name):
        with forbid_changes(tensor):
            setattr(tensor, name, torch.ones(2))

    x, asks = torch.ones(2), torch.ones(2, requires_grad=True)
    assert "its .seen" in refusal(marks, x, "seen")
    marks(x, "seen")  # was there before
    assert "its .grad" in refusal(marks, x, "grad")
    marks(asks, "grad")


def test_an_argument_that_is_only_read_passes():
    x = torch.tensor([[1.0, float("nan")], [float("inf"), 0.0]])
    with forbid_changes(x, x.t(), torch.tensor(3), torch.empty(0), x[:1].expand(4, 2)):
        x.t() + x.clone().add_(1)


def test_an_error_inside_is_not_covered_up():
    x = torch.ones(2)

    def fails():
        with forbid_changes(x):
            add(x)
            raise KeyError("k")

    with pytest.raises(KeyError):
        fails()


def test_what_is_no_tensor_is_not_kept_as_forbidden():
    before = list(forbid_changes.forbidden)
    with pytest.raises(AttributeError), forbid_changes(torch.ones(2), 3):
        pass
    assert list(map(id, forbid_changes.forbidden)) == list(map(id, before))


# check_predictions

MACHINE = {"a[0]": (3, 1), "a.t()": (1, 777), "shares": True}


def test_right_predictions_pass():
    check_predictions({"a[0]": [3, 1], "a.t()": torch.Size([1, 777]), "shares": True}, MACHINE)
    check_predictions({**MACHINE, "a question of my own": None}, MACHINE)


@pytest.mark.parametrize("blank", [None, ...])
def test_every_blank_prediction_is_listed(blank):
    said = refusal(check_predictions, {"a[0]": blank, "a.t()": (9, 9)}, MACHINE)
    assert said == "2 of 3 predictions are still blank: a[0], shares"


def test_every_wrong_prediction_is_listed_with_its_reason_and_the_right_one_is_not_told():
    predicted = {"a[0]": (3, 1), "a.t()": (9, 9), "shares": 1}
    said = refusal(check_predictions, predicted, MACHINE, {"a.t()": "t() swaps the strides"})
    assert said.splitlines() == [
        "2 of 3 predictions differ from what the machine does:",
        "  a.t() is not (9, 9): t() swaps the strides",
        "  shares is not 1",
    ]
    assert "777" not in said
    assert "True" not in said


def test_a_right_prediction_in_quotes_is_told_about_the_quotes():
    predicted = {"a[0]": [3, 1], "a.t()": (1, 777), "shares": "True"}
    said = refusal(check_predictions, predicted, MACHINE, {"shares": "a view shares"})
    assert said.splitlines()[1:] == [
        "  shares is not 'True': in quotes it is a text; write it without them"
    ]


@pytest.mark.parametrize(
    ("predicted", "answer", "words"),
    [
        (0, False, "expected True or False"),
        (True, 1, "expected a number, not True or False"),
        ([1], 1, "expected a number"),
        ("twelve", 12, "in quotes it is a text; write it without them"),
        ("twelve", "error", "of another kind"),
        (True, (1, 2), "of another kind"),
    ],
)
def test_a_prediction_of_another_kind_is_told_so_and_not_why_the_right_one_is_right(
    predicted, answer, words
):
    said = refusal(check_predictions, {"it": predicted}, {"it": answer}, {"it": "of another kind"})
    assert said.endswith(words)


def test_a_tensor_as_prediction_is_refused_in_words():
    predicted = {**MACHINE, "a[0]": torch.tensor([3, 1])}
    assert "a[0] is not tensor([3, 1])" in refusal(check_predictions, predicted, MACHINE)


def test_a_key_that_nobody_asked_for_is_named_where_one_is_missing():
    said = refusal(check_predictions, {"a[0]": 1, "a.T": 2, "shares": True}, MACHINE)
    assert said == "1 of 3 predictions are still blank: a.t(); nobody asked for 'a.T'"


def test_an_answer_that_is_no_dict_is_refused_in_words():
    for answer in (None, ..., [1, 2]):
        assert "dict" in refusal(check_predictions, answer, MACHINE)


# check_raises


def test_what_is_raised_comes_back_as_words():
    assert check_raises(RuntimeError, lambda: TENSOR.view(7)).startswith("shape '[7]' is invalid")
    assert check_raises((KeyError, ValueError), lambda: int("x")).startswith("invalid literal")


def test_a_call_that_raises_nothing_or_something_else_is_refused():
    said = refusal(check_raises, ValueError, lambda: 42, "f(-1)")
    assert said == "f(-1) returned 42, expected it to raise ValueError"
    said = refusal(check_raises, ValueError, lambda: None, "f(-1)")
    assert said.endswith("expected it to raise ValueError; is there an answer yet?")
    said = refusal(check_raises, (ValueError, TypeError), lambda: {}["k"], "f(-1)")
    assert said == "f(-1) raised KeyError ('k'), expected ValueError or TypeError"


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_the_default_tolerances_are_those_of_assert_close(dtype):
    assert TOLERANCES[dtype] == torch.testing._comparison.default_tolerances(dtype)


def run_cases(cases, **options):
    with every_case(**options) as case:
        for name, call in cases.items():
            with case(name):
                call()


def test_every_case_lists_all_failures_and_goes_on_behind_an_error():
    ran = []
    cases = {
        "a number": lambda: check_equal(1, 2, "one"),
        "an error": lambda: {}["gone"],
        "fine": lambda: ran.append("fine"),
    }
    assert refusal(run_cases, cases) == (
        "2 of 3 cases fail:\n"
        "  a number: one: expected 2, got 1\n"
        "  an error: raised KeyError: 'gone'"
    )
    assert ran == ["fine"]


def test_every_case_shows_the_answers_line_that_raised(monkeypatch):
    source = "def f(x):\n    return g(\n        x)\ndef g(x):\n    return x['" + 90 * "a" + "']\n"
    monkeypatch.setitem(linecache.cache, "<f>", (1, None, source.splitlines(True), "<f>"))
    names = {}
    exec(compile(source, "<f>", "exec"), names)
    cases = {"one": lambda: names["f"]({}), "its own": lambda: {}[1]}
    plain = f"2 of 2 cases fail:\n  one: raised KeyError: '{90 * 'a'}'"
    assert refusal(run_cases, cases) == f"{plain}\n  its own: raised KeyError: 1"
    monkeypatch.setattr(tracebacks.ANSWER, "file", "<f>")
    line = f"(your line: return x['{69 * 'a'}…)"
    assert refusal(run_cases, cases) == f"{plain} {line}\n  its own: raised KeyError: 1"


def test_every_case_says_once_what_was_raised_again_and_again():
    calls = {"one": {}, "two": {}, "three": []}
    cases = {name: (lambda given=given: given[1]) for name, given in calls.items()}
    assert refusal(run_cases, cases) == (
        "3 of 3 cases fail:\n"
        "  one: raised KeyError: 1\n"
        "  two: raised the same\n"
        "  three: raised IndexError: list index out of range"
    )
    again = dict.fromkeys(("one", "two"), lambda: check_equal(1, 2, "it"))
    assert refusal(run_cases, again).endswith("  two: it: expected 2, got 1")


def test_every_case_is_silent_when_all_is_well():
    run_cases({"fine": lambda: check_equal(1, 1)})


def test_every_case_shows_no_more_than_asked():
    cases = dict.fromkeys(("first", "second", "third"), lambda: check_equal(1, 2))
    said = refusal(run_cases, cases, at_most=1)
    assert said.startswith("3 of 3 cases fail:\n  first:")
    assert said.endswith("and 2 more")


def test_who_has_not_answered_is_asked_once():
    cases = dict.fromkeys(("first", "second", "third"), lambda: check_equal(None, 2, "f"))
    asked = "f is None: is there an answer yet, and does it return a value?"
    assert refusal(run_cases, cases) == (
        f"3 of 3 cases fail:\n  first: {asked}\n  … and 2 more, in the same way"
    )
    cases["fourth"] = lambda: check_equal(1, 2, "f")
    assert refusal(run_cases, cases).count(asked) == 3
    del cases["fourth"]
    cases["second"] = lambda: check_equal(None, 2, "g")
    assert "second" not in refusal(run_cases, cases), "nothing is answered"
    cases["fourth"] = lambda: None
    assert "second: g is None" in refusal(run_cases, cases), "a branch that was forgotten"
    cases = dict.fromkeys(("first", "second"), lambda: check_equal(1, 2, "f"))
    assert refusal(run_cases, cases).count("expected 2, got 1") == 2


def test_every_case_lets_an_error_outside_a_case_through():
    with pytest.raises(ZeroDivisionError), every_case():
        _ = 1 / 0


def test_a_prediction_may_be_a_tensor_without_dimensions():
    check_predictions({"a": torch.tensor(3), "b": torch.tensor(True)}, {"a": 3, "b": True})
    words = refusal(check_predictions, {"a": torch.tensor(2.5)}, {"a": 3})
    assert "a is not tensor(2.5" in words
    assert "a is not tensor([3])" in refusal(check_predictions, {"a": torch.tensor([3])}, {"a": 3})
