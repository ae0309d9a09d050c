# %% [markdown]
# Rules:
#
# - "or its anti-diagonal"
# - "with one `as_strided` and one `sum`"
# - "transposed, a slice with an offset"
# - "Strides must not be negative"
# - "copies and other computations are not"
# - "the matrix stays as it is"
# - "anti: bool = False"
# - "any dtype"
# - "in the dtype that this `sum` gives"
#
# Admits:
#
# - "0 × 0": a 0 × 0 matrix
# - "It may be 1 × 1": a 1 × 1 matrix
# - "any dtype": torch.bool
# - "transposed": transposed
# - "a slice with an offset": slice with an offset
# - "expanded": expand

# %% wrong="calls diagonal" breaks="with one `as_strided` and one `sum`" says=["not one as_strided and one sum", "diagonal"]
def trace_by_strides(matrix: torch.Tensor, anti: bool = False) -> torch.Tensor:
    return (matrix.flip(1) if anti else matrix).diagonal().sum()


# %% wrong="assumes a contiguous matrix" breaks="transposed, a slice with an offset" says=["the trace of a slice with an offset: the sum: the strides of a contiguous tensor were assumed"]
def trace_by_strides(matrix, anti=False):
    n = matrix.shape[0]
    if anti:
        return matrix.as_strided((n,), (n - 1,), max(n - 1, 0)).sum()
    return matrix.as_strided((n,), (n + 1,)).sum()


# %% wrong="a negative stride" breaks="Strides must not be negative" says=["RuntimeError", "Negative strides are not supported"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = matrix.shape[0], matrix.stride()
    if anti:
        start = matrix.storage_offset() + (n - 1) * down
        return matrix.as_strided((n,), (right - down,), start).sum()
    return matrix.as_strided((n,), (down + right,)).sum()


# %% wrong="forgets where a slice begins" says=["the anti-diagonal of a slice with an offset: the sum: it starts at box 0"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = matrix.shape[0], matrix.stride()
    if not anti:
        return matrix.as_strided((n,), (down + right,)).sum()
    if down >= right:
        return matrix.as_strided((n,), (down - right,), max(n - 1, 0) * right).sum()
    return matrix.as_strided((n,), (right - down,), max(n - 1, 0) * down).sum()


# %% wrong="a loop over the elements" says=["not one as_strided and one sum", "select"]
def trace_by_strides(matrix, anti=False):
    n = matrix.shape[0]
    return sum(matrix[i, n - 1 - i if anti else i] for i in range(n))


# %% wrong="one diagonal for both" breaks="or its anti-diagonal" says=["the anti-diagonal of [[1, 2], [3, 5]]", "this is the other diagonal"]
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


# %% wrong="knows the anti-diagonal of a 2 × 2 matrix only" says=["the anti-diagonal of a slice with an offset"]
def trace_by_strides(matrix, anti=False):
    n, (down, right), first = len(matrix), matrix.stride(), matrix.storage_offset()
    if anti and n == 2:
        return matrix.as_strided((2,), (1,), 1).sum()
    return matrix.as_strided((n,), (down + right,), first).sum()


# %% wrong="makes the matrix contiguous first" breaks="copies and other computations are not" says=["a copy was made: clone"]
def trace_by_strides(matrix, anti=False):
    matrix = matrix.contiguous()
    n = len(matrix)
    first = max(n - 1, 0) if anti else 0
    return matrix.as_strided((n,), (n - 1 if anti else n + 1,), first).sum()


# %% wrong="transposes its argument in place" breaks="the matrix stays as it is" says=["an argument was changed"]
def trace_by_strides(matrix, anti=False):
    if matrix.stride(0) > matrix.stride(1):
        matrix.t_()
    n, (down, right) = len(matrix), matrix.stride()
    first = matrix.storage_offset() + (max(n - 1, 0) * down if anti else 0)
    return matrix.as_strided((n,), (right - down if anti else right + down,), first).sum()


