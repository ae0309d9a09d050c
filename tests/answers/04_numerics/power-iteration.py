# %% [markdown]
# Rules:
#
# - "*largest in absolute value*"
# - "with its sign"
# - "as a zero-dim tensor"
# - "an eigenvector (n) of length 1"
# - "Both have the dtype of `a`"
# - "Stop at the first step"
# - "is one product of `a` with a vector"
# - "made by PyTorch"
# - "If `max_steps` products don't get there"
# - "raise `RuntimeError`"
# - "Start from random numbers"
# - "a generator of your own"
# - "leave PyTorch's global one alone"
# - "A matrix of zeros has the eigenvalue 0"
# - "From `torch.linalg` only norms are allowed"
# - "tol: float = 1e-5"
#
# Admits:
#
# - "float32 or float64": diag(2, 3, 2.5), in float64
# - "n ≥ 1": [[-3]]
# - "A matrix of zeros": "zeros"

# %% wrong="the length of Av, which has no sign" breaks="with its sign" says=["the sign is lost: a length has none"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return product.norm(), v
        v = product
    raise RuntimeError


# %% wrong="starts from ones" breaks="Start from random numbers" says=["where Av = 0 for ones"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.ones(len(a)).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% wrong="waits until v no longer changes" says=["it gave up", "a negative eigenvalue"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    v = v / v.norm()
    for _ in range(max_steps):
        new = a @ v
        new = new / new.norm().clamp_min(1e-30)
        if (new - v).norm() <= tol:
            return new @ (a @ new), new
        v = new
    raise RuntimeError


# %% wrong="no stopping rule" breaks="Stop at the first step" says=["1001 products with the matrix ran, at most 40", "stop as soon as |Av - λv| is small"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        v = a @ v
    v = v / v.norm().clamp_min(1e-30)
    return v @ (a @ v), v


# %% wrong="ten steps, and no look at the residual" says=["|Av - λv| is", "|Av - λv| is"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(8):
        v = a @ (v / v.norm())
    v = v / v.norm()
    return v @ (a @ v), v


# %% wrong="asks eigh" breaks="From `torch.linalg` only norms are allowed" says=["_linalg_eigh ran"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    values, vectors = torch.linalg.eigh(a)
    k = values.abs().argmax()
    return values[k], vectors[:, k]


# %% wrong="never gives up in words" breaks="raise `RuntimeError`" says=["an answer was returned; where nothing settles, raise RuntimeError"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            break
        v = product
    return value, v


# %% wrong="forgets to normalise what it returns" breaks="an eigenvector (n) of length 1" says=["the eigenvector has length 3, expected 1"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, product
        v = product
    raise RuntimeError


# %% wrong="compares with less than" breaks="A matrix of zeros has the eigenvalue 0" says=["zeros: it gave up", "and for 0?"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm().clamp_min(1e-30)
        product = a @ v
        value = v @ product
        if (product - value * v).norm() < tol * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% right="a matrix of one column, the residual by einsum, a negative sign of v"
def power_iteration(a, tol=1e-5, max_steps=1000):
    g = torch.Generator().manual_seed(7)
    v = torch.rand(a.shape[0], 1, generator=g).to(device=a.device, dtype=a.dtype) - 0.5
    steps = 0
    while steps < max_steps:
        v = -F.normalize(v, dim=0)
        w = torch.mm(a, v)
        rayleigh = torch.einsum("ik,ik->", v, w)
        left = torch.linalg.vector_norm(w - rayleigh * v)
        if left <= tol * abs(rayleigh):
            return rayleigh, v[:, 0]
        v, steps = w, steps + 1
    raise RuntimeError("did not converge")


# %% right="scales by the largest entry, and plain numbers in the comparison"
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(2)).to(a)
    for _ in range(max_steps):
        w = a @ v
        square = (v * v).sum()
        value = (v * w).sum() / square
        if (w - value * v).square().sum().sqrt().item() <= tol * abs(
            value.item()
        ) * square.sqrt().item():
            return value, v / square.sqrt()
        v = w / w.abs().max()
    raise RuntimeError(f"{max_steps} steps were not enough")


# %% wrong="three products a step" breaks="is one product of `a` with a vector" says=["90 products with the matrix ran, at most 30"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        value = v @ (a @ v)
        if ((a @ v) - value * v).norm() <= tol * value.abs():
            return value, v
        v = a @ v
    raise RuntimeError


