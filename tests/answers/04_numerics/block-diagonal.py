# %% [markdown]
# Rules:
#
# - "along the diagonal"
# - "as `torch.block_diag` does it for separate matrices"
# - "the number of operators must not grow with n"
# - "or with the batch"
# - "nor with p or q"
# - "No `torch.block_diag`"
# - "Gradients flow"
# - "stays in its place: 0 · ∞ is not 0"
# - "Any size may be 0"
# - "of any dtype"
#
# Admits:
#
# - "of any dtype": booleans
# - "any dtype": a batch of whole numbers
# - "Any size may be 0": an empty batch
# - "size may be 0": blocks without rows
# - "of shape (…, n, p, q)": a batch of two dimensions

# %% wrong="multiplies by the identity" breaks="stays in its place: 0 · ∞ is not 0" says=["an infinity in the first block", "NaN outside of the block"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    eye = torch.eye(n, device=blocks.device).to(blocks.dtype)
    return (blocks[..., None, :] * eye[:, None, :, None]).reshape(*batch, n * p, n * q)


# %% wrong="a loop over the blocks" breaks="the number of operators must not grow with n" says=["more blocks", "is there a loop?"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    result = blocks.new_zeros(*batch, n * p, n * q)
    for k in range(n):
        result[..., k * p : (k + 1) * p, k * q : (k + 1) * q] = blocks[..., k, :, :]
    return result


# %% wrong="torch.block_diag" breaks="No `torch.block_diag`" says=["the answer calls block_diag"]
def block_diagonal(blocks):
    if blocks.dim() == 3:
        return torch.block_diag(*blocks)
    return torch.stack([block_diagonal(one) for one in blocks])


# %% wrong="reshapes the blocks alone" breaks="along the diagonal" says=["RuntimeError", "is invalid for input of size"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    return blocks.reshape(*batch, n * p, n * q)


# %% wrong="the dimensions in the wrong order" breaks="as `torch.block_diag` does it for separate matrices" says=["[[1, 2]] and [[3, 4]]: the result differs"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    spread = torch.diag_embed(blocks.movedim(-3, -1))  # (..., p, q, n, n)
    return spread.reshape(*batch, n * p, n * q)


# %% wrong="a loop over the batch" breaks="or with the batch" says=["a larger batch", "is there a loop?"]
def block_diagonal(blocks):
    if blocks.dim() > 3:
        whole = [block_diagonal(one) for one in blocks]
        n, p, q = blocks.shape[-3:]
        return torch.stack(whole) if whole else blocks.new_zeros(*blocks.shape[:-3], n * p, n * q)
    n, p, q = blocks.shape
    spread = torch.diag_embed(blocks.movedim(0, -1), dim1=0, dim2=2)
    return spread.reshape(n * p, n * q)


# %% right="writes into the diagonal view of zeros"
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    result = torch.zeros(*batch, n, p, n, q, dtype=blocks.dtype, device=blocks.device)
    result.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return (
        result.flatten(-2).flatten(-3, -2)
        if result.numel()
        else result.reshape(*batch, n * p, n * q)
    )


# %% right="where two arange are equal"
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    i = torch.arange(n, device=blocks.device)
    own = i.view(n, 1, 1, 1) == i.view(1, 1, n, 1)
    spread = torch.where(
        own, blocks.unsqueeze(-2), torch.zeros((), dtype=blocks.dtype, device=blocks.device)
    )
    return rearrange(spread, "... n p m q -> ... (n p) (m q)")


# %% right="index assignment"
def block_diagonal(blocks):
    n, p, q = blocks.shape[-3:]
    result = blocks.new_zeros(n, n, *blocks.shape[:-3], p, q)
    i = torch.arange(n, device=blocks.device)
    result[i, i] = blocks.movedim(-3, 0)
    return result.movedim((0, 1), (-4, -2)).reshape(*blocks.shape[:-3], n * p, n * q)


# %% wrong="a loop over NumPy arrays" breaks="Gradients flow" says=["no gradient flows back"]
def block_diagonal(blocks):
    import numpy as np

    data = blocks.detach().cpu().numpy()
    *batch, n, p, q = data.shape
    result = np.zeros((*batch, n * p, n * q), dtype=data.dtype)
    for k in range(n):
        result[..., k * p : (k + 1) * p, k * q : (k + 1) * q] = data[..., k, :, :]
    return torch.from_numpy(result).to(blocks.device)


