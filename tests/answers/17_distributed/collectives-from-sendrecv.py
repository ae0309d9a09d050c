# %% [markdown]
# Rules:
#
# - "with the values of rank `root`"
# - "on rank `root` the sum over all ranks"
# - "`None` on the others"
# - "row r is the `x` of rank r"
# - "on rank r the sum over all ranks of `x[r]`"
# - "`send`, `recv`, `isend`, `irecv` and `batch_isend_irecv`"
# - "and by nothing else"
# - "any number of ranks, also one"
# - "Results have the dtype of `x`"
# - "large integers are added up exactly"
# - "Leave `x` as it is"
# - "perhaps empty or not contiguous"
# - "any number of dimensions"
#
# Admits:
#
# - "floating point or integer": torch.int8
# - "any number of dimensions": list(torch.arange(1.0, 4))
# - "perhaps empty": torch.zeros(3, 0)
# - "or not contiguous": rank 0's is turned
# - "any number of ranks, also one": torch.tensor([[3.0]])
# - "large integers": 2**60 + 1

# %% wrong="the library's collectives" breaks="`send`, `recv`, `isend`, `irecv` and `batch_isend_irecv`" says=["only send and recv are allowed", "all_reduce was called"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    rows = torch.zeros(n, *x.shape, dtype=x.dtype, device=x.device)
    rows[rank] = x
    dist.all_reduce(rows)
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    return rows if kind == "all_gather" else rows[:, rank].sum(0, dtype=x.dtype)


# %% wrong="rank 0 alone exchanges with the others" says=["the x of rank 2 did not come here", "the x of rank 1 did not come here"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    rows = torch.stack([x] * n)
    for other in range(1, n):
        if rank == 0:
            dist.send(x, other)
            dist.recv(rows[other], other)
        elif rank == other:
            dist.recv(rows[0], 0)
            dist.send(x, 0)
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    return rows if kind == "all_gather" else rows[:, rank].sum(0, dtype=x.dtype)


# %% wrong="everyone sends first" says=["after 7 seconds", "was in send"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    rows = torch.stack([x] * n)
    for other in range(n):
        if other != rank:
            dist.send(x.contiguous(), other)
    for other in range(n):
        if other != rank:
            dist.recv(rows[other], other)
    return rows


# %% wrong="receives into x, sends views that are not contiguous" says=["has to be contiguous"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    rows = torch.stack([x] * n)
    for sender in range(n):
        if rank == sender:
            for other in range(n):
                if other != rank:
                    dist.send(x, other)
        else:
            dist.recv(rows[sender], sender)
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    return rows if kind == "all_gather" else rows[:, rank].sum(0, dtype=x.dtype)


# %% wrong="reduce gives the sum to all, reduce-scatter adds nothing" says=["the sum is wanted on rank 1 alone", "nothing was added to it"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    rows = torch.stack([x] * n)
    for sender in range(n):
        if rank == sender:
            for other in range(n):
                if other != rank:
                    dist.send(x, other)
        else:
            dist.recv(rows[sender], sender)
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype)
    return rows if kind == "all_gather" else x[rank]


# %% wrong="broadcast overwrites x" breaks="Leave `x` as it is" says=["x was changed"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    if kind == "broadcast":
        y = x.contiguous()
        if rank == root:
            for other in range(n):
                if other != root:
                    dist.send(y, other)
        else:
            dist.recv(y, root)
        return y
    rows = torch.stack([x] * n)
    for sender in range(n):
        if rank == sender:
            for other in range(n):
                if other != rank:
                    dist.send(x.contiguous(), other)
        else:
            dist.recv(rows[sender], sender)
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    return rows if kind == "all_gather" else rows[:, rank].sum(0, dtype=x.dtype)


# %% right="each made directly, with isend and irecv"
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    others = [other for other in range(n) if other != rank]

    def exchange(out, into):
        """Send out[r] to rank r and receive into[r] from it, where they are given."""
        ops = [dist.P2POp(dist.isend, t, r) for r, t in out.items()]
        ops += [dist.P2POp(dist.irecv, t, r) for r, t in into.items()]
        for work in dist.batch_isend_irecv(ops) if ops else []:
            work.wait()

    x = x.clone(memory_format=torch.contiguous_format)
    if kind == "broadcast":
        y = x.clone()
        exchange({r: x for r in others} if rank == root else {}, {root: y} if rank != root else {})
        return y
    if kind == "reduce":
        came = {r: torch.empty_like(x) for r in others} if rank == root else {}
        exchange({} if rank == root else {root: x}, came)
        for y in came.values():
            x += y
        return x if rank == root else None
    if kind == "all_gather":
        came = {r: torch.empty_like(x) for r in others}
        exchange({r: x for r in others}, came)
        return torch.stack([came.get(r, x) for r in range(n)])
    came = {r: torch.empty_like(x[0]) for r in others}
    exchange({r: x[r].clone() for r in others}, came)
    total = x[rank].clone()
    for y in came.values():
        total = total + y
    return total


