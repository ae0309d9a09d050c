# %% [markdown]
# Rules:
#
# - "the new value of one parameter tensor and the new state, a pair"
# - "`step` counts from 1"
# - "What you remember goes in there"
# - "and nowhere else"
# - "must be **below 0.01**"
# - "`p` and `grad` stay as they are"

# %% wrong="plain SGD" breaks="must be **below 0.01**" says=["it is still on its way down"]
def race(step, p, grad, state):
    return p - 1.0 * grad, state


# %% wrong="Adam with its default rate" says=["a rate for each weight, and a larger one"]
def race(step, p, grad, state):
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.999 * state.get("v", 0) + 0.001 * grad**2
    step_size = 0.001 * m / (1 - 0.9**step) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
    return p - step_size, {"m": m, "v": v}


# %% wrong="momentum" says=["it is still on its way down"]
def race(step, p, grad, state):
    b = 0.9 * state.get("b", 0) + grad
    return p - 0.1 * b, {"b": b}


# %% wrong="uphill" says=["so it grew"]
def race(step, p, grad, state):
    return p + 0.5 * grad, state


# %% wrong="an absurd rate" says=["it goes up and down: is the rate too large"]
def race(step, p, grad, state):
    return p - 3.0 * grad.sign() * 0.1, state


# %% wrong="counts from zero" breaks="`step` counts from 1" says=["NaN"]
def race(step, p, grad, state):
    t = step - 1
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.999 * state.get("v", 0) + 0.001 * grad**2
    m_hat, v_hat = m / torch.tensor(1 - 0.9**t), v / torch.tensor(1 - 0.999**t)
    return p - 0.03 * m_hat / (v_hat.sqrt() + 1e-8), {"m": m, "v": v}


# %% wrong="in place" breaks="`p` and `grad` stay as they are" says=["an argument was changed"]
def race(step, p, grad, state):
    p -= 0.5 * grad
    return p, state


# %% wrong="the parameter alone" breaks="the new value of one parameter tensor and the new state, a pair" says=["expected a pair"]
def race(step, p, grad, state):
    return p - 0.5 * grad


# %% right="torch's Adam, kept in the state"
def race(step, p, grad, state):
    q = state.get("q")
    if q is None:
        q = torch.nn.Parameter(p.clone())
        state = {"q": q, "optimizer": torch.optim.Adam([q], lr=0.05, betas=(0.9, 0.99))}
    q.grad = grad.clone()
    state["optimizer"].step()
    return q.detach().clone(), state


# %% right="Muon for matrices, Adam for the rest, a falling rate"
def race(step, p, grad, state):
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.99 * state.get("v", 0) + 0.01 * grad**2
    rate = 0.06 * min(1, step / 5) * (1 - 0.7 * step / 150)
    direction = (m / (1 - 0.9**step)) / ((v / (1 - 0.99**step)).sqrt() + 1e-8)
    return p - rate * direction, {"m": m, "v": v}


# %% right="means by lerp, a rate that falls at the end"
def race(step, p, grad, state):
    zero = torch.zeros_like(p)
    m = torch.lerp(state.get("m", zero), grad, 0.1)
    v = torch.lerp(state.get("v", zero), grad * grad, 0.01)
    lr = 0.05 * min(1, (165 - step) / 60)
    size = (v / (1 - 0.99**step)).sqrt() + 1e-8
    return p - lr * m / (1 - 0.9**step) / size, {"m": m, "v": v}


# %% wrong="one state for all parameters" says=["keep it in the state that is handed over"]
KEPT = {}


def race(step, p, grad, state):
    KEPT["m"] = 0.9 * KEPT.get("m", 0) + 0.1 * grad
    KEPT["v"] = 0.99 * KEPT.get("v", 0) + 0.01 * grad**2
    direction = KEPT["m"] / (1 - 0.9**step) / ((KEPT["v"] / (1 - 0.99**step)).sqrt() + 1e-8)
    return p - 0.06 * direction, KEPT


# %% wrong="the state is forgotten" breaks="What you remember goes in there" says=["does nothing stay in state?"]
def race(step, p, grad, state):
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.999 * state.get("v", 0) + 0.001 * grad**2
    move = m / (1 - 0.9**step) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
    return p - 0.03 * move, {}


