# %% [markdown]
# Rules:
#
# - "as sections 4 and 5 describe it"
# - "After any number of steps `p` equals that of"
# - "the pair of the new `p` and the new state"
# - "float32 or float64"
# - "stay as they are"
# - "The new `p` shares no memory with the old one"
# - "`state` is a dict that is yours"
# - "what you returned the time before"
# - "`lr` may differ from step to step"
# - "`"rmsprop"` uses `betas[1]` for its mean of squares"
# - "has no m"
# - "`RMSprop(alpha=betas[1])`"
# - "`Adam(amsgrad=True)`"
# - "`AdamW`"
# - "betas: tuple[float, float] = (0.9, 0.999)"
# - "eps: float = 1e-8"
# - "weight_decay: float = 0.0"
#
# Admits:
#
# - "After any number of steps": three hundred steps
# - "`lr` may differ from step to step": lr halved after each step, as by a scheduler
# - "`lr` may differ": a rate of 0 in the second step
# - "`state` is a dict that is yours": two tensors in turn, each with its own state

# %% wrong="no bias correction" breaks="as sections 4 and 5 describe it" says=["no bias correction"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    if kind == "rmsprop":
        m = grad
    scale = (top if kind == "amsgrad" else v).sqrt() + eps
    state = {"m": m, "v": v, "top": top}
    return p - lr * m / scale, state


# %% wrong="eps inside the root" says=["eps stands outside the root"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        return p - lr * grad / (v + eps).sqrt(), state
    m_hat = m / (1 - betas[0] ** t)
    v_hat = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * m_hat / (v_hat + eps).sqrt(), state


# %% wrong="eps before the bias correction" says=["eps is added after the correction"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    rate = lr * (1 - betas[1] ** t) ** 0.5 / (1 - betas[0] ** t)
    return p - rate * m / ((top if kind == "amsgrad" else v).sqrt() + eps), state


# %% wrong="counts from zero" says=["The first step is step 1"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0)
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t + 1}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    m_hat = m / torch.tensor(1 - betas[0] ** t)
    v_hat = (top if kind == "amsgrad" else v) / torch.tensor(1 - betas[1] ** t)
    return p - lr * m_hat / (v_hat.sqrt() + eps), state


# %% wrong="AMSGrad takes the largest corrected v" breaks="`Adam(amsgrad=True)`" says=["of v itself, and correct it afterwards"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    v_hat = v / (1 - betas[1] ** t)
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v_hat)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    m_hat = m / (1 - betas[0] ** t)
    return p - lr * m_hat / ((top if kind == "amsgrad" else v_hat).sqrt() + eps), state


# %% wrong="AMSGrad is Adam" says=["that is Adam"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    state = {"m": m, "v": v, "t": t}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    return p - lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps), state


# %% wrong="AdamW with L2" breaks="`AdamW`" says=["that is Adam: in AdamW the decay goes past m and v"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    v_hat = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * (m / (1 - betas[0] ** t)) / (v_hat.sqrt() + eps), state


# %% wrong="decoupled everywhere" says=["that is AdamW: Adam's decay is added to the gradient"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    p = p - lr * weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    v_hat = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * (m / (1 - betas[0] ** t)) / (v_hat.sqrt() + eps), state


# %% wrong="the decay without the rate" says=["the decay is not multiplied by lr"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    v_hat = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * (m / (1 - betas[0] ** t)) / (v_hat.sqrt() + eps), state


# %% wrong="the betas change places" breaks="`\"rmsprop\"` uses `betas[1]` for its mean of squares" says=["the betas have changed places"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b2, b1 = betas
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = b1 * state.get("m", 0) + (1 - b1) * grad
    v = b2 * state.get("v", 0) + (1 - b2) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    v_hat = (top if kind == "amsgrad" else v) / (1 - b2**t)
    return p - lr * (m / (1 - b1**t)) / (v_hat.sqrt() + eps), state


