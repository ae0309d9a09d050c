# %% [markdown]
# Rules:
#
# - "both without a loop"
# - "without taking the numbers out of the tensors"
# - "of any dtype"
# - "It returns a pair"
# - "`packed`, of one dimension"
# - "the longest row first"
# - "Rows of **equal length keep their order**"
# - "Padding may have any value, and real entries may be equal to it"
# - "takes rows (batch, ...)"
# - "returns them in the original one"
# - "takes a table (batch, time)"
# - "from 0 to time"
# - "Through both a gradient flows back"
#
# Admits:
#
# - "a table (batch, time)": "no row"
# - "of any dtype": a table in torch.bool
# - "any dtype": a table in torch.float64, transposed
# - "from 0 to time": [2, 0, 2, 0]
# - "takes rows (batch, ...)": rows of shape (3, 2, 2)
# - "Padding may have any value": zeros everywhere

# %% wrong="applies the order once more" breaks="returns them in the original one" says=["the order was applied twice: invert it"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][valid], order


def unsort(rows, order):
    return rows[order]


# %% wrong="everything but zeros is real" breaks="Padding may have any value, and real entries may be equal to it" says=["a real entry may be equal to the padding"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    rows = padded[order]
    return rows[rows != 0], order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="turns a rising order around" breaks="Rows of **equal length keep their order**" says=["rows of equal length keep their order"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(stable=True).flip(0)
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][valid], order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="a loop over the rows" breaks="both without a loop" says=["that is a loop over the rows"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    rows = [padded[i, : lengths[i]] for i in order]
    return torch.cat(rows) if rows else padded.reshape(-1), order


def unsort(rows, order):
    result = torch.empty_like(rows)
    for place, i in enumerate(order.tolist()):
        result[i] = rows[place]
    return result


# %% wrong="masks before it sorts" says=["the example: packed: the rows are sorted and the mask isn't"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[:, None]
    return padded[order][valid], order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="the shortest first" breaks="the longest row first" says=["the example: the order differs"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(stable=True)
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][valid], order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="packed alone" breaks="It returns a pair" says=["return the pair (packed, order)"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][valid]


def unsort(rows, order):
    return rows[order.argsort()]


# %% right="sort of negative lengths, and index assignment"
def sort_by_length(padded, lengths):
    sizes, order = torch.sort(-lengths, stable=True)
    steps = torch.ones_like(padded, dtype=torch.int64).cumsum(dim=1)
    return padded.index_select(0, order).masked_select(steps <= -sizes.unsqueeze(1)), order


def unsort(rows, order):
    result = torch.empty_like(rows)
    result[order] = rows
    return result


# %% right="places of the packed entries, and an inverse by scatter"
def sort_by_length(padded, lengths):
    batch, time = padded.shape
    keys = (time - lengths) * max(batch, 1) + torch.arange(batch, device=padded.device)
    order = keys.argsort()
    sizes = lengths[order]
    row = torch.repeat_interleave(order, sizes)
    start = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
    return padded[row, torch.arange(len(row), device=padded.device) - start], order


def unsort(rows, order):
    places = torch.arange(len(order), device=order.device)
    return rows[torch.zeros_like(order).scatter_(0, order, places)]


# %% wrong="a loop over tolist" breaks="without taking the numbers out of the tensors" says=["tolist takes the numbers out of the tensors"]
def sort_by_length(padded, lengths):
    sizes = lengths.tolist()
    order = sorted(range(len(sizes)), key=lambda row: -sizes[row])
    packed = [entry for row in order for entry in padded.tolist()[row][: sizes[row]]]
    return torch.tensor(packed, dtype=padded.dtype), torch.tensor(order, dtype=torch.int64)


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="unsort through tolist" says=["tolist takes the numbers out of the tensors"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    keep = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][keep], order


def unsort(rows, order):
    where = order.tolist()
    return rows[[where.index(i) for i in range(len(where))]]


# %% wrong="unsort for numbers only" says=["a table of 40 rows, no loop: raised the same"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    keep = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][keep], order


def unsort(rows, order):
    return torch.zeros_like(rows).scatter_(0, order, rows)


# %% right="a named tuple"
from typing import NamedTuple


class Packed(NamedTuple):
    packed: torch.Tensor
    order: torch.Tensor


def sort_by_length(padded, lengths):
    order = torch.argsort(lengths, descending=True, stable=True)
    table = padded[order]
    return Packed(
        table[
            torch.arange(table.shape[-1], device=table.device).expand(table.shape)
            < lengths[order].unsqueeze(-1)
        ],
        order,
    )


def unsort(rows, order):
    back = torch.zeros_like(rows)
    back[order] = rows
    return back


# %% wrong="the table, sorted" breaks="`packed`, of one dimension" says=["the example: packed has shape (3, 3), expected (6,)"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    return padded[order], order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="packs into float32" breaks="of any dtype" says=["has dtype torch.float32, expected torch.int64"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    real = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    packed = torch.zeros(int(lengths.sum()), device=padded.device)
    packed[:] = padded[order][real]
    return packed, order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="the longest by max, for no row" breaks="takes a table (batch, time)" says=["no row: raised RuntimeError: max()"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    longest = int(lengths.max())
    real = torch.arange(longest, device=padded.device) < lengths[order][:, None]
    return padded[order][:, :longest][real], order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="PyTorch's packed sequence" breaks="from 0 to time" says=["ties: raised RuntimeError: Length of all samples has to be greater than 0"]
def sort_by_length(padded, lengths):
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        padded, lengths.cpu(), batch_first=True, enforce_sorted=False
    )
    return packed.data, packed.sorted_indices


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="unsort of tables at most" breaks="takes rows (batch, ...)" says=["rows of shape (3, 2, 2): raised RuntimeError"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    real = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][real], order


def unsort(rows, order):
    if rows.dim() == 1:
        return torch.empty_like(rows).scatter_(0, order, rows)
    return torch.empty_like(rows).scatter_(0, order[:, None].expand(rows.shape), rows)


# %% wrong="detaches the rows" breaks="Through both a gradient flows back" says=["no gradient flows back"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][valid], order


def unsort(rows, order):
    result = torch.empty_like(rows)
    result[order] = rows.detach()
    return result


# %% wrong="detaches the table" says=["no gradient flows back"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded.detach()[order][valid], order


def unsort(rows, order):
    result = torch.empty_like(rows)
    result[order] = rows
    return result


# %% wrong="adds a fraction for the row, in float32" says=["2500 rows of at most two"]
def sort_by_length(padded, lengths):
    order = (lengths.float() - torch.arange(len(lengths), device=lengths.device) / 1e3).argsort(
        descending=True
    )
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][valid], order


