# %% [markdown]
# Rules:
#
# - "as a pair of the new `p` and the new buffer"
# - "`buffer` is all zeros before the first step"
# - "Arguments stay as they are"
# - "momentum · buffer + (1 - momentum) · grad"
# - "(1 - momentum) · grad + momentum · *new* buffer with Nesterov"
# - "else the new buffer"
# - "It is orthogonalised by five rounds"
# - "A direction of zeros stays zero"
# - "p is multiplied by 1 - lr · weight_decay"
# - "Then lr · √max(1, rows / columns)"
# - "The new p and the new buffer have p's dtype"
# - "weight_decay: float = 0.1"
# - "momentum: float = 0.95"
# - "nesterov: bool = True"
#
# Admits:
#
# - "A direction of zeros stays zero": a gradient of zeros
# - "one step for a matrix": lr 0
# - "have p's dtype": a row in float32, lr 0.05

# %% wrong="an exact orthogonal matrix" says=["take five rounds with these coefficients, nothing more exact"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    U, _, Vh = torch.linalg.svd(X, full_matrices=False)
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * U @ Vh, buffer


# %% wrong="four rounds" breaks="It is orthogonalised by five rounds" says=["four rounds"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(4):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% wrong="no look ahead" breaks="(1 - momentum) · grad + momentum · *new* buffer with Nesterov" says=["without the look ahead"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = buffer / buffer.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% wrong="always Nesterov" breaks="else the new buffer" says=["nesterov=False was not heeded"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% wrong="no factor for tall matrices" says=["its factor is not 1"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    return (1 - lr * weight_decay) * p - lr * X, buffer


# %% wrong="the factor shrinks wide matrices" says=["the factor is below 1 here"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    return (1 - lr * weight_decay) * p - lr * (p.shape[0] / p.shape[1]) ** 0.5 * X, buffer


# %% wrong="no decay" says=["there is no weight decay"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p - lr * factor * X, buffer


# %% wrong="the decay as L2" breaks="p is multiplied by 1 - lr · weight_decay" says=["weight decay 0.5", "1 - lr * weight_decay"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    grad = grad + weight_decay * p
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p - lr * factor * X, buffer


