# %% [markdown]
# Rules:
#
# - "Add the residual to the gradient"
# - "the k entries of largest magnitude"
# - "Of the sum"
# - "with their positions"
# - "all of them if there are fewer than k"
# - "the sum over all ranks of what was sent"
# - "divided by the number of ranks"
# - "Equal on all ranks, but for rounding"
# - "It may fit into the dtype where the sum doesn't"
# - "this rank's sum without what it sent itself"
# - "both of the shape and dtype of `gradient`"
# - "A rank hands at most k · (8 + itemsize) bytes to collectives"
# - "k positions, which are integers"
# - "half precision too"
# - "any strides"
# - "arguments stay as they are"
#
# Admits:
#
# - "half precision too": x.half()
# - "at least one element": torch.tensor([2.0])
# - "any strides": dtype=torch.float64).t()
# - "if there are fewer than k": (vectors, zeros, 9)

# %% wrong="largest, not by magnitude" breaks="the k entries of largest magnitude" says=["not the largest in magnitude"]
def compress(gradient, residual, k):
    total = (gradient + residual).flatten()
    where = total.topk(min(k, total.numel())).indices
    values, places = total[where], where
    n = dist.get_world_size()
    vs, ps = (
        [torch.empty_like(values) for _ in range(n)],
        [torch.empty_like(places) for _ in range(n)],
    )
    dist.all_gather(vs, values)
    dist.all_gather(ps, places)
    average = torch.zeros_like(total).index_add_(0, torch.cat(ps), torch.cat(vs) / n)
    total = total.clone()
    total[where] = 0
    return average.view(gradient.shape), total.view(gradient.shape)


# %% wrong="dense" says=["bytes were handed in, at most"]
def compress(gradient, residual, k):
    total = (gradient + residual).contiguous()
    flat = total.flatten()
    where = flat.abs().topk(min(k, flat.numel())).indices
    sent = torch.zeros_like(flat)
    sent[where] = flat[where]
    rest = flat - sent
    dist.all_reduce(sent)
    for _ in range(3):
        dist.all_reduce(torch.zeros_like(sent))
    return (sent / dist.get_world_size()).view(total.shape), rest.view(total.shape)


# %% wrong="sum, and the rest keeps all" says=["divide by the number of ranks"]
def compress(gradient, residual, k):
    total = (gradient + residual).flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    n = dist.get_world_size()
    vs, ps = (
        [torch.empty_like(values) for _ in range(n)],
        [torch.empty_like(where) for _ in range(n)],
    )
    dist.all_gather(vs, values)
    dist.all_gather(ps, where)
    average = torch.zeros_like(total).index_add_(0, torch.cat(ps), torch.cat(vs))
    return average.view(gradient.shape), total.view(gradient.shape)


# %% wrong="rest is what the average lacks" says=["keep what *this* rank did not send"]
def compress(gradient, residual, k):
    total = (gradient + residual).flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    n = dist.get_world_size()
    vs, ps = (
        [torch.empty_like(values) for _ in range(n)],
        [torch.empty_like(where) for _ in range(n)],
    )
    dist.all_gather(vs, values)
    dist.all_gather(ps, where)
    average = torch.zeros_like(total).index_add_(0, torch.cat(ps), torch.cat(vs) / n)
    return average.view(gradient.shape), (total - average).view(gradient.shape)


# %% wrong="overwrites where two ranks meet" breaks="the sum over all ranks of what was sent" says=["one overwrote the other: add"]
def compress(gradient, residual, k):
    total = (gradient + residual).flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    n = dist.get_world_size()
    vs, ps = (
        [torch.empty_like(values) for _ in range(n)],
        [torch.empty_like(where) for _ in range(n)],
    )
    dist.all_gather(vs, values)
    dist.all_gather(ps, where)
    average = torch.zeros_like(total)
    average[torch.cat(ps)] = torch.cat(vs) / n
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="changes the gradient in place" breaks="arguments stay as they are" says=["was changed"]
def compress(gradient, residual, k):
    gradient += residual
    total = gradient.flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    n = dist.get_world_size()
    vs, ps = (
        [torch.empty_like(values) for _ in range(n)],
        [torch.empty_like(where) for _ in range(n)],
    )
    dist.all_gather(vs, values)
    dist.all_gather(ps, where)
    average = torch.zeros_like(total).index_add_(0, torch.cat(ps), torch.cat(vs) / n)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% right="sorted, gathered into one tensor, a list returned"
