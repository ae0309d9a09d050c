# %% [markdown]
# Rules:
#
# - "`loss_of` takes a float64 tensor"
# - "of the shape of `start`"
# - "**at most 100 times**"
# - "even where that isn't enough"
# - "no entry of the gradient may exceed 0.001"
# - "`w` is a plain tensor"
# - "without a graph and requiring no gradient"
# - "`start` stays as it is"
#
# Admits:
#
# - "of the shape of `start`": one number, 0-D
# - "the minimum of a smooth function": walls that flatten

# %% wrong="the default number of iterations" says=["by default LBFGS stops after max_iter=20"]
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="the closure does not clear" says=["an entry of the gradient is"]
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=90, max_eval=95, line_search_fn="strong_wolfe")

    def closure():
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="the closure returns nothing" says=["the closure returned nothing"]
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=90, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss_of(w).backward()

    optimizer.step(closure)
    return w.detach()


# %% wrong="Adam, thousands of times" breaks="**at most 100 times**" says=["at most 100 are allowed"]
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([w], lr=0.05)
    for _ in range(4000):
        optimizer.zero_grad()
        loss_of(w).backward()
        optimizer.step()
    return w.detach()


# %% wrong="gradient descent within the budget" breaks="no entry of the gradient may exceed 0.001" says=["not there yet"]
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    for _ in range(100):
        (g,) = torch.autograd.grad(loss_of(w), w)
        w = (w - 0.001 * g).detach().requires_grad_()
    return w.detach()


# %% wrong="with its gradient" breaks="without a graph and requiring no gradient" says=["the result requires a gradient"]
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=90, max_eval=95, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w


# %% wrong="trains start itself" breaks="`start` stays as it is" says=["an argument was changed"]
def lbfgs_closure(loss_of, start):
    w = start.requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=90, max_eval=95, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="makes the closure and never steps" says=["w is still at start"]
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    return w.detach()


# %% wrong="returns the loss" says=["has shape (), expected"]
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=90, max_eval=95, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    return optimizer.step(closure).detach()


# %% right="Newton's method with a line search"
def lbfgs_closure(loss_of, start):
    w = start.detach().clone()
    n, calls = w.numel(), 0
    while calls < 80:
        x = w.clone().requires_grad_()
        loss, calls = loss_of(x), calls + 1
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        if g.abs().max() < 1e-6:
            break
        flat = g.reshape(-1)
        H = torch.stack(
            [torch.autograd.grad(flat[k], x, retain_graph=True)[0].reshape(-1) for k in range(n)]
        )
        shift = 1e-8
        while (
            torch.linalg.eigvalsh(H + shift * torch.eye(n, dtype=H.dtype, device=H.device)).min()
            <= 0
        ):
            shift *= 10
        direction = -torch.linalg.solve(
            H + shift * torch.eye(n, dtype=H.dtype, device=H.device), flat.detach()
        ).reshape(w.shape)
        t = 1.0
        with torch.no_grad():
            while loss_of(w + t * direction) > loss and t > 1e-4:
                t, calls = t / 2, calls + 1
        w, calls = w + t * direction.detach(), calls + 1
    return w


# %% right="several calls of step"
def lbfgs_closure(loss_of, start):
    w = torch.nn.Parameter(start.detach().clone())
    optimizer = torch.optim.LBFGS(
        [w], history_size=20, max_iter=20, tolerance_change=0, line_search_fn="strong_wolfe"
    )
    steps = 0

    def closure():
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        return loss

    while steps < 3 and (w.grad is None or w.grad.abs().max() > 1e-5):
        optimizer.step(closure)
        steps += 1
    return w.data.clone()


# %% wrong="the closure clears nothing" says=["does the closure clear them"]
def lbfgs_closure(loss_of, start):

    w = start.clone().requires_grad_()
    o = torch.optim.LBFGS([w], max_iter=100, max_eval=100, line_search_fn="strong_wolfe")

    def closure():
        loss = loss_of(w)
        loss.backward()
        return loss

    o.step(closure)
    return w.detach()