# %% wrong="RMSprop with bias correction" breaks="`RMSprop(alpha=betas[1])`" says=["RMSprop corrects nothing"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    v_hat = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    m_hat = grad if kind == "rmsprop" else m / (1 - betas[0] ** t)
    return p - lr * m_hat / (v_hat.sqrt() + eps), state


# %% wrong="RMSprop with a momentum" breaks="has no m" says=["RMSprop has no m"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        return p - lr * m / (v.sqrt() + eps), state
    v_hat = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * (m / (1 - betas[0] ** t)) / (v_hat.sqrt() + eps), state


# %% wrong="forgets its state" breaks="what you returned the time before" says=["the state is forgotten from step to step"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p = p - lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    if kind == "rmsprop":
        return p - lr * grad / (((1 - betas[1]) * grad**2).sqrt() + eps), {}
    return p - lr * grad / (grad.abs() + eps), {}


# %% wrong="changes the parameter in place" breaks="stay as they are" says=["an argument was changed"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if kind == "adamw":
        p -= lr * weight_decay * p
    else:
        grad = grad + weight_decay * p
    t = state.get("t", 0) + 1
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    state = {"m": m, "v": v, "top": top, "t": t}
    if kind == "rmsprop":
        p -= lr * grad / (v.sqrt() + eps)
        return p, state
    v_hat = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    p -= lr * (m / (1 - betas[0] ** t)) / (v_hat.sqrt() + eps)
    return p, state


# %% wrong="returns the parameter alone" breaks="the pair of the new `p` and the new state" says=["expected a pair"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    return p - lr * grad.sign()


# %% wrong="flat views" says=["a matrix that was transposed", "strides are none of its business"]
def adam_family(
    p: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    kind: str,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> tuple[torch.Tensor, dict]:
    shape, (b1, b2) = p.shape, betas
    w, g = p.view(-1), grad.view(-1)
    t = state.get("t", 0) + 1
    g = g if kind == "adamw" else g + weight_decay * w
    first, second, top = state.get(
        "moments", torch.zeros(3, w.numel(), dtype=p.dtype, device=p.device)
    )
    first = b1 * first + (1 - b1) * g
    second = b2 * second + (1 - b2) * g * g
    top = torch.maximum(top, second)
    kept = {"t": t, "moments": torch.stack([first, second, top])}
    if kind == "rmsprop":
        return (w - lr * g / (second.sqrt() + eps)).view(shape), kept
    if kind == "adamw":
        w = w * (1 - lr * weight_decay)
    under = ((top if kind == "amsgrad" else second) / (1 - b2**t)).sqrt() + eps
    return (w - lr * first / (1 - b1**t) / under).view(shape), kept


# %% right="the library carries the state"
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    q = torch.nn.Parameter(p.clone())
    options = dict(lr=lr, eps=eps, weight_decay=weight_decay)
    if kind == "rmsprop":
        optimizer = torch.optim.RMSprop([q], alpha=betas[1], **options)
    elif kind == "adamw":
        optimizer = torch.optim.AdamW([q], betas=betas, **options)
    else:
        optimizer = torch.optim.Adam([q], betas=betas, amsgrad=kind == "amsgrad", **options)
    if state:
        optimizer.state[q] = state
    q.grad = grad
    optimizer.step()
    return q.detach(), optimizer.state[q]


# %% right="sums of all gradients so far, corrected by their weights"
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    import numpy as np

    where, dtype = p.device, p.dtype
    theta, g = p.cpu().numpy().astype(np.float64), grad.cpu().numpy().astype(np.float64)
    if kind == "adamw":
        theta = theta * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * theta
    first, second, one, two, top = state.get("all", (0.0, 0.0, 0.0, 0.0, 0.0))
    first, one = betas[0] * first + g, betas[0] * one + 1
    second, two = betas[1] * second + g * g, betas[1] * two + 1
    top = np.maximum(top, second)
    if kind == "rmsprop":
        step = g / (np.sqrt((1 - betas[1]) * second) + eps)
    else:
        used = top if kind == "amsgrad" else second
        step = (first / one) / (np.sqrt(used / two) + eps)
    new = torch.as_tensor(theta - lr * step).to(where, dtype)
    return new, {"all": (first, second, one, two, top)}


# %% wrong="stores the corrected averages" says=["keep the uncorrected m and v"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):

    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = (b1 * m + (1 - b1) * grad) / (1 - b1**t)
    v = v / (1 - b2**t)
    top = torch.maximum(top, v)
    return p - lr * m / ((top if kind == "amsgrad" else v).sqrt() + eps), {
        "t": t,
        "m": m,
        "v": v,
        "top": top,
    }


# %% wrong="AdamW decays after the step" says=["the decay comes before the step"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):

    t = state.get("t", 0) + 1
    b1, b2 = betas
    m, v, top = (
        state.get("m", torch.zeros_like(p)),
        state.get("v", torch.zeros_like(p)),
        state.get("top", torch.zeros_like(p)),
    )
    if kind != "adamw":
        grad = grad + weight_decay * p
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    vh = (top if kind == "amsgrad" else v) / (1 - b2**t)
    new = p - lr * (m / (1 - b1**t)) / (vh.sqrt() + eps)
    if kind == "adamw":
        new = new - lr * weight_decay * new
    return new, {"t": t, "m": m, "v": v, "top": top}


# %% right="a history of gradients, and closed sums"
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):

    b1, b2 = betas
    history = list(state.get("g", []))
    if kind == "adamw":
        p = p - lr * weight_decay * p
        history.append(grad)
    else:
        history.append(grad + weight_decay * p)
    n = len(history)

    def mean(values, b):
        return sum((1 - b) * b ** (len(values) - 1 - k) * x for k, x in enumerate(values))

    squares = [g * g for g in history]
    v = mean(squares, b2)
    if kind == "rmsprop":
        return p - lr * history[-1] / (v.sqrt() + eps), {"g": history}
    if kind == "amsgrad":
        v = torch.stack([mean(squares[: k + 1], b2) for k in range(n)]).amax(0)
    m = mean(history, b1)
    return p - lr * (m / (1 - b1**n)) / ((v / (1 - b2**n)).sqrt() + eps), {"g": history}


