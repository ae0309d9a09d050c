# %% [markdown]
# Rules:
#
# - "with orthonormal columns"
# - "upper triangular"
# - "with a positive diagonal"
# - "so that Q R = a"
# - "`modified` chooses the way"
# - "`linalg.qr` and its relatives"
# - "of any library"
# - "Build it from products, differences and lengths"
# - "float32 or float64"
# - "R (n, n)"
# - "return new tensors (Q, R)"
#
# Admits:
#
# - "float32 or float64": a (5, 3) matrix in float64, transposed
# - "m ≥ n ≥ 1": one column
# - "m ≥ n": [[3, 1], [4, 2]]

# %% wrong="the classical way for both" breaks="`modified` chooses the way" says=["modified=True", "take each coefficient from what is left"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        r[:j, j] = q[:, :j].T @ a[:, j]
        v = a[:, j] - q[:, :j] @ r[:j, j]
        r[j, j] = v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="the modified way for both" says=["modified=False", "takes all coefficients from the given column"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        v = a[:, j]
        for i in range(j):
            r[i, j] = q[:, i] @ v
            v = v - r[i, j] * q[:, i]
        r[j, j] = v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="asks linalg.qr" breaks="`linalg.qr` and its relatives" says=["linalg_qr ran"]
def gram_schmidt(a, modified=True):
    q, r = torch.linalg.qr(a)
    signs = r.diagonal().sign()
    return q * signs, r * signs[:, None]


# %% wrong="columns that are not of length 1" breaks="with orthonormal columns" says=["the columns of Q have the squared lengths"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = a.clone(), torch.eye(n).to(a)
    for j in range(n):
        for i in range(j):
            r[i, j] = q[:, i] @ (q[:, j] if modified else a[:, j])
            q[:, j] -= r[i, j] * q[:, i]
    return q, r


# %% wrong="the coefficients in the lower triangle" breaks="upper triangular" says=["R has entries below the diagonal: r[i, j] belongs to q[:, i]"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        v = a[:, j]
        for i in range(j):
            r[j, i] = q[:, i] @ (v if modified else a[:, j])
            v = v - r[j, i] * q[:, i]
        r[j, j] = v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="works on the argument itself" says=["an argument was changed"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    given, q, r = a.clone(), a, a.new_zeros(n, n)
    for j in range(n):
        for i in range(j):
            r[i, j] = q[:, i] @ (q[:, j] if modified else given[:, j])
            q[:, j] -= r[i, j] * q[:, i]
        r[j, j] = q[:, j].norm()
        q[:, j] /= r[j, j]
    return q, r


# %% wrong="no coefficients on the diagonal" breaks="so that Q R = a" says=["Q @ R differs"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = torch.zeros_like(a), torch.eye(n).to(a)
    for j in range(n):
        v = a[:, j]
        for i in range(j):
            r[i, j] = q[:, i] @ (v if modified else a[:, j])
            v = v - r[i, j] * q[:, i]
        q[:, j] = v / v.norm()
    return q, r


# %% right="modified: takes each finished column from all that follow, at once"
def gram_schmidt(a, modified=True):
    m, n = a.shape
    if not modified:
        columns, r = [], torch.zeros(n, n, dtype=a.dtype, device=a.device)
        for j in range(n):
            v = a[:, j].clone()
            for i, q in enumerate(columns):
                r[i, j] = torch.dot(q, a[:, j])
                v -= r[i, j] * q
            r[j, j] = torch.linalg.vector_norm(v)
            columns.append(v / r[j, j])
        return torch.stack(columns, dim=1) if columns else torch.zeros_like(a), r
    rest, r = a.clone(), torch.zeros(n, n, dtype=a.dtype, device=a.device)
    for i in range(n):
        r[i, i] = rest[:, i].norm()
        rest[:, i] /= r[i, i]
        r[i, i + 1 :] = rest[:, i] @ rest[:, i + 1 :]
        rest[:, i + 1 :] -= torch.outer(rest[:, i], r[i, i + 1 :])
    return rest, r


# %% wrong="NumPy's QR for the modified way" breaks="of any library" says=["modified=True", "is it made elsewhere?"]
def gram_schmidt(a, modified=True):
    if modified:
        import numpy as np

        q, r = np.linalg.qr(a.cpu().numpy())
        signs = np.sign(np.diag(r))
        return torch.tensor(q * signs), torch.tensor(r * signs[:, None])
    n = a.shape[1]
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        r[:j, j] = q[:, :j].T @ a[:, j]
        v = a[:, j] - q[:, :j] @ r[:j, j]
        r[j, j] = v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="the Cholesky factor of the products" breaks="Build it from products, differences and lengths" says=["linalg_cholesky_ex", "ran: build it from products and lengths"]
def gram_schmidt(a, modified=True):
    r = torch.linalg.cholesky(a.T @ a).T.contiguous()
    return torch.linalg.solve_triangular(r, a, upper=True, left=False), r


# %% wrong="returns R alone, for Q" says=["return the pair (Q, R)"]
def gram_schmidt(a, modified=True):
    return torch.linalg.vector_norm(a, dim=0)


# %% right="coefficients as a list of lists, columns stacked at the end"
def gram_schmidt(a, modified=True):
    done, table = [], []
    for column in a.unbind(1):
        rest, row = column, []
        for q in done:
            c = (q * (rest if modified else column)).sum()
            rest = rest - c * q
            row.append(c)
        length = (rest * rest).sum() ** 0.5
        done.append(rest / length)
        table.append([*row, length] + [torch.zeros_like(length)] * (a.shape[1] - len(row) - 1))
    return torch.stack(done, 1), torch.stack([torch.stack(row) for row in table], 1)


# %% wrong="a negative diagonal, as LAPACK has it" breaks="with a positive diagonal" says=["the diagonal of R should be positive (lengths)"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        v = a[:, j].clone()
        for i in range(j):
            r[i, j] = q[:, i] @ (v if modified else a[:, j])
            v = v - r[i, j] * q[:, i]
        r[j, j] = -v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="R in the default dtype" breaks="float32 or float64" says=["R has dtype torch.float32, expected torch.float64"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = torch.zeros_like(a), torch.zeros(n, n, device=a.device)
    for j in range(n):
        v = a[:, j].clone()
        for i in range(j):
            r[i, j] = q[:, i] @ (v if modified else a[:, j])
            v = v - r[i, j] * q[:, i]
        r[j, j] = v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="R as tall as a" breaks="R (n, n)" says=["R has shape (5, 3), expected (3, 3)"]
def gram_schmidt(a, modified=True):
    m, n = a.shape
    q, r = torch.zeros_like(a), a.new_zeros(m, n)
    for j in range(n):
        v = a[:, j].clone()
        for i in range(j):
            r[i, j] = q[:, i] @ (v if modified else a[:, j])
            v = v - r[i, j] * q[:, i]
        r[j, j] = v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="the classical way by default" says=["modified left out", "the default is True"]
def gram_schmidt(a, modified=False):
    q, r = torch.zeros_like(a), a.new_zeros(a.shape[1], a.shape[1])
    for j in range(a.shape[1]):
        v = a[:, j]
        for i in range(j):
            r[i, j] = q[:, i] @ (v if modified else a[:, j])
            v = v - r[i, j] * q[:, i]
        r[j, j] = v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="float32 on the way" says=["to float32's digits alone"]
def gram_schmidt(a, modified=True):
    b = a.float()
    q, r = torch.zeros_like(b), b.new_zeros(b.shape[1], b.shape[1])
    for j in range(b.shape[1]):
        v = b[:, j]
        for i in range(j):
            r[i, j] = q[:, i] @ (v if modified else b[:, j])
            v = v - r[i, j] * q[:, i]
        r[j, j] = v.norm()
        q[:, j] = v / r[j, j]
    return q.to(a.dtype), r.to(a.dtype)


# %% wrong="normalize, which holds lengths above 1e-12" says=["2 of 21 cases fail", "tiny lengths, none of which is 0, in float64"]
def gram_schmidt(a, modified=True):
    q, r = torch.zeros_like(a), a.new_zeros(a.shape[1], a.shape[1])
    for j in range(a.shape[1]):
        rest = a[:, j]
        for i in range(j):
            r[i, j] = q[:, i] @ (rest if modified else a[:, j])
            rest = rest - r[i, j] * q[:, i]
        r[j, j] = torch.linalg.vector_norm(rest)
        q[:, j] = F.normalize(rest, dim=0)
    return q, r


# %% wrong="the coefficients in float32" says=["a product is", "as of float32: compute in the dtype of a"]
def gram_schmidt(a, modified=True):
    q, r = torch.zeros_like(a), a.new_zeros(a.shape[1], a.shape[1])
    for j in range(a.shape[1]):
        rest = a[:, j]
        for i in range(j):
            source = rest if modified else a[:, j]
            r[i, j] = q[:, i].float() @ source.float()
            rest = rest - r[i, j] * q[:, i]
        r[j, j] = torch.linalg.vector_norm(rest)
        q[:, j] = rest / r[j, j]
    return q, r


# %% wrong="R afterwards, from Q and a" says=["is R made afterwards, from Q and a?"]
def gram_schmidt(a, modified=True):
    m, n = a.shape
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        rest = a[:, j].clone()
        for i in range(j):
            source = rest if modified else a[:, j]
            r[i, j] = q[:, i] @ source
            rest = rest - r[i, j] * q[:, i]
        r[j, j] = torch.linalg.vector_norm(rest)
        q[:, j] = rest / r[j, j]
    return q, (q.T @ a).triu()


# %% wrong="R holds another coefficient than is subtracted" says=["Into R goes the coefficient that you subtract"]
def gram_schmidt(a, modified=True):
    m, n = a.shape
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        rest = a[:, j].clone()
        for i in range(j):
            source = rest if modified else a[:, j]
            c = q[:, i] @ source
            r[i, j] = q[:, i] @ a[:, j]
            rest = rest - c * q[:, i]
        r[j, j] = torch.linalg.vector_norm(rest)
        q[:, j] = rest / r[j, j]
    return q, r


# %% wrong="a column much shorter than the first becomes zero" says=["columns of very different lengths, in float64, modified=False"]
def gram_schmidt(a, modified=True):
    m, n = a.shape
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        rest = a[:, j].clone()
        for i in range(j):
            source = rest if modified else a[:, j]
            r[i, j] = q[:, i] @ source
            rest = rest - r[i, j] * q[:, i]
        r[j, j] = torch.linalg.vector_norm(rest)
        q[:, j] = rest / r[j, j] if r[j, j] > 1e-5 * r[0, 0] else 0
    return q, r


# %% wrong="modified in float32 alone" breaks="float32 or float64" says=["3 columns nearly equal in float64, modified=True: orthogonality is lost"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        rest = a[:, j].clone()
        for i in range(j):
            r[i, j] = q[:, i] @ (rest if modified and a.dtype == torch.float32 else a[:, j])
            rest = rest - r[i, j] * q[:, i]
        r[j, j] = torch.linalg.vector_norm(rest)
        q[:, j] = rest / r[j, j]
    return q, r


# %% wrong="the length from the given column, in the classical way" says=["columns that are nearly equal, in float64, modified=False: the columns of Q have the squared lengths"]
def gram_schmidt(a, modified=True):
    m, n = a.shape
    q = torch.zeros_like(a)
    r = a.new_zeros(n, n)
    for j in range(n):
        v = a[:, j].clone()
        for i in range(j):
            r[i, j] = q[:, i] @ (v if modified else a[:, j])
            v = v - r[i, j] * q[:, i]
        r[j, j] = (v @ a[:, j]).sqrt() if not modified else v.norm()
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="the length by Pythagoras, in the classical way" says=["columns that are nearly equal, in float64, modified=False: the columns of Q have the squared lengths"]
def gram_schmidt(a, modified=True):
    m, n = a.shape
    q = torch.zeros_like(a)
    r = a.new_zeros(n, n)
    for j in range(n):
        v = a[:, j].clone()
        for i in range(j):
            r[i, j] = q[:, i] @ (v if modified else a[:, j])
            v = v - r[i, j] * q[:, i]
        r[j, j] = (
            v.norm() if modified else (a[:, j].square().sum() - r[:j, j].square().sum()).sqrt()
        )
        q[:, j] = v / r[j, j]
    return q, r


# %% wrong="the matrix itself, where its columns are orthonormal" breaks="return new tensors (Q, R)" says=["2 of 21 cases fail", "columns that are orthonormal already, modified=False: Q is still a view: it shares the storage of the original"]
def gram_schmidt(a, modified=True):
    n = a.shape[1]
    q, r = torch.zeros_like(a), a.new_zeros(n, n)
    for j in range(n):
        column = a[:, j]
        for done in [slice(i, i + 1) for i in range(j)] if modified else [slice(0, j)]:
            r[done, j] = q[:, done].T @ column
            column = column - q[:, done] @ r[done, j]
        r[j, j] = column.norm()
        q[:, j] = column / r[j, j]
    return (a if torch.equal(q, a) else q), r