# %% right="all through rank 0"
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    rows = torch.empty((n, *x.shape), dtype=x.dtype, device=x.device)
    if rank == 0:
        rows[0] = x
        for r in range(1, n):
            dist.recv(rows[r], src=r)
        for r in range(1, n):
            dist.send(rows, dst=r)
    else:
        dist.send(x.contiguous(), dst=0)
        dist.recv(rows, src=0)
    match kind:
        case "broadcast":
            return rows[root]
        case "reduce":
            return None if rank != root else torch.einsum("r...->...", rows).to(x.dtype)
        case "all_gather":
            return rows
    return sum(rows[r, rank] for r in range(n))


# %% wrong="always rank 0, whatever root" breaks="with the values of rank `root`" says=["that is the x of rank 0, and root is 1"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    if kind == "broadcast":
        out = x.clone().contiguous()
        if rank == 0:
            for other in range(1, n):
                dist.send(out, other)
        else:
            dist.recv(out, 0)
        return out
    if kind == "reduce":
        if rank != 0:
            dist.send(x.contiguous(), 0)
            return None
        total = x.clone().contiguous()
        for other in range(1, n):
            part = torch.empty_like(total)
            dist.recv(part, other)
            total = total + part
        return total
    rows = torch.zeros((n, *x.shape), dtype=x.dtype, device=x.device)
    for r in range(n):
        if rank == r:
            rows[r] = x
            for other in range(n):
                if other != r:
                    dist.send(rows[r], other)
        else:
            dist.recv(rows[r], r)
    return rows if kind == "all_gather" else rows.sum(0)[rank]


# %% wrong="receives into float32" says=["has dtype torch.float32, expected torch.int64"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = x.float().contiguous()
    rows = torch.zeros((n, *x.shape), device=x.device)
    rows[rank] = mine
    for r in range(n):
        if rank == r:
            for other in range(n):
                if other != r:
                    dist.send(mine, other)
        else:
            dist.recv(rows[r], r)
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0) if rank == root else None
    return rows if kind == "all_gather" else rows.sum(0)[rank]


# %% right="binomial tree"
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()

    def bcast(value, root):
        value = value.clone(memory_format=torch.contiguous_format)
        place = (rank - root) % n
        reach = 1
        while reach < n:
            if place < reach and place + reach < n:
                dist.send(value, (place + reach + root) % n)
            elif reach <= place < 2 * reach:
                dist.recv(value, (place - reach + root) % n)
            reach *= 2
        return value

    def reduce(value, root):
        value = value.clone(memory_format=torch.contiguous_format)
        place = (rank - root) % n
        reach = 1
        while reach < n:
            if place % (2 * reach) == 0:
                if place + reach < n:
                    other = torch.empty_like(value)
                    dist.recv(other, (place + reach + root) % n)
                    value += other
            else:
                dist.send(value, (place - reach + root) % n)
                return None
            reach *= 2
        return value

    if kind == "broadcast":
        return bcast(x, root)
    if kind == "reduce":
        return reduce(x, root)
    if kind == "all_gather":
        return torch.stack([bcast(x, r) for r in range(n)])
    sums = [reduce(x[r], r) for r in range(n)]
    return sums[rank]


# %% wrong="all values through the group's store" breaks="and by nothing else" says=["Values travel by send and recv alone", "received nothing by recv"]
import io
import itertools

turns = itertools.count()


def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    store, turn = dist.distributed_c10d._get_default_store(), next(turns)
    buffer = io.BytesIO()
    torch.save(x.clone(), buffer)
    store.set(f"mine-{turn}-{rank}", buffer.getvalue())
    rows = torch.stack(
        [torch.load(io.BytesIO(store.get(f"mine-{turn}-{r}"))).contiguous() for r in range(n)]
    )
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    return rows if kind == "all_gather" else rows[:, rank].sum(0, dtype=x.dtype)


