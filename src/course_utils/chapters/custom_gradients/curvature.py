"""Exercise 6.8: slopes of slopes, and the paths of Newton's method and of descent."""

from __future__ import annotations

from contextlib import nullcontext

import torch

from course_utils.chapters.custom_gradients.watching import (
    Largest,
    gradient_words,
    left_behind,
    require_digits,
    words_of_broken,
    words_of_kept,
    words_of_states,
)
from course_utils.learner.calls import python_calls
from course_utils.learner.changes import forbid_changes
from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value

LANDSCAPES = {
    "saddle": lambda x: x[0] ** 2 * x[1] - x[1] ** 2,
    "valley": lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
    "bowl": lambda x: (x.exp() + (x - 2) ** 2).sum() + (x[1:] * x[:-1]).sum() / 4,
}


def solve(product, g):
    """p with ``product(p) == g``, by conjugate gradients; ``product`` is linear and symmetric."""
    p, rest, direction = torch.zeros_like(g), g, g
    # One step for each number would do without rounding.
    for _ in range(len(g) + 20):
        if rest.norm() <= 1e-12 * g.norm():
            break
        turned = product(direction)
        length = (rest @ rest) / (direction @ turned)
        p, new = p + length * direction, rest - length * turned
        rest, direction = new, new + (new @ new) / (rest @ rest) * direction
    return p


def run_curvature(function, name, x, extra, weigh=False, states=False):
    """What a product or Newton's method gives, here or in other states, and how it came by it."""
    elsewhere, levels = [], []

    def f(point):
        level = torch._C._functorch.peek_interpreter_stack()  # which of torch.func is innermost
        levels.append(level is not None and level.key() == torch._C._functorch.TransformType.Jvp)
        try:
            here = torch.func.debug_unwrap(point).detach()
            elsewhere.append(here.shape == x.shape and not torch.equal(here.to(x.dtype), x))
        except RuntimeError:  # f is being traced, as by linearize
            pass
        return LANDSCAPES[name](point)

    largest = Largest()
    with largest if weigh else nullcontext():
        lost = "the gradient has no graph: ask for it with create_graph=True"
        answer, names = gradient_words(lambda: python_calls(function, f, x, extra), lost)
    short = {name.rpartition(".")[2] for name in names if name.startswith("torch")}
    needs = isinstance(answer, torch.Tensor) and answer.requires_grad
    tensors = [x, extra] if isinstance(extra, torch.Tensor) else [x]
    facts = {"answer": answer.detach() if needs else answer, "needs": needs}
    facts |= {"left": left_behind(*tensors), "elsewhere": any(elsewhere), "most": largest.most}
    facts |= {"forward": "make_dual" in short, "inside": any(levels)}
    facts["called"] = sorted(short & {"hvp", "vhp", "hessian", "jacobian", "jacrev", "jacfwd"})
    for tensor in tensors:
        tensor.requires_grad_(False).grad = None
    rest = [] if len(tensors) == 2 else [extra]
    facts["amiss"] = states and (
        words_of_broken(lambda f, *t: function(f, *t, *rest), *tensors)
        or words_of_states(function, LANDSCAPES[name], x, extra)
        or words_of_kept(function, lambda point: LANDSCAPES[name](point), x, extra)
    )
    return facts


@ends_in_notebook
def check_product(try_curvature, way, landscape, x, v, weigh=False, states=False):
    """Check one Hessian-vector product, in other states of x and v as well if asked."""
    __tracebackhide__ = True
    x, v, f = x.to(device), v.to(device), LANDSCAPES[landscape]
    with forbid_changes(x, v):
        found = try_curvature(way, landscape, x, v, weigh, states)
    answer, name = found["answer"], f"hvp_{way}"
    assert answer is not None, f"{name} gives None: is there an answer yet?"
    used = ", ".join(found["called"])
    assert not used, f"{used} runs here: {name} makes the product itself"
    limit = 64 * max(x.nbytes, 64)
    words = f"a tensor of {found['most']} bytes was made, and x has {x.nbytes}: is that the matrix?"
    assert found["most"] <= limit, words
    assert not found["elsewhere"], f"{name} calls f at other points than x: no differences"
    leaf = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    (truth,) = torch.autograd.grad(g, leaf, v, retain_graph=True)
    (ones,) = torch.autograd.grad(g.sum(), leaf)
    slips = {
        "this is the gradient times v, entry by entry": (g * v).detach(),
        "a single number, the derivative of f along v: take that of its gradient": (g @ v).detach(),
        "this is the gradient itself: it has to be differentiated once more": g.detach(),
        "this is the product with a vector of ones: where does v come in?": ones,
        "the gradient was added to it: .grad adds up": g.detach() + truth,
    }
    assert v.any() or not answer.isnan().any(), "NaN for v = 0: the product is 0 there, not 0 / 0"
    check_value(answer, truth, "the product", slips, 1e-4, 1e-4)
    require_digits(answer, truth, "the product", 1e-10, 1e-10)
    assert way == "forward" or not found["forward"], (
        "hvp_double uses forward mode: go backward twice"
    )
    words = "hvp_forward never makes a dual tensor: take torch.func.jvp of the gradient"
    assert way == "double" or found["forward"], words
    words = "f itself goes forward, and the gradient is taken of that: take the jvp of the gradient"
    assert not found["inside"], words
    left = " and ".join(found["left"])
    assert not left, f"an argument was left with {left}: work on a leaf of your own"
    assert not found["needs"], "the result still requires grad: detach it"
    assert not found["amiss"], found["amiss"]


