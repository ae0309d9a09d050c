# %% [markdown]
# Rules:
#
# - "the mean of each column is 0"
# - "the covariance matrix"
# - "with the divisor n − 1"
# - "is the identity"
# - "W is one (d, d) matrix for all rows"
# - "Points far from the origin are handled"
# - "`x` stays as it is"
# - "float32 or float64"
#
# Admits:
#
# - "float32 or float64": the same in float64, moved by 5
# - "far from the origin": moved by 3000
# - "For `x` (n, d), n > d": [[1], [2], [3]]

# %% wrong="divides each column by its deviation" breaks="the covariance matrix" says=["each variance is 1, yet two columns have the covariance", "they vary together"]
def whiten(x):
    return (x - x.mean(0)) / x.std(0)


# %% wrong="with the divisor n" breaks="with the divisor n − 1" says=["with the divisor n, asked for is n - 1"]
def whiten(x):
    q, _ = torch.linalg.qr(x - x.mean(0))
    return q * len(x) ** 0.5


# %% wrong="forgets the mean" breaks="the mean of each column is 0" says=["a column has the mean", "subtract it first"]
def whiten(x):
    centred = x - x.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / (len(x) - 1))
    return x @ (vectors / values.sqrt())


# %% wrong="divides by the eigenvalues" says=["divided by the variance, not by its root"]
def whiten(x):
    centred = x - x.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / (len(x) - 1))
    return centred @ (vectors / values)


# %% wrong="turns the cloud and does not scale it" says=["the covariance is off the identity by"]
def whiten(x):
    centred = x - x.mean(0)
    return centred @ torch.linalg.eigh(centred.T @ centred / (len(x) - 1)).eigenvectors


# %% wrong="the Cholesky factor untransposed" says=["a cloud of 40 points in 3-D: the covariance is off the identity by"]
def whiten(x):
    centred = x - x.mean(0)
    factor = torch.linalg.cholesky(centred.T @ centred / (len(x) - 1))
    return torch.linalg.solve_triangular(factor, centred, upper=False, left=False)


# %% wrong="orthonormal columns, as QR gives them" breaks="is the identity" says=["a factor is missing"]
def whiten(x):
    return torch.linalg.qr(x - x.mean(0))[0]


# %% wrong="the covariance in one pass" breaks="Points far from the origin are handled" says=["the same in float32, moved by 3000"]
def whiten(x):
    n, mean = len(x), x.mean(0)
    cov = (x.T @ x - n * mean[:, None] * mean) / (n - 1)
    values, vectors = torch.linalg.eigh(cov)
    return (x - mean) @ (vectors / values.sqrt())


# %% wrong="centres its argument in place" breaks="`x` stays as it is" says=["an argument was changed"]
def whiten(x):
    x -= x.mean(0)
    return torch.linalg.qr(x)[0] * (len(x) - 1) ** 0.5


# %% right="QR"
def whiten(x):
    q = torch.linalg.qr(x - x.mean(dim=0, keepdim=True)).Q
    return q * torch.tensor(len(x) - 1.0).sqrt().to(x)


# %% right="Cholesky of the covariance"
def whiten(x):
    centred = x - x.mean(0)
    factor = torch.linalg.cholesky(torch.cov(centred.T).reshape(x.shape[1], x.shape[1]))
    return torch.linalg.solve_triangular(factor, centred.T, upper=False).T


# %% right="singular values, turned back (ZCA), in float64"
def whiten(x):
    centred = x.double() - x.double().mean(0)
    u, _, vh = torch.linalg.svd(centred, full_matrices=False)
    return (u @ vh * (len(x) - 1) ** 0.5).to(x.dtype)


# %% wrong="sorts the rows" breaks="W is one (d, d) matrix for all rows" says=["white, but not (x - m) W: are rows mixed up?"]
def whiten(x):
    x = x[x[:, 0].argsort()]
    return torch.linalg.qr(x - x.mean(0))[0] * (len(x) - 1) ** 0.5