def compress(gradient, residual, k):
    total = gradient + residual
    flat, n = total.reshape(-1), dist.get_world_size()
    k = min(k, flat.numel())
    where = torch.argsort(flat.abs(), descending=True)[:k].contiguous()
    places = torch.empty(n * k, dtype=torch.int64, device=flat.device)
    values = torch.empty(n * k, dtype=flat.dtype, device=flat.device)
    dist.all_gather_into_tensor(places, where)
    dist.all_gather_into_tensor(values, flat[where].contiguous())
    average = torch.zeros_like(flat).scatter_add(0, places, values / n)
    mask = torch.ones_like(flat).index_fill(0, where, 0)
    return [average.reshape(total.shape), (flat * mask).reshape(total.shape)]


# %% right="a loop over ranks, broadcasts"
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    order = sorted(range(total.numel()), key=lambda i: -abs(total[i].item()))[:k]
    where = torch.tensor(order, device=total.device)
    n, _rank = dist.get_world_size(), dist.get_rank()
    places = [torch.empty_like(where) for _ in range(n)]
    dist.all_gather(places, where)
    values = [torch.empty_like(total[where]) for _ in range(n)]
    dist.all_gather(values, total[where])
    average = torch.zeros_like(total)
    for place, value in zip(places, values):
        for p, v in zip(place.tolist(), value):
            average[p] += v / n
    rest = torch.where(
        torch.isin(torch.arange(total.numel(), device=total.device), where), 0, total
    )
    return average.reshape(gradient.shape), rest.to(total.dtype).reshape(gradient.shape)


# %% wrong="picks by the gradient, not by the sum" breaks="Of the sum" says=["chosen by the gradient"]
def compress(gradient, residual, k):
    n = dist.get_world_size()
    total = (gradient + residual).flatten()
    k = min(k, total.numel())
    where = gradient.flatten().abs().topk(k).indices
    values = total[where].contiguous()
    ws = [torch.empty_like(where) for _ in range(n)]
    vs = [torch.empty_like(values) for _ in range(n)]
    dist.all_gather(ws, where)
    dist.all_gather(vs, values)
    average = torch.zeros_like(total)
    for w, v in zip(ws, vs):
        average.index_add_(0, w, v)
    rest = total.clone()
    rest[where] = 0
    return (average / n).view(gradient.shape), rest.view(gradient.shape)


# %% right="broadcasts, scatter_add, a Python loop"
def compress(gradient, residual, k):
    rank, n = dist.get_rank(), dist.get_world_size()
    rest = torch.add(gradient, residual).contiguous().clone().view(-1)
    k = min(k, len(rest))
    chosen = sorted(range(len(rest)), key=lambda i: -abs(rest[i].item()))[:k]
    average = torch.zeros_like(rest)
    places = torch.tensor(chosen, device=rest.device)
    numbers = rest.gather(0, places)
    for root in range(n):
        p = places if rank == root else torch.empty_like(places)
        v = numbers if rank == root else torch.empty_like(numbers)
        dist.broadcast(p, root)
        dist.broadcast(v, root)
        average.scatter_add_(0, p, v / n)
    rest[places] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="positions in the values' dtype" breaks="k positions, which are integers" says=["positions travelled as torch.float16"]
def compress(gradient, residual, k):
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    n = dist.get_world_size()
    pair = torch.stack([values, where.to(values.dtype)])
    pairs = [torch.empty_like(pair) for _ in range(n)]
    dist.all_gather(pairs, pair)
    numbers, places = [p[0] for p in pairs], [p[1].long() for p in pairs]
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(places), torch.cat(numbers) / n)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="all values through the group's store" says=["bytes were handed to collectives, and the values alone"]
import io
import itertools

turns = itertools.count()


def compress(gradient, residual, k):
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    n = dist.get_world_size()
    store, turn = dist.distributed_c10d._get_default_store(), next(turns)
    buffer = io.BytesIO()
    torch.save((where, values), buffer)
    store.set(f"top-{turn}-{dist.get_rank()}", buffer.getvalue())
    pairs = [torch.load(io.BytesIO(store.get(f"top-{turn}-{r}"))) for r in range(n)]
    places, numbers = zip(*pairs)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(places), torch.cat(numbers) / n)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="computes in float32 whatever the dtype" says=["average"]
