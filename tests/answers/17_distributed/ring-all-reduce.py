# %% [markdown]
# Rules:
#
# - "the sum of all ranks' `x`"
# - "in the shape and dtype of `x`"
# - "of any shape and strides"
# - "it may have fewer elements than there are ranks, or none"
# - "Leave it as it is"
# - "All values travel by `send`, `recv`, `isend`, `irecv` or `batch_isend_irecv`"
# - "a rank sends only to its right neighbour"
# - "at most 2 (n − 1) · ⌈elements / n⌉ elements in all"
# - "in all, in the dtype of `x`"
# - "All ranks return the same bits"
# - "One rank alone returns a copy"
#
# Admits:
#
# - "a floating-point tensor": torch.bfloat16
# - "any shape and strides": rank 1's strides differ
# - "any shape and strides": x.expand(2, 4)
# - "fewer elements than there are ranks": # fewer elements than ranks, and more
# - "or none": torch.zeros(0, 3
# - "One rank alone": check_ring(try_ring, 1, [example[:1]])

# %% wrong="passes the whole tensor round" says=["in each step one chunk, not the whole"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    total = x.contiguous().clone()
    give = x.contiguous().clone()
    for _ in range(n - 1):
        came = torch.empty_like(give)
        work = dist.isend(give, (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        work.wait()
        total += came
        give = came
    return total


# %% wrong="blocking sends" says=["was in send"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().flatten().clone()
    chunks = y.tensor_split(n)
    for step in range(2 * (n - 1)):
        take = chunks[(rank - step - 1) % n]
        came = torch.empty_like(take)
        dist.send(chunks[(rank - step) % n], (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        take.copy_(take + came if step < n - 1 else came)
    return y.view(x.shape)


# %% wrong="adds in the second phase too" says=["added in the second half as well"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().flatten().clone()
    chunks = y.tensor_split(n)
    for step in range(2 * (n - 1)):
        take = chunks[(rank - step - 1) % n]
        came = torch.empty_like(take)
        work = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        work.wait()
        take += came
    return y.view(x.shape)


# %% wrong="the library's all-reduce" breaks="All values travel by `send`, `recv`, `isend`, `irecv` or `batch_isend_irecv`" says=["only send and recv are allowed, not all_reduce"]
def ring_all_reduce(x):
    y = x.contiguous().clone()
    dist.all_reduce(y)
    return y


# %% wrong="works in x itself" breaks="Leave it as it is" says=["x was changed"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    y = x.reshape(-1)
    chunks = y.tensor_split(n)
    for step in range(2 * (n - 1)):
        take = chunks[(rank - step - 1) % n]
        came = torch.empty_like(take)
        work = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        work.wait()
        take.copy_(take + came if step < n - 1 else came)
    return y.view(x.shape)


# %% wrong="everything to rank 0 and back" breaks="a rank sends only to its right neighbour" says=["it sent to ranks"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().clone()
    if rank == 0:
        for r in range(1, n):
            came = torch.empty_like(y)
            dist.recv(came, r)
            y += came
        for r in range(1, n):
            dist.send(y, r)
    else:
        dist.send(y, 0)
        dist.recv(y, 0)
    return y


# %% right="two loops, padded chunks, even and odd ranks take turns"
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x.clone()
    each = -(-x.numel() // n)
    padded = torch.zeros(n * each, dtype=x.dtype, device=x.device)
    padded[: x.numel()] = x.reshape(-1)
    rows = padded.view(n, each)

    def shift(row):
        came = torch.zeros_like(row)
        if rank % 2 == 0:
            dist.send(row, (rank + 1) % n)
            dist.recv(came, (rank - 1) % n)
        else:
            dist.recv(came, (rank - 1) % n)
            dist.send(row, (rank + 1) % n)
        return came

    for step in range(n - 1):
        came = shift(rows[(rank - step) % n].clone())
        rows[(rank - step - 1) % n] += came
    for step in range(n - 1):
        came = shift(rows[(rank + 1 - step) % n].clone())
        rows[(rank - step) % n] = came
    return padded[: x.numel()].view(x.shape)


# %% right="the chunk travels in a variable"
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = [p.clone() for p in x.reshape(-1).tensor_split(n)]
    send, done = parts[rank], {}
    for step in range(1, n):
        place = (rank - step) % n
        came = torch.empty_like(parts[place])
        request = dist.isend(send, (rank + 1) % n)
        dist.irecv(came, (rank - 1) % n).wait()
        request.wait()
        send = parts[place] + came
    place = (rank + 1) % n
    done[place] = send
    for step in range(n - 1):
        place = (rank - step) % n
        came = torch.empty_like(parts[place])
        request = dist.isend(send, (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        request.wait()
        done[place] = send = came
    return torch.cat([done[k] for k in range(n)]).reshape(x.shape)


# %% wrong="loses the remainder" says=["cut into 3 chunks was left out"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.flatten().clone()
    size = flat.numel() // n
    chunks = [flat[i * size : (i + 1) * size] for i in range(n)]
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        incoming = torch.empty_like(take)
        request = dist.isend(give.contiguous(), (rank + 1) % n)
        dist.recv(incoming, (rank - 1) % n)
        request.wait()
        if step < n - 1:
            take += incoming
        else:
            take.copy_(incoming)
    return flat.view(x.shape)


# %% right="blocking: even ranks send first"
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = [part.clone() for part in torch.tensor_split(x.flatten(), n)]

    def exchange(give, like):
        got = torch.empty_like(like)
        if rank % 2 == 0:
            dist.send(give, (rank + 1) % n)
            dist.recv(got, (rank - 1 + n) % n)
        else:
            dist.recv(got, (rank - 1 + n) % n)
            dist.send(give, (rank + 1) % n)
        return got

    for s in range(n - 1):
        give, take = (rank - s) % n, (rank - s - 1) % n
        parts[take] = parts[take] + exchange(parts[give], parts[take])
    for s in range(n - 1):
        give, take = (rank + 1 - s) % n, (rank - s) % n
        parts[take] = exchange(parts[give], parts[take])
    return torch.cat(parts).reshape(x.shape)


# %% wrong="all values through the group's store" says=["values travel by send and recv alone"]
import io
import itertools

turns = itertools.count()


def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    store, turn = dist.distributed_c10d._get_default_store(), next(turns)
    buffer = io.BytesIO()
    torch.save(x.clone(), buffer)
    store.set(f"ring-{turn}-{rank}", buffer.getvalue())
    rows = [torch.load(io.BytesIO(store.get(f"ring-{turn}-{r}"))) for r in range(n)]
    return sum(rows[1:], rows[0]).contiguous()


# %% wrong="computes in float32 whatever the dtype" says=["on the way it was rounded to float32"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().flatten().float().clone()
    chunks = y.tensor_split(n)
    for step in range(2 * (n - 1)):
        take = chunks[(rank - step - 1) % n]
        came = torch.empty_like(take)
        work = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        work.wait()
        take.copy_(take + came if step < n - 1 else came)
    return y.view(x.shape).to(x.dtype)


# %% wrong="sends half precision as float32" says=["bytes were sent, at most"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    y = wide.contiguous().flatten().clone()
    chunks = y.tensor_split(n)
    for step in range(2 * (n - 1)):
        take = chunks[(rank - step - 1) % n]
        came = torch.empty_like(take)
        work = dist.isend(chunks[(rank - step) % n], (rank + 1) % n)
        dist.recv(came, (rank - 1) % n)
        work.wait()
        take.copy_(take + came if step < n - 1 else came)
    return y.view(x.shape).to(x.dtype)


# %% wrong="one rank alone gets a view of x" breaks="One rank alone returns a copy" says=["the result lies in the memory of x: return a copy"]
def ring_all_reduce(x):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if ranks == 1:
        return x.view(x.shape)
    y = x.contiguous().flatten().clone()
    chunks = y.tensor_split(ranks)
    for step in range(2 * (ranks - 1)):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take)
        request = dist.isend(give, (rank + 1) % ranks)
        dist.recv(came, (rank - 1) % ranks)
        request.wait()
        take.copy_(take + came if step < ranks - 1 else came)
    return y.view(x.shape)


# %% wrong="one element too many in each chunk" breaks="at most 2 (n − 1) · ⌈elements / n⌉ elements in all" says=["a chunk has at most ⌈12 / 3⌉ = 4 elements"]
def ring_all_reduce(x):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    size = x.numel() // ranks + 1
    y = x.new_zeros(size * ranks)
    y[: x.numel()] = x.flatten()
    chunks = y.chunk(ranks)
    for step in range(2 * (ranks - 1)):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take)
        request = dist.isend(give, (rank + 1) % ranks)
        dist.recv(came, (rank - 1) % ranks)
        request.wait()
        take.copy_(take + came if step < ranks - 1 else came)
    return y[: x.numel()].view(x.shape)


# %% wrong="all travels in float64" breaks="in all, in the dtype of `x`" says=["the elements travelled in 8 bytes each, and torch.float32 has 4"]
def ring_all_reduce(x):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    y = x.double().contiguous().flatten().clone()
    chunks = y.tensor_split(ranks)
    for step in range(2 * (ranks - 1)):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take)
        request = dist.isend(give, (rank + 1) % ranks)
        dist.recv(came, (rank - 1) % ranks)
        request.wait()
        take.copy_(take + came if step < ranks - 1 else came)
    return y.view(x.shape).to(x.dtype)


# %% right="adds in float64, sends in the dtype of x"
def ring_all_reduce(x):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    y = x.double().contiguous().flatten().clone()
    chunks = y.tensor_split(ranks)
    for step in range(2 * (ranks - 1)):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take, dtype=x.dtype)
        request = dist.isend(give.to(x.dtype), (rank + 1) % ranks)
        dist.recv(came, (rank - 1) % ranks)
        request.wait()
        take.copy_(take + came if step < ranks - 1 else came)
    return y.view(x.shape).to(x.dtype)


# %% wrong="a tensor shorter than the ring goes round whole" says=["in each step one chunk, not the whole"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    work = x.detach().contiguous().clone()
    if n == 1:
        return work
    flat = work.view(-1)

    def turn(out, into):
        r = dist.isend(out, (rank + 1) % n)
        dist.recv(into, (rank - 1) % n)
        r.wait()

    if 0 < x.numel() < n:
        rows = [None] * n
        rows[rank] = flat.clone()
        for s in range(n - 1):
            rows[(rank - s - 1) % n] = torch.empty_like(flat)
            turn(rows[(rank - s) % n], rows[(rank - s - 1) % n])
        return torch.stack(rows).sum(0).view(x.shape)
    chunks = flat.tensor_split(n)
    for s in range(2 * n - 2):
        give, take = chunks[(rank - s) % n], chunks[(rank - s - 1) % n]
        new = torch.empty_like(take)
        turn(give, new)
        take.add_(new) if s < n - 1 else take.copy_(new)
    return work


# %% wrong="half precision travels in four bytes" says=["the elements travelled in 4 bytes each"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    work = x.detach().contiguous().clone()
    if x.dtype == torch.float16:
        work = work.float()
    if n == 1:
        return work.to(x.dtype)
    chunks = work.view(-1).tensor_split(n)
    for s in range(2 * n - 2):
        give, take = chunks[(rank - s) % n], chunks[(rank - s - 1) % n]
        new = torch.empty_like(take)
        r = dist.isend(give, (rank + 1) % n)
        dist.recv(new, (rank - 1) % n)
        r.wait()
        take.add_(new) if s < n - 1 else take.copy_(new)
    return work.to(x.dtype)


# %% wrong="a tensor without elements loses its shape" breaks="in the shape and dtype of `x`" says=["shape (0, 3)"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    if x.numel() == 0:
        return torch.zeros(0, dtype=x.dtype, device=x.device)
    work = x.detach().contiguous().clone()
    chunks = work.view(-1).tensor_split(n)
    for s in range(2 * n - 2):
        give, take = chunks[(rank - s) % n], chunks[(rank - s - 1) % n]
        new = torch.empty_like(take)
        r = dist.isend(give, (rank + 1) % n)
        dist.recv(new, (rank - 1) % n)
        r.wait()
        take.add_(new) if s < n - 1 else take.copy_(new)
    return work


# %% wrong="the mean in place of the sum" breaks="the sum of all ranks' `x`" says=["that is the mean of the ranks: the sum is wanted"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """The sum of ``x`` over all ranks, by a ring: 2 (n - 1) steps, one chunk in each."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().flatten().clone()
    chunks = y.tensor_split(ranks)
    for step in range(2 * (ranks - 1)):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take)
        both = [
            dist.P2POp(dist.isend, give, (rank + 1) % ranks),
            dist.P2POp(dist.irecv, came, (rank - 1) % ranks),
        ]
        for request in dist.batch_isend_irecv(both):
            request.wait()
        take.copy_(take + came if step < ranks - 1 else came)
    return (y / ranks).view(x.shape)


# %% wrong="replaces one step late" says=["one step of adding too many"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """The sum of ``x`` over all ranks, by a ring: 2 (n - 1) steps, one chunk in each."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().flatten().clone()
    chunks = y.tensor_split(ranks)
    for step in range(2 * (ranks - 1)):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take)
        both = [
            dist.P2POp(dist.isend, give, (rank + 1) % ranks),
            dist.P2POp(dist.irecv, came, (rank - 1) % ranks),
        ]
        for request in dist.batch_isend_irecv(both):
            request.wait()
        take.copy_(take + came if step <= ranks - 1 else came)
    return y.view(x.shape)


# %% wrong="one step short" says=["the last step is missing"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """The sum of ``x`` over all ranks, by a ring: 2 (n - 1) steps, one chunk in each."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().flatten().clone()
    chunks = y.tensor_split(ranks)
    for step in range(2 * ranks - 3):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take)
        both = [
            dist.P2POp(dist.isend, give, (rank + 1) % ranks),
            dist.P2POp(dist.irecv, came, (rank - 1) % ranks),
        ]
        for request in dist.batch_isend_irecv(both):
            request.wait()
        take.copy_(take + came if step < ranks - 1 else came)
    return y.view(x.shape)


