# %% [markdown]
# Rules:
#
# - "two tensors `p` and `q` of shape (n, m)"
# - "`(p + q)[i, j]` is `a[i] + b[j]`"
# - "Allocate nothing"
#
# Admits:
#
# - "`a` of shape (n,)": an empty a
# - "`b` of shape (m,)": one element each, in torch.float64
# - "two tensors `p` and `q` of shape (n, m)": a and b of strides
# - "of one dtype": "a and b in torch.bfloat16"

# %% wrong="repeats" breaks="Allocate nothing" says=["a copy was made", "repeat"]
def outer_without_memory(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return a[:, None].repeat(1, len(b)), b.repeat(len(a), 1)


# %% wrong="leaves the broadcasting to the sum" breaks="two tensors `p` and `q` of shape (n, m)" says=["with a = [1, 2] and b = [10, 20, 30]: p has shape (2, 1), expected (2, 3)"]
def outer_without_memory(a, b):
    return a[:, None], b[None, :]


# %% wrong="the wrong way round" breaks="`(p + q)[i, j]` is `a[i] + b[j]`" says=["has shape (3, 2), expected (2, 3)", "another order"]
def outer_without_memory(a, b):
    return a.expand(len(b), len(a)), b[:, None].expand(len(b), len(a))


# %% wrong="expands, then makes contiguous" says=["a copy was made", "clone"]
def outer_without_memory(a, b):
    p = a[:, None].expand(len(a), len(b)).contiguous()
    return p, b.expand(len(a), len(b)).contiguous()


# %% wrong="returns the sum" says=["a copy was made", "add"]
def outer_without_memory(a, b):
    return a[:, None] + b


# %% right="meshgrid"
def outer_without_memory(a, b):
    return torch.meshgrid(a, b, indexing="ij")


# %% right="strides of zero by hand, as a list"
def outer_without_memory(a, b):
    size = (len(a), len(b))
    return [a.as_strided(size, (a.stride(0), 0)), b.as_strided(size, (0, b.stride(0)))]


# %% right="broadcast_tensors"
def outer_without_memory(a, b):
    return tuple(torch.broadcast_tensors(a.unsqueeze(1), b))


# %% wrong="assumes that b steps by 1" says=["a and b of strides 7 and 3: q: the strides of a contiguous tensor were assumed"]
def outer_without_memory(a, b):
    size = (len(a), len(b))
    return a.as_strided(size, (a.stride(0), 0)), b.as_strided(size, (0, 1))


# %% wrong="unsqueezes its argument in place" says=["an argument was changed", "ending in _"]
def outer_without_memory(a, b):
    n = len(a)
    return a.unsqueeze_(1).expand(n, len(b)), b.expand(n, len(b))


# %% wrong="unsqueeze_ on a" says=["an argument was changed (its shape, stride or storage)"]
def outer_without_memory(a, b):
    n, m = len(a), len(b)
    return a.unsqueeze_(1).expand(n, m), b.expand(n, m)


# %% wrong="copies b where it is a itself" says=["1 of 12 cases fail", "b the same tensor as a: a copy was made"]
def outer_without_memory(a, b):
    b = b.clone() if b is a else b
    return a[:, None].expand(len(a), len(b)), b.expand(len(a), len(b))


# %% wrong="a square is filled the other way round" says=["2 of 12 cases fail", "b the same tensor as a: this is q"]
def outer_without_memory(a, b):
    n, m = len(a), len(b)
    p = a.expand(n, m) if n == m else a[:, None].expand(n, m)
    q = b[:, None].expand(n, m) if n == m else b.expand(n, m)
    return p, q


# %% wrong="contiguous, where only one column is" says=["1 of 12 cases fail", "a of stride 2 and b of one element: a copy was made"]
def outer_without_memory(a, b):
    n, m = len(a), len(b)
    p = a[:, None].expand(n, m)
    return p.contiguous() if m == 1 else p, b.expand(n, m)


# %% wrong="an empty b needs no expand" says=["1 of 12 cases fail", "an empty b: p has shape (3, 1), expected (3, 0)"]
def outer_without_memory(a, b):
    p = a[:, None].expand(len(a), len(b) or 1)
    return p, b.expand(len(a), len(b))


# %% wrong="the operands have changed places" says=["this is q: p varies down the rows, with a, and q along them, with b"]
def outer_without_memory(a, b):
    n, m = len(a), len(b)
    return b[None, :].expand(n, m), a[:, None].expand(n, m)


# %% wrong="broadcasts in NumPy" says=["1 of 12 cases fail", "a and b in torch.bfloat16: raised TypeError"]
import warnings


def outer_without_memory(a, b):
    shape = len(a), len(b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # arrays that must not be written to
        p = torch.from_numpy(np.broadcast_to(a.detach().numpy()[:, None], shape))
        q = torch.from_numpy(np.broadcast_to(b.detach().numpy(), shape))
    return p, q


# %% wrong="begins at box 0" says=["b = [10, 20, 30]: p: it starts at box 0 of the storage"]
def outer_without_memory(a, b):
    shape = len(a), len(b)
    p = a.as_strided(shape, (a.stride(0), 0), 0)
    return p, b.as_strided(shape, (0, b.stride(0)), 0)


# %% right="sets empty tensors onto the storages"
def outer_without_memory(a, b):
    def note(x, stride):
        fresh = torch.empty(0, dtype=x.dtype, device=x.device)
        return fresh.set_(x.untyped_storage(), x.storage_offset(), (len(a), len(b)), stride)

    return note(a, (a.stride(0), 0)), note(b, (0, b.stride(0)))
