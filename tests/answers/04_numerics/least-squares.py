# %% [markdown]
# Rules:
#
# - "the normal equations twice as many"
# - "for `a` (…, m, n)"
# - "It returns x (…, n)"
# - "`how` is"
# - "each as above"
# - "each with one factorisation or call for the whole batch"
# - "No inverse"
# - "no pseudo-inverse"
# - "do not hand it to the general `solve`"
# - "R is triangular"
# - "both float32 or float64"
#
# Admits:
#
# - "both float32 or float64": m = n, in float64
# - "m ≥ n": one unknown, no exact solution
# - "for `a` (…, m, n)": batch (2, 2)

# %% wrong="forgets that the normal equations square the condition" breaks="the normal equations twice as many" says=["normal equations is not 4", "its zeros count twice"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 4,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 10,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x.squeeze(-1)


# %% wrong="inverts" breaks="No inverse" says=["linalg_inv_ex ran"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.inv(a.mT @ a) @ a.mT @ b
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.inv(r) @ q.mT @ b
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x.squeeze(-1)


# %% wrong="the general solve for a triangular R" breaks="do not hand it to the general `solve`" says=['"qr"', "R is triangular, use that"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve(r, q.mT @ b)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x.squeeze(-1)


# %% wrong="lstsq for all three" breaks="`how` is" says=["a solve or Cholesky ran 0 times for the whole batch, expected once"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    return torch.linalg.lstsq(a, b[..., None]).solution.squeeze(-1)


# %% wrong="leaves the last dimension of size 1" breaks="It returns x (…, n)" says=["a dimension of size 1 is missing or too many"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        return torch.linalg.solve(a.mT @ a, a.mT @ b)
    if how == "qr":
        q, r = torch.linalg.qr(a)
        return torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    return torch.linalg.lstsq(a, b).solution


# %% wrong="T instead of mT: no batch" breaks="for `a` (…, m, n)" says=["RuntimeError"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    if how == "normal":
        return torch.linalg.solve(a.t() @ a, a.t() @ b)
    if how == "qr":
        q, r = torch.linalg.qr(a)
        return torch.linalg.solve_triangular(r, (q.t() @ b)[:, None], upper=True)[:, 0]
    return torch.linalg.lstsq(a, b[:, None]).solution[:, 0]


# %% wrong="the normal equations under the name of QR" says=['"qr"', 'linalg.qr ran 0 times']
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "lstsq":
        return torch.linalg.lstsq(a, b).solution.squeeze(-1)
    return torch.linalg.solve(a.mT @ a, a.mT @ b).squeeze(-1)


# %% right="Cholesky, einsum, and the transposed triangular system"
digits_left = {
    "float32, condition 1e3, QR": 4.0,
    "float32, condition 1e3, normal equations": 1.0,
    "float64, condition 1e6, QR": 10.0,
    "float64, condition 1e6, normal equations": 4.0,
}


def least_squares(a, b, how):
    if how == "normal":
        gram = torch.einsum("...mi,...mj->...ij", a, a)
        right = torch.einsum("...mi,...m->...i", a, b)
        lower = torch.linalg.cholesky(gram)
        return torch.cholesky_solve(right.unsqueeze(-1), lower).squeeze(-1)
    if how == "qr":
        q, r = torch.linalg.qr(a, mode="reduced")
        row = torch.einsum("...mi,...m->...i", q, b).unsqueeze(-2)
        return torch.linalg.solve_triangular(r.mT, row, upper=False, left=False)[..., 0, :]
    if how == "lstsq":
        return torch.linalg.lstsq(a, b.unsqueeze(-1))[0][..., 0]
    raise ValueError(how)


# %% wrong="a loop over the batch" breaks="each with one factorisation or call for the whole batch" says=["ran 4 times for the whole batch, expected once"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    if a.dim() > 2:
        return torch.stack([least_squares(one, two, how) for one, two in zip(a, b)])
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x.squeeze(-1)


# %% wrong="the pseudo-inverse" breaks="no pseudo-inverse" says=["solve, don't invert"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    return (torch.linalg.pinv(a) @ b[..., None]).squeeze(-1)


# %% wrong="forgets that R is upper triangular" breaks="R is triangular" says=["R was read as lower triangular: say upper=True"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=False)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x.squeeze(-1)


# %% right="LU, and LAPACK's lower level"
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    n = a.shape[-1]
    if how == "normal":
        lu, pivots = torch.linalg.lu_factor(a.mT @ a)
        return torch.linalg.lu_solve(lu, pivots, a.mT @ b[..., None])[..., 0]
    if how == "qr":
        packed, tau = torch.geqrf(a)
        q = torch.linalg.householder_product(packed, tau)
        r = packed[..., :n, :].triu()
        return torch.linalg.solve_triangular(r, q.mT @ b.unsqueeze(-1), upper=True)[..., 0]
    return torch.linalg.lstsq(a, b.unsqueeze(-1), driver="gels").solution[..., 0]


# %% right="from the bottom up by hand"
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    if how == "qr":
        q, r = torch.linalg.qr(a)
        right, x = (q.mT @ b[..., None])[..., 0], []
        for i in reversed(range(a.shape[-1])):
            known = sum((r[..., i, j] * x[j - i - 1] for j in range(i + 1, a.shape[-1])), 0)
            x.insert(0, (right[..., i] - known) / r[..., i, i])
        return torch.stack(x, -1)
    if how == "normal":
        return torch.linalg.solve(a.mT @ a, (a.mT @ b[..., None])[..., 0].unsqueeze(-1)).squeeze(-1)
    return torch.linalg.lstsq(a, b[..., None]).solution.squeeze(-1)


