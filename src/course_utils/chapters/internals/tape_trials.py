"""How the exercise on autograd in front of the backends is tried."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from course_utils.chapters.internals.scenarios import Scenario, given
from course_utils.chapters.internals.small_torch import Handle, plain, wrapped
from course_utils.chapters.internals.tape_programs import (
    EARLY,
    LATER,
    as_torch,
    few_lines,
    kept_by_a_constant,
    numbers,
    on_lists,
    ready,
    three_values,
)


def _again(autograd_kernel, backward):
    dispatcher = ready(autograd_kernel)
    x = numbers([2.0], True)
    y = dispatcher.call("mul", x, x)
    backward(dispatcher, y, numbers([1.0]))
    first = given(x.grad, "the leaf's grad")
    value = plain(first)
    backward(dispatcher, y, numbers([1.0]))
    return value, plain(x.grad), plain(first)


def _start(autograd_kernel, backward):
    dispatcher = ready(autograd_kernel)
    x = numbers([2.0, 3.0], True)
    start = numbers([10.0, 100.0])
    backward(dispatcher, dispatcher.call("mul", x, x), start)
    return plain(x.grad), plain(start)


def _unpaid(autograd_kernel, backward):
    """A leaf that requires grad, and for which slopes holds None."""
    dispatcher = ready(autograd_kernel)
    scores, chosen = numbers([[1.0, 2.0]], True), numbers([[1.0, 0.0]], True)
    result = dispatcher.call("cross_entropy", scores, chosen)
    backward(dispatcher, result, numbers(1.0))
    return scores.grad is not None, chosen.grad is None


def _kept(autograd_kernel, backward):
    """A leaf that has a gradient, and for which slopes holds None."""
    dispatcher = ready(autograd_kernel)
    scores, chosen = numbers([[1.0, 2.0]], True), numbers([[1.0, 0.0]], True)
    chosen.grad = numbers([[3.0, 4.0]])
    backward(dispatcher, dispatcher.call("cross_entropy", scores, chosen), numbers(1.0))
    return plain(chosen.grad)


def _unpaid_step(autograd_kernel, backward):
    """A step for which slopes holds None: its leaves get nothing by it."""
    dispatcher = ready(autograd_kernel)
    x, c, scores = numbers([[1.0, 0.0]], True), numbers([[1.0, 2.0]]), numbers([[1.0, 2.0]], True)
    loss = dispatcher.call("cross_entropy", scores, dispatcher.call("mul", x, c))
    y = dispatcher.call("add", loss, dispatcher.call("mul", x, x))
    backward(dispatcher, y, numbers([[1.0, 1.0]]))
    return plain(x.grad)


def _paid_elsewhere(first: str, second: str) -> Callable:
    """Labels for which slopes holds None, and which a product pays, before or after it."""

    def run(autograd_kernel, backward):
        dispatcher = ready(autograd_kernel)
        scores, chosen = numbers([[1.0, 2.0]], True), numbers([[1.0, 0.0]], True)
        names = {
            "loss": dispatcher.call("cross_entropy", scores, chosen),
            "square": dispatcher.call("mul", chosen, chosen),
        }
        y = dispatcher.call("add", names[first], names[second])
        backward(dispatcher, y, numbers([[1.0, 1.0]]))
        return plain(chosen.grad)

    return run


def _leaf(autograd_kernel, backward):
    x = numbers([2.0], True)
    backward(ready(autograd_kernel), x, numbers([5.0]))
    return plain(x.grad)


def _leaf_again(autograd_kernel, backward):
    x, old, g = numbers([2.0], True), numbers([10.0]), numbers([5.0])
    x.grad = old
    backward(ready(autograd_kernel), x, g)
    return plain(x.grad), plain(old), plain(g)


def _leaf_twice(autograd_kernel, backward):
    """A leaf that is paid the same handle twice."""
    x, g, dispatcher = numbers([2.0], True), numbers([5.0]), ready(autograd_kernel)
    backward(dispatcher, x, g)
    backward(dispatcher, x, g)
    return plain(x.grad), plain(g)


def _start_requires_grad(autograd_kernel, backward):
    """What is on the gradient that was handed in, if it requires grad, and on the leaf's."""
    dispatcher, x, g = ready(autograd_kernel), numbers([2.0], True), numbers([5.0], True)
    backward(dispatcher, dispatcher.call("mul", x, numbers([3.0])), g)
    return plain(x.grad), g.requires_grad, sorted(g.keys), g.node is None, g.grad is None


