# %% wrong="calls diagonal" says=["use as_strided and sum alone", "diagonal"]
def trace_by_strides(matrix: torch.Tensor, anti: bool = False) -> torch.Tensor:
    return (matrix.flip(1) if anti else matrix).diagonal().sum()


# %% wrong="assumes a contiguous matrix" says=["the trace of a transposed matrix"]
def trace_by_strides(matrix, anti=False):
    n = matrix.shape[0]
    if anti:
        return matrix.as_strided((n,), (n - 1,), max(n - 1, 0)).sum()
    return matrix.as_strided((n,), (n + 1,)).sum()


# %% wrong="a negative stride" says=["RuntimeError", "Negative strides are not supported"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = matrix.shape[0], matrix.stride()
    if anti:
        start = matrix.storage_offset() + (n - 1) * down
        return matrix.as_strided((n,), (right - down,), start).sum()
    return matrix.as_strided((n,), (down + right,)).sum()


# %% wrong="forgets where a slice begins" says=["the anti-diagonal of a slice with an offset"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = matrix.shape[0], matrix.stride()
    if not anti:
        return matrix.as_strided((n,), (down + right,)).sum()
    if down >= right:
        return matrix.as_strided((n,), (down - right,), max(n - 1, 0) * right).sum()
    return matrix.as_strided((n,), (right - down,), max(n - 1, 0) * down).sum()


# %% wrong="a loop over the elements" says=["use as_strided and sum alone", "select"]
def trace_by_strides(matrix, anti=False):
    n = matrix.shape[0]
    return sum(matrix[i, n - 1 - i if anti else i] for i in range(n))


# %% wrong="one diagonal for both" says=["the anti-diagonal of [[1, 2], [3, 5]]", "expected 5, got 6"]
def trace_by_strides(matrix, anti=False):
    return matrix.as_strided((matrix.shape[0],), (sum(matrix.stride()),)).sum()


# %% right="turns the matrix first, so that down is the longer step"
def trace_by_strides(matrix, anti=False):
    if matrix.stride(0) < matrix.stride(1):
        matrix = matrix.t()
    n, (down, right) = len(matrix), matrix.stride()
    sign = -1 if anti else 1
    first = matrix.storage_offset() + (right * (n - 1) if anti and n else 0)
    return torch.sum(torch.as_strided(matrix, (n,), (down + sign * right,), first))