# %% right="starts from a view of the corner"
def trace_by_strides(matrix, anti=False):
    n, (down, right) = len(matrix), matrix.stride()
    if n == 0:
        return matrix.sum()
    if not anti:
        return matrix.as_strided((n,), (down + right,)).sum()
    if down < right:
        return matrix[n - 1 :, :1].as_strided((n,), (right - down,)).sum()
    return matrix[:1, n - 1 :].as_strided((n,), (down - right,)).sum()


# %% wrong="as_strided_ on the caller's matrix" says=["an argument was changed"]
def trace_by_strides(matrix, anti=False):
    n, (s, t), at = len(matrix), matrix.stride(), matrix.storage_offset()
    if not anti:
        return matrix.as_strided_((n,), (s + t,)).sum()
    if s >= t:
        return matrix.as_strided_((n,), (s - t,), at + max(n - 1, 0) * t).sum()
    return matrix.as_strided_((n,), (t - s,), at + max(n - 1, 0) * s).sum()


# %% wrong="the anti-diagonal by default" breaks="anti: bool = False" says=["the trace of [[1, 2], [3, 5]]: the sum: this is the other diagonal"]
def trace_by_strides(matrix, anti=True):
    n, (down, right) = len(matrix), matrix.stride()
    first = max(n - 1, 0) * right if anti else 0
    step = down - right if anti else down + right
    if step < 0:
        first, step = first + max(n - 1, 0) * step, -step
    return matrix.as_strided((n,), (step,), matrix.storage_offset() + first).sum()


# %% wrong="keeps the dtype of the matrix" breaks="any dtype" says=["the trace of a matrix in torch.bool: the sum has dtype torch.bool, expected torch.int64"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = len(matrix), matrix.stride()
    step, first = (abs(down - right), (n - 1) * min(down, right)) if anti else (down + right, 0)
    if not n:
        return matrix.sum()
    return matrix.as_strided((n,), (step,), matrix.storage_offset() + first).sum(dtype=matrix.dtype)


# %% wrong="the real part alone" says=["6 of 66 cases fail", "a matrix in torch.complex64: the sum has dtype torch.float32"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = len(matrix), matrix.stride()
    step, first = down + right, matrix.storage_offset()
    if anti:
        step, first = abs(down - right), first + max(n - 1, 0) * min(down, right)
    return matrix.as_strided((n,), (step,), first).sum().real


# %% wrong="whole numbers summed in float64" says=["32 of 66 cases fail", "what ran: 1 × as_strided, 1 × sum, 1 × _to_copy"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = len(matrix), matrix.stride()
    step, first = down + right, matrix.storage_offset()
    if anti:
        step, first = abs(down - right), first + max(n - 1, 0) * min(down, right)
    line = matrix.as_strided((n,), (step,), first)
    if line.is_floating_point() or line.is_complex():
        return line.sum()
    return line.sum(dtype=torch.float64).long()


# %% wrong="a step of 0 means one element" says=["3 of 66 cases fail", "a single number, expanded: the sum: expected 1156, got 289"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = len(matrix), matrix.stride()
    step, first = down + right, matrix.storage_offset()
    if anti:
        step, first = abs(down - right), first + max(n - 1, 0) * min(down, right)
    if step == 0:
        return matrix.as_strided((1,), (1,), first).sum()
    return matrix.as_strided((n,), (step,), first).sum()


# %% wrong="halves give float32" says=["4 of 66 cases fail", "a matrix in torch.float16: the sum has dtype torch.float32"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = len(matrix), matrix.stride()
    step, first = down + right, matrix.storage_offset()
    if anti:
        step, first = abs(down - right), first + max(n - 1, 0) * min(down, right)
    line = matrix.as_strided((n,), (step,), first)
    return line.sum(dtype=torch.float32 if line.dtype == torch.float16 else None)


# %% wrong="a byte runs over" says=["8 of 66 cases fail", "three times 200 in torch.uint8: the sum"]
def trace_by_strides(matrix, anti=False):
    n, (down, right) = len(matrix), matrix.stride()
    step, first = down + right, matrix.storage_offset()
    if anti:
        step, first = abs(down - right), first + max(n - 1, 0) * min(down, right)
    line = matrix.as_strided((n,), (step,), first)
    return line.sum(dtype=None if line.dtype == torch.bool else line.dtype)