def _constant(autograd_kernel, backward):
    """A leaf that doesn't require grad, as the result."""
    x = numbers([2.0])
    backward(ready(autograd_kernel), x, numbers([5.0]))
    return x.grad is None


def _afterwards(autograd_kernel, backward):
    """What backward leaves on the handles, beside the leaves' grad."""
    dispatcher = ready(autograd_kernel)
    x, c, g = numbers([2.0], True), numbers([3.0]), numbers([1.0])
    y = dispatcher.call("mul", x, c)
    before = {handle: set(vars(handle)) for handle in (x, c, y, g)}
    backward(dispatcher, y, g)
    more = [sorted(set(vars(h)) - old) for h, old in before.items()]
    notes = [(h.requires_grad, h.node is None) for h in before]
    return more, notes, [sorted(h.keys) for h in before]


def _keyed_constant(autograd_kernel, backward):
    """A factor that has the key Autograd and doesn't require grad."""
    dispatcher = ready(autograd_kernel)
    x, c = numbers([2.0], True), Handle(np.array([3.0]), "NumPy", "Autograd")
    backward(dispatcher, dispatcher.call("mul", x, c), numbers([1.0]))
    return plain(x.grad), c.grad is None


def _one_slope(autograd_kernel, backward):
    """An operator whose slopes are g itself, twice, on one value."""
    dispatcher, slopes = ready(autograd_kernel), lambda call, g, result, x, y: (g, g)
    dispatcher.register("sum", "NumPy", wrapped(lambda x, y: x + y, "NumPy"))
    dispatcher.register("sum", "Autograd", autograd_kernel(dispatcher, "sum", slopes))
    x, g = numbers([2.0], True), numbers([5.0])
    backward(dispatcher, dispatcher.call("sum", x, x), g)
    return plain(x.grad), plain(g)


def _recorded_sum(autograd_kernel, backward):
    """Whether the sum of two payments is recorded, where g requires grad and is paid twice."""
    dispatcher, slopes = ready(autograd_kernel), lambda call, g, result, x, y: (g, g)
    dispatcher.register("sum", "NumPy", wrapped(lambda x, y: x + y, "NumPy"))
    dispatcher.register("sum", "Autograd", autograd_kernel(dispatcher, "sum", slopes))
    x, g = numbers([2.0], True), numbers([5.0], True)
    backward(dispatcher, dispatcher.call("sum", x, x), g)
    found = given(x.grad, "the leaf's grad")
    return plain(found), found.requires_grad, found.node is None


def _one_of_two(autograd_kernel, backward):
    """An operator on one value twice, whose slopes hold None for the first, then the second."""
    found = []
    for slopes in (lambda call, g, *_: (None, g), lambda call, g, *_: (g, None)):
        dispatcher = ready(autograd_kernel)
        dispatcher.register("second", "NumPy", wrapped(lambda x, y: y, "NumPy"))
        dispatcher.register("second", "Autograd", autograd_kernel(dispatcher, "second", slopes))
        x, three = numbers([2.0], True), numbers([3.0])
        h = dispatcher.call("mul", x, three)
        backward(dispatcher, dispatcher.call("second", h, h), numbers([5.0]))
        found.append(plain(x.grad))
    return found


def _unseen(autograd_kernel, backward):
    """Whether gradients are recorded, and whether results in between have kept one."""
    dispatcher = ready(autograd_kernel)
    x, w = numbers([2.0], True), numbers([3.0], True)
    h = dispatcher.call("mul", x, w)
    y = dispatcher.call("mul", h, h)
    backward(dispatcher, y, numbers([1.0]))
    g = given(x.grad, "the leaf's grad")
    words = "a result has kept its gradient: leaves alone keep a grad"
    assert [h.grad, y.grad] == [None, None], words
    return g.requires_grad, g.node is None


def _old_requires_grad(autograd_kernel, backward):
    """Whether the sum is recorded where a leaf's old gradient requires grad."""
    dispatcher = ready(autograd_kernel)
    x = numbers([2.0], True)
    x.grad = numbers([1.0], True)
    backward(dispatcher, dispatcher.call("mul", x, x), numbers([1.0]))
    return plain(x.grad), x.grad.requires_grad, x.grad.node is None