# %% wrong="sends to the left" says=["the ranks' calls do not fit each other"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """The sum of ``x`` over all ranks, by a ring: 2 (n - 1) steps, one chunk in each."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    y = x.contiguous().flatten().clone()
    chunks = y.tensor_split(ranks)
    for step in range(2 * (ranks - 1)):
        give, take = chunks[(rank - step) % ranks], chunks[(rank - step - 1) % ranks]
        came = torch.empty_like(take)
        both = [
            dist.P2POp(dist.isend, give, (rank - 1) % ranks),
            dist.P2POp(dist.irecv, came, (rank + 1) % ranks),
        ]
        for request in dist.batch_isend_irecv(both):
            request.wait()
        take.copy_(take + came if step < ranks - 1 else came)
    return y.view(x.shape)


# %% right="a table, and a chunk that travels"
def ring_all_reduce(x):
    me, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x.clone()
    size = -(-x.numel() // n)
    table = x.new_zeros(n * size)
    table[: x.numel()] = x.reshape(-1)
    table = table.view(n, size)

    def shift(row):
        came = torch.empty_like(row)
        work = dist.isend(row.contiguous(), (me + 1) % n)
        dist.recv(came, (me - 1) % n)
        work.wait()
        return came

    travelling = table[me]
    for k in range(1, n):
        travelling = shift(travelling) + table[(me - k) % n]
    out = torch.empty_like(table)
    at = (me + 1) % n
    out[at] = travelling
    for k in range(1, n):
        travelling = shift(travelling)
        out[(at - k) % n] = travelling
    return out.view(-1)[: x.numel()].reshape(x.shape).clone()


# %% wrong="a view of what has gaps" breaks="of any shape and strides" says=["view size is not compatible"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().view(-1).clone()
    chunks = flat.tensor_split(n)
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give.clone(), right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += part
        else:
            take.copy_(part)
    return flat.view(x.shape)


# %% wrong="chunk in place of tensor_split" breaks="it may have fewer elements than there are ranks, or none" says=["tuple index out of range", "chunk(n) can make fewer"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().clone(memory_format=torch.contiguous_format).flatten()
    chunks = flat.chunk(n)
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give.clone(), right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += part
        else:
            take.copy_(part)
    return flat.view(x.shape)


# %% wrong="adds the difference to what is finished" says=["or minus itself; a finished chunk is copied over what is there"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().clone(memory_format=torch.contiguous_format).flatten()
    chunks = flat.tensor_split(n)
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give.clone(), right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += part
        else:
            take += part - take
    return flat.view(x.shape)


# %% wrong="the strides of x laid onto the flat row" says=["stand in another order"]
def ring_all_reduce(x):
    n, r = dist.get_world_size(), dist.get_rank()
    flat = x.reshape(-1).clone()
    chunks = flat.tensor_split(n)
    right, left = (r + 1) % n, (r - 1) % n
    for s in range(2 * (n - 1)):
        give, take = chunks[(r - s) % n], chunks[(r - s - 1) % n]
        incoming = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(incoming, left)
        request.wait()
        if s < n - 1:
            take += incoming
        else:
            take.copy_(incoming)
    return flat.as_strided(x.shape, x.stride())


# %% wrong="adds finished chunks to zeros" breaks="All ranks return the same bits" says=["these are not the bits of rank 0's sum"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().clone(memory_format=torch.contiguous_format).view(-1)
    chunks = flat.tensor_split(n)
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        got = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(got, left)
        request.wait()
        if step < n - 1:
            take += got
        else:
            take.zero_().add_(got)
    return flat.view(x.shape)


# %% wrong="multiplies old chunks by 0" says=["NaN: infinity times 0 is NaN"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().clone(memory_format=torch.contiguous_format).view(-1)
    chunks = flat.tensor_split(n)
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        got = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(got, left)
        request.wait()
        if step < n - 1:
            take += got
        else:
            take.mul_(0).add_(got)
    return flat.view(x.shape)


# %% wrong="a NaN that comes in becomes zero" breaks="the sum of all ranks' `x`" says=["NaN plus a number is NaN"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().reshape(-1).clone()
    chunks = list(flat.tensor_split(n))
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += part.nan_to_num(posinf=float("inf"), neginf=-float("inf"))
        else:
            take.copy_(part)
    return flat.view(x.shape)


# %% wrong="cuts an infinity" breaks="the sum of all ranks' `x`" says=["infinity became a finite number"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().reshape(-1).clone()
    chunks = list(flat.tensor_split(n))
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += part.clamp(torch.finfo(part.dtype).min, torch.finfo(part.dtype).max)
        else:
            take.copy_(part)
    return flat.view(x.shape)


# %% wrong="small numbers become zero" breaks="the sum of all ranks' `x`" says=["small numbers are lost"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().reshape(-1).clone()
    chunks = list(flat.tensor_split(n))
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += torch.where(part.abs() < 1e-30, 0, part)
        else:
            take.copy_(part)
    return flat.view(x.shape)


# %% wrong="half by way of bfloat16" breaks="in the shape and dtype of `x`" says=["right to two digits only"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().reshape(-1).clone()
    chunks = list(flat.tensor_split(n))
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += part.bfloat16().to(part.dtype) if part.dtype == torch.float16 else part
        else:
            take.copy_(part)
    return flat.view(x.shape)


# %% wrong="empty is float32" breaks="in the shape and dtype of `x`" says=["has dtype torch.float32, expected torch.float16"]
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    if x.numel() == 0:
        return torch.zeros(x.shape)
    flat = x.detach().reshape(-1).clone()
    chunks = list(flat.tensor_split(n))
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += part
        else:
            take.copy_(part)
    return flat.view(x.shape)


# %% wrong="a buffer for each shape" says=["a later call with as many numbers changed this result"]
KEPT = {}


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().reshape(-1).clone()
    flat = KEPT.setdefault((x.shape, x.dtype), flat).copy_(flat)
    chunks = list(flat.tensor_split(n))
    right, left = (rank + 1) % n, (rank - 1) % n
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        part = torch.empty_like(take)
        request = dist.isend(give, right)
        dist.recv(part, left)
        request.wait()
        if step < n - 1:
            take += part
        else:
            take.copy_(part)
    return flat.view(x.shape)


# %% wrong="no second half" says=["one chunk alone is finished"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().clone(memory_format=torch.contiguous_format).view(-1)
    chunks = flat.tensor_split(n)
    for step in range(n - 1):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        incoming = torch.empty_like(take)
        request = dist.isend(give, (rank + 1) % n)
        dist.recv(incoming, (rank - 1) % n)
        request.wait()
        if step < n - 1:
            take += incoming
        else:
            take.copy_(incoming)
    return flat.view(x.shape)


# %% wrong="keeps each sum by its tensor" says=["which had other numbers the first time"]
def summed(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    flat = x.contiguous().flatten().clone()
    chunks = flat.tensor_split(world)
    for step in range(2 * (world - 1)):
        give, take = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        came = torch.empty_like(take)
        request = dist.isend(give, (rank + 1) % world)
        dist.recv(came, (rank - 1) % world)
        request.wait()
        take.copy_(take + came if step < world - 1 else came)
    return flat.view(x.shape)


sums = {}


def ring_all_reduce(x):
    if id(x) not in sums:
        sums[id(x)] = x, summed(x)
    return sums[id(x)][1]


# %% wrong="switches gradients on again, whatever they were" says=["changes the caller's grad mode"]
def ring_all_reduce(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_grad_enabled(False)
    flat = x.contiguous().flatten().clone()
    chunks = flat.tensor_split(world)
    for step in range(2 * (world - 1)):
        give, take = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        came = torch.empty_like(take)
        request = dist.isend(give, (rank + 1) % world)
        dist.recv(came, (rank - 1) % world)
        request.wait()
        take.copy_(take + came if step < world - 1 else came)
    torch.set_grad_enabled(True)
    return flat.view(x.shape)


# %% wrong="chunks of a copy, where the strides ask for one" breaks="of any shape and strides" says=["return what you added into"]
def ring_all_reduce(x):
    rank, world = dist.get_rank(), dist.get_world_size()
    result = x.detach().clone()
    chunks = result.reshape(-1).tensor_split(world)
    for step in range(2 * (world - 1)):
        give, take = chunks[(rank - step) % world], chunks[(rank - step - 1) % world]
        came = torch.empty_like(take)
        request = dist.isend(give.contiguous(), (rank + 1) % world)
        dist.recv(came, (rank - 1) % world)
        request.wait()
        take.copy_(take + came if step < world - 1 else came)
    return result


# %% wrong="the second round begins at the own chunk" says=["element 0 is the sum over some ranks alone"]
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.flatten().clone()
    chunks = list(flat.tensor_split(n))
    right, left = (rank + 1) % n, (rank - 1) % n
    for phase in ("add", "replace"):
        for step in range(n - 1):
            give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
            incoming = torch.empty_like(take)
            request = dist.isend(give, right)
            dist.recv(incoming, left)
            request.wait()
            if phase == "add":
                take += incoming
            else:
                take.copy_(incoming)
    return flat.view(x.shape)


# %% right="the rest in the last chunk"
def ring_all_reduce(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    flat = x.detach().clone(memory_format=torch.contiguous_format).view(-1)
    size = flat.numel() // n
    chunks = flat.split([size] * (n - 1) + [flat.numel() - size * (n - 1)])
    for step in range(2 * (n - 1)):
        give, take = chunks[(rank - step) % n], chunks[(rank - step - 1) % n]
        incoming = torch.empty_like(take)
        request = dist.isend(give, (rank + 1) % n) if give.numel() else None
        if take.numel():
            dist.recv(incoming, (rank - 1) % n)
        if request is not None:
            request.wait()
        if step < n - 1:
            take += incoming
        else:
            take.copy_(incoming)
    return flat.view(x.shape)