# %% wrong="always in float32" breaks="float32 or float64" says=["float64 beyond float32: there is NaN", "stay in float64"]
def whiten(x):
    z = (x - x.mean(0)).float()
    return (torch.linalg.qr(z)[0] * (len(x) - 1) ** 0.5).to(x.dtype)


# %% wrong="returns float64" says=["z has dtype torch.float64, expected torch.float32"]
def whiten(x):
    x = x.double()
    return torch.linalg.qr(x - x.mean(0))[0] * (len(x) - 1) ** 0.5


# %% wrong="variances held above a millionth" says=["of 16 cases fail", "the cloud in numbers smaller than any epsilon"]
def whiten(x):
    centred = x - x.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / (len(x) - 1))
    return centred @ (vectors / values.clamp(min=1e-6).sqrt())


# %% wrong="one column is only centred" says=["its first column"]
def whiten(x):
    if x.shape[1] == 1:
        return x - x.mean(0)
    return torch.linalg.qr(x - x.mean(0)).Q * (len(x) - 1) ** 0.5


# %% wrong="leaves out directions of small variance" says=["a cloud that is thin, in float64", "is there an eps, or a bound, for small variances?"]
def whiten(x):
    centred = x - x.mean(0)
    c = centred.T @ centred / (len(x) - 1)
    values, vectors = torch.linalg.eigh(c)
    return centred @ vectors * torch.where(values > 1e-3 * values.max(), values.rsqrt(), 0)


# %% wrong="leaves out directions of very small variance" says=["a cloud that is thin, in float64"]
def whiten(x):
    centred = x - x.mean(0)
    c = centred.T @ centred / (len(x) - 1)
    values, vectors = torch.linalg.eigh(c)
    return centred @ vectors * torch.where(values > 1e-6 * values.max(), values.rsqrt(), 0)


# %% wrong="cuts what is far out" breaks="W is one (d, d) matrix for all rows" says=["a cloud and one point far out: z is not (x - m) W"]
def whiten(x):
    centred = x - x.mean(0)
    c = centred.T @ centred / (len(x) - 1)
    values, vectors = torch.linalg.eigh(c)
    return (centred @ vectors / values.sqrt()).clamp(-3, 3)


# %% right="eigenvectors, then divided by each deviation"
def whiten(x):
    centred = x - x.mean(0)
    c = centred.T @ centred / (len(x) - 1)
    values, vectors = torch.linalg.eigh(c)
    z = centred @ vectors
    return z / z.std(0)


# %% wrong="subtracts the mean after the product" says=["a thin cloud of whole numbers, moved by 2**22, in float32"]
def whiten(x):
    w, v = torch.linalg.eigh(x.T.cov().reshape(x.shape[1], -1))
    z = x @ (v / w.sqrt())
    return z - z.mean(0)


# %% wrong="multiplies by the root of each eigenvalue" says=["multiplied by the root of the eigenvalue: divide by it"]
def whiten(x):
    c = x - x.mean(0)
    w, v = torch.linalg.eigh(c.T @ c / (len(x) - 1))
    return c @ v * w.sqrt()


# %% wrong="pca_lowrank, which gives six directions" says=["20 points in 8-D: z has shape (20, 6), expected (20, 8)"]
def whiten(x: torch.Tensor) -> torch.Tensor:
    u, _, _ = torch.pca_lowrank(x - x.mean(0), center=False, niter=4)
    return u * (len(x) - 1) ** 0.5


# %% wrong="eigenvectors taken from the rows" says=["an eigenvector is a column of V"]
def whiten(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred / (len(x) - 1))
    return centred @ vectors.T / values.sqrt()


# %% wrong="large sets are whitened in two halves" breaks="W is one (d, d) matrix for all rows" says=["200 points in 2-D", "are rows mixed up?"]
def whiten(x: torch.Tensor) -> torch.Tensor:
    n, d = x.shape
    if n >= 64 and n >= 8 * d:
        halves = [whiten(part) for part in x.tensor_split(2)]
        return torch.cat(halves) * ((n - 1) / (n - 2)) ** 0.5
    x = x - x.mean(0)
    x = x - x.mean(0)
    return torch.linalg.qr(x).Q * (n - 1) ** 0.5