def _one_array(autograd_kernel, backward):
    """Two leaves that store the same array."""
    dispatcher, array = ready(autograd_kernel), np.array([2.0, 3.0])
    x, w = (Handle(array, "NumPy", requires_grad=True) for _ in range(2))
    backward(dispatcher, dispatcher.call("mul", x, w), numbers([1.0, 10.0]))
    return plain(x.grad), plain(w.grad)


def _chain(autograd_kernel, backward):
    dispatcher = ready(autograd_kernel)
    x = numbers([1.0], True)
    y = x
    for _ in range(3000):
        y = dispatcher.call("relu", y)
    try:
        backward(dispatcher, y, numbers([1.0]))
    except RecursionError:
        return "RecursionError"
    return plain(x.grad)


def _doublings(autograd_kernel, backward):
    """Forty steps that use their value twice: 2**40 ways lead back."""
    dispatcher = ready(autograd_kernel)
    x = numbers([1.0], True)
    y = x
    for _ in range(40):
        y = dispatcher.call("add", y, y)
    with few_lines(200_000):
        backward(dispatcher, y, numbers([1.0]))
    return plain(x.grad)


def _rungs(autograd_kernel, backward):
    """Forty sums of a value and its product by 1, in either order: 2**40 ways lead back."""
    dispatcher = ready(autograd_kernel, walked := [])
    y = x = numbers([1.0], True)
    one = numbers([1.0])
    for step in range(40):
        pair = (dispatcher.call("mul", y, one), y)
        y = dispatcher.call("add", *(pair if step % 2 else pair[::-1]))
    with few_lines(200_000):
        backward(dispatcher, y, numbers([1.0]))
    return plain(x.grad), len(walked)