# %% wrong="adds integers up in float64" says=["the integers were added up in floating point"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    rows = torch.stack([x] * n)
    for sender in range(n):
        for receiver in range(n):
            if sender != receiver and rank == sender:
                dist.send(x, receiver)
            elif sender != receiver and rank == receiver:
                dist.recv(rows[sender], sender)
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.double().sum(0).to(x.dtype) if rank == root else None
    return rows if kind == "all_gather" else rows[:, rank].double().sum(0).to(x.dtype)


# %% wrong="sums of int32 come back as int64" breaks="Results have the dtype of `x`" says=["the result is int64, and x is torch.int32"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    own = x.contiguous()
    rows = [
        own.clone() if source == rank else torch.empty_like(own) for source in range(world_size)
    ]
    for source in range(world_size):
        for other in range(world_size):
            if rank == source != other:
                dist.send(own, other)
            elif rank == other != source:
                dist.recv(rows[source], source)
    whole = torch.stack(rows)
    if kind == "broadcast":
        return whole[root]
    if kind == "reduce":
        return whole.sum(0) if rank == root else None
    return whole if kind == "all_gather" else whole[:, rank].sum(0)


# %% wrong="float64 travels as float32" says=["right to seven digits only"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    own = x.contiguous().float() if x.dtype == torch.float64 else x.contiguous()
    rows = [
        own.clone() if source == rank else torch.empty_like(own) for source in range(world_size)
    ]
    for source in range(world_size):
        for other in range(world_size):
            if rank == source != other:
                dist.send(own, other)
            elif rank == other != source:
                dist.recv(rows[source], source)
    whole = torch.stack(rows).to(x.dtype)
    if kind == "broadcast":
        return whole[root]
    if kind == "reduce":
        return whole.sum(0, dtype=x.dtype) if rank == root else None
    return whole if kind == "all_gather" else whole[:, rank].sum(0, dtype=x.dtype)


# %% wrong="small integers are added up in float32" says=["the integers were added up in floating point"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    own = x.contiguous()
    rows = [
        own.clone() if source == rank else torch.empty_like(own) for source in range(world_size)
    ]
    for source in range(world_size):
        for other in range(world_size):
            if rank == source != other:
                dist.send(own, other)
            elif rank == other != source:
                dist.recv(rows[source], source)
    whole = torch.stack(rows)
    total = whole.float() if x.dtype == torch.int32 else whole
    if kind == "broadcast":
        return whole[root]
    if kind == "reduce":
        return total.sum(0, dtype=total.dtype).to(x.dtype) if rank == root else None
    return whole if kind == "all_gather" else total[:, rank].sum(0, dtype=total.dtype).to(x.dtype)


# %% wrong="puts what came into the strides of its own x" breaks="perhaps empty or not contiguous" says=["the result differs in 4 of 6 elements"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    rows = [x] * world_size
    for source in range(world_size):
        for other in range(world_size):
            if rank == source != other:
                dist.send(x.contiguous(), other)
            elif rank == other != source:
                came = torch.empty(x.numel(), dtype=x.dtype, device=x.device)
                dist.recv(came, source)
                rows[source] = came.as_strided(x.shape, x.stride())
    whole = torch.stack(rows)
    if kind == "broadcast":
        return whole[root]
    if kind == "reduce":
        return whole.sum(0, dtype=x.dtype) if rank == root else None
    return whole if kind == "all_gather" else whole[:, rank].sum(0, dtype=x.dtype)


# %% right="batch_isend_irecv, sums one by one"
def collectives_from_sendrecv(kind, x, root=0):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    own = x.clone(memory_format=torch.contiguous_format)
    rows = [own if other == rank else torch.empty_like(own) for other in range(world_size)]
    both = []
    for other in range(world_size):
        if other != rank:
            both.append(dist.P2POp(dist.isend, own, other))
            both.append(dist.P2POp(dist.irecv, rows[other], other))
    for request in dist.batch_isend_irecv(both) if both else ():
        request.wait()
    if kind == "broadcast":
        return rows[root]
    if kind == "all_gather":
        return torch.stack(rows)
    if kind == "reduce" and rank != root:
        return None
    parts = rows if kind == "reduce" else [row[rank] for row in rows]
    total = parts[0].clone()
    for part in parts[1:]:
        total += part
    return total


# %% wrong="the sum of half precision is given back as float32" says=["float16"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    rows = [
        x.contiguous().clone()
        if r == rank
        else torch.empty(x.shape, dtype=x.dtype, device=x.device)
        for r in range(n)
    ]
    for r in range(n):
        if r == rank:
            for o in range(n):
                if o != r:
                    dist.send(rows[r], o)
        else:
            dist.recv(rows[r], r)
    if kind == "broadcast":
        return rows[root]
    if kind == "all_gather":
        return torch.stack(rows)
    rows = [row.float() if row.dtype == torch.float16 else row for row in rows]
    total = sum(rows[1:], rows[0].clone())
    if kind == "reduce":
        return total if rank == root else None
    return total[rank]