def unsort(rows, order):
    result = torch.empty_like(rows)
    result[order] = rows
    return result


# %% wrong="writes into a leaf that requires a gradient" says=["in other states"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][valid], order


def unsort(rows, order):
    result = torch.empty_like(rows, requires_grad=rows.requires_grad)
    result[order] = rows
    return result


# %% wrong="picks through float32" says=["whole numbers beyond float64's"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    table = padded[order]
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return table.float()[valid].to(padded.dtype), order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="a matrix that permutes" says=["nan and inf"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    table = padded[order]
    valid = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return table[valid], order


def unsort(rows, order):
    back = F.one_hot(order, len(order)).T.to(rows.dtype)
    return torch.tensordot(back, rows, dims=1)


# %% wrong="marks the padding by -1" breaks="Padding may have any value, and real entries may be equal to it" says=["-1 everywhere: a real entry may be equal to the padding"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    places = torch.arange(padded.shape[1], device=padded.device)
    marked = padded.masked_fill(places >= lengths[:, None], -1)[order].flatten()
    return marked[marked != -1], order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="keeps rows by the tensors they came from" says=["which had other numbers the first time gives other values"]
import functools


@functools.lru_cache(maxsize=8)
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    places = torch.arange(padded.shape[1], device=padded.device)
    return padded[order][places < lengths[order][:, None]], order


@functools.lru_cache(maxsize=8)
def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="the longest by item" breaks="without taking the numbers out of the tensors" says=["item takes the numbers out of the tensors"]
def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    longest = lengths.max().item() if len(lengths) else 0
    table = padded[order][:, :longest]
    return table[torch.arange(longest, device=padded.device) < lengths[order][:, None]], order


def unsort(rows, order):
    return rows[order.argsort()]


# %% wrong="unsorts into one tensor for all calls" says=["which had other numbers the first time changes the result of the first time"]
_room = {}


def sort_by_length(padded, lengths):
    order = lengths.argsort(descending=True, stable=True)
    real = torch.arange(padded.shape[1], device=padded.device) < lengths[order][:, None]
    return padded[order][real], order


def unsort(rows, order):
    if rows.requires_grad:
        return rows[order.argsort()]
    key = rows.shape, rows.dtype
    if key not in _room:
        _room[key] = torch.empty_like(rows)
    _room[key][order] = rows
    return _room[key]


# %% wrong="packs the rows as they come" breaks="the longest row first" says=["the example: packed: the rows are packed in the order in which they came"]
def sort_by_length(padded, lengths):
    order = (-lengths).argsort(stable=True)
    return padded[torch.arange(padded.shape[1], device=padded.device) < lengths[:, None]], order


def unsort(rows, order):
    return rows[order.argsort()]