# %% wrong="v uncorrected" says=["v is not corrected"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = (top if kind == "amsgrad" else v).sqrt() + eps
    return p - lr * m / (1 - b1**t) / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="m uncorrected" says=["m is not corrected"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = ((top if kind == "amsgrad" else v) / (1 - b2**t)).sqrt() + eps
    return p - lr * m / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="m and v start at the first gradient" says=["m and v start at 0, not at the first gradient"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    if t == 1:
        m, v = grad, grad**2
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = ((top if kind == "amsgrad" else v) / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1**t) / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="they start at the first gradient, and are corrected no more" says=["m and v start at 0, not at the first gradient", "v starts at 0"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    if t == 1:
        m, v = grad, grad**2
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = (top if kind == "amsgrad" else v).sqrt() + eps
    return p - lr * m / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="RMSprop without decay" says=["RMSprop's weight decay is left out"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "rmsprop":
        pass
    elif kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = ((top if kind == "amsgrad" else v) / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1**t) / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="AMSGrad's maximum uncorrected" says=["v is not corrected"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = (top if kind == "amsgrad" else v / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1**t) / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="the decay in the gradient times the rate" says=["is not multiplied by lr"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + lr * weight_decay * p
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = ((top if kind == "amsgrad" else v) / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1**t) / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="always the default eps" says=["eps has no effect"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * v + (1 - b2) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + 1e-8), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = ((top if kind == "amsgrad" else v) / (1 - b2**t)).sqrt() + 1e-8
    return p - lr * m / (1 - b1**t) / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="AdaBelief's v" says=["not of their distances from m"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    if kind == "rmsprop":
        v = b2 * v + (1 - b2) * grad**2
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    v = b2 * v + (1 - b2) * (grad - m) ** 2
    top = torch.maximum(top, v)
    scale = ((top if kind == "amsgrad" else v) / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1**t) / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="one size for all entries" says=["a hundred steps with decay"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    b1, b2 = betas
    z = torch.zeros_like(p)
    m, v, top = state.get("m", z), state.get("v", z), state.get("top", z)
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * v + (1 - b2) * (grad**2).mean()
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * m + (1 - b1) * grad
    top = torch.maximum(top, v)
    scale = ((top if kind == "amsgrad" else v) / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1**t) / scale, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="the largest v in v's place" says=["the largest v is beside v in the state"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = b1 * state.get("m", 0) + (1 - b1) * grad
    old = state.get("v", torch.zeros_like(p))
    v = b2 * old + (1 - b2) * grad**2
    if kind == "amsgrad":
        v = torch.maximum(old, v)
    new = {"t": t, "m": m, "v": v}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), new
    return p - lr * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps), new


# %% wrong="the default betas, whatever the argument" says=["the betas are the argument's"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = 0.9, 0.999
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = b1 * state.get("m", 0) + (1 - b1) * grad
    v = b2 * state.get("v", 0) + (1 - b2) * grad**2
    top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
    new = {"t": t, "m": m, "v": v, "top": top}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), new
    below = top if kind == "amsgrad" else v
    return p - lr * (m / (1 - b1**t)) / ((below / (1 - b2**t)).sqrt() + eps), new


# %% wrong="counter outside" breaks="`state` is a dict that is yours" says=["two tensors in turn"]
COUNT = [0]


def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if not state:
        COUNT[0] = 0
    COUNT[0] += 1
    t = COUNT[0]
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", v), v)
    new = {"t": t, "m": m, "v": v, "top": top}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), new
    m, v = m / (1 - betas[0] ** t), (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * m / (v.sqrt() + eps), new


# %% wrong="memory outside, cleared by an empty state" says=["two tensors in turn"]
KEPT = {}


def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if not state:
        KEPT.clear()
    state = KEPT
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", v), v)
    KEPT.update({"t": t, "m": m, "v": v, "top": top})
    new = KEPT
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), new
    m, v = m / (1 - betas[0] ** t), (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * m / (v.sqrt() + eps), new


# %% wrong="lr kept in the state" breaks="`lr` may differ from step to step" says=["use the argument"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    lr = state.get("lr", lr)
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", v), v)
    new = {"lr": lr, "t": t, "m": m, "v": v, "top": top}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), new
    m, v = m / (1 - betas[0] ** t), (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * m / (v.sqrt() + eps), new


# %% wrong="means in float32" breaks="float32 or float64" says=["a hundred steps with decay: p is near, but rounded on the way: is the state, or a part of the step, float32?"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    pull = weight_decay * p
    p, grad = (p - lr * pull, grad) if kind == "adamw" else (p, grad + pull)
    t, zero = state.get("t", 0) + 1, torch.zeros(p.shape)
    m = (betas[0] * state.get("m", zero) + (1 - betas[0]) * grad).float()
    v = (betas[1] * state.get("v", zero) + (1 - betas[1]) * grad**2).float()
    top = torch.maximum(state.get("top", zero), v)
    state = {"t": t, "m": m, "v": v, "top": top}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    size = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * m / (1 - betas[0] ** t) / (size.sqrt() + eps), state


# %% wrong="AMSGrad remembers the last two" says=["not that of the last two"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
    v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad.square()
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"v": v}
    below = torch.maximum(state.get("v", v), v) if kind == "amsgrad" else v
    below = (below / (1 - b2**t)).sqrt() + eps
    return p - lr * (m / (1 - b1**t)) / below, {"t": t, "m": m, "v": v}


# %% wrong="looks ahead" says=["that is NAdam: above the fraction bar is m alone"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
    v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad.square()
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"v": v}
    top = torch.maximum(state.get("top", v), v)
    below = ((top if kind == "amsgrad" else v) / (1 - b2**t)).sqrt() + eps
    ahead = b1 * m + (1 - b1) * grad
    return p - lr * (ahead / (1 - b1**t)) / below, {"t": t, "m": m, "v": v, "top": top}


# %% wrong="a mean of sizes" says=["v is the mean of squared gradients, not of their sizes"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
    v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad.abs()
    if kind == "rmsprop":
        return p - lr * grad / (v + eps), {"v": v}
    top = torch.maximum(state.get("top", v), v)
    below = (top if kind == "amsgrad" else v) / (1 - b2**t) + eps
    return p - lr * (m / (1 - b1**t)) / below, {"t": t, "m": m, "v": v, "top": top}


# %% right="a tuple in the state, addcdiv"
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    zero = torch.zeros_like(grad)
    t, m, v, top = state.get("all", (0, zero, zero, zero))
    t += 1
    if kind == "adamw":
        p = torch.mul(p, 1 - lr * weight_decay)
    else:
        grad = torch.add(grad, p, alpha=weight_decay)
    m = torch.lerp(m, grad, 1 - betas[0])
    v = torch.addcmul(betas[1] * v, grad, grad, value=1 - betas[1])
    top = torch.maximum(top, v)
    raw = kind == "rmsprop"
    above = grad if raw else m / (1 - betas[0] ** t)
    below = (top if kind == "amsgrad" else v) / (1 if raw else 1 - betas[1] ** t)
    return torch.addcdiv(p, above, below.sqrt().add(eps), value=-lr), {"all": (t, m, v, top)}


# %% wrong="other betas by default" breaks="betas: tuple[float, float] = (0.9, 0.999)" says=["by default the betas are 0.9 and 0.999"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    g = grad
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        g = grad + weight_decay * p
    b1, b2 = betas
    v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * g * g
    if kind == "rmsprop":
        return p - lr * g / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * g
    new = {"t": t, "v": v, "m": m}
    top = v
    if kind == "amsgrad":
        top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
        new["top"] = top
    denominator = top.sqrt() / (1 - b2**t) ** 0.5 + eps
    return p - lr * m / (1 - b1**t) / denominator, new


# %% wrong="another eps by default" breaks="eps: float = 1e-8" says=["by default the betas are 0.9 and 0.999, eps is 1e-8"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-4, weight_decay=0.0):
    t = state.get("t", 0) + 1
    g = grad
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        g = grad + weight_decay * p
    b1, b2 = betas
    v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * g * g
    if kind == "rmsprop":
        return p - lr * g / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * g
    new = {"t": t, "v": v, "m": m}
    top = v
    if kind == "amsgrad":
        top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
        new["top"] = top
    denominator = top.sqrt() / (1 - b2**t) ** 0.5 + eps
    return p - lr * m / (1 - b1**t) / denominator, new


# %% wrong="decays by default" breaks="weight_decay: float = 0.0" says=["by default the betas are 0.9 and 0.999, eps is 1e-8 and weight_decay 0"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    t = state.get("t", 0) + 1
    g = grad
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        g = grad + weight_decay * p
    b1, b2 = betas
    v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * g * g
    if kind == "rmsprop":
        return p - lr * g / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * g
    new = {"t": t, "v": v, "m": m}
    top = v
    if kind == "amsgrad":
        top = torch.maximum(state.get("top", torch.zeros_like(v)), v)
        new["top"] = top
    denominator = top.sqrt() / (1 - b2**t) ** 0.5 + eps
    return p - lr * m / (1 - b1**t) / denominator, new


# %% wrong="the decay goes into the caller's gradient" says=["adam, weight_decay 0.5, three steps: an argument was changed"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad += weight_decay * p
    v = b2 * state.get("v", 0) + (1 - b2) * grad * grad
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * state.get("m", 0) + (1 - b1) * grad
    new = {"t": t, "m": m, "v": v}
    below = v
    if kind == "amsgrad":
        below = new["top"] = torch.maximum(v, state.get("top", v))
    below = (below / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1**t) / below, new


# %% wrong="stores the corrected m" says=["keep the uncorrected m and v"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * state.get("v", 0) + (1 - b2) * grad * grad
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * state.get("m", 0) + (1 - b1) * grad
    new = {"t": t, "m": m / (1 - b1**t), "v": v}
    below = v
    if kind == "amsgrad":
        below = new["top"] = torch.maximum(v, state.get("top", v))
    below = (below / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1**t) / below, new


# %% wrong="m is corrected by the step before" says=["t is one behind: count first, the first step's t is 1"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * state.get("v", 0) + (1 - b2) * grad * grad
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * state.get("m", 0) + (1 - b1) * grad
    new = {"t": t, "m": m, "v": v}
    below = v
    if kind == "amsgrad":
        below = new["top"] = torch.maximum(v, state.get("top", v))
    below = (below / (1 - b2**t)).sqrt() + eps
    return p - lr * m / (1 - b1 ** max(1, t - 1)) / below, new


# %% wrong="betas are fixed in the correction" says=["the correction takes the argument's betas"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    m = b1 * state.get("m", 0) + (1 - b1) * grad
    v = b2 * state.get("v", 0) + (1 - b2) * grad**2
    new = {"t": t, "m": m, "v": v}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), new
    if kind == "amsgrad":
        new["top"] = torch.maximum(state.get("top", torch.zeros_like(v)), v)
        v = new["top"]
    m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
    return p - lr * m_hat / (v_hat.sqrt() + eps), new


# %% wrong="keeps the gradient itself, and changes it" says=["the gradient of an earlier step was changed"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = (
        state["m"].mul_(betas[0]).add_(grad, alpha=1 - betas[0])
        if "m" in state
        else grad.mul(1 - betas[0])
        if betas[0]
        else grad
    )
    largest = v
    if kind == "amsgrad" and "largest" in state:
        largest = torch.maximum(state["largest"], v)
    m_hat, v_hat = m / (1 - betas[0] ** t), largest / (1 - betas[1] ** t)
    new = p - lr * m_hat / (v_hat.sqrt() + eps)
    return new, {"t": t, "m": m, "v": v, "largest": largest}


# %% wrong="reads a beta of 0 as missing" says=["a beta of 0 is a number, and no default stands in for it"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    betas = (betas[0] or 0.9, betas[1] or 0.999)
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    largest = v
    if kind == "amsgrad" and "largest" in state:
        largest = torch.maximum(state["largest"], v)
    m_hat, v_hat = m / (1 - betas[0] ** t), largest / (1 - betas[1] ** t)
    new = p - lr * m_hat / (v_hat.sqrt() + eps)
    return new, {"t": t, "m": m, "v": v, "largest": largest}


# %% wrong="takes no step where the gradient is zero" says=["a gradient of zero is a step like any"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if not grad.any():
        return p.clone(), state
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    largest = v
    if kind == "amsgrad" and "largest" in state:
        largest = torch.maximum(state["largest"], v)
    m_hat, v_hat = m / (1 - betas[0] ** t), largest / (1 - betas[1] ** t)
    new = p - lr * m_hat / (v_hat.sqrt() + eps)
    return new, {"t": t, "m": m, "v": v, "largest": largest}


# %% wrong="replaces NaN" says=["no gradient is replaced"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    grad = grad.nan_to_num()
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    largest = v
    if kind == "amsgrad" and "largest" in state:
        largest = torch.maximum(state["largest"], v)
    m_hat, v_hat = m / (1 - betas[0] ** t), largest / (1 - betas[1] ** t)
    new = p - lr * m_hat / (v_hat.sqrt() + eps)
    return new, {"t": t, "m": m, "v": v, "largest": largest}


# %% wrong="clears the state where a gradient is not finite" says=["no gradient is replaced"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    state = state if grad.isfinite().all() else {}
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    largest = v
    if kind == "amsgrad" and "largest" in state:
        largest = torch.maximum(state["largest"], v)
    m_hat, v_hat = m / (1 - betas[0] ** t), largest / (1 - betas[1] ** t)
    new = p - lr * m_hat / (v_hat.sqrt() + eps)
    return new, {"t": t, "m": m, "v": v, "largest": largest}


# %% wrong="goes on from a p of its own" says=["start from the p that is given"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    p = state.get("p", p)
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    largest = v
    if kind == "amsgrad" and "largest" in state:
        largest = torch.maximum(state["largest"], v)
    m_hat, v_hat = m / (1 - betas[0] ** t), largest / (1 - betas[1] ** t)
    new = p - lr * m_hat / (v_hat.sqrt() + eps)
    return new, {"t": t, "m": m, "v": v, "largest": largest, "p": new}


# %% wrong="cuts v off below" says=["nothing stands below the fraction bar but the root and eps"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = betas[1] * state.get("v", 0) + (1 - betas[1]) * grad**2
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = betas[0] * state.get("m", 0) + (1 - betas[0]) * grad
    largest = v
    if kind == "amsgrad" and "largest" in state:
        largest = torch.maximum(state["largest"], v)
    m_hat, v_hat = m / (1 - betas[0] ** t), largest / (1 - betas[1] ** t)
    new = p - lr * m_hat / (v_hat.clamp(min=1e-12).sqrt() + eps)
    return new, {"t": t, "m": m, "v": v, "largest": largest}


# %% wrong="AdamW decays by the first step's lr" breaks="`lr` may differ from step to step" says=["in the decay too"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    t = state.get("t", 0) + 1
    if kind == "adamw":
        p = p * (1 - state.get("lr", lr) * weight_decay)
    else:
        grad = grad + weight_decay * p
    v = b2 * state.get("v", torch.zeros_like(p)) + (1 - b2) * grad * grad
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), {"t": t, "v": v}
    m = b1 * state.get("m", torch.zeros_like(p)) + (1 - b1) * grad
    new = {"t": t, "m": m, "v": v, "lr": state.get("lr", lr)}
    if kind == "amsgrad":
        new["top"] = v = torch.maximum(state.get("top", v), v)
    m_hat = m / (1 - b1**t)
    v_hat = v / (1 - b2**t)
    return p - lr * m_hat / (v_hat.sqrt() + eps), new


# %% wrong="the old p itself where nothing moves" breaks="The new `p` shares no memory with the old one" says=["gradients of zero: the new p, beside the old, is still a view"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    pull = weight_decay * p
    old, (p, grad) = p, ((p - lr * pull, grad) if kind == "adamw" else (p, grad + pull))
    t, zero = state.get("t", 0) + 1, torch.zeros_like(p)
    m = betas[0] * state.get("m", zero) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", zero) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", zero), v)
    state = {"t": t, "m": m, "v": v, "top": top}
    size = v if kind == "rmsprop" else (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    ahead = grad if kind == "rmsprop" else m / (1 - betas[0] ** t)
    new = p - lr * ahead / (size.sqrt() + eps)
    return (old if torch.equal(new, old) else new), state


# %% wrong="the gradient is left on p" breaks="stay as they are" says=["an argument was changed (its .grad)"]
def adam_family(
    p: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    kind: str,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> tuple[torch.Tensor, dict]:
    p.grad = grad.clone()
    w = copy.deepcopy(p).requires_grad_()
    kinds = {"rmsprop": torch.optim.RMSprop, "adamw": torch.optim.AdamW}
    means = {"alpha": betas[1]} if kind == "rmsprop" else {"betas": betas}
    means |= {"amsgrad": True} if kind == "amsgrad" else {}
    kind = kinds.get(kind, torch.optim.Adam)
    optimizer = kind([w], lr=lr, eps=eps, weight_decay=weight_decay, **means)
    if state:
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    optimizer.step()
    return w.detach(), optimizer.state_dict()["state"]


# %% wrong="the bias correction ends after 200 steps" breaks="After any number of steps `p` equals that of" says=["adam, three hundred steps", "adamw, three hundred steps", "is the bias correction left out, or fixed, from some step on"]
def adam_family(
    p: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    kind: str,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> tuple[torch.Tensor, dict]:
    b1, b2 = betas
    t = state.get("t", 0) + 1
    p, grad = (
        (p * (1 - lr * weight_decay), grad) if kind == "adamw" else (p, grad + weight_decay * p)
    )
    v = b2 * state.get("v", 0) + (1 - b2) * grad * grad
    m = b1 * state.get("m", 0) + (1 - b1) * grad
    top = torch.maximum(v, state.get("top", v))
    state = {"t": t, "v": v, "m": m, "top": top}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    v = top if kind == "amsgrad" else v
    if t <= 200:
        m, v = m / (1 - b1**t), v / (1 - b2**t)
    return p - lr * m / (v.sqrt() + eps), state


# %% wrong="m keeps lr times the gradients" breaks="`lr` may differ from step to step" says=["the rate multiplies the whole step"]
def adam_family(
    p: torch.Tensor,
    grad: torch.Tensor,
    state: dict,
    kind: str,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> tuple[torch.Tensor, dict]:
    b1, b2 = betas
    t = state.get("t", 0) + 1
    p, grad = (
        (p * (1 - lr * weight_decay), grad) if kind == "adamw" else (p, grad + weight_decay * p)
    )
    v = b2 * state.get("v", 0) + (1 - b2) * grad * grad
    m = b1 * state.get("m", 0) + (1 - b1) * lr * grad
    top = torch.maximum(v, state.get("top", v))
    state = {"t": t, "v": v, "m": m, "top": top}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), state
    v = top if kind == "amsgrad" else v
    return p - m / (1 - b1**t) / ((v / (1 - b2**t)).sqrt() + eps), state


# %% wrong="at a rate of 0 it hands p back" breaks="The new `p` shares no memory with the old one" says=["a rate of 0 in the second step", "the new p, beside the old, is still a view"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    b1, b2 = betas
    new_state = {"t": state.get("t", 0) + 1}
    g = grad if kind == "adamw" else grad + weight_decay * p
    new_state["v"] = v = b2 * state.get("v", 0) + (1 - b2) * g * g
    if kind == "amsgrad":
        new_state["top"] = v = torch.maximum(state.get("top", v), v)
    if kind != "rmsprop":
        new_state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
    if lr == 0:
        return p, new_state
    t = new_state["t"]
    if kind == "rmsprop":
        return p - lr * g / (v.sqrt() + eps), new_state
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    return p - lr * (new_state["m"] / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps), new_state


# %% wrong="a step of rate 0 is left out" breaks="`lr` may differ from step to step" says=["a rate of 0 in the second step", "the state feels its gradient all the same"]
def adam_family(p, grad, state, kind, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    if not lr:
        return p.clone(), state
    if kind == "adamw":
        p = p * (1 - lr * weight_decay)
    else:
        grad = grad + weight_decay * p
    t, zero = state.get("t", 0) + 1, torch.zeros_like(p)
    m = betas[0] * state.get("m", zero) + (1 - betas[0]) * grad
    v = betas[1] * state.get("v", zero) + (1 - betas[1]) * grad**2
    top = torch.maximum(state.get("top", zero), v)
    new = {"t": t, "m": m, "v": v, "top": top}
    if kind == "rmsprop":
        return p - lr * grad / (v.sqrt() + eps), new
    size = (top if kind == "amsgrad" else v) / (1 - betas[1] ** t)
    return p - lr * m / (1 - betas[0] ** t) / (size.sqrt() + eps), new