# %% right="Newton's method with the whole Hessian"
def lbfgs_closure(loss_of, start):

    w = start.detach().clone()
    shape, n, calls = w.shape, w.numel(), 0
    while calls < 90:
        w = w.detach().requires_grad_()
        loss, calls = loss_of(w), calls + 1
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        if g.abs().max() < 1e-5:
            break
        rows = [
            torch.autograd.grad(g.flatten()[i], w, retain_graph=True)[0].flatten() for i in range(n)
        ]
        H = torch.stack(rows) + 1e-9 * torch.eye(n, dtype=w.dtype, device=w.device)
        step = torch.linalg.solve(H, g.detach().flatten()).view(shape)
        t = 1.0
        while t > 0.1 and not loss_of((w - t * step).detach()) <= loss.item():
            t, calls = t / 2, calls + 1
        w, calls = w.detach() - t * step, calls + 1
    return w.detach()


# %% right="without a line search"
def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    opt = torch.optim.LBFGS([w], max_iter=80, max_eval=95, tolerance_grad=1e-6, tolerance_change=0)

    def closure():
        opt.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    opt.step(closure)
    return w.detach()


# %% wrong="Newton by hand, without a brake" says=["walls that flatten", "shorten it until the loss falls"]
def lbfgs_closure(loss_of, start):
    w = start.clone()
    for _ in range(30):
        x = w.clone().requires_grad_()
        h = torch.autograd.functional.hessian(loss_of, x).reshape(w.numel(), w.numel())
        g = torch.autograd.functional.jacobian(loss_of, x).reshape(-1)
        w = w - torch.linalg.solve(h, g).reshape(w.shape)
    return w


# %% wrong="start gets a gradient" says=["an argument was changed (its .grad)"]
def lbfgs_closure(loss_of, start):
    loss_of(start.requires_grad_()).backward()
    start.requires_grad_(False)
    w = start.detach().clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [w], max_iter=100, max_eval=100, tolerance_grad=1e-5, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="in float32" breaks="`loss_of` takes a float64 tensor" says=["loss_of was given a tensor of torch.float32: it takes torch.float64, as start is"]
def lbfgs_closure(loss_of, start):
    w = start.float().clone().requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=80, max_eval=95, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach().double()


# %% wrong="a vector for a number" breaks="of the shape of `start`" says=["the result has shape (1,), expected ()"]
def lbfgs_closure(loss_of, start):
    w = start.clone().reshape(-1).requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=60, max_eval=95, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w.view(start.shape))
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="as many calls as it takes" says=["at most 100 are allowed: max_eval stops LBFGS"]
def lbfgs_closure(loss_of, start):
    w = start.detach().clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [w], max_iter=500, tolerance_grad=1e-12, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="content with a hundredth" says=["near, though: what ended it, max_iter, tolerance_grad or tolerance_change?"]
def lbfgs_closure(loss_of, start):
    w = start.detach().clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [w], max_iter=90, max_eval=75, tolerance_grad=1e-2, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="float32 on the way" says=["a minimum far from 0", "w was rounded to float32"]
def lbfgs_closure(loss_of, start):
    w = start.detach().float().requires_grad_()
    optimizer = torch.optim.LBFGS([w], max_iter=100, max_eval=75, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w.double())
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach().double()


# %% wrong="stops where the loss hardly changes" says=["a bowl a million times as steep one way", "tolerance_change?"]
from collections.abc import Callable