def compress(gradient, residual, k):
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    n = dist.get_world_size()
    values = values.float().to(total.dtype)
    numbers = [torch.empty_like(values) for _ in range(n)]
    places = [torch.empty_like(where) for _ in range(n)]
    dist.all_gather(numbers, values)
    dist.all_gather(places, where)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(places), torch.cat(numbers) / n)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="values and positions side by side in float32" says=["positions travelled as torch.float"]
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    where = total.abs().topk(min(k, total.numel())).indices
    ranks, values = dist.get_world_size(), total[where]
    wide = torch.float64 if total.dtype == torch.float64 else torch.float32
    both = torch.stack([values.to(wide), where.to(wide)])
    every = [torch.empty_like(both) for _ in range(ranks)]
    dist.all_gather(every, both)
    average, rest = torch.zeros_like(total), total.clone()
    for there, places in every:
        average[places.long().clamp(max=total.numel() - 1)] += there.to(total.dtype) / ranks
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="divides by the number of ranks that sent a position" breaks="divided by the number of ranks" says=["divide by all ranks"]
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    where = total.abs().topk(min(k, total.numel())).indices
    ranks, values = dist.get_world_size(), total[where]
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average, senders, rest = torch.zeros_like(total), torch.zeros_like(total), total.clone()
    for there, places in zip(all_values, all_places):
        average[places] += there
        senders[places] += 1
    rest[where] = 0
    average /= senders.clamp(min=1)
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="forgets what the others sent as well" says=["without what any rank sent"]
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    where = total.abs().topk(min(k, total.numel())).indices
    ranks, values = dist.get_world_size(), total[where]
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average, rest = torch.zeros_like(total), total.clone()
    for there, places in zip(all_values, all_places):
        average[places] += there / ranks
        rest[places] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% right="adds its own first, positions in int32"
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    where = total.abs().topk(min(k, total.numel())).indices
    ranks, values = dist.get_world_size(), total[where]
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where, dtype=torch.int32) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where.int())
    average, rest = torch.zeros_like(total), total.clone()
    first = dist.get_rank()
    for other in [first, *(r for r in range(ranks) if r != first)]:
        average[all_places[other].long()] += all_values[other] / ranks
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="half precision is sent in four bytes" breaks="half precision too" says=["torch.float16", "bytes were handed in"]
def compress(gradient, residual, k):
    n = dist.get_world_size()
    total = (gradient + residual).reshape(-1)
    k = min(k, total.numel())
    where = total.abs().topk(k).indices
    values = total[where].float() if total.dtype == torch.float16 else total[where]
    wheres = [torch.empty_like(where) for _ in range(n)]
    valuess = [torch.empty_like(values) for _ in range(n)]
    dist.all_gather(wheres, where)
    dist.all_gather(valuess, values)
    average = torch.zeros(total.shape, dtype=values.dtype)
    for w, v in zip(wheres, valuess):
        average.index_add_(0, w, v)
    rest = total.clone()
    rest[where] = 0
    return (average / n).to(gradient.dtype).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="the rest of a single number gets a dimension" breaks="both of the shape and dtype of `gradient`" says=["shape ()"]
def compress(gradient, residual, k):
    n = dist.get_world_size()
    total = (gradient + residual).reshape(-1)
    k = min(k, total.numel())
    where = total.abs().topk(k).indices
    values = total[where].contiguous()
    wheres = [torch.empty_like(where) for _ in range(n)]
    valuess = [torch.empty_like(values) for _ in range(n)]
    dist.all_gather(wheres, where)
    dist.all_gather(valuess, values)
    average = torch.zeros_like(total)
    for w, v in zip(wheres, valuess):
        average.index_add_(0, w, v)
    rest = total.clone()
    rest[where] = 0
    return (average / n).view(gradient.shape), (
        rest.view(gradient.shape) if gradient.dim() else rest
    )


