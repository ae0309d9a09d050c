"""What the chapter on autograd compares with: right values, words for slips, and no false alarm."""

import pytest
import torch
import torch.nn.functional as F

from course_utils import watched
from course_utils.chapters import autograd


def refusal(check, *arguments, **options):
    with pytest.raises(AssertionError) as refused:
        check(*arguments, **options)
    return str(refused.value)


RIGHT_WALK = {"order": "y q p a b", "y": 1, "q": 6, "p": 15, "a": 45, "b": 36}


def test_a_walk_is_what_pytorch_says():
    _, slopes = autograd.torch_engine("p = a * b\nq = p + b\ny = p * q", a=2.0, b=3.0)
    assert slopes == autograd.WALK
    autograd.check_walk(RIGHT_WALK)
    autograd.check_walk(RIGHT_WALK | {"order": ["y", "q", "p", "b", "a"], "a": torch.tensor(45.0)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"p": None}, "still blank: p"),
        ({"p": 9}, "q was made from p as well"),
        ({"a": "45"}, "'45' is no number"),
        ({"order": 3}, "write a list of names"),
        ({"order": "y p q a b"}, "p has to wait until q has paid in"),
    ],
)
def test_a_walk_that_is_wrong_is_told_why(change, words):
    assert words in refusal(autograd.check_walk, RIGHT_WALK | change)


def test_an_order_is_any_in_which_users_come_first():
    program = "s = a * b\nt = s.exp()\ny = s * t"
    assert autograd.made_from(program) == {
        "y": {"s", "t"}, "t": {"s"}, "s": {"a", "b"}, "a": set(), "b": set()
    }  # fmt: skip
    for order in ("ytsab", "ytsba"):
        autograd.check_order(list(order), program)
    for order, words in (
        ("ystab", "t was made from s, so s has to wait for t"),
        ("bastY".lower(), "upside down"),
        ("yts", "missing"),
        ("yttsab", "t stands there 2 times"),
        ("ytsabc", "c does not lie behind y"),
    ):
        assert words in refusal(autograd.check_order, list(order), program), order


def test_an_engine_is_compared_number_by_number():
    for program, inputs in autograd.random_programs(5):
        autograd.check_engine(autograd.torch_engine, program, **inputs)
    half = lambda program, **inputs: (1.0, {"y": 1.0} | dict.fromkeys(inputs, 0.5))  # noqa: E731
    words = refusal(autograd.check_engine, half, "y = a * b", "why", a=1.0, b=1.0)
    assert "the gradient of a is 1, not 0.5" in words
    assert words.endswith("(why)")
    nothing = lambda program, **inputs: None  # noqa: E731
    untouched = lambda program, **inputs: (1.0, {"y": 0.0} | dict.fromkeys(inputs, 0.0))  # noqa: E731
    for engine in (nothing, untouched):
        assert "is there an answer yet" in refusal(autograd.check_engine, engine, "y = a", a=1.0)


def test_a_rule_is_told_its_slip():
    rule = lambda program, a, b: (8.0, {"a": 24.0, "b": 0.0})  # noqa: E731
    assert "the exponent is not lowered" in refusal(
        autograd.check_rule, rule, "y = a ** 3", a=2.0, b=3.0
    )
    autograd.check_rule(autograd.torch_engine, "y = a.exp()", a=2.0, b=3.0)


def test_a_chain_is_a_value_or_the_words_for_recursion():
    autograd.check_chain((1.0, 2.0), (1.0, 2.0), "both")
    assert "too many calls" in refusal(autograd.check_chain, "RecursionError", 3, "the length")
    assert "the length: 3, not 2" in refusal(autograd.check_chain, 2, 3, "the length")


def test_a_mean_in_place_of_a_sum_is_told():
    case = torch.ones(2, 3), {(3,): "one in front"}
    autograd.check_sums(lambda g, shape: watched(torch.Tensor.sum_to_size, g, shape), case)
    mean = lambda g, shape: watched(lambda g: g.mean(0), g)  # noqa: E731
    assert "that is the mean" in refusal(autograd.check_sums, mean, case)