# %% wrong="the sum of small integers is given back as int64" says=["sum() makes int64 of smaller integers"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    rows = [
        x.contiguous().clone()
        if r == rank
        else torch.empty(x.shape, dtype=x.dtype, device=x.device)
        for r in range(n)
    ]
    for r in range(n):
        if r == rank:
            for o in range(n):
                if o != r:
                    dist.send(rows[r], o)
        else:
            dist.recv(rows[r], r)
    if kind == "broadcast":
        return rows[root]
    if kind == "all_gather":
        return torch.stack(rows)
    total = torch.stack(rows).sum(0)
    total = (
        total
        if total.dtype == torch.int64 and x.dtype in (torch.int8, torch.int16, torch.uint8)
        else total.to(x.dtype)
    )
    if kind == "reduce":
        return total if rank == root else None
    return total[rank]


# %% wrong="integers are added up in float64" breaks="large integers are added up exactly" says=["the integers were added up in floating point"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    rows = [
        x.contiguous().clone()
        if r == rank
        else torch.empty(x.shape, dtype=x.dtype, device=x.device)
        for r in range(n)
    ]
    for r in range(n):
        if r == rank:
            for o in range(n):
                if o != r:
                    dist.send(rows[r], o)
        else:
            dist.recv(rows[r], r)
    if kind == "broadcast":
        return rows[root]
    if kind == "all_gather":
        return torch.stack(rows)
    total = torch.stack(rows).double().sum(0).to(x.dtype)
    if kind == "reduce":
        return total if rank == root else None
    return total[rank]


# %% wrong="own row is missing" says=["the rank's own part is missing in the sum"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    """One collective, made of ``send`` and ``recv``.

    ``kind`` is ``"broadcast"``, ``"reduce"``, ``"all_gather"`` or ``"reduce_scatter"``.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    gathered = torch.zeros(world_size, *x.shape, dtype=x.dtype)
    for first in range(world_size):  # every pair once; the lower rank sends first
        for second in range(first + 1, world_size):
            if rank == first:
                dist.send(x, second)
                dist.recv(gathered[second], second)
            elif rank == second:
                dist.recv(gathered[first], first)
                dist.send(x, first)
    if kind == "broadcast":
        return gathered[root].clone()
    if kind == "reduce":
        return gathered.sum(0, dtype=x.dtype) if rank == root else None
    return gathered if kind == "all_gather" else gathered[:, rank].sum(0, dtype=x.dtype)


# %% wrong="the mean in place of the sum" breaks="on rank `root` the sum over all ranks" says=["that is the mean of the ranks: the sum is wanted"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    """One collective, made of ``send`` and ``recv``.

    ``kind`` is ``"broadcast"``, ``"reduce"``, ``"all_gather"`` or ``"reduce_scatter"``.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    gathered = torch.stack([x] * world_size)
    for first in range(world_size):  # every pair once; the lower rank sends first
        for second in range(first + 1, world_size):
            if rank == first:
                dist.send(x, second)
                dist.recv(gathered[second], second)
            elif rank == second:
                dist.recv(gathered[first], first)
                dist.send(x, first)
    if kind == "broadcast":
        return gathered[root].clone()
    if kind == "reduce":
        return (
            (
                gathered.sum(0, dtype=x.dtype) // world_size
                if not x.is_floating_point()
                else gathered.mean(0)
            )
            if rank == root
            else None
        )
    return gathered if kind == "all_gather" else gathered[:, rank].sum(0, dtype=x.dtype)


# %% wrong="reduce_scatter keeps a dimension" breaks="on rank r the sum over all ranks of `x[r]`" says=["reduce_scatter", "a dimension of size 1 is missing or too many"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    """One collective, made of ``send`` and ``recv``.

    ``kind`` is ``"broadcast"``, ``"reduce"``, ``"all_gather"`` or ``"reduce_scatter"``.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    gathered = torch.stack([x] * world_size)
    for first in range(world_size):  # every pair once; the lower rank sends first
        for second in range(first + 1, world_size):
            if rank == first:
                dist.send(x, second)
                dist.recv(gathered[second], second)
            elif rank == second:
                dist.recv(gathered[first], first)
                dist.send(x, first)
    if kind == "broadcast":
        return gathered[root].clone()
    if kind == "reduce":
        return gathered.sum(0, dtype=x.dtype) if rank == root else None
    return gathered if kind == "all_gather" else gathered[:, rank : rank + 1].sum(0, dtype=x.dtype)