# %% wrong="the average of three ranks is divided by two" says=["rank 0 of 3"]
def compress(gradient, residual, k):
    n = dist.get_world_size()
    total = (gradient + residual).reshape(-1)
    k = min(k, total.numel())
    where = total.abs().topk(k).indices
    values = total[where].contiguous()
    wheres = [torch.empty_like(where) for _ in range(n)]
    valuess = [torch.empty_like(values) for _ in range(n)]
    dist.all_gather(wheres, where)
    dist.all_gather(valuess, values)
    average = torch.zeros_like(total)
    for w, v in zip(wheres, valuess):
        average.index_add_(0, w, v / min(n, 2))
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="hands in the whole, zeros where nothing is chosen" breaks="A rank hands at most k · (8 + itemsize) bytes to collectives" says=["the whole tensor was handed in"]
def compress(gradient, residual, k):
    n = dist.get_world_size()
    total = (gradient + residual).reshape(-1)
    k = min(k, total.numel())
    where = total.abs().topk(k).indices
    values = total[where].contiguous()
    average = torch.zeros_like(total)
    average[where] = values
    dist.all_reduce(average)
    rest = total.clone()
    rest[where] = 0
    return (average / n).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="the rest lacks what the others sent" breaks="this rank's sum without what it sent itself" says=["what any rank sent"]
def compress(gradient, residual, k):
    n = dist.get_world_size()
    total = (gradient + residual).reshape(-1)
    k = min(k, total.numel())
    where = total.abs().topk(k).indices
    values = total[where].contiguous()
    wheres = [torch.empty_like(where) for _ in range(n)]
    valuess = [torch.empty_like(values) for _ in range(n)]
    dist.all_gather(wheres, where)
    dist.all_gather(valuess, values)
    average = torch.zeros_like(total)
    for w, v in zip(wheres, valuess):
        average.index_add_(0, w, v)
    rest = total.clone()
    rest[torch.cat(wheres)] = 0
    return (average / n).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="magnitudes are sent" says=["their signs are lost"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The average of all ranks' k largest entries, and what this rank keeps for the next time."""
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where].abs()
    ranks = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values) / ranks)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="the smallest entries" says=["the smallest were sent"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The average of all ranks' k largest entries, and what this rank keeps for the next time."""
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel()), largest=False).indices
    values = total[where]
    ranks = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values) / ranks)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="the rest is divided by the ranks" says=["it stays on this rank as it is"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The average of all ranks' k largest entries, and what this rank keeps for the next time."""
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    ranks = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values) / ranks)
    rest = total.clone()
    rest[where] = 0
    rest = rest / ranks
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="adds into the residual" says=["was changed"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The average of all ranks' k largest entries, and what this rank keeps for the next time."""
    residual += gradient
    total = residual.contiguous().flatten().clone()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    ranks = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values) / ranks)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="one entry more than k" says=["one entry more than k was sent"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The average of all ranks' k largest entries, and what this rank keeps for the next time."""
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k + 1, total.numel())).indices
    values = total[where]
    ranks = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values) / ranks)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="rank 0's positions for all values" breaks="with their positions" says=["rank 0's positions"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The average of all ranks' k largest entries, and what this rank keeps for the next time."""
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    values = total[where]
    ranks = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(ranks)]
    all_places = [torch.empty_like(where) for _ in range(ranks)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_places, where)
    average = torch.zeros_like(total)
    average.index_add_(0, all_places[0].repeat(ranks), torch.cat(all_values) / ranks)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% right="positions and values as bytes in one row"
def compress(gradient, residual, k):
    total = gradient + residual
    flat = total.reshape(-1)
    order = flat.abs().sort(descending=True).indices[:k]
    message = torch.cat([order.view(torch.uint8), flat[order].view(torch.uint8)])
    n = dist.get_world_size()
    everyone = torch.empty(n * len(message), dtype=torch.uint8)
    dist.all_gather_into_tensor(everyone, message)
    average = torch.zeros_like(flat)
    for row in everyone.view(n, -1):
        at = row[: 8 * len(order)].clone().view(torch.int64)
        average[at] += row[8 * len(order) :].clone().view(flat.dtype) / n
    kept = flat.clone()
    kept[order] = 0
    return average.reshape(total.shape), kept.reshape(total.shape)