# %% wrong="zeros over zero" breaks="A direction of zeros stays zero" says=["Is it 0 / 0?"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm()
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% wrong="a sum instead of a mean" breaks="momentum · buffer + (1 - momentum) · grad" says=["the new buffer, a running mean,"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + grad
    X = grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% wrong="the buffer in place" breaks="Arguments stay as they are" says=["an argument was changed"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer.lerp_(grad, 1 - momentum)
    X = grad.lerp(buffer, momentum) if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% wrong="momentum alone" says=["the direction was not orthogonalised"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    return (1 - lr * weight_decay) * p - lr * grad, buffer


# %% wrong="half before the division" says=["a row with a large gradient", "ends at 65504"]
def muon_and_friends(
    p: torch.Tensor,
    grad: torch.Tensor,
    buffer: torch.Tensor,
    lr: float,
    weight_decay: float = 0.1,
    momentum: float = 0.95,
    nesterov: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    new = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * new if nesterov else new
    X = d.half()
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    scale = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * scale * X.to(p.dtype), new


# %% right="the library, on copies"
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    q = torch.nn.Parameter(p.clone())
    optimizer = torch.optim.Muon(
        [q], lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov
    )
    optimizer.state[q]["momentum_buffer"] = buffer.clone()
    q.grad = grad.clone()
    optimizer.step()
    return q.detach(), optimizer.state[q]["momentum_buffer"]


# %% right="the polynomial on the singular values"
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = buffer.lerp(grad, 1 - momentum)
    X = grad.lerp(buffer, momentum) if nesterov else buffer
    U, s, Vh = torch.linalg.svd(X, full_matrices=False)
    s = s / s.square().sum().sqrt().clamp(min=1e-7)
    for _ in range(5):
        s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
    rows, columns = p.shape
    step = torch.einsum("ik,k,kj->ij", U, s, Vh) * max(1.0, rows / columns) ** 0.5
    return p - lr * weight_decay * p - lr * step, buffer


# %% right="in bfloat16, the short way round"
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = torch.add(buffer * momentum, grad, alpha=1 - momentum)
    X = (grad * (1 - momentum) + buffer * momentum if nesterov else buffer).bfloat16()
    tall = X.shape[0] > X.shape[1]
    X = X.mT if tall else X
    X = X / (X.norm() + 1e-7)
    for _ in range(5):
        A = X @ X.mT
        X = 3.4445 * X + (-4.775 * A + 2.0315 * A @ A) @ X
    X = (X.mT if tall else X).to(p.dtype)
    return p.mul(1 - lr * weight_decay).sub(
        X * (p.size(0) / p.size(1)) ** 0.5 if tall else X, alpha=lr
    ), buffer


# %% wrong="the buffer as a sum, two lines" says=["not a sum"]
def _ortho(G, n=5):
    X = G / G.norm().clamp(min=1e-7)
    for _ in range(n):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    return X


def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):

    buffer = momentum * buffer + grad
    d = grad + momentum * buffer if nesterov else buffer
    return p * (1 - lr * weight_decay) - lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * _ortho(
        d
    ), buffer


# %% wrong="rows / columns without the root" breaks="Then lr · √max(1, rows / columns)" says=["*root* of rows / columns"]
def _ortho(G, n=5):
    X = G / G.norm().clamp(min=1e-7)
    for _ in range(n):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    return X


def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):

    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    return p * (1 - lr * weight_decay) - lr * max(1, p.shape[0] / p.shape[1]) * _ortho(d), buffer


# %% wrong="divides by the largest singular value" says=["the root of the sum of all squares"]
def _o(G):
    X = G / torch.linalg.matrix_norm(G, 2).clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    return X


def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    return p * (1 - lr * weight_decay) - lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * _o(d), buffer


# %% wrong="the decay after the step" says=["the decay comes before the step"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = buffer.lerp(grad, 1 - momentum)
    X = grad.lerp(buffer, momentum) if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    step = lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * X
    return (p - step) * (1 - lr * weight_decay), buffer


# %% wrong="a tall matrix by reshape" says=["turned by .T"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = buffer.lerp(grad, 1 - momentum)
    X = grad.lerp(buffer, momentum) if nesterov else buffer
    shape = X.shape
    X = X.reshape(min(shape), max(shape))
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    X = X.reshape(shape)
    step = lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * X
    return (1 - lr * weight_decay) * p - step, buffer


# %% wrong="the scale of match_rms_adamw" says=["a row: p[0, 0]"]
def orth(g):
    x = g / g.norm().clamp(min=1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x - 4.7750 * a @ x + 2.0315 * a @ a @ x
    return x


def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = buffer.lerp(grad, 1 - momentum)
    d = grad.lerp(buffer, momentum) if nesterov else buffer
    return p * (1 - lr * weight_decay) - lr * 0.2 * max(p.shape) ** 0.5 * orth(d), buffer


# %% wrong="each row divided by its norm" says=["a tall matrix"]
def orth(g):
    x = g / g.norm(dim=1, keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x - 4.7750 * a @ x + 2.0315 * a @ a @ x
    return x


def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = buffer.lerp(grad, 1 - momentum)
    d = grad.lerp(buffer, momentum) if nesterov else buffer
    return p * (1 - lr * weight_decay) - lr * max(1, p.shape[0] / p.shape[1]) ** 0.5 * orth(
        d
    ), buffer


# %% wrong="columns / rows" says=["rows / columns, not columns / rows"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[1] / p.shape[0]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% wrong="all in bfloat16" says=["is torch.bfloat16, expected torch.float64", "only the rounds may be in bfloat16"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    p, grad, buffer = p.bfloat16(), grad.bfloat16(), buffer.bfloat16()
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% right="tall matrices lie on their side"
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    tall = X.shape[0] > X.shape[1]
    X = X.T if tall else X
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    X = X.T if tall else X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer


# %% wrong="decay 0 by default" breaks="weight_decay: float = 0.1" says=["0.1 by default"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.0, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = d / d.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    scale = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * scale * X, buffer


# %% wrong="divided by a norm plus a large eps" says=["a row with a small gradient"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = d / (d.norm() + 1e-2)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    scale = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * scale * X, buffer


# %% wrong="the decay takes the factor, too" says=["a column, weight decay 0.5", "the factor is the step's alone"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    b = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * b if nesterov else b
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    lr = lr * max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * X, b


# %% wrong="the cubic's coefficients" says=["take five rounds with these coefficients"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    b = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * b if nesterov else b
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        X = 1.5 * X - 0.5 * X @ X.T @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * factor * X, b


# %% right="products from the right"
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    new = torch.lerp(buffer, grad, 1 - momentum)
    X = torch.lerp(grad, new, momentum) if nesterov else new
    size = X.square().sum().sqrt()
    X = X if size == 0 else X / size
    eye = torch.eye(X.shape[1], dtype=X.dtype, device=X.device)
    for _ in range(5):
        B = X.mT @ X
        X = X @ (3.4445 * eye - 4.7750 * B + 2.0315 * B @ B)
    rows, columns = p.size()
    scale = lr * (rows / columns) ** 0.5 if rows > columns else lr
    return p.mul(1 - lr * weight_decay).sub(scale * X), new


# %% wrong="always the rate 0.1" says=["lr is the argument's, not always 0.1"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    lr, b = 0.1, momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * b if nesterov else b
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * factor * X, b


# %% wrong="always float64" breaks="The new p and the new buffer have p's dtype" says=["a row in float32, lr 0.05: the new p is torch.float64, expected torch.float32"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    p, grad, buffer = p.double(), grad.double(), buffer.double()
    b = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * b if nesterov else b
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * factor * X, b


# %% wrong="the new p alone" breaks="as a pair of the new `p` and the new buffer" says=["muon_and_friends returned Tensor, expected a pair"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    x = d / (d.norm() + 1e-30)
    a, b, c = 3.4445, -4.775, 2.0315
    if x.shape[0] > x.shape[1]:
        x = x.t()
    for _ in range(5):
        g = x @ x.t()
        x = a * x + (b * g + c * g @ g) @ x
    if d.shape[0] > d.shape[1]:
        x = x.t()
    p = p * (1 - lr * weight_decay) - lr * max(1, d.shape[0] / d.shape[1]) ** 0.5 * x
    return p


# %% wrong="a buffer of zeros begins at the gradient" breaks="`buffer` is all zeros before the first step" says=["the new buffer, a running mean"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad if buffer.any() else grad.clone()
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    x = d / (d.norm() + 1e-30)
    a, b, c = 3.4445, -4.775, 2.0315
    if x.shape[0] > x.shape[1]:
        x = x.t()
    for _ in range(5):
        g = x @ x.t()
        x = a * x + (b * g + c * g @ g) @ x
    if d.shape[0] > d.shape[1]:
        x = x.t()
    p = p * (1 - lr * weight_decay) - lr * max(1, d.shape[0] / d.shape[1]) ** 0.5 * x
    return p, buffer


# %% wrong="another momentum by default" breaks="momentum: float = 0.95" says=["the new buffer, a running mean"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.9, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    x = d / (d.norm() + 1e-30)
    a, b, c = 3.4445, -4.775, 2.0315
    if x.shape[0] > x.shape[1]:
        x = x.t()
    for _ in range(5):
        g = x @ x.t()
        x = a * x + (b * g + c * g @ g) @ x
    if d.shape[0] > d.shape[1]:
        x = x.t()
    p = p * (1 - lr * weight_decay) - lr * max(1, d.shape[0] / d.shape[1]) ** 0.5 * x
    return p, buffer


# %% wrong="no Nesterov by default" breaks="nesterov: bool = True" says=["without the look ahead"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=False):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    x = d / (d.norm() + 1e-30)
    a, b, c = 3.4445, -4.775, 2.0315
    if x.shape[0] > x.shape[1]:
        x = x.t()
    for _ in range(5):
        g = x @ x.t()
        x = a * x + (b * g + c * g @ g) @ x
    if d.shape[0] > d.shape[1]:
        x = x.t()
    p = p * (1 - lr * weight_decay) - lr * max(1, d.shape[0] / d.shape[1]) ** 0.5 * x
    return p, buffer


# %% wrong="a floor of a thousandth for the norm" says=["a row with a very small gradient: p[0, 0]", "the floor of the norm is 1e-7"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = d / d.norm().clamp(min=1e-3)
    for _ in range(5):
        Q = X @ X.T
        X = 3.4445 * X - 4.7750 * Q @ X + 2.0315 * Q @ Q @ X
    rows, columns = p.shape
    return p * (1 - lr * weight_decay) - lr * max(1, rows / columns) ** 0.5 * X, buffer


# %% wrong="three rounds" says=["3 rounds were taken, five are asked for"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = d / d.norm().clamp(min=1e-7)
    for _ in range(3):
        Q = X @ X.T
        X = 3.4445 * X - 4.7750 * Q @ X + 2.0315 * Q @ Q @ X
    rows, columns = p.shape
    return p * (1 - lr * weight_decay) - lr * max(1, rows / columns) ** 0.5 * X, buffer


# %% wrong="the whole gradient looks ahead" says=["the gradient enters the direction times 1 - momentum, not whole"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = grad + momentum * buffer if nesterov else buffer
    X = d / d.norm().clamp(min=1e-7)
    for _ in range(5):
        Q = X @ X.T
        X = 3.4445 * X - 4.7750 * Q @ X + 2.0315 * Q @ Q @ X
    rows, columns = p.shape
    return p * (1 - lr * weight_decay) - lr * max(1, rows / columns) ** 0.5 * X, buffer


# %% wrong="divided by the largest singular value" says=["not by the largest singular value"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = d / torch.linalg.matrix_norm(d, 2).clamp(min=1e-7)
    for _ in range(5):
        Q = X @ X.T
        X = 3.4445 * X - 4.7750 * Q @ X + 2.0315 * Q @ Q @ X
    rows, columns = p.shape
    return p * (1 - lr * weight_decay) - lr * max(1, rows / columns) ** 0.5 * X, buffer


# %% wrong="a tall matrix is turned and reshaped" says=["turned back after them, not reshaped"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    d = d.T if d.shape[0] > d.shape[1] else d
    X = d / d.norm().clamp(min=1e-7)
    for _ in range(5):
        Q = X @ X.T
        X = 3.4445 * X - 4.7750 * Q @ X + 2.0315 * Q @ Q @ X
    X = X.reshape(p.shape)
    rows, columns = p.shape
    return p * (1 - lr * weight_decay) - lr * max(1, rows / columns) ** 0.5 * X, buffer


# %% wrong="the direction is kept for a buffer" says=["that is the direction; the running mean is kept"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = d / d.norm().clamp(min=1e-7)
    for _ in range(5):
        Q = X @ X.T
        X = 3.4445 * X - 4.7750 * Q @ X + 2.0315 * Q @ Q @ X
    rows, columns = p.shape
    return p * (1 - lr * weight_decay) - lr * max(1, rows / columns) ** 0.5 * X, d


# %% wrong="the buffer is orthogonalised too" says=["the direction alone is orthogonalised"]
def orthogonalise(G, steps=5):
    X = G / G.norm().clamp(min=1e-7)
    for _ in range(steps):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    return X


def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    new = momentum * buffer + (1 - momentum) * grad
    way = (1 - momentum) * grad + momentum * new if nesterov else new
    rows, columns = p.shape
    size = lr * max(1, rows / columns) ** 0.5
    return p * (1 - lr * weight_decay) - size * orthogonalise(way), orthogonalise(new)


# %% wrong="reads momentum 0 as missing" says=["momentum 0: p[0, 0]"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    momentum = momentum or 0.95
    buffer = momentum * buffer + (1 - momentum) * grad
    direction = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = direction / direction.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * factor * X, buffer


# %% wrong="takes no step where the gradient is zero" says=["the buffer fades, and p moves by it"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    if not grad.any():
        return p * (1 - lr * weight_decay), buffer.clone()
    buffer = momentum * buffer + (1 - momentum) * grad
    direction = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = direction / direction.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return p * (1 - lr * weight_decay) - lr * factor * X, buffer


# %% right="divided in its own dtype, by the norm and a little, then bfloat16"
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    buffer = momentum * buffer + (1 - momentum) * grad
    d = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    turned = d.size(0) > d.size(1)
    x = d.T if turned else d
    x = x / (x.norm() + 1e-7)
    x = x.bfloat16()
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    x = x.to(p.dtype)
    if turned:
        x = x.T
    scale = max(1, p.size(0) / p.size(1)) ** 0.5
    return p * (1 - lr * weight_decay) - lr * scale * x, buffer


# %% wrong="divides the buffer itself" says=["the direction was divided in place, and it is the buffer"]
def muon_and_friends(
    p: torch.Tensor,
    grad: torch.Tensor,
    buffer: torch.Tensor,
    lr: float,
    weight_decay: float = 0.1,
    momentum: float = 0.95,
    nesterov: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of Muon for a matrix: the new p and the new buffer."""
    buffer = momentum * buffer + (1 - momentum) * grad
    direction = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = direction.div_(direction.norm().clamp(min=1e-7))
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    rows, columns = p.shape
    scale = max(1, rows / columns) ** 0.5
    return p * (1 - lr * weight_decay) - lr * scale * X, buffer


# %% wrong="nothing to do for zeros" says=["p is multiplied by 1 - lr · weight_decay all the same"]
def muon_and_friends(
    p: torch.Tensor,
    grad: torch.Tensor,
    buffer: torch.Tensor,
    lr: float,
    weight_decay: float = 0.1,
    momentum: float = 0.95,
    nesterov: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of Muon for a matrix: the new p and the new buffer."""
    buffer = momentum * buffer + (1 - momentum) * grad
    direction = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    norm = direction.norm()
    if norm == 0:
        return p.clone(), buffer
    X = direction / norm
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    rows, columns = p.shape
    scale = max(1, rows / columns) ** 0.5
    return p * (1 - lr * weight_decay) - lr * scale * X, buffer


# %% wrong="whole ratios" says=["rows / columns is cut off by //"]
def muon_and_friends(
    p: torch.Tensor,
    grad: torch.Tensor,
    buffer: torch.Tensor,
    lr: float,
    weight_decay: float = 0.1,
    momentum: float = 0.95,
    nesterov: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of Muon for a matrix: the new p and the new buffer."""
    buffer = momentum * buffer + (1 - momentum) * grad
    direction = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = direction / direction.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    rows, columns = p.shape
    scale = max(1, rows // columns) ** 0.5
    return p * (1 - lr * weight_decay) - lr * scale * X, buffer


# %% right="cube and fifth power one after the other, in bfloat16"
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    def rounds(x, k):
        if k == 0:
            return x
        cube = x @ (x.T @ x)
        fifth = cube @ (x.T @ x)
        return rounds(3.4445 * x - 4.7750 * cube + 2.0315 * fifth, k - 1)

    mean = grad.mul(1 - momentum).add(buffer, alpha=momentum)
    ahead = grad.mul(1 - momentum).add(mean, alpha=momentum) if nesterov else mean
    whole = rounds((ahead / ahead.square().sum().sqrt().clamp(min=1e-7)).bfloat16(), 5)
    stretch = max(1.0, p.size(0) / p.size(1)) ** 0.5
    return (1 - lr * weight_decay) * p - lr * stretch * whole.to(p.dtype), mean


# %% wrong="a step of rate 0 is left out" breaks="momentum · buffer + (1 - momentum) · grad" says=["lr 0", "it was left as it was: it changes in each step"]
def muon_and_friends(p, grad, buffer, lr, weight_decay=0.1, momentum=0.95, nesterov=True):
    if lr == 0:
        return p.clone(), buffer.clone()
    buffer = momentum * buffer + (1 - momentum) * grad
    X = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X - 4.7750 * A @ X + 2.0315 * A @ A @ X
    factor = max(1, p.shape[0] / p.shape[1]) ** 0.5
    return (1 - lr * weight_decay) * p - lr * factor * X, buffer
