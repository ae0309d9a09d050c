# %% [markdown]
# Rules:
#
# - "Write the einsum string for each line"
# - "`trace`"
# - "each the sum of a column"
# - "every product `u[i] * v[j]`"
# - "the dot product of row i with row i"
# - "as `bmm`"
# - "for each b and o the number `x[b] @ w[o] @ y[b]`"
# - "the dot product of each query with each key"
# - "it is not the one of the picture"
# - "einsum string"

# %% wrong="keeps the letter of the trace, which is the diagonal" breaks="`trace`" says=["trace, 'ii->i'", "has shape"]
einsum_eight = {
    "trace": "ii->i",
    "column sums": "ij->j",
    "outer": "i,j->ij",
    "row by row": "ij,ij->i",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oij,bj->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}

# %% wrong="sums rows instead of columns" breaks="each the sum of a column" says=["column sums, 'ij->i'", "has shape (7,), expected (8,)"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->i",
    "outer": "i,j->ij",
    "row by row": "ij,ij->i",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oij,bj->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}

# %% wrong="the scores in the order of the picture" breaks="it is not the one of the picture" says=["scores, 'bthd,bshd->bhts'", "the same sizes in another order"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->j",
    "outer": "i,j->ij",
    "row by row": "ij,ij->i",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oij,bj->bo",
    "scores": "bthd,bshd->bhts",
    "mix": "bths,bshd->bthd",
}

# %% wrong="a letter of its own for the keys' heads" breaks="the dot product of each query with each key" says=["scores, 'bthd,bsgd->bths'", "it sums over d, g; in one operand alone: g", "differs in"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->j",
    "outer": "i,j->ij",
    "row by row": "ij,ij->i",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oij,bj->bo",
    "scores": "bthd,bsgd->bths",
    "mix": "bths,bshd->bthd",
}

# %% wrong="multiplies all rows with all rows" breaks="the dot product of row i with row i" says=["row by row, 'ij,kj->ik'", "has shape (7, 7), expected (7,)"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->j",
    "outer": "i,j->ij",
    "row by row": "ij,kj->ik",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oij,bj->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}

# %% wrong="a result letter that no operand has" breaks="every product `u[i] * v[j]`" says=["outer, 'i,j->ik', random numbers: einsum refuses"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->j",
    "outer": "i,j->ik",
    "row by row": "ij,ij->i",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oij,bj->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}

# %% wrong="tensors instead of strings" breaks="einsum string" says=["5 of 5 cases fail", "write an einsum string"]
einsum_eight = {"trace": torch.zeros(())}

# %% right="other letters, spaces, ellipses and no arrow where none is needed"
einsum_eight = {
    "trace": "zz",
    "column sums": "r c -> c",
    "outer": "a, b -> a b",
    "row by row": "...d,...d->...",
    "batched product": "...ij,...jk->...ik",
    "bilinear": "Bx,OxY,BY->BO",
    "scores": "nqhc,nkhc->nqhk",
    "mix": "nqhk,nkhc->nqhc",
}

# %% wrong="blank" breaks="Write the einsum string for each line" says=["5 of 5 cases fail", "3 of 3 cases fail", "is there an answer yet?"]
einsum_eight = {
    "trace": None,
    "column sums": None,
    "outer": None,
    "row by row": None,
    "batched product": None,
    "bilinear": None,
    "scores": None,
    "mix": None,
}

# %% wrong="sums over the queries’ own time" says=["scores", "the same sizes in another order"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->j",
    "outer": "i,j->ij",
    "row by row": "ij,ij->i",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oij,bj->bo",
    "scores": "bthd,bshd->bhts",
    "mix": "bths,bshd->bthd",
}

# %% wrong="the matrix of the bilinear form transposed" breaks="for each b and o the number `x[b] @ w[o] @ y[b]`" says=["bilinear"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->j",
    "outer": "i,j->ij",
    "row by row": "ij,ij->i",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oji,bj->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}

# %% wrong="all rows with all rows, then the sum of all" says=["row by row", "has shape"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "ij->j",
    "outer": "i,j->ij",
    "row by row": "ij,ij->",
    "batched product": "bij,bjk->bik",
    "bilinear": "bi,oij,bj->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}


# %% wrong="no arrow, as in NumPy" breaks="as `bmm`" says=["batched product, 'bij,bjk', random numbers", "without an arrow every letter that appears twice is summed over"]
einsum_eight = {
    "trace": "ii",
    "column sums": "ij->j",
    "outer": "i,j",
    "row by row": "ij,ij->i",
    "batched product": "bij,bjk",
    "bilinear": "bn,onm,bm->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}


# %% wrong="an outer product without its arrow" says=["and the others stand in the alphabet's order"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "nk->k",
    "outer": "n,k",
    "row by row": "nk,nk->n",
    "batched product": "bnk,bkm->bnm",
    "bilinear": "bn,onm,bm->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bshd->bthd",
}


# %% wrong="values at the query's time" says=["einsum refuses 'bths,bthd->bthd'", "a letter stands for two sizes"]
einsum_eight = {
    "trace": "ii->",
    "column sums": "nk->k",
    "outer": "n,k->nk",
    "row by row": "nk,nk->n",
    "batched product": "bnk,bkm->bnm",
    "bilinear": "bn,onm,bm->bo",
    "scores": "bthd,bshd->bths",
    "mix": "bths,bthd->bthd",
}