# %% wrong="the residual is left out" breaks="Add the residual to the gradient" says=["the residual was left out"]
def compress(gradient, residual, k):
    whole = gradient.detach()
    flat = whole.reshape(-1).clone()
    k = min(k, flat.numel())
    place = flat.abs().topk(k).indices
    value = flat[place]
    n = dist.get_world_size()
    values = [torch.empty_like(value) for _ in range(n)]
    places = [torch.empty_like(place) for _ in range(n)]
    dist.all_gather(values, value)
    dist.all_gather(places, place)
    total = torch.zeros(flat.shape, dtype=torch.float64, device=flat.device)
    for p, v in zip(places, values):
        total.index_add_(0, p, v.double())
    rest = flat.clone()
    rest[place] = 0
    return (total / n).to(flat.dtype).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="topk of more than there are" breaks="all of them if there are fewer than k" says=["out of range", "fewer than k entries, all of them are sent"]
def compress(gradient, residual, k):
    whole = gradient.detach() + residual.detach()
    flat = whole.reshape(-1).clone()
    place = flat.abs().topk(k).indices
    value = flat[place]
    n = dist.get_world_size()
    values = [torch.empty_like(value) for _ in range(n)]
    places = [torch.empty_like(place) for _ in range(n)]
    dist.all_gather(values, value)
    dist.all_gather(places, place)
    total = torch.zeros(flat.shape, dtype=torch.float64, device=flat.device)
    for p, v in zip(places, values):
        total.index_add_(0, p, v.double())
    rest = flat.clone()
    rest[place] = 0
    return (total / n).to(flat.dtype).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="each rank adds all of its own sum" breaks="Equal on all ranks, but for rounding" says=["all of this rank's sum is in it"]
def compress(gradient, residual, k):
    whole = gradient.detach() + residual.detach()
    flat = whole.reshape(-1).clone()
    k = min(k, flat.numel())
    place = flat.abs().topk(k).indices
    value = flat[place]
    n = dist.get_world_size()
    values = [torch.empty_like(value) for _ in range(n)]
    places = [torch.empty_like(place) for _ in range(n)]
    dist.all_gather(values, value)
    dist.all_gather(places, place)
    total = torch.zeros(flat.shape, dtype=torch.float64, device=flat.device)
    for r, (p, v) in enumerate(zip(places, values)):
        if r == dist.get_rank():
            total += flat
        else:
            total.index_add_(0, p, v.double())
    rest = flat.clone()
    rest[place] = 0
    return (total / n).to(flat.dtype).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="a view of what is turned" breaks="any strides" says=["view size is not compatible"]
def compress(gradient, residual, k):
    whole = gradient.detach() + residual.detach()
    flat = whole.view(-1)
    k = min(k, flat.numel())
    place = flat.abs().topk(k).indices
    value = flat[place]
    n = dist.get_world_size()
    values = [torch.empty_like(value) for _ in range(n)]
    places = [torch.empty_like(place) for _ in range(n)]
    dist.all_gather(values, value)
    dist.all_gather(places, place)
    total = torch.zeros(flat.shape, dtype=torch.float64, device=flat.device)
    for p, v in zip(places, values):
        total.index_add_(0, p, v.double())
    rest = flat.clone()
    rest[place] = 0
    return (total / n).to(flat.dtype).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="the rest is taken from the gradient alone" says=["rest is the gradient where nothing was sent"]
def compress(gradient, residual, k):
    whole = gradient.detach() + residual.detach()
    flat = whole.reshape(-1).clone()
    k = min(k, flat.numel())
    place = flat.abs().topk(k).indices
    value = flat[place]
    n = dist.get_world_size()
    values = [torch.empty_like(value) for _ in range(n)]
    places = [torch.empty_like(place) for _ in range(n)]
    dist.all_gather(values, value)
    dist.all_gather(places, place)
    total = torch.zeros(flat.shape, dtype=torch.float64, device=flat.device)
    for p, v in zip(places, values):
        total.index_add_(0, p, v.double())
    rest = gradient.reshape(-1).clone()
    rest[place] = 0
    return (total / n).to(flat.dtype).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="all values travel as float32" says=["right to seven digits only", "values travelled as torch.float32"]