# %% wrong="solves for the identity" says=["that makes an inverse; solve for b"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def _qr(a, b):
    q, r = torch.linalg.qr(a)
    return torch.linalg.solve_triangular(r, q.mT @ b, upper=True)


def _lstsq(a, b):
    return torch.linalg.lstsq(a, b).solution


def least_squares(a, b, how):
    return {"normal": _normal, "qr": _qr, "lstsq": _lstsq}[how](a, b[..., None])[..., 0]


def _normal(a, b):
    n = a.shape[-1]
    return torch.linalg.solve(a.mT @ a, torch.eye(n, dtype=a.dtype)) @ (a.mT @ b)


# %% wrong="QR of the squared matrix" breaks="each as above" says=["where normal equations fail"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def _normal(a, b):
    return torch.linalg.solve(a.mT @ a, a.mT @ b)


def _lstsq(a, b):
    return torch.linalg.lstsq(a, b).solution


def least_squares(a, b, how):
    return {"normal": _normal, "qr": _qr, "lstsq": _lstsq}[how](a, b[..., None])[..., 0]


def _qr(a, b):
    q, r = torch.linalg.qr(a.mT @ a)
    return torch.linalg.solve_triangular(r, q.mT @ (a.mT @ b), upper=True)


# %% wrong="always in float32" breaks="both float32 or float64" says=["the same matrix in float64, all three ways"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    small, right = a.float(), b.float()[..., None]
    if how == "normal":
        x = torch.linalg.solve(small.mT @ small, small.mT @ right)
    elif how == "qr":
        q, r = torch.linalg.qr(small)
        x = torch.linalg.solve_triangular(r, q.mT @ right, upper=True)
    else:
        x = torch.linalg.lstsq(small, right).solution
    return x.squeeze(-1).to(a.dtype)


# %% wrong="square matrices by solve, whatever way is named" says=["a batch of 1, m = n: linalg.qr ran 0 times"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if a.shape[-2] == a.shape[-1]:
        x = torch.linalg.solve(a, b)
    elif how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x[..., 0]


# %% wrong="one unknown by a quotient" says=["a batch of 4, one unknown: linalg.qr ran 0 times"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr" and a.shape[-1] == 1:
        x = (a * b).sum(-2, keepdim=True) / a.square().sum(-2, keepdim=True)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x[..., 0]


# %% wrong="rcond of float32 in float64" says=["a condition number of 1e9, in float64: no direction is left out"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(a, b, rcond=1e-7).solution
    return x[..., 0]


# %% wrong="a tiny ridge" says=["numbers of size 0.001, in torch.float32: nothing is added or bounded"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(
            a.mT @ a + torch.finfo(a.dtype).eps * torch.eye(a.shape[-1], dtype=a.dtype), a.mT @ b
        )
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x[..., 0]


# %% wrong="a QR in float32" says=["right to a few digits alone: is it computed in float32"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = (t.to(a.dtype) for t in torch.linalg.qr(a.float()))
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x[..., 0]


# %% wrong="divides each equation by its length" says=["equations that cannot all hold: each counts once, as it is"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a, b, how):
    b = b[..., None]
    if how == "normal":
        x = torch.linalg.solve(a.mT @ a, a.mT @ b)
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT @ b, upper=True)
    else:
        x = torch.linalg.lstsq(
            a / a.norm(dim=-1, keepdim=True), b / a.norm(dim=-1, keepdim=True)
        ).solution
    return x[..., 0]


# %% wrong="merges the batch dimensions by view" says=["batch (2, 2): raised RuntimeError: view size"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}


def least_squares(a: torch.Tensor, b: torch.Tensor, how: str) -> torch.Tensor:
    *batch, m, n = a.shape
    a, b = a.view(-1, m, n), b.view(-1, m, 1)
    if how == "normal":
        x = torch.linalg.solve(a.mT.bmm(a), a.mT.bmm(b))
    elif how == "qr":
        q, r = torch.linalg.qr(a)
        x = torch.linalg.solve_triangular(r, q.mT.bmm(b), upper=True)
    else:
        x = torch.linalg.lstsq(a, b).solution
    return x.view(*batch, n)


# %% wrong="a factorisation kept by its tensor" says=["a second time with the same tensors, which had other numbers the first time"]
digits_left = {
    "float32, condition 1e3, QR": 4,
    "float32, condition 1e3, normal equations": 1,
    "float64, condition 1e6, QR": 10,
    "float64, condition 1e6, normal equations": 4,
}
known = {}


def least_squares(a, b, how):
    if how == "normal":
        return torch.linalg.solve(a.mT @ a, a.mT @ b[..., None]).squeeze(-1)
    if how == "lstsq":
        return torch.linalg.lstsq(a, b[..., None]).solution.squeeze(-1)
    if id(a) not in known:
        known[id(a)] = a, torch.linalg.qr(a)
    q, r = known[id(a)][1]
    return torch.linalg.solve_triangular(r, q.mT @ b[..., None], upper=True).squeeze(-1)