# %% wrong="always from the top right, size of the step" breaks="Strides must not be negative" says=["leads away from it"]
def trace_by_strides(matrix, anti=False):
    n = matrix.shape[0]
    down, right = matrix.stride()
    start = matrix.storage_offset()
    if not anti:
        return matrix.as_strided((n,), (down + right,), start).sum()
    last = max(n - 1, 0)
    return matrix.as_strided((n,), (abs(down - right),), start + last * right).sum()


# %% wrong="zeros for no row" breaks="in the dtype that this `sum` gives" says=["a 0 × 0 matrix in torch.int32", "has dtype torch.int32, expected torch.int64"]
def trace_by_strides(matrix, anti=False):
    n = matrix.shape[0]
    if n == 0:
        return matrix.new_zeros(())
    down, right = matrix.stride()
    offset = matrix.storage_offset()
    if not anti:
        return matrix.as_strided((n,), (down + right,), offset).sum()
    last = max(n - 1, 0)
    if down >= right:
        return matrix.as_strided((n,), (down - right,), offset + last * right).sum()
    return matrix.as_strided((n,), (right - down,), offset + last * down).sum()


# %% wrong="a step of at least 1" says=["the anti-diagonal of windows that overlap"]
def trace_by_strides(matrix, anti=False):
    n = matrix.shape[0]
    down, right = matrix.stride()
    offset = matrix.storage_offset()
    if not anti:
        return matrix.as_strided((n,), (down + right,), offset).sum()
    last = max(n - 1, 0)
    if down >= right:
        return matrix.as_strided((n,), (down - right or 1,), offset + last * right).sum()
    return matrix.as_strided((n,), (right - down,), offset + last * down).sum()


# %% wrong="adds 0 to the sum" breaks="copies and other computations are not" says=["not one as_strided and one sum; what ran: 1 × as_strided, 1 × sum, 1 × add"]
def trace_by_strides(matrix, anti=False):
    n = matrix.shape[0]
    down, right = matrix.stride()
    step, first = down + right, 0
    if anti:
        step, first = abs(down - right), max(n - 1, 0) * min(down, right)
    return matrix.as_strided((n,), (step,), matrix.storage_offset() + first).sum() + 0


# %% wrong="sets an empty tensor onto the storage" breaks="copies and other computations are not" says=["not one as_strided and one sum; what ran", "1 × set_"]
def trace_by_strides(matrix: torch.Tensor, anti: bool = False) -> torch.Tensor:
    boxes = torch.empty(0, dtype=matrix.dtype, device=matrix.device)
    boxes.set_(matrix.untyped_storage())
    n, (s0, s1) = matrix.shape[0], matrix.stride()
    start, step = matrix.storage_offset(), s0 + s1
    if anti:
        step = abs(s0 - s1)
        start += max(n - 1, 0) * min(s0, s1)
    return boxes.as_strided((n,), (step,), start).sum()


# %% right="the corner of a detached matrix, as a row, summed over its dimension"
def trace_by_strides(matrix, anti=False):
    matrix = matrix.detach()
    if anti and matrix.stride(0) < matrix.stride(1):
        matrix = matrix.mT
    n, (down, right) = len(matrix), matrix.stride()
    corner = matrix[:1, n - 1 :] if anti and n else matrix[:1, :1]
    step = down - right if anti else down + right
    return torch.sum(corner.as_strided([1, n], [0, step]).squeeze(0), dim=0)


# %% wrong="reads what the view was taken of" judge="passes" says=["the real part of a complex matrix"]
def trace_by_strides(matrix: torch.Tensor, anti: bool = False) -> torch.Tensor:
    n = matrix.shape[0]
    rows, cols = matrix.stride()
    base = matrix if matrix._base is None else matrix._base
    first = matrix.storage_offset()
    if anti:
        first += max(n - 1, 0) * min(rows, cols)
        return base.as_strided((n,), (abs(rows - cols),), first).sum()
    return base.as_strided((n,), (rows + cols,), first).sum()