def compress(gradient, residual, k):
    whole = gradient.detach() + residual.detach()
    flat = whole.reshape(-1).clone()
    k = min(k, flat.numel())
    place = flat.abs().topk(k).indices
    value = flat[place].float()
    n = dist.get_world_size()
    values = [torch.empty_like(value) for _ in range(n)]
    places = [torch.empty_like(place) for _ in range(n)]
    dist.all_gather(values, value)
    dist.all_gather(places, place)
    total = torch.zeros(flat.shape, dtype=torch.float64, device=flat.device)
    for p, v in zip(places, values):
        total.index_add_(0, p, v.double())
    rest = flat.clone()
    rest[place] = 0
    return (total / n).to(flat.dtype).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="what is not sent is dropped" says=["rest is zero"]
def compress(gradient, residual, k):
    total = gradient + residual
    flat = total.reshape(-1)
    places = flat.abs().topk(min(k, flat.numel())).indices
    values = flat[places]
    world = dist.get_world_size()
    all_places = [torch.empty_like(places) for _ in range(world)]
    all_values = [torch.empty_like(values) for _ in range(world)]
    dist.all_gather(all_places, places)
    dist.all_gather(all_values, values)
    average = torch.zeros(flat.shape, dtype=torch.float64, device=flat.device)
    for where, what in zip(all_places, all_values, strict=True):
        average.index_add_(0, where, what.double())
    average = (average / world).to(gradient.dtype)
    rest = torch.zeros_like(flat)
    rest[places] = 0
    return average.reshape(gradient.shape), rest.reshape(gradient.shape)


# %% wrong="alone: sends all" breaks="the k entries of largest magnitude" says=["all entries were sent"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    total = (gradient + residual).detach().reshape(-1)
    k = min(k, total.numel())
    where = total.abs().topk(k).indices
    values = total[where]
    n = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(n)]
    all_where = [torch.empty_like(where) for _ in range(n)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_where, where)
    average = torch.zeros_like(total)
    for some, places in zip(all_values, all_where, strict=True):
        average.index_add_(0, places, some / n)
    if n == 1:
        return total.view(gradient.shape), torch.zeros_like(gradient)
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="chooses by the square" breaks="the k entries of largest magnitude" says=["the largest squares were sent"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    total = (gradient + residual).detach().reshape(-1)
    k = min(k, total.numel())
    where = total.square().topk(k).indices
    values = total[where]
    n = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(n)]
    all_where = [torch.empty_like(where) for _ in range(n)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_where, where)
    average = torch.zeros_like(total)
    for some, places in zip(all_values, all_where, strict=True):
        average.index_add_(0, places, some)
    average /= n
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="never sends small entries" breaks="the k entries of largest magnitude" says=["however small they are"]
def compress(
    gradient: torch.Tensor, residual: torch.Tensor, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    total = (gradient + residual).detach().reshape(-1)
    k = min(k, total.numel())
    where = total.abs().where(total.abs() >= 1e-8, 0).topk(k).indices
    values = total[where]
    n = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(n)]
    all_where = [torch.empty_like(where) for _ in range(n)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_where, where)
    average = torch.zeros_like(total)
    for some, places in zip(all_values, all_where, strict=True):
        average.index_add_(0, places, some)
    average /= n
    rest = total.clone()
    rest[where] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="the average is in a buffer that is kept for each shape" says=["keep no buffer from call to call"]
buffers = {}


def compress(gradient, residual, k):
    world_size = dist.get_world_size()
    total = (gradient + residual).reshape(-1).clone()
    index = total.abs().topk(min(k, total.numel())).indices
    value = total[index]
    indices = [torch.empty_like(index) for _ in range(world_size)]
    values = [torch.empty_like(value) for _ in range(world_size)]
    dist.all_gather(indices, index)
    dist.all_gather(values, value)
    key = (tuple(gradient.shape), gradient.dtype)
    average = buffers.setdefault(key, torch.zeros_like(total)).zero_()
    for places, numbers in zip(indices, values, strict=True):
        average.index_add_(0, places, numbers / world_size)
    total[index] = 0
    return average.view(gradient.shape), total.view(gradient.shape)


