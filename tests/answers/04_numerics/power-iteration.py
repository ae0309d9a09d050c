# %% wrong="the length of Av, which has no sign" says=["with its sign", "expected -5, got 5"]
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


# %% wrong="starts from ones" says=["where Av = 0 for ones"]
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


# %% wrong="waits until v no longer changes" says=["RuntimeError"]
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


# %% wrong="no stopping rule" says=["operators ran for [[2, 1], [1, 2]]; stop as soon as"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(max_steps):
        v = v / v.norm()
        v = a @ v
    v = v / v.norm().clamp_min(1e-30)
    return v @ (a @ v), v


# %% wrong="ten steps, and no look at the residual" says=["|Av - λv| is", "not small"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    v = torch.randn(len(a), generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(a)
    for _ in range(8):
        v = a @ (v / v.norm())
    v = v / v.norm()
    return v @ (a @ v), v


# %% wrong="asks eigh" says=["_linalg_eigh ran"]
def power_iteration(a, tol=1e-5, max_steps=1000):
    values, vectors = torch.linalg.eigh(a)
    k = values.abs().argmax()
    return values[k], vectors[:, k]


# %% wrong="never gives up in words" says=["never settles, yet an answer was returned"]
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


# %% wrong="forgets to normalise what it returns" says=["the length of the eigenvector"]
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


# %% wrong="compares with less than" says=["RuntimeError"]
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