# %% wrong="torch.block_diag under vmap" says=["the answer calls block_diag"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if not blocks.numel():
        return blocks.new_zeros(*batch, n * p, n * q)
    flat = blocks.reshape(-1, n, p, q)
    whole = torch.vmap(lambda one: torch.block_diag(*one))(flat)
    return whole.reshape(*batch, n * p, n * q)


# %% right="zeros behind each block, then other rows: each block is shifted by its own width"
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if not n * p * q:
        return blocks.new_zeros(*batch, n * p, n * q)
    rows = blocks.movedim(-2, -3)  # (..., p, n, q)
    wide = torch.cat([rows, rows.new_zeros(*rows.shape[:-1], n * q)], -1)  # (..., p, n, q + n q)
    wide = wide.flatten(-2)[..., : n * n * q].unflatten(-1, (n, n * q))  # (..., p, n, n q)
    return wide.movedim(-2, -3).reshape(*batch, n * p, n * q)


# %% right="a block-sparse matrix, the batches below each other"
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if blocks.numel() == 0:
        return blocks.new_zeros(*batch, n * p, n * q)
    flat = blocks.reshape(-1, p, q)
    rows = torch.arange(len(flat) + 1)
    columns = torch.arange(n).repeat(len(flat) // n)
    sparse = torch.sparse_bsr_tensor(rows, columns, flat, (len(flat) * p, n * q))
    return sparse.to_dense().view(*batch, n * p, n * q)


# %% wrong="zeros of the default dtype" breaks="of any dtype" says=["booleans: the result has dtype torch.float32, expected torch.bool"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    result = torch.zeros(*batch, n, p, n, q, device=blocks.device)
    result.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return result.reshape(*batch, n * p, n * q)


# %% wrong="leaves a size to reshape" breaks="Any size may be 0" says=["blocks without rows: raised RuntimeError: cannot reshape tensor of 0 elements"]
def block_diagonal(blocks):
    n, p, q = blocks.shape[-3:]
    spread = torch.diag_embed(blocks.movedim(-3, -1), dim1=-4, dim2=-2)
    return spread.reshape(*blocks.shape[:-3], n * p, -1)


# %% wrong="numbers on one diagonal" says=["1 of 15 cases fail", "a batch of blocks of one number: the result has shape (24, 24)"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if p == q == 1:
        return blocks.flatten().diag()
    out = blocks.new_zeros(*batch, n, p, n, q)
    out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return out.reshape(*batch, n * p, n * q)


# %% wrong="one block comes back, from the wrong end" says=["1 of 15 cases fail", "a batch of one block each: the result has shape (1, 1, 6)"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if n == 1:
        return blocks[0]
    out = blocks.new_zeros(*batch, n, p, n, q)
    out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return out.reshape(*batch, n * p, n * q)


# %% wrong="no block: zeros of float32" says=["no block, in half precision: the result has dtype torch.float32"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if n == 0:
        return torch.zeros(*batch, 0, 0)
    out = blocks.new_zeros(*batch, n, p, n, q)
    out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return out.reshape(*batch, n * p, n * q)


# %% wrong="one tensor for the results of all calls" says=["the next call changed what this one gave"]
kept = {}


def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    key = (blocks.shape, blocks.dtype)
    if key not in kept:
        kept[key] = blocks.new_zeros(*batch, n, p, n, q)
    out = kept[key]
    with torch.no_grad():
        out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    if blocks.requires_grad:
        out = blocks.new_zeros(*batch, n, p, n, q)
        out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return out.view(*batch, n * p, n * q)


# %% wrong="complex numbers lose their imaginary part" says=["numbers of torch.complex64: the result differs"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    out = blocks.new_zeros(*batch, n, p, n, q)
    out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    out = out if not out.is_complex() else out.real.to(out.dtype)
    return out.reshape(*batch, n * p, n * q)


# %% wrong="one block: no graph" says=["the gradient: no gradient flows back"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if n == 1:
        return blocks.detach()[..., 0, :, :].clone()
    out = blocks.new_zeros(*batch, n, p, n, q)
    out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return out.reshape(*batch, n * p, n * q)


# %% wrong="whole numbers by way of float64" says=["a batch of whole numbers, large ones: the result differs"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    out = blocks.new_zeros(*batch, n, p, n, q)
    out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    out = (
        out
        if out.is_floating_point() or out.dtype == torch.bool or out.is_complex()
        else out.double().to(out.dtype)
    )
    return out.reshape(*batch, n * p, n * q)


# %% right="masked_scatter"
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    place = torch.eye(n, dtype=torch.bool)[:, None, :, None].expand(*batch, n, p, n, q)
    return (
        blocks.new_zeros(*batch, n, p, n, q)
        .masked_scatter(place, blocks)
        .reshape(*batch, n * p, n * q)
    )


# %% wrong="two batch dimensions: one entry after the other" breaks="or with the batch" says=["a larger batch of two dimensions", "is there a loop?"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if len(batch) > 1:
        flat = [block_diagonal(part) for part in blocks.flatten(0, -4)]
        return (
            torch.stack(flat).reshape(*batch, n * p, n * q)
            if flat
            else blocks.new_zeros(*batch, n * p, n * q)
        )
    out = blocks.new_zeros(*batch, n, p, n, q)
    out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return out.reshape(*batch, n * p, n * q)


# %% wrong="stacks the batch, which may be empty" breaks="Any size may be 0" says=["an empty batch of two dimensions: raised RuntimeError"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if len(batch) > 1:
        return torch.stack([block_diagonal(part) for part in blocks])
    spread = torch.diag_embed(blocks.movedim(-3, -1), dim1=-4, dim2=-2)
    return spread.reshape(*batch, n * p, n * q)


# %% wrong="small dtypes by way of half" breaks="of any dtype" says=["numbers of torch.bfloat16: the result has dtype torch.float16"]
def block_diagonal(blocks):
    if blocks.dtype in (torch.bfloat16, torch.uint8):
        return block_diagonal(blocks.float()).half()
    *batch, n, p, q = blocks.shape
    spread = torch.diag_embed(blocks.movedim(-3, -1), dim1=-4, dim2=-2)
    return spread.reshape(*batch, n * p, n * q)


# %% wrong="multiplies with an identity where numbers are complex" says=["complex numbers, an infinity in the first block: NaN outside of the block"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    if blocks.is_complex():
        e = torch.eye(n, dtype=blocks.dtype)
        return torch.einsum("...npq,nm->...npmq", blocks, e).reshape(*batch, n * p, n * q)
    out = blocks.new_zeros(*batch, n, p, n, q)
    out.diagonal(dim1=-4, dim2=-2).copy_(blocks.movedim(-3, -1))
    return out.reshape(*batch, n * p, n * q)


# %% wrong="multiplies, and takes the NaN of real numbers back" says=["complex numbers, an infinity in the first block: NaN outside of the block"]
def block_diagonal(blocks):
    *batch, n, p, q = blocks.shape
    e = torch.eye(n, dtype=torch.bool)[:, None, :, None]
    out = blocks[..., :, :, None, :] * e
    if blocks.is_floating_point():
        out = torch.where(e, out, out.nan_to_num(0, 0, 0))
    return out.reshape(*batch, n * p, n * q)


# %% wrong="merges without changing the order of dimensions" says=["the row comes before the block column"]
def block_diagonal(blocks):
    n, p, q = blocks.shape[-3:]
    out = blocks.new_zeros(*blocks.shape[:-3], n, n, p, q)
    i = torch.arange(n)
    out[..., i, i, :, :] = blocks
    return out.reshape(*blocks.shape[:-3], n * p, n * q)


# %% wrong="a loop over the rows of a block" breaks="nor with p or q" says=["blocks of more rows", "is there a loop?"]
def block_diagonal(blocks: torch.Tensor) -> torch.Tensor:
    """Block-diagonal matrices (..., n * p, n * q) from blocks (..., n, p, q) of any dtype."""
    *batch, n, p, q = blocks.shape
    result = blocks.new_zeros(*batch, n, p, n, q)
    for row in range(p):
        result[..., row, :, :].diagonal(dim1=-3, dim2=-2).copy_(blocks[..., row, :].mT)
    return result.reshape(*batch, n * p, n * q)