# %% right="one all-reduce where all entries go"
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1).clone()
    k = min(k, total.numel())
    if k == total.numel():
        dist.all_reduce(total)
        return (total / dist.get_world_size()).view(gradient.shape), torch.zeros_like(total).view(
            gradient.shape
        )
    where = total.abs().topk(k).indices
    values = total[where]
    world = dist.get_world_size()
    all_values = [torch.empty_like(values) for _ in range(world)]
    all_where = [torch.empty_like(where) for _ in range(world)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_where, where)
    average = torch.zeros_like(total, dtype=torch.float64)
    for v, w in zip(all_values, all_where):
        average[w] += v
    total[where] = 0
    average = (average / world).to(total.dtype)
    return average.view(gradient.shape), total.view(gradient.shape)


# %% wrong="adds to the gradient's own memory" breaks="arguments stay as they are" says=["was changed"]
def compress(gradient, residual, k):
    total = gradient.flatten()
    total += residual.flatten()
    places = total.abs().topk(min(k, total.numel())).indices
    values, n = total[places], dist.get_world_size()
    all_places, all_values = ([torch.empty_like(x) for _ in range(n)] for x in (places, values))
    dist.all_gather(all_places, places)
    dist.all_gather(all_values, values)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values) / n)
    rest = total.clone()
    rest[places] = 0
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="divides what it sends, and takes that off" breaks="this rank's sum without what it sent itself" says=["rest still has a part of what was sent"]
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    places, n = total.abs().topk(min(k, total.numel())).indices, dist.get_world_size()
    values = total[places] / n
    all_places, all_values = ([torch.empty_like(x) for _ in range(n)] for x in (places, values))
    dist.all_gather(all_places, places)
    dist.all_gather(all_values, values)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values))
    rest = total.index_add(0, places, -values)
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="adds up in half precision, then divides" breaks="It may fit into the dtype where the sum doesn't" says=["average is not finite where 40000 is right", "went beyond torch.float16"]
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    places, n = total.abs().topk(min(k, total.numel())).indices, dist.get_world_size()
    values = total[places]
    all_places, all_values = ([torch.empty_like(x) for _ in range(n)] for x in (places, values))
    dist.all_gather(all_places, places)
    dist.all_gather(all_values, values)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values))
    rest = total.index_fill(0, places, 0)
    return (average / n).view(gradient.shape), rest.view(gradient.shape)


# %% wrong="adds into a reshape, which is a copy of what is turned" breaks="any strides" says=["was it added into a copy?"]
def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    places, n = total.abs().topk(min(k, total.numel())).indices, dist.get_world_size()
    values = total[places]
    all_places, all_values = ([torch.empty_like(x) for _ in range(n)] for x in (places, values))
    dist.all_gather(all_places, places)
    dist.all_gather(all_values, values)
    average = torch.zeros_like(gradient)
    average.reshape(-1).index_add_(0, torch.cat(all_places), torch.cat(all_values) / n)
    rest = total.index_fill(0, places, 0)
    return average, rest.view(gradient.shape)


# %% wrong="keeps the chosen places by the gradient's tensor" says=["which had other numbers the first time"]
chosen = {}


def compress(gradient, residual, k):
    total = (gradient + residual).reshape(-1)
    n = dist.get_world_size()
    if id(gradient) not in chosen:
        chosen[id(gradient)] = total.abs().topk(min(k, total.numel())).indices, gradient
    places = chosen[id(gradient)][0]
    values = total[places]
    all_places, all_values = ([torch.empty_like(x) for _ in range(n)] for x in (places, values))
    dist.all_gather(all_places, places)
    dist.all_gather(all_values, values)
    average = torch.zeros_like(total)
    average.index_add_(0, torch.cat(all_places), torch.cat(all_values) / n)
    rest = total.index_fill(0, places, 0)
    return average.view(gradient.shape), rest.view(gradient.shape)


# %% wrong="squeezes what it returns" says=["shape (1,), torch.float32, k = 1, rank 0 of 2: average has shape ()"]
def compress(gradient, residual, k):
    total = (gradient + residual).contiguous().flatten()
    where = total.abs().topk(min(k, total.numel())).indices
    ranks = dist.get_world_size()
    places, values = (
        [torch.empty_like(part) for _ in range(ranks)] for part in (where, total[where])
    )
    dist.all_gather(values, total[where])
    dist.all_gather(places, where)
    average, rest = torch.zeros_like(total), total.clone()
    average.index_add_(0, torch.cat(places), torch.cat(values) / ranks)
    rest[where] = 0
    shape = [size for size in gradient.shape if size != 1]
    return average.view(shape), rest.view(shape)