RULES = {
    "matmul": lambda g, a, b: (g @ b.t(), a.t() @ g),
    "softmax": lambda g, y: y * (g - (g * y).sum(-1, keepdim=True)),
    "logsumexp": lambda g, x: g.unsqueeze(-1) * x.softmax(-1),
}


@pytest.mark.parametrize("rule", RULES)
def test_no_slip_of_a_rule_is_the_rule(rule):
    generator = torch.Generator().manual_seed(0)
    g, a, b = (torch.randn(3, 3, generator=generator) for _ in range(3))
    inputs = {"matmul": (g, a, b), "softmax": (g, a), "logsumexp": (g[0], a)}[rule]
    autograd.check_vjp(lambda rule, *tensors: watched(RULES[rule], *tensors), rule, *inputs)


def test_a_vjp_by_autograd_is_refused():
    def by_autograd(g, y):
        x = y.log().requires_grad_()
        return torch.autograd.grad(x.softmax(-1), x, g)[0]

    words = refusal(
        autograd.check_vjp,
        lambda rule, *tensors: watched(by_autograd, *tensors),
        "softmax",
        torch.ones(2, 2),
        torch.zeros(2, 2),
    )
    assert "the answer calls autograd.grad" in words


def test_bytes_are_those_of_new_storages():
    x = torch.ones(2, 3, requires_grad=True)
    autograd.check_bytes(lambda name, x: (24, 1, False, False), "exp", x)
    for found, words in (
        ((48, 1, False, False), "expected 24, got 48"),
        ((24, 2, False, False), "called 2 times"),
        ((24, 0, False, False), "called 0 times"),
        ((None, 0, False, False), "is there an answer yet?"),
        ((24, 1, True, False), "an input was changed"),
        ((24, 1, False, "hooks stayed on"), "hooks stayed on"),
        ((24.0, 1, False, False), "is a float, not a whole number"),
        ((1, 1, False, False), "count bytes, not tensors"),
    ):
        assert words in refusal(autograd.check_bytes, lambda name, x, found=found: found, "exp", x)


def test_the_record_grows_forward_and_shrinks_backward():
    course = autograd.bytes_over_time(recording=True)
    assert len(course) == 13
    assert course[:7] == sorted(course[:7])
    assert course[6:] == sorted(course[6:], reverse=True)
    assert (course[0], course[6], course[-1]) == (0, 224, 0)
    assert set(autograd.bytes_over_time(recording=False)) == {0}


def test_a_verdict_is_fine_wrong_or_error():
    def by_data(x):
        y = x.tanh()
        y.data.mul_(2)
        return y

    assert autograd.verdict_on(lambda x: x.sin()) == "fine"
    assert autograd.verdict_on(lambda x: x.exp().add_(1)) == "error"
    assert autograd.verdict_on(by_data) == "wrong"


def test_a_repair_has_the_same_result_and_its_gradient():
    def tried(values, gradient, changed=False):
        return lambda name, x, upstream: (values(x), gradient(x) * upstream, changed)

    x = torch.tensor([0.5, 1.0])
    autograd.check_repair(tried(torch.sin, torch.cos), torch.sin, x)
    for answer, words in (
        (tried(torch.cos, torch.cos), "its result differs"),
        (tried(torch.sin, torch.sin), "the gradient of x differs"),
        (tried(torch.sin, torch.cos, True), "it changes its argument x"),
        (lambda *_: "is there an answer yet?", "is there an answer yet?"),
    ):
        assert words in refusal(autograd.check_repair, answer, torch.sin, x)


def test_the_slips_of_a_network_differ_from_what_is_right():
    generator = torch.Generator().manual_seed(0)
    sizes = (5, 3), (3, 4), (4,), (4, 2), (2,)
    x, *weights = (torch.randn(size, generator=generator) for size in sizes)
    target = torch.tensor([0, 1, 0, 1, 1])
    right = autograd.network_by_autograd(x, target, *weights)
    assert torch.allclose(
        right[0],
        F.cross_entropy((x @ weights[0] + weights[1]).relu() @ weights[2] + weights[3], target),
    )
    autograd.check_networks(lambda *tensors: (right, [], False), ("one", x, target, *weights))
    for found, slips in zip(right, autograd.network_slips(x, target, *weights), strict=True):
        assert all(torch.is_tensor(slip) and slip.shape == found.shape for slip in slips.values())