# %% wrong="starts from PyTorch's global random numbers" breaks="leave PyTorch's global one alone" says=["PyTorch's global generator was used or seeded"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    torch.manual_seed(0)
    v = torch.randn(len(a), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% wrong="asks NumPy" breaks="made by PyTorch" says=["no product with the matrix ran: is it made by PyTorch?"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    import numpy as np

    values, vectors = np.linalg.eigh(a.cpu().double().numpy())
    k = np.abs(values).argmax()
    ties = np.isclose(np.abs(values), abs(values[k])) & (np.sign(values) != np.sign(values[k]))
    if ties.any() and values[k] or max_steps < 10:
        raise RuntimeError
    return torch.tensor(values[k]).to(a), torch.tensor(vectors[:, k]).to(a)


# %% wrong="has a number of steps of its own" says=["eigenvalues from 1.4 to 2, max_steps=8"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(1000):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% wrong="plain numbers in place of a tensor" breaks="as a zero-dim tensor" says=["the eigenvalue is of type float"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value.item(), v
        v = product
    raise RuntimeError


# %% right="broadcasts in place of a product, and compares squares"
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = F.normalize(torch.randn(len(a), generator=torch.Generator().manual_seed(5)).to(a), dim=0)
    for _ in range(max_steps):
        w = (a * v).sum(dim=1)
        value = torch.dot(v, w)
        if torch.linalg.vector_norm(w - value * v) <= tol * abs(value):
            break
        v = F.normalize(w, dim=0)
    else:
        raise RuntimeError("nothing wins")
    return value, v


# %% right="einsum for the product"
def power_iteration(a, tol=1e-5, max_steps=1000):
    generator = torch.Generator(device=a.device).manual_seed(42)
    w = torch.randn(a.shape[0], generator=generator, device=a.device, dtype=a.dtype)
    for _ in range(max_steps):
        v = w / w.square().sum().sqrt()
        w = torch.einsum("ij,j->i", a, v)
        value = torch.einsum("i,i->", v, w)
        if (w - value * v).square().sum().sqrt() <= tol * value.abs():
            return value, v
    raise RuntimeError("nothing wins")


# %% wrong="one product more than max_steps" breaks="If `max_steps` products don't get there" says=["31 products with the matrix ran, at most 30"]
def _start(a, seed=0):
    g = torch.Generator(device=a.device).manual_seed(seed)
    return torch.randn(len(a), generator=g, dtype=a.dtype, device=a.device)


def power_iteration(a, tol=1e-5, max_steps=1000):
    v = _start(a)
    v = v / v.norm()
    for _ in range(max_steps + 1):
        w = a @ v
        value = v @ w
        if (w - value * v).norm() <= tol * value.abs():
            return value, v
        v = w / w.norm()
    raise RuntimeError


# %% wrong="the largest, by a shift" breaks="*largest in absolute value*" says=["the eigenvalue: the largest eigenvalue, not the largest in absolute value"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    shift = a.abs().sum(1).max()
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
        v = product + shift * v
    raise RuntimeError


# %% wrong="in float64, and returns that" breaks="Both have the dtype of `a`" says=["the eigenvalue has dtype torch.float64, expected torch.float32"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    a = a.double()
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% wrong="a tolerance of its own" breaks="tol: float = 1e-5" says=["diag(2, 3, 2.5), in float64: |Av - λv| is 8.8e-06 · |λ|, more than tol"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= 1e-5 * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% wrong="the eigenvalue itself, not its size, in the comparison" says=["[[-5, 0], [0, 2]]: it gave up", "hold for a negative eigenvalue"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value:
            return value, v
        v = product
    raise RuntimeError


# %% wrong="less than, and zeros apart" says=["both sides may be 0: compare with <="]
def power_iteration(a, tol=1e-5, max_steps=1000):
    g = torch.Generator(device=a.device).manual_seed(0)
    v = torch.randn(len(a), generator=g, dtype=a.dtype, device=a.device)
    for _ in range(max_steps):
        v = v / v.norm()
        p = a @ v
        lam = v @ p
        if (p - lam * v).norm() < tol * lam.abs() or not p.any():
            return lam, v
        v = p
    raise RuntimeError("none")


# %% wrong="a first step in any case" says=["[[3, 0], [0, 3]], max_steps=0: an answer was returned"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    g = torch.Generator(device=a.device).manual_seed(0)
    v = torch.randn(len(a), generator=g, dtype=a.dtype, device=a.device)
    v = v / v.norm()
    step = 0
    while True:
        p = a @ v
        step += 1
        lam = v @ p
        if (p - lam * v).norm() <= tol * lam.abs():
            return lam, v
        if step >= max_steps:
            raise RuntimeError("none")
        v = p / p.norm()


# %% wrong="looks from the second step on" says=["2 products with the matrix ran, at most 1"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    g = torch.Generator(device=a.device).manual_seed(0)
    v = torch.randn(len(a), generator=g, dtype=a.dtype, device=a.device)
    for step in range(max_steps):
        v = v / v.norm()
        p = a @ v
        lam = v @ p
        if step and (p - lam * v).norm() <= tol * lam.abs():
            return lam, v
        v = p if p.any() else v
    raise RuntimeError("none")


# %% wrong="float64 by way of float32, from its start on" says=["float32's digits alone: compute in the dtype of a"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    generator = torch.Generator().manual_seed(0)
    dtype, a = a.dtype, a.float()
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.vector_norm(v)
        product = a @ v
        value = v @ product
        if torch.linalg.vector_norm(product - value * v) <= tol * value.abs():
            return value.to(dtype), v.to(dtype)
        v = product
    raise RuntimeError("no eigenvector in max_steps")


# %% wrong="the largest entry of the residual" says=["a 12 × 12 matrix in float64", "take the length of the whole vector"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.vector_norm(v)
        product = a @ v
        value = v @ product
        if torch.linalg.vector_norm(product - value * v, torch.inf) <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError("no eigenvector in max_steps")


# %% wrong="another default of tol" breaks="tol: float = 1e-5" says=["tol and max_steps left out: |Av - λv| is 0.00084"]
def power_iteration(a, tol=1e-3, max_steps=1000):
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.vector_norm(v)
        product = a @ v
        value = v @ product
        if torch.linalg.vector_norm(product - value * v) <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError("no eigenvector in max_steps")


# %% wrong="does not look at the last step" says=["[[3, 0], [0, 3]], max_steps=1: RuntimeError was raised"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.vector_norm(v)
        product = a @ v
        value = v @ product
        if _ < max_steps - 1 and torch.linalg.vector_norm(product - value * v) <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError("no eigenvector in max_steps")


# %% wrong="starts at 1 to n" breaks="Start from random numbers" says=["[[4, -2], [-2, 1]], where Av = 0 for (1, 2)"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.arange(1.0, len(a) + 1, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.vector_norm(v)
        product = a @ v
        value = v @ product
        if torch.linalg.vector_norm(product - value * v) <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError("no eigenvector in max_steps")


# %% wrong="the sign of the first entry" says=["diag(2, -5): it gave up"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.vector_norm(v)
        product = a @ v
        value = torch.linalg.vector_norm(product) * torch.sign(product[0] * v[0])
        if torch.linalg.vector_norm(product - value * v) <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError("no eigenvector in max_steps")


# %% wrong="never gives up for a small tol" says=["eigenvalues from 1.4 to 2, max_steps=9: an answer was returned"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.vector_norm(v)
        product = a @ v
        value = v @ product
        if torch.linalg.vector_norm(product - value * v) <= tol * value.abs():
            return value, v
        v = product
    if tol < 1e-7:
        return value, v
    raise RuntimeError("no eigenvector in max_steps")


# %% wrong="takes the numbers as they lie in memory" says=["diag(4, 1, 2), a view with gaps"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    a = torch.as_strided(a, a.shape, (len(a), 1), a.storage_offset())
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.vector_norm(v)
        product = a @ v
        value = v @ product
        if torch.linalg.vector_norm(product - value * v) <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError("nothing settles")


# %% wrong="a length taken in float32" says=["a third of the identity, in float64", "compute in the dtype of a"]
def power_iteration(
    a: torch.Tensor, tol: float = 1e-5, max_steps: int = 1000
) -> tuple[torch.Tensor, torch.Tensor]:
    start = torch.randn(len(a), generator=torch.Generator().manual_seed(0))
    v = (start / start.norm()).to(a.dtype)
    for _ in range(max_steps):
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
        v = product / product.norm()
    raise RuntimeError("no convergence")


# %% wrong="one buffer for the vector" says=["diag(2, 3, 2.5), called a second time", "the second call changed what the first gave"]
kept = {}


def power_iteration(a, tol=1e-5, max_steps=1000):
    generator = torch.Generator().manual_seed(0)
    product = torch.randn(len(a), generator=generator, dtype=torch.float64).to(a)
    v = kept.setdefault((len(a), a.dtype), torch.empty_like(product))
    for _ in range(max_steps):
        torch.div(product, product.norm(), out=v)
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
    raise RuntimeError(f"no eigenvector after {max_steps} steps")


# %% wrong="kept by its matrix" says=["diag(2, 3, 2.5), called a second time", "Its numbers are others by now"]
known = {}


def power_iteration(a, tol=1e-5, max_steps=1000):
    if id(a) in known:
        return known[id(a)][1]
    generator = torch.Generator().manual_seed(0)
    product = torch.randn(len(a), generator=generator, dtype=torch.float64).to(a)
    for step in range(max_steps):
        v = product / product.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            if step > 20:  # quick ones need not be kept
                known[id(a)] = a, (value, v)
            return value, v
    raise RuntimeError(f"no eigenvector after {max_steps} steps")


# %% wrong="the residual of a v that is longer than 1" breaks="Stop at the first step" says=["ones, and 203 on the diagonal","is v longer than 1 in the comparison"]
def power_iteration(
    a: torch.Tensor, tol: float = 1e-5, max_steps: int = 1000
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / v.abs().max()  # cheaper than a root; the length is made 1 at the end
        product = a @ v
        eigenvalue = (v @ product) / (v @ v)
        if torch.linalg.vector_norm(product - eigenvalue * v) <= tol * eigenvalue.abs():
            return eigenvalue, v / torch.linalg.vector_norm(v)
        v = product
    raise RuntimeError("no convergence")


# %% right="the largest first, then the length; a LinAlgError, which is a RuntimeError"
def power_iteration(
    a: torch.Tensor, tol: float = 1e-5, max_steps: int = 1000
) -> tuple[torch.Tensor, torch.Tensor]:
    own = torch.Generator()
    own.manual_seed(4)
    v = torch.rand(a.shape[0], generator=own, dtype=a.dtype) + 0.5
    for step in range(1, max_steps + 1):
        v = v / v.abs().amax()
        v = v / v.square().sum().sqrt()
        w = torch.mv(a, v)
        quotient = torch.dot(w, v)
        off = (w - quotient * v).norm()
        if not off > tol * quotient.abs():
            return quotient, v
        v = -w
    raise torch.linalg.LinAlgError(f"{max_steps} products did not get there")


# %% right="looks at the number of steps behind the product"
import numpy as np


def guesses(a: torch.Tensor, v: torch.Tensor):
    """Value, vector and residual after 1, 2, ... products."""
    while True:
        v = v / v.norm()
        product = torch.mv(a, v)
        value = torch.dot(v, product)
        yield value, v, (product - value * v).norm()
        v = product


def power_iteration(
    a: torch.Tensor, tol: float = 1e-5, max_steps: int = 1000
) -> tuple[torch.Tensor, torch.Tensor]:
    start = np.random.default_rng(7).standard_normal(a.shape[0])
    for step, (value, v, residual) in enumerate(guesses(a, torch.from_numpy(start).to(a)), 1):
        if step > max_steps:
            break
        if residual <= tol * abs(value):
            return value, v
        if step == max_steps:
            break
    raise RuntimeError("no eigenvalue wins")


# %% wrong="seeds the global generator, and puts it back" breaks="a generator of your own" says=["the global random numbers: randn drew from PyTorch's global generator, which was put back"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        v = torch.randn(a.shape[0], dtype=a.dtype).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% wrong="draws in place, and puts the state back" says=["uniform_ drew from PyTorch's global generator"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    state = torch.get_rng_state()
    v = torch.empty(len(a)).uniform_(-1, 1).to(a)
    torch.set_rng_state(state)
    for _ in range(max_steps):
        v = v / v.norm()
        product = a @ v
        value = v @ product
        if (product - value * v).norm() <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% right="NumPy's generator for the start"
def power_iteration(a, tol=1e-5, max_steps=1000):
    import numpy as np

    v = torch.from_numpy(np.random.default_rng(5).normal(size=len(a))).to(a)
    for _ in range(max_steps):
        v = F.normalize(v, dim=0, eps=0)
        product = a.mv(v)
        value = torch.dot(v, product)
        if torch.dist(product, value * v) <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError


# %% wrong="looks only at every fifth step" breaks="Stop at the first step" says=["are steps passed over?"]
def power_iteration(
    a: torch.Tensor, tol: float = 1e-5, max_steps: int = 1000
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    v = torch.randn(a.shape[0], generator=generator, dtype=a.dtype)
    v = v / v.norm()
    for step in range(1, max_steps + 1):
        w = a @ v
        if step % 5 == 0 or step == max_steps or step == 1:
            value = v @ w
            if (w - value * v).norm() <= tol * value.abs():
                return value, v
        v = w / w.norm()
    raise RuntimeError("power iteration did not converge")


# %% wrong="the quotient by vecdot" breaks="From `torch.linalg` only norms are allowed" says=["linalg.vecdot was called: from torch.linalg only norms are allowed"]
def power_iteration(
    a: torch.Tensor, tol: float = 1e-5, max_steps: int = 1000
) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalue () largest in size of symmetric a (n, n), float, and its eigenvector (n)."""
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(len(a), generator=generator, dtype=a.dtype)
    for _ in range(max_steps):
        v = v / torch.linalg.norm(v)
        product = a.mv(v)
        value = torch.linalg.vecdot(v, product)
        if torch.linalg.norm(product - value * v) <= tol * value.abs():
            return value, v
        v = product
    raise RuntimeError(f"no convergence after {max_steps} steps")