@ends_in_notebook
def check_newton(
    try_curvature, landscape, x, steps, weigh=False, dtype=torch.float64, states=False
):
    """Check some of Newton's steps, in other states of x as well if asked."""
    __tracebackhide__ = True
    x, f = x.to(device, dtype), LANDSCAPES[landscape]
    with forbid_changes(x):
        found = try_curvature("newton", landscape, x, steps, weigh, states)
    answer = found["answer"]
    assert answer is not None, "newton gives None: is there an answer yet?"
    used = ", ".join(sorted(set(found["called"]) - {"hvp", "vhp"}))
    assert not used, f"{used} runs here: no matrix, please"
    words = f"a tensor of {found['most']} bytes was made, and x has {x.nbytes}: is that the matrix?"
    assert found["most"] <= 64 * max(x.nbytes, 64), words

    def solved(point, at):
        matrix = torch.autograd.functional.hessian(f, at)
        return torch.linalg.solve(matrix, torch.func.grad(f)(point))

    truth = x.clone()
    for _ in range(steps):
        truth = truth - solved(truth, truth)
    assert isinstance(answer, torch.Tensor), f"newton gives {type(answer).__name__}, not a tensor"
    assert answer.isfinite().all(), (
        f"after {steps} step(s) the point is NaN or infinite: "
        "is the product at the current point right?"
    )
    slips = {"it has not moved": x}
    if 0 < steps < 3 and len(x) < 3:
        up, stale = x.clone(), x.clone()
        for _ in range(steps):
            up, stale = up + solved(up, up), stale - solved(stale, x)
        slips["the steps go uphill: subtract p"] = up
        slips["the curvature of the start is used throughout: take it anew at each point"] = stale
        first = x.clone()
        for _ in range(steps):
            first = first - solved(x, first)
        slips["the gradient of the start is used throughout: take it anew at each point"] = first
    move, g = answer - x, torch.func.grad(f)(x)
    along = steps == 1 and len(x) > 1 and torch.cosine_similarity(move, g, dim=0).abs() > 0.99999
    assert not along, "the step goes along the gradient: find p with H p = g first"
    if steps == 1:
        p, short = solved(x, x), "the step is shortened: it goes to x - p, however long p is"
        slips[short] = x - p * (move.norm() / p.norm()).clamp(max=0.99)
    loose = 1e-6 if dtype == torch.float64 else 1e-4
    check_value(answer, truth, f"the point after {steps} step(s)", slips, loose, loose)
    assert not found["left"], f"x was left with {' and '.join(found['left'])}"
    assert not found["needs"], "the result still requires grad: detach it"
    assert not found["amiss"], found["amiss"]


def newton_path(newton, start, steps):
    """The points of Newton's method, by the learner's function where it works."""
    f, path = LANDSCAPES["valley"], [start]
    for _ in range(steps):
        g, matrix = torch.func.grad(f)(path[-1]), torch.func.hessian(f)(path[-1])
        path.append(path[-1] - torch.linalg.solve(matrix, g))
    try:
        mine = [start, *(newton(f, start, n).detach() for n in range(1, steps + 1))]
        right = torch.allclose(torch.stack(mine), torch.stack(path), atol=1e-6)
    except Exception:
        right = False
    return torch.stack(mine if right else path)


def descent_path(start, steps, rate):
    """The points of gradient descent."""
    path = [start]
    for _ in range(steps):
        path.append(path[-1] - rate * torch.func.grad(LANDSCAPES["valley"])(path[-1]))
    return torch.stack(path)