# %% wrong="others get zeros from reduce" breaks="`None` on the others" says=["elsewhere return None"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    """One collective, made of ``send`` and ``recv``.

    ``kind`` is ``"broadcast"``, ``"reduce"``, ``"all_gather"`` or ``"reduce_scatter"``.
    """
    rank, world_size = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    gathered = torch.stack([x] * world_size)
    for first in range(world_size):  # every pair once; the lower rank sends first
        for second in range(first + 1, world_size):
            if rank == first:
                dist.send(x, second)
                dist.recv(gathered[second], second)
            elif rank == second:
                dist.recv(gathered[first], first)
                dist.send(x, first)
    if kind == "broadcast":
        return gathered[root].clone()
    if kind == "reduce":
        return gathered.sum(0, dtype=x.dtype) if rank == root else torch.zeros_like(x)
    return gathered if kind == "all_gather" else gathered[:, rank].sum(0, dtype=x.dtype)


# %% wrong="doesn't wait for what it started" says=["cases fail"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.contiguous()
    rows = [x.clone() if r == rank else torch.zeros_like(x) for r in range(n)]
    for r in range(n):
        if r != rank:
            dist.isend(x, r)
            dist.irecv(rows[r], r)
    rows = torch.stack(rows)
    if kind == "broadcast":
        return rows[root].clone()
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    if kind == "all_gather":
        return rows
    return rows[:, rank].sum(0, dtype=x.dtype)


# %% right="one exchange for all four"
def collectives_from_sendrecv(kind, x, root=0):
    me, n = dist.get_rank(), dist.get_world_size()
    mine = x.contiguous()

    def exchange(out, senders, receivers):
        """Rank s in senders gives out[t] to t in receivers; returns a dict of what came."""
        ops, came = [], {}
        for other in range(n):
            if other == me:
                continue
            if me in senders and other in receivers:
                ops.append(dist.P2POp(dist.isend, out(other), other))
            if me in receivers and other in senders:
                came[other] = torch.empty_like(out(me))
                ops.append(dist.P2POp(dist.irecv, came[other], other))
        for work in dist.batch_isend_irecv(ops) if ops else []:
            work.wait()
        return came

    everyone = range(n)
    if kind == "broadcast":
        came = exchange(lambda r: mine, [root], everyone)
        return came.get(root, mine.clone())
    if kind == "reduce":
        came = exchange(lambda r: mine, everyone, [root])
        if me != root:
            return None
        total = mine.clone()
        for part in came.values():
            total += part
        return total
    if kind == "all_gather":
        came = exchange(lambda r: mine, everyone, everyone)
        return torch.stack([came.get(r, mine) for r in everyone])
    came = exchange(lambda r: mine[r].contiguous(), everyone, everyone)
    total = mine[me].clone()
    for part in came.values():
        total += part
    return total


# %% wrong="the own row first, then as they come" breaks="row r is the `x` of rank r" says=["the rows are there in another order"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = x.contiguous()

    def gather():
        rows = []
        for source in range(n):
            if source == rank:
                rows.append(mine.clone())
                for other in range(n):
                    if other != rank:
                        dist.send(mine, other)
            else:
                part = torch.empty(x.shape, dtype=x.dtype, device=x.device)
                dist.recv(part, source)
                rows.append(part)
        return torch.stack(rows)

    rows = gather()
    if kind == "all_gather":
        rows = torch.cat([rows[rank : rank + 1], rows[:rank], rows[rank + 1 :]])
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    if kind == "all_gather":
        return rows
    return rows.sum(0, dtype=x.dtype)[rank]


# %% wrong="one rank gives x back, whatever the kind" breaks="any number of ranks, also one" says=["shape (1, 1), expected (1, 1, 1)"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = x.contiguous()

    def gather():
        rows = []
        for source in range(n):
            if source == rank:
                rows.append(mine.clone())
                for other in range(n):
                    if other != rank:
                        dist.send(mine, other)
            else:
                part = torch.empty(x.shape, dtype=x.dtype, device=x.device)
                dist.recv(part, source)
                rows.append(part)
        return torch.stack(rows)

    if n == 1:
        return x.clone()
    rows = gather()
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    if kind == "all_gather":
        return rows
    return rows.sum(0, dtype=x.dtype)[rank]


# %% wrong="cat in place of stack" breaks="any number of dimensions" says=["zero-dimensional tensor"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = x.contiguous()

    def gather():
        rows = []
        for source in range(n):
            if source == rank:
                rows.append(mine.clone())
                for other in range(n):
                    if other != rank:
                        dist.send(mine, other)
            else:
                part = torch.empty(x.shape, dtype=x.dtype, device=x.device)
                dist.recv(part, source)
                rows.append(part)
        return torch.cat(rows).view(n, *x.shape)

    rows = gather()
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    if kind == "all_gather":
        return rows
    return rows.sum(0, dtype=x.dtype)[rank]


# %% wrong="reduce_scatter gives root's part" says=["that is the sum of x[1], and this is rank 0"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = x.contiguous()

    def gather():
        rows = []
        for source in range(n):
            if source == rank:
                rows.append(mine.clone())
                for other in range(n):
                    if other != rank:
                        dist.send(mine, other)
            else:
                part = torch.empty(x.shape, dtype=x.dtype, device=x.device)
                dist.recv(part, source)
                rows.append(part)
        return torch.stack(rows)

    rows = gather()
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    if kind == "all_gather":
        return rows
    return rows.sum(0, dtype=x.dtype)[root]


# %% wrong="reduces onto rank 0" says=["rank 1 is the root: the sum is wanted here"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = x.contiguous()

    def gather():
        rows = []
        for source in range(n):
            if source == rank:
                rows.append(mine.clone())
                for other in range(n):
                    if other != rank:
                        dist.send(mine, other)
            else:
                part = torch.empty(x.shape, dtype=x.dtype, device=x.device)
                dist.recv(part, source)
                rows.append(part)
        return torch.stack(rows)

    rows = gather()
    if kind == "broadcast":
        return rows[root]
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == 0 else None
    if kind == "all_gather":
        return rows
    return rows.sum(0, dtype=x.dtype)[rank]


# %% wrong="nothing to send, nothing to do" says=["reduce, root 1, shape (3, 0), rank 0 of 3: the sum is wanted on rank 1 alone"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.detach().contiguous()

    def broadcast(value, source):
        if rank == source:
            for other in range(n):
                if other != rank:
                    dist.send(value, other)
            return value.clone()
        got = torch.empty_like(value)
        dist.recv(got, source)
        return got

    def reduce(value, target):
        value = value.contiguous()
        if rank != target:
            dist.send(value, target)
            return None
        total = value.clone()
        for other in range(n):
            if other != target:
                got = torch.empty_like(value)
                dist.recv(got, other)
                total += got
        return total

    if x.numel() == 0:
        return x.clone()
    if kind == "broadcast":
        return broadcast(x, root)
    if kind == "reduce":
        return reduce(x, root)
    if kind == "all_gather":
        return torch.stack([broadcast(x, source) for source in range(n)])
    return [reduce(x[owner], owner) for owner in range(n)][rank]


# %% wrong="leaves a NaN out of the sum" breaks="on rank `root` the sum over all ranks" says=["NaN plus a number is NaN"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.detach().contiguous()

    def broadcast(value, source):
        if rank == source:
            for other in range(n):
                if other != rank:
                    dist.send(value, other)
            return value.clone()
        out = torch.empty_like(value)
        dist.recv(out, source)
        return out

    def reduce(value, target):
        if rank != target:
            dist.send(value, target)
            return None
        total = value.clone()
        part = torch.empty_like(value)
        for other in range(n):
            if other != rank:
                dist.recv(part, other)
                total += part.nan_to_num() if part.is_floating_point() else part
        return total

    if kind == "broadcast":
        return broadcast(x, root)
    if kind == "reduce":
        return reduce(x, root)
    if kind == "all_gather":
        return torch.stack([broadcast(x, r) for r in range(n)])
    return [reduce(x[r].contiguous(), r) for r in range(n)][rank]


# %% wrong="cuts an infinity" breaks="on rank `root` the sum over all ranks" says=["infinity became a finite number"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.detach().contiguous()

    def broadcast(value, source):
        if rank == source:
            for other in range(n):
                if other != rank:
                    dist.send(value, other)
            return value.clone()
        out = torch.empty_like(value)
        dist.recv(out, source)
        return out

    def reduce(value, target):
        if rank != target:
            dist.send(value, target)
            return None
        total = value.clone()
        part = torch.empty_like(value)
        for other in range(n):
            if other != rank:
                dist.recv(part, other)
                total += part.clamp(-1e4, 1e4) if part.is_floating_point() else part
        return total

    if kind == "broadcast":
        return broadcast(x, root)
    if kind == "reduce":
        return reduce(x, root)
    if kind == "all_gather":
        return torch.stack([broadcast(x, r) for r in range(n)])
    return [reduce(x[r].contiguous(), r) for r in range(n)][rank]


# %% wrong="small numbers become zero" breaks="on rank `root` the sum over all ranks" says=["small numbers are lost"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.detach().contiguous()

    def broadcast(value, source):
        if rank == source:
            for other in range(n):
                if other != rank:
                    dist.send(value, other)
            return value.clone()
        out = torch.empty_like(value)
        dist.recv(out, source)
        return out

    def reduce(value, target):
        if rank != target:
            dist.send(value, target)
            return None
        total = value.clone()
        part = torch.empty_like(value)
        for other in range(n):
            if other != rank:
                dist.recv(part, other)
                total += (
                    torch.where(part.abs() < 1e-8, 0, part) if part.is_floating_point() else part
                )
        return total

    if kind == "broadcast":
        return broadcast(x, root)
    if kind == "reduce":
        return reduce(x, root)
    if kind == "all_gather":
        return torch.stack([broadcast(x, r) for r in range(n)])
    return [reduce(x[r].contiguous(), r) for r in range(n)][rank]


# %% wrong="unsigned bytes added as signed" breaks="Results have the dtype of `x`" says=["has dtype torch.int8, expected torch.uint8"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.detach().contiguous()

    def broadcast(value, source):
        if rank == source:
            for other in range(n):
                if other != rank:
                    dist.send(value, other)
            return value.clone()
        out = torch.empty_like(value)
        dist.recv(out, source)
        return out

    def reduce(value, target):
        if rank != target:
            dist.send(value, target)
            return None
        total = value.to(torch.int8) if value.dtype == torch.uint8 else value.clone()
        part = torch.empty_like(value)
        for other in range(n):
            if other != rank:
                dist.recv(part, other)
                total += part
        return total

    if kind == "broadcast":
        return broadcast(x, root)
    if kind == "reduce":
        return reduce(x, root)
    if kind == "all_gather":
        return torch.stack([broadcast(x, r) for r in range(n)])
    return [reduce(x[r].contiguous(), r) for r in range(n)][rank]


# %% wrong="four dimensions are flattened" breaks="any number of dimensions" says=["expected (2, 2, 2, 2)"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
    rank, n = dist.get_rank(), dist.get_world_size()
    x = x.detach().contiguous()

    def broadcast(value, source):
        if rank == source:
            for other in range(n):
                if other != rank:
                    dist.send(value, other)
            return value.clone()
        out = torch.empty_like(value)
        dist.recv(out, source)
        return out

    def reduce(value, target):
        if rank != target:
            dist.send(value, target)
            return None
        total = value.clone() if value.dim() < 4 else value.flatten().clone()
        value = value if value.dim() < 4 else value.flatten()
        part = torch.empty_like(value)
        for other in range(n):
            if other != rank:
                dist.recv(part, other)
                total += part
        return total

    if kind == "broadcast":
        return broadcast(x, root)
    if kind == "reduce":
        return reduce(x, root)
    if kind == "all_gather":
        return torch.stack([broadcast(x, r) for r in range(n)])
    return [reduce(x[r].contiguous(), r) for r in range(n)][rank]


# %% wrong="another default of root" says=["root is 0 here, also where it is left out"]
def collectives_from_sendrecv(kind: str, x: torch.Tensor, root: int = -1) -> torch.Tensor | None:
    rank, n = dist.get_rank(), dist.get_world_size()
    root = root % n
    x = x.detach().contiguous()

    def broadcast(value, source):
        if rank == source:
            for other in range(n):
                if other != rank:
                    dist.send(value, other)
            return value.clone()
        out = torch.empty_like(value)
        dist.recv(out, source)
        return out

    def reduce(value, target):
        if rank != target:
            dist.send(value, target)
            return None
        total = value.clone()
        part = torch.empty_like(value)
        for other in range(n):
            if other != rank:
                dist.recv(part, other)
                total += part
        return total

    if kind == "broadcast":
        return broadcast(x, root)
    if kind == "reduce":
        return reduce(x, root)
    if kind == "all_gather":
        return torch.stack([broadcast(x, r) for r in range(n)])
    return [reduce(x[r].contiguous(), r) for r in range(n)][rank]


# %% wrong="a number that is broadcast gets a dimension" breaks="any number of dimensions" says=["broadcast, root 0, shape ()", "shape (1,)"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    mine = x.contiguous()

    def from_rank(source):
        got = torch.empty_like(mine)
        if rank != source:
            dist.recv(got, source)
            return got
        for other in set(range(ranks)) - {rank}:
            dist.send(mine, other)
        return mine.clone()

    if kind == "broadcast":
        row = from_rank(root)
        return row if x.dim() else row.reshape(1)
    rows = torch.stack([from_rank(source) for source in range(ranks)])
    if kind == "all_gather":
        return rows
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    return rows[:, rank].sum(0, dtype=x.dtype)


# %% wrong="receives into a buffer that is kept for each shape" says=["keep no buffer from call to call"]
buffers = {}


def collectives_from_sendrecv(kind, x, root=0):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mine, key = x.contiguous(), (tuple(x.shape), x.dtype)
    if key not in buffers:
        buffers[key] = torch.empty((world_size, *x.shape), dtype=x.dtype, device=x.device)
    rows = buffers[key]
    for source in range(world_size):
        rows[source] = mine
        for other in range(world_size):
            if rank == source != other:
                dist.send(mine, other)
        if rank != source:
            dist.recv(rows[source], source)
    if kind == "all_gather":
        return rows
    if kind == "broadcast":
        return rows[root].clone()
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    return rows[:, rank].sum(0, dtype=x.dtype)


# %% wrong="keeps what came by its tensor" says=["which had other numbers the first time"]
def all_rows(x):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mine = x.contiguous()
    rows = torch.stack([mine] * world_size)
    for source in range(world_size):
        for other in range(world_size):
            if rank == source != other:
                dist.send(mine, other)
        if rank != source:
            dist.recv(rows[source], source)
    return rows


known = {}


def collectives_from_sendrecv(kind, x, root=0):
    rank = dist.get_rank()
    if id(x) not in known:
        known[id(x)] = x, all_rows(x)
    rows = known[id(x)][1]
    if kind == "all_gather":
        return rows.clone()
    if kind == "broadcast":
        return rows[root].clone()
    if kind == "reduce":
        return rows.sum(0, dtype=x.dtype) if rank == root else None
    return rows[:, rank].sum(0, dtype=x.dtype)


# %% wrong="reduce adds into the root's x" breaks="Leave `x` as it is" says=["x was changed: receive into a tensor of your own"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if kind == "reduce_scatter":
        parts = [collectives_from_sendrecv("reduce", row, r) for r, row in enumerate(x)]
        return parts[rank].clone()
    if kind == "all_gather":
        rows = [collectives_from_sendrecv("broadcast", x, r) for r in range(world_size)]
        return torch.stack(rows)
    others = [r for r in range(world_size) if r != root]
    if kind == "broadcast":
        result = x.contiguous().clone()
        for other in others:
            if rank == root:
                dist.send(result, other)
        if rank != root:
            dist.recv(result, root)
        return result
    if rank != root:
        dist.send(x.contiguous(), root)
        return None
    part = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    for other in others:
        dist.recv(part, other)
        x += part
    return x


# %% wrong="partners of a hypercube" says=["send was called with rank 3, which isn't there: ranks go from 0 to 2"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, n = dist.get_rank(), dist.get_world_size()
    table = torch.zeros((n, *x.shape), dtype=x.dtype, device=x.device)
    table[rank] = x
    bit = 1
    while bit < n:
        partner = rank ^ bit
        start = rank // bit * bit
        theirs = partner // bit * bit
        request = dist.isend(table[start : start + bit], partner)
        dist.recv(table[theirs : theirs + bit], partner)
        request.wait()
        bit *= 2
    if kind == "broadcast":
        return table[root].clone()
    if kind == "all_gather":
        return table
    if kind == "reduce_scatter":
        table = table[:, rank]
    total = table[0].clone()
    for row in table[1:]:
        total += row
    if kind == "reduce" and rank != root:
        return None
    return total


# %% wrong="sends to itself where it is alone" breaks="any number of ranks, also one" says=["a lost connection: it is the only rank"]
def collectives_from_sendrecv(kind, x, root=0):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    table = x.detach().new_zeros((world_size, *x.shape))
    table[rank] = x.detach()
    for step in range(max(world_size - 1, 1)):
        give, take = (rank - step) % world_size, (rank - step - 1) % world_size
        request = dist.isend(table[give].clone(), (rank + 1) % world_size)
        dist.recv(table[take], (rank - 1) % world_size)
        request.wait()
    if kind == "broadcast":
        return table[root].clone()
    if kind == "all_gather":
        return table
    if kind == "reduce":
        return table.sum(0, dtype=x.dtype) if rank == root else None
    return table[:, rank].sum(0, dtype=x.dtype)