def lbfgs_closure(
    loss_of: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor
) -> torch.Tensor:
    """The w at which ``loss_of`` is smallest, found with at most 100 calls of it."""
    w = nn.Parameter(start.detach().clone())
    optimizer = torch.optim.LBFGS(
        [w],
        max_iter=100,
        max_eval=70,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="a hundred iterations" breaks="even where that isn't enough" says=["too hard for 100 calls", "max_eval stops LBFGS"]
from collections.abc import Callable


def lbfgs_closure(
    loss_of: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor
) -> torch.Tensor:
    """The w at which ``loss_of`` is smallest, found with at most 100 calls of it."""
    w = nn.Parameter(start.detach().clone())
    optimizer = torch.optim.LBFGS(
        [w],
        max_iter=100,
        tolerance_grad=1e-5,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="a step after the other until it is flat" says=["too hard for 100 calls", "at most 100 are allowed"]
from collections.abc import Callable


def lbfgs_closure(
    loss_of: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor
) -> torch.Tensor:
    """The w at which ``loss_of`` is smallest, found with at most 100 calls of it."""
    w = nn.Parameter(start.detach().clone())
    optimizer = torch.optim.LBFGS([w], tolerance_change=0.0, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    for _ in range(100):
        optimizer.step(closure)
        if w.grad.abs().max() < 1e-5:
            break
    return w.detach()


# %% right="scipy's"
from collections.abc import Callable


def lbfgs_closure(
    loss_of: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor
) -> torch.Tensor:
    """The w at which ``loss_of`` is smallest, found with at most 100 calls of it."""
    from scipy.optimize import minimize

    best = [float("inf"), start.detach().clone()]
    calls = [0]

    class Enough(Exception):
        pass

    def value_and_gradient(numbers):
        if calls[0] == 100:
            raise Enough
        calls[0] += 1
        w = torch.tensor(numbers, dtype=torch.float64, device=start.device)
        w = w.reshape(start.shape).requires_grad_()
        loss = loss_of(w)
        (g,) = torch.autograd.grad(loss, w)
        if g.abs().max().item() < best[0]:
            best[:] = g.abs().max().item(), w.detach().clone()
        return loss.item(), g.reshape(-1).cpu().numpy()

    try:
        first = start.detach().reshape(-1).cpu().numpy().copy()
        minimize(value_and_gradient, first, jac=True, method="BFGS", options={"gtol": 1e-5})
    except Enough:
        pass
    return best[1]


# %% wrong="max_eval for the whole budget" says=["too hard, in four valleys", "between two line searches alone"]
from collections.abc import Callable


def lbfgs_closure(
    loss_of: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor
) -> torch.Tensor:
    w = nn.Parameter(start.detach().clone())
    optimizer = torch.optim.LBFGS(
        [w], max_iter=100, max_eval=100, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach()


# %% wrong="a vector is handed over" says=["loss_of was given a tensor of shape (12,): it takes (3, 4), as start has it"]
from collections.abc import Callable


def lbfgs_closure(
    loss_of: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor
) -> torch.Tensor:
    w = nn.Parameter(start.detach().flatten().clone())
    optimizer = torch.optim.LBFGS(
        [w], max_iter=100, max_eval=75, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach().view(start.shape)


# %% right="the budget kept by an exception"
from collections.abc import Callable


def lbfgs_closure(
    loss_of: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor
) -> torch.Tensor:
    class Spent(Exception):
        pass

    w = start.detach().clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [w],
        max_iter=1000,
        max_eval=1000,
        tolerance_grad=1e-6,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )
    calls, flattest, best = 0, float("inf"), w.detach().clone()

    def closure():
        nonlocal calls, flattest, best
        if calls == 100:
            raise Spent
        calls += 1
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        steepest = w.grad.abs().max().item()
        if steepest < flattest:
            flattest, best = steepest, w.detach().clone()
        return loss

    try:
        optimizer.step(closure)
    except Spent:
        pass
    return best


# %% wrong="one tensor for all results" says=["the w of one call was changed by the next"]
kept = {}


def lbfgs_closure(loss_of, start):
    w = start.clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [w], max_iter=90, max_eval=75, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return kept.setdefault(start.shape, torch.empty_like(start)).copy_(w.detach())


# %% wrong="hands back its Parameter" breaks="`w` is a plain tensor" says=["the result is of type Parameter: a plain tensor is asked for"]
def lbfgs_closure(loss_of, start):
    w = nn.Parameter(start.clone())
    optimizer = torch.optim.LBFGS(
        [w], max_iter=90, max_eval=75, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.requires_grad_(False)


# %% wrong="stops when the mean of the gradient's entries is small" breaks="no entry of the gradient may exceed 0.001" says=["their mean alone is as small as that: each entry has to be"]
def lbfgs_closure(loss_of, start):
    w, calls = start.clone().requires_grad_(), 0
    optimizer = torch.optim.LBFGS(
        [w], max_iter=1, tolerance_change=0, tolerance_grad=1e-12, line_search_fn="strong_wolfe"
    )

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    closure()
    while calls < 74 and w.grad.abs().mean() > 1e-3 - 1e-9 * w.numel():
        optimizer.step(closure)
        closure()
    return w.detach()
