# %% wrong="keeps the letter of the trace, which is the diagonal" says=["trace, 'ii->i'", "has shape"]
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

# %% wrong="sums rows instead of columns" says=["column sums, 'ij->i'", "has shape (7,), expected (8,)"]
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

# %% wrong="the scores in the order of the picture" says=["scores, 'bthd,bshd->bhts'", "the same sizes in another order"]
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

# %% wrong="a letter of its own for the keys' heads" says=["scores, 'bthd,bsgd->bths'", "summed over?", "differs in"]
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

# %% wrong="multiplies all rows with all rows" says=["row by row, 'ij,kj->ik'", "has shape (7, 7), expected (7,)"]
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

# %% wrong="a result letter that no operand has" says=["outer, 'i,j->ik', random numbers: einsum refuses"]
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

# %% wrong="tensors instead of strings" says=["5 of 5 cases fail", "write an einsum string"]
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

# %% wrong="blank" says=["5 of 5 cases fail", "3 of 3 cases fail", "is there an answer yet?"]
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

# %% wrong="the matrix of the bilinear form transposed" says=["bilinear"]
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


# %% wrong="no arrow, as in NumPy" says=["batched product, 'bij,bjk', random numbers", "without an arrow every letter that appears twice is summed over"]
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