# %% wrong="clips the gradient that is given" says=["an argument was changed"]
def race(step: int, p: torch.Tensor, grad: torch.Tensor, state: dict) -> tuple[torch.Tensor, dict]:
    """The new value of one parameter tensor, and what to hand back in the next step."""
    norm = grad.norm()
    if norm > 1:
        grad.div_(norm)
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.999 * state.get("v", 0) + 0.001 * grad**2
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.999**step)
    return p - 0.03 * m_hat / (v_hat.sqrt() + 1e-8), {"m": m, "v": v}


# %% wrong="the first gradient is kept, and changed" says=["p or grad of an earlier step was changed: keep a copy"]
def race(step: int, p: torch.Tensor, grad: torch.Tensor, state: dict) -> tuple[torch.Tensor, dict]:
    """The new value of one parameter tensor, and what to hand back in the next step."""
    if not state:
        state = {"m": grad, "v": grad**2}
    else:
        state["m"].lerp_(grad, 0.1)
        state["v"].lerp_(grad**2, 0.001)
    return p - 0.03 * state["m"] / (state["v"].sqrt() + 1e-8), state


# %% wrong="averages into the first p" says=["p or grad of an earlier step was changed: keep a copy"]
def race(step, p, grad, state):
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.99 * state.get("v", 0) + 0.01 * grad**2
    mean = state.get("mean", p).lerp_(p, 0.1)
    size = (v / (1 - 0.99**step)).sqrt() + 1e-8
    return p - 0.06 * m / (1 - 0.9**step) / size, {"m": m, "v": v, "mean": mean}


# %% wrong="the slow weights are the first p" breaks="`p` and `grad` stay as they are" says=["p or grad of an earlier step was changed: keep a copy"]
def race(step: int, p: torch.Tensor, grad: torch.Tensor, state: dict) -> tuple[torch.Tensor, dict]:
    """The new value of one parameter tensor, and what to hand back in the next step."""
    slow = state.get("slow", p)
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.99 * state.get("v", 0) + 0.01 * grad**2
    new = p - 0.04 * m / (1 - 0.9**step) / ((v / (1 - 0.99**step)).sqrt() + 1e-8)
    if step % 5 == 0:  # look-ahead: the slow weights go most of the way
        new = slow.lerp_(new, 0.8).clone()
    return new, {"slow": slow, "m": m, "v": v}


# %% wrong="the gradient is left on p" breaks="`p` and `grad` stay as they are" says=["an argument was changed (its .grad)"]
def race(step: int, p: torch.Tensor, grad: torch.Tensor, state: dict) -> tuple[torch.Tensor, dict]:
    """The new value of one parameter tensor, and what to hand back in the next step."""
    p.grad = grad.clone()
    w = copy.deepcopy(p).requires_grad_()
    optimizer = torch.optim.Adam([w], lr=0.03)
    if "saved" in state:
        optimizer.load_state_dict(state["saved"])
    optimizer.step()
    return w.detach(), {"saved": optimizer.state_dict()}


# %% wrong="a memory by shape" breaks="and nowhere else" says=["what is remembered outside of state"]
MEMORY = {}


def race(step, p, grad, state):
    key = tuple(p.shape)
    m, v = MEMORY.get(key, (torch.zeros_like(p), torch.zeros_like(p)))
    m = 0.9 * m + 0.1 * grad
    v = 0.999 * v + 0.001 * grad**2
    MEMORY[key] = (m, v)
    m_hat, v_hat = m / (1 - 0.9**step), v / (1 - 0.999**step)
    return p - 0.03 * m_hat / (v_hat.sqrt() + 1e-8), state


# %% wrong="counts its calls" breaks="and nowhere else" says=["what is remembered outside of state"]
def race(step, p, grad, state):
    race.calls = getattr(race, "calls", 0) + 1
    progress = min(race.calls / (6 * 150), 1.0)
    rate = 0.05 * (1 - progress) + 1e-5
    t = state.get("t", 0) + 1
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.999 * state.get("v", 0) + 0.001 * grad**2
    new = p - rate * m / (1 - 0.9**t) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    return new, {"t": t, "m": m, "v": v}


# %% right="a little noise in the first steps"
def race(step, p, grad, state):
    grad = grad + 1e-4 / step * torch.randn_like(grad) if step < 20 else grad
    m = 0.9 * state.get("m", 0) + 0.1 * grad
    v = 0.99 * state.get("v", 0) + 0.01 * grad**2
    direction = m / (1 - 0.9**step) / ((v / (1 - 0.99**step)).sqrt() + 1e-8)
    return p - 0.06 * direction, {"m": m, "v": v}