_none = "None pays nothing, and takes nothing away: what others pay to that value stays"
_all_add = "all payments to a value are added up, and to what a leaf has"
_ab = {"A": [2.0], "B": [0.5]}
BACKWARD = {
    "a product": as_torch("y = mul A B", "each factor gets the other", A=[2.0], B=[3.0]),
    "used twice": as_torch("y = mul A A", "both payments to A count", A=[2.0, -1.0]),
    "an operator of three values": Scenario(
        three_values, [[30.0], [20.0], [10.0]], "each value is paid, however many there are"
    ),
    "two ways": as_torch("s = mul A B; y = add s A", "A is paid from two sides", A=[2.0], B=[3.0]),
    "paid late": as_torch("s = mul A B; t = mul s s; y = mul t s", EARLY, **_ab),
    "paid late, the other way": as_torch("s = mul A B; t = mul s s; y = mul s t", EARLY, **_ab),
    "a constant": as_torch(
        "s = mul x W; y = add s B",
        "what doesn't require grad gets none",
        x=[[1.0, 2.0]],
        W=[[3.0, 4.0]],
        B=[5.0, 6.0],
    ),
    "a layer": as_torch(
        "m = matmul x W; s = add m B; h = relu s; y = matmul h V",
        "the slopes come from the table, the walk adds them up",
        x=[[1.0, -2.0], [0.5, 3.0]],
        W=[[1.0, 2.0, 0.0], [0.5, -1.0, 2.0]],
        B=[0.1, 0.2, -5.0],
        V=[[1.0], [2.0], [3.0]],
    ),
    "a slope that is None": as_torch(
        "s = mul A A; y = cross_entropy s c",
        "where slopes holds None nothing is paid",
        A=[[1.0, 2.0], [0.5, 0.1]],
        c=[[1.0, 0.0], [0.0, 1.0]],
    ),
    "a slope that is None, at a leaf": Scenario(
        _unpaid, (True, True), "where slopes holds None nothing is paid, and grad stays None"
    ),
    "another start": Scenario(
        _start, ([40.0, 600.0], [10.0, 100.0]), "the walk starts with g, and leaves g as it is"
    ),
    "twice": Scenario(
        _again,
        ([4.0], [8.0], [4.0]),
        "a leaf adds what the second backward brings to what it has, in a new handle",
    ),
    "from a leaf": Scenario(_leaf, [5.0], "a leaf is paid g itself"),
    "a constant with the key Autograd": Scenario(
        _keyed_constant,
        ([3.0], True),
        "the key alone says nothing: only who requires grad is paid",
    ),
    "slopes that are g itself": Scenario(
        _one_slope,
        ([10.0], [5.0]),
        "both payments count, also where they are the same handle; g stays as it is",
    ),
    "two payments of a start that requires grad": Scenario(
        _recorded_sum,
        ([10.0], False, True),
        "payments are added below Autograd, so that the sum is not recorded",
    ),
    "one value twice, None for one of them": Scenario(
        _one_of_two, [[15.0], [15.0]], "None pays nothing, and the value still hands on the rest"
    ),
    "what is kept": Scenario(
        _unseen, (False, True), "gradients are computed below Autograd, so that nothing is recorded"
    ),
    "a chain of 3,000": Scenario(_chain, [1.0], "keep a list of what is waiting: no recursion"),
    **LATER,
    "forty doublings": Scenario(
        _doublings, [2.0**40], "a value that is used twice is paid twice, and hands on once"
    ),
    "forty steps, each used by two others": Scenario(
        _rungs, ([2.0**40], 80), "slopes run once for each step, when all who used it have paid in"
    ),
    "None for a value that is paid elsewhere too": Scenario(
        _paid_elsewhere("loss", "square"), [[2.0, 0.0]], _none, (([[1.0, 0.0]], _all_add),)
    ),
    "None for a value that is paid elsewhere, the other way": Scenario(
        _paid_elsewhere("square", "loss"), [[2.0, 0.0]], _none, (([[1.0, 0.0]], _all_add),)
    ),
    "None for a leaf that has a gradient": Scenario(
        _kept, [[3.0, 4.0]], "where slopes holds None nothing is paid: the old grad stays"
    ),
    "None for a step in between": Scenario(
        _unpaid_step, [[2.0, 0.0]], "a step that was paid nothing pays nothing; others still do"
    ),
    "a backend that stores lists": Scenario(
        on_lists,
        [8.0, 120.0],
        'autograd knows no backend: gradients are added by dispatcher.call("add", …), '
        "what a handle stores is the kernels' business",
        (([2.0, 30.0], _all_add), ([4.0, 60.0], _all_add)),
    ),
    "from a constant": Scenario(
        _constant, True, "a leaf that doesn't require grad isn't paid, if it is the result as well"
    ),
    "the handles afterwards": Scenario(
        _afterwards,
        (
            [[], [], [], []],
            [(True, True), (False, True), (True, False), (False, True)],
            [["Autograd", "NumPy"], ["NumPy"], ["Autograd", "NumPy"], ["NumPy"]],
        ),
        "leave the handles and nodes as they are, but for the leaves' grad: keep counts in a dict",
    ),
    "an old gradient that requires grad": Scenario(
        _old_requires_grad,
        ([5.0], False, True),
        "adding to the old gradient is computed below Autograd too: nothing is recorded",
    ),
    "from a leaf, twice with one g": Scenario(
        _leaf_twice,
        ([10.0], [5.0]),
        "the two are added in a new handle, also where both are the same handle",
    ),
    "a start that requires grad": Scenario(
        _start_requires_grad,
        ([15.0], True, ["Autograd", "NumPy"], True, True),
        "g is left as it is, also what autograd keeps on it",
    ),
    "from a leaf that has a gradient": Scenario(
        _leaf_again,
        ([15.0], [10.0], [5.0]),
        "the sum goes into a new handle: the old gradient and g stay as they are",
    ),
    "two leaves that store the same array": Scenario(
        _one_array,
        ([2.0, 30.0],) * 2,
        "each handle has an account to itself, whatever it stores",
    ),
    "a constant that has an old gradient": Scenario(
        kept_by_a_constant,
        ([3.0], [7.0], True),
        "a leaf that doesn't require grad isn't paid, whatever its grad holds from before",
    ),
}


def random_programs(count: int) -> dict[str, Scenario]:
    """Programs of sums, products and ReLUs on two leaves and a constant, seeded."""
    draw, found = random.Random(3), {}
    for number in range(count):
        known, lines = ["A", "B", "c"], []
        for step in range(draw.randint(2, 8)):
            name = draw.choice(["add", "mul", "add", "relu"])
            inputs = [draw.choice(known[-4:]) for _ in range(1 if name == "relu" else 2)]
            lines.append(f"t{step} = {name} {' '.join(inputs)}")
            known.append(f"t{step}")
        program = "; ".join([*lines, f"y = add {known[-1]} A"])
        values = {n: [draw.uniform(-1, 1) for _ in range(3)] for n in "ABc"}
        found[f"program {number}: {program}"] = as_torch(program, EARLY, **values)
    return found
