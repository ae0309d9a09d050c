# %% [markdown]
# Rules:
#
# - "the gradient of the mean loss over all ranks' samples"
# - "on every rank"
# - "strides may differ from rank to rank"
# - "Keep shape and dtype"
# - "and leave it as it is"
# - "`count` may be 0 on some ranks"
# - "it must not spoil the others"
# - "NaN or an infinity on a rank *with* samples is a fault that must be seen"
# - "it is in the result as well"
# - "Right to the last digits of the dtype"
# - "also with millions of samples"
# - "Any collective is allowed"
#
# Admits:
#
# - "floating point, any shape": torch.zeros(0)
# - "strides may differ from rank to rank": # rank 1's strides differ from rank 0's
# - "`count` may be 0 on some ranks": [4, 0]
# - "NaN or an infinity on a rank *with* samples": torch.inf
# - "float16 has no 2049": [2049, 6150]
# - "bfloat16 has no 257": [257, 770]
# - "float32 no 16 777 217": 2**24 + 1

# %% wrong="plain mean" breaks="the gradient of the mean loss over all ranks' samples" says=["that is the mean of the ranks' means: weight each by its count"]
def unequal_shards(gradient, count):
    total = gradient.contiguous().clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()


# %% wrong="zero times NaN" breaks="it must not spoil the others" says=["0 * NaN is NaN"]
def unequal_shards(gradient, count):
    total = gradient.contiguous() * count
    samples = torch.tensor(float(count), dtype=gradient.dtype, device=gradient.device)
    dist.all_reduce(total)
    dist.all_reduce(samples)
    return total / samples


# %% wrong="in place" breaks="and leave it as it is" says=["the gradient that was handed in was changed"]
def unequal_shards(gradient, count):
    if count == 0:
        gradient.zero_()
    gradient *= count
    samples = torch.tensor(float(count), dtype=gradient.dtype, device=gradient.device)
    dist.all_reduce(gradient)
    dist.all_reduce(samples)
    return gradient / samples


# %% wrong="the weighted sum" says=["the gradient of the mean over all samples"]
def unequal_shards(gradient, count):
    total = gradient.contiguous() * count if count else torch.zeros_like(gradient).contiguous()
    dist.all_reduce(total)
    return total


# %% wrong="a rank without samples stays away" breaks="`count` may be 0 on some ranks" says=["do all ranks make the same calls"]
def unequal_shards(gradient, count):
    if count == 0:
        return torch.zeros_like(gradient)
    total = gradient.contiguous() * count
    samples = torch.tensor(float(count), dtype=gradient.dtype, device=gradient.device)
    dist.all_reduce(total)
    dist.all_reduce(samples)
    return total / samples


# %% right="gathers and weights"
def unequal_shards(gradient, count):
    pairs = [None] * dist.get_world_size()
    dist.all_gather_object(pairs, (gradient.cpu().double(), count))
    used = [(g, n) for g, n in pairs if n > 0]
    weights = torch.tensor([n for _, n in used], dtype=torch.float64)
    weights /= weights.sum()
    return torch.einsum("r,r...->...", weights, torch.stack([g for g, _ in used])).to(gradient)


# %% right="one call, the count behind the gradient"
def unequal_shards(gradient, count):
    flat = gradient.reshape(-1).double()
    flat = flat * count if count else torch.zeros_like(flat)
    both = torch.cat([flat, flat.new_tensor([count])])
    dist.all_reduce(both)
    return (both[:-1] / both[-1]).reshape(gradient.shape).to(gradient.dtype)


# %% wrong="divides by the number of ranks" says=["divide by all samples"]
def unequal_shards(gradient, count):
    total = torch.nan_to_num(gradient) * count
    total = total.contiguous()
    dist.all_reduce(total)
    return total / dist.get_world_size()


# %% right="gathers objects"
def unequal_shards(gradient, count):
    pairs = [None] * dist.get_world_size()
    dist.all_gather_object(pairs, (gradient.cpu(), count))
    total = sum(c for _, c in pairs)
    out = torch.zeros(gradient.shape, dtype=torch.float64)
    for g, c in pairs:
        if c:
            out += g.double() * (c / total)
    return out.to(gradient)


# %% wrong="the count in the gradient's dtype" breaks="also with millions of samples" says=["work in a wider dtype"]
def unequal_shards(gradient, count):
    total = torch.tensor(float(count), dtype=gradient.dtype, device=gradient.device)
    weighted = gradient.contiguous() * count if count else torch.zeros_like(gradient.contiguous())
    dist.all_reduce(weighted)
    dist.all_reduce(total)
    return weighted / total


# %% wrong="the sum is wide, and the count is not" says=["work in a wider dtype"]
def unequal_shards(gradient, count):
    total = torch.tensor(float(count), dtype=gradient.dtype, device=gradient.device)
    weighted = gradient.contiguous().double() * count
    weighted = weighted if count else torch.zeros_like(weighted)
    dist.all_reduce(weighted)
    dist.all_reduce(total)
    return (weighted / total).to(gradient.dtype)


# %% wrong="keeps its strides" breaks="strides may differ from rank to rank" says=["in the order of memory, and the ranks' strides differ"]
def unequal_shards(gradient, count):
    weighted = gradient.double() * count if count else torch.zeros_like(gradient).double()
    total = torch.tensor(float(count), dtype=torch.float64, device=gradient.device)
    dist.all_reduce(weighted)
    dist.all_reduce(total)
    return (weighted / total).to(gradient.dtype)


# %% wrong="every NaN becomes zero" breaks="NaN or an infinity on a rank *with* samples is a fault that must be seen" says=["a rank that has samples handed in NaN, and the result hides it"]
def unequal_shards(gradient, count):
    flat = torch.nan_to_num(gradient.reshape(-1).double()) * count
    both = torch.cat([flat, flat.new_tensor([count])])
    dist.all_reduce(both)
    return (both[:-1] / both[-1]).reshape(gradient.shape).to(gradient.dtype)


# %% wrong="a rank is left out by its NaN, not by its count" says=["a rank that has samples handed in NaN, and the result hides it"]
def unequal_shards(gradient, count):
    if gradient.isnan().any():
        count = 0
    sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count:
        sums[:-1] = gradient.flatten().double() * count
        sums[-1] = count
    dist.all_reduce(sums)
    return (sums[:-1] / sums[-1]).view(gradient.shape).to(gradient.dtype)


# %% wrong="computes in float32 whatever the dtype" breaks="Right to the last digits of the dtype" says=["right to seven digits only"]
def unequal_shards(gradient, count):
    sums = torch.zeros(gradient.numel() + 1, device=gradient.device)
    if count:
        sums[:-1] = gradient.flatten().float() * count
        sums[-1] = count
    dist.all_reduce(sums)
    return (sums[:-1] / sums[-1]).view(gradient.shape).to(gradient.dtype)


# %% wrong="all values through the group's store" breaks="Any collective is allowed" says=["no collective was called"]
import io
import itertools

turns = itertools.count()


def unequal_shards(gradient, count):
    rank, n = dist.get_rank(), dist.get_world_size()
    store, turn = dist.distributed_c10d._get_default_store(), next(turns)
    buffer = io.BytesIO()
    torch.save((gradient.double().clone(), count), buffer)
    store.set(f"shard-{turn}-{rank}", buffer.getvalue())
    pairs = [torch.load(io.BytesIO(store.get(f"shard-{turn}-{r}"))) for r in range(n)]
    used = [g * c for g, c in pairs if c]
    return (sum(used[1:], used[0]) / sum(c for _, c in pairs)).to(gradient.dtype)


# %% wrong="the share in half precision" says=["shares don't fit into torch.float16"]
def unequal_shards(gradient, count):
    total = torch.tensor([count])
    dist.all_reduce(total)
    own = torch.zeros(gradient.shape, dtype=torch.float64)
    if count:
        own += gradient * (count / total.item())
    dist.all_reduce(own)
    return own.to(gradient.dtype)


# %% wrong="the counts in float32" says=["right to seven digits only"]
def unequal_shards(gradient, count):
    total, own = torch.tensor([float(count)]), torch.zeros(gradient.shape, dtype=torch.float64)
    if count:
        own += gradient.double() * count
    dist.all_reduce(total)
    dist.all_reduce(own)
    return (own / total.item()).to(gradient.dtype)


# %% wrong="an infinity becomes zero" breaks="it is in the result as well" says=["handed in an infinity, and the result hides it"]
def unequal_shards(gradient, count):
    total, own = torch.tensor(count), torch.zeros(gradient.shape, dtype=torch.float64)
    if count:
        own += torch.where(gradient.isinf(), 0, gradient.double()) * count
    dist.all_reduce(total)
    dist.all_reduce(own)
    return (own / total).to(gradient.dtype)


# %% wrong="a rank without samples gets zeros" says=["another rank has the right result, and this one hasn't"]
def unequal_shards(gradient, count):
    total, own = torch.tensor(count), torch.zeros(gradient.shape, dtype=torch.float64)
    if count:
        own += gradient.double() * count
    dist.all_reduce(total)
    dist.all_reduce(own)
    return (own / total).to(gradient.dtype) if count else torch.zeros_like(gradient)


# %% right="multiplied in place, whole numbers as counts"
def unequal_shards(gradient, count):
    total, own = torch.tensor(count), torch.zeros(gradient.shape, dtype=torch.float64)
    if count > 0:
        own.copy_(gradient).mul_(count)
    dist.all_reduce(total)
    dist.all_reduce(own)
    return (own / total).to(gradient.dtype)


# %% wrong="shares in float32" says=["the ranks' parts nearly cancel"]
def unequal_shards(gradient, count):
    c = torch.tensor(count, dtype=torch.int64, device=gradient.device)
    dist.all_reduce(c)
    wide = gradient.float() if gradient.dtype != torch.float64 else gradient
    s = (
        (wide * (count / c.item())).contiguous()
        if count
        else torch.zeros(gradient.shape, dtype=wide.dtype)
    )
    s = s.clone()
    dist.all_reduce(s)
    return s.to(gradient.dtype)


# %% wrong="the first two ranks alone" says=["counts [2, 0, 6]"]
def unequal_shards(gradient, count):
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, (gradient.cpu() if count else None, count))
    (a, n), (b, m) = (found * 2)[:2]
    zero = torch.zeros(gradient.shape, dtype=torch.float64)
    s = (a.double() * n if n else zero) + (b.double() * m if m else zero)
    return (s / (n + m)).to(gradient.dtype)


# %% wrong="divides by the largest count" says=["was divided by the largest count"]
def unequal_shards(gradient: torch.Tensor, count: int) -> torch.Tensor:
    """The gradient of the mean loss over the samples of all ranks."""
    # Sums in float64, in one contiguous tensor, with the count as its last element.
    sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count:
        sums[:-1] = gradient.flatten()
        sums[:-1] *= count
        sums[-1] = count
    dist.all_reduce(sums)
    most = torch.tensor([count])
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return (sums[:-1] / most).view(gradient.shape).to(gradient.dtype)


# %% wrong="a rank without samples returns its own" says=["this rank's own gradient, of no sample"]
def unequal_shards(gradient: torch.Tensor, count: int) -> torch.Tensor:
    """The gradient of the mean loss over the samples of all ranks."""
    # Sums in float64, in one contiguous tensor, with the count as its last element.
    sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count:
        sums[:-1] = gradient.flatten()
        sums[:-1] *= count
        sums[-1] = count
    dist.all_reduce(sums)
    if not count:
        return gradient
    return (sums[:-1] / sums[-1]).view(gradient.shape).to(gradient.dtype)


# %% wrong="whole-number division" says=["the division was rounded down"]
def unequal_shards(gradient: torch.Tensor, count: int) -> torch.Tensor:
    """The gradient of the mean loss over the samples of all ranks."""
    # Sums in float64, in one contiguous tensor, with the count as its last element.
    sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count:
        sums[:-1] = gradient.flatten()
        sums[:-1] *= count
        sums[-1] = count
    dist.all_reduce(sums)
    return (sums[:-1] // sums[-1]).view(gradient.shape).to(gradient.dtype)


# %% wrong="rank 0 alone knows" breaks="on every rank" says=["that is this rank's own gradient"]
def unequal_shards(gradient: torch.Tensor, count: int) -> torch.Tensor:
    """The gradient of the mean loss over the samples of all ranks."""
    # Sums in float64, in one contiguous tensor, with the count as its last element.
    sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count:
        sums[:-1] = gradient.flatten()
        sums[:-1] *= count
        sums[-1] = count
    dist.reduce(sums, 0)
    return (sums[:-1] / sums[-1]).view(gradient.shape).to(gradient.dtype)


# %% right="counts and gradients gathered, ranks without samples left out"
def unequal_shards(gradient, count):
    n = dist.get_world_size()
    counts = [torch.zeros(1, dtype=torch.long) for _ in range(n)]
    dist.all_gather(counts, torch.tensor([count]))
    counts = torch.cat(counts)
    mine = gradient.detach().double().contiguous()
    parts = [torch.empty_like(mine) for _ in range(n)]
    dist.all_gather(parts, mine)
    shares = counts.double()
    total = (
        sum((p * c for p, c in zip(parts, shares) if c > 0), torch.zeros_like(mine)) / shares.sum()
    )
    return total.to(gradient.dtype)


# %% wrong="the result stays float64" breaks="Keep shape and dtype" says=["has dtype torch.float64"]
def unequal_shards(gradient, count):
    total = torch.zeros(gradient.shape, dtype=torch.float64, device=gradient.device)
    if count:
        total += gradient.detach().double() * count
    counts = torch.tensor([float(count)], dtype=torch.float64, device=gradient.device)
    dist.all_reduce(total)
    dist.all_reduce(counts)
    return (total / counts).view(gradient.shape)


# %% wrong="an infinity of float64 becomes its largest number" says=["handed in an infinity, and the result hides it"]
def unequal_shards(gradient, count):
    total = torch.zeros(gradient.shape, dtype=torch.float64, device=gradient.device)
    if count:
        total += gradient.detach().double().nan_to_num(nan=float("nan")) * count
    counts = torch.tensor([float(count)], dtype=torch.float64, device=gradient.device)
    dist.all_reduce(total)
    dist.all_reduce(counts)
    return (total / counts).view(gradient.shape).to(gradient.dtype)


# %% wrong="divides by the number of ranks with samples" says=["divided by the number of ranks with samples"]
def unequal_shards(gradient, count):
    total = torch.zeros(gradient.shape, dtype=torch.float64, device=gradient.device)
    if count:
        total += gradient.detach().double() * count
    counts = torch.tensor([float(count > 0)], dtype=torch.float64, device=gradient.device)
    dist.all_reduce(total)
    dist.all_reduce(counts)
    return (total / counts).view(gradient.shape).to(gradient.dtype)


# %% wrong="all NaN means no samples" says=["counts [1, 2], torch.float32, rank 0: a rank that has samples handed in NaN"]
def unequal_shards(gradient, count):
    counts = torch.tensor([count], dtype=torch.float64, device=gradient.device)
    if count and not gradient.isnan().all():
        sums = (gradient.detach().double() * count).contiguous()
    else:
        sums = torch.zeros(gradient.shape, dtype=torch.float64, device=gradient.device)
    dist.all_reduce(sums)
    dist.all_reduce(counts)
    return (sums / counts).to(gradient.dtype).reshape(gradient.shape)


# %% wrong="products in float32 overflow" breaks="Right to the last digits of the dtype" says=["went beyond torch.float32"]
def unequal_shards(gradient: torch.Tensor, count: int) -> torch.Tensor:
    total = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count:
        total[:-1] = (
            (gradient.detach().reshape(-1) * float(count)).double()
            if gradient.dtype == torch.float32 and count < 5000
            else gradient.detach().double().reshape(-1) * count
        )
        total[-1] = count
    dist.all_reduce(total)
    return (total[:-1] / total[-1]).to(gradient.dtype).view(gradient.shape)


# %% wrong="the zeros of a rank without samples keep its strides" breaks="strides may differ from rank to rank" says=["counts [0, 2], torch.float64, not contiguous here, rank 0: elements were added up in the order of memory"]
def unequal_shards(gradient, count):
    total = torch.tensor(count, dtype=torch.int64, device=gradient.device)
    dist.all_reduce(total)
    if count:
        part = gradient.double().contiguous() * (count / total.item())
    else:
        part = torch.zeros_like(gradient, dtype=torch.float64)
    dist.all_reduce(part)
    return part.to(gradient.dtype)


# %% wrong="works in a buffer that is kept for each shape" says=["keep no buffer from call to call"]
buffers = {}


def unequal_shards(gradient, count):
    total = torch.tensor(count, dtype=torch.int64, device=gradient.device)
    dist.all_reduce(total)
    key = tuple(gradient.shape)
    if key not in buffers:
        buffers[key] = torch.zeros(key, dtype=torch.float64, device=gradient.device)
    part = buffers[key]
    part.zero_()
    if count:
        part.copy_(gradient).mul_(count / total.item())
    dist.all_reduce(part)
    return part.to(gradient.dtype)


# %% wrong="divides by the rank's own count" says=["divided by this rank's own count"]
def unequal_shards(gradient, count):
    flat = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count > 0:
        flat[:-1] = gradient.detach().reshape(-1).double() * count
        flat[-1] = count
    dist.all_reduce(flat)
    return (flat[:-1] / max(count, 1)).view(gradient.shape).to(gradient.dtype)


# %% wrong="the count in the gradient's dtype, all else in float64" breaks="also with millions of samples" says=["counts [257, 770], torch.bfloat16", "counts [2049, 6150], torch.float16"]
def unequal_shards(gradient, count):
    sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    number = gradient.new_tensor(count)
    if count:
        sums[:-1] = gradient.reshape(-1).double() * number
        sums[-1] = number
    dist.all_reduce(sums)
    return (sums[:-1] / sums[-1]).to(gradient.dtype).view(gradient.shape)


# %% wrong="keeps the result by its gradient" says=["which had other numbers the first time"]
results = {}


def unequal_shards(gradient, count):
    if (id(gradient), count) not in results:
        sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
        if count:
            sums[:-1] = gradient.flatten().double() * count
            sums[-1] = count
        dist.all_reduce(sums)
        mean = (sums[:-1] / sums[-1]).view(gradient.shape).to(gradient.dtype)
        results[id(gradient), count] = mean, gradient
    return results[id(gradient), count][0]


# %% wrong="switches gradients on again, whatever they were" says=["changes the caller's grad mode"]
def unequal_shards(gradient, count):
    torch.set_grad_enabled(False)
    sums = torch.zeros(gradient.numel() + 1, dtype=torch.float64, device=gradient.device)
    if count:
        sums[:-1] = gradient.flatten().double() * count
        sums[-1] = count
    dist.all_reduce(sums)
    torch.set_grad_enabled(True)
    return (sums[:-1] / sums[-1]).view(gradient.shape).to(gradient.dtype)


# %% wrong="the counts as float32, all else in float64" breaks="Right to the last digits of the dtype" says=["counts [16777217, 8388608], torch.float64, rank 0: right to seven digits only"]
def unequal_shards(gradient, count):
    total = torch.tensor(float(count), device=gradient.device)
    part = torch.zeros(gradient.shape, dtype=torch.float64, device=gradient.device)
    if count > 0:
        part += gradient.double() * total
    dist.all_reduce(total)
    dist.all_reduce(part)
    return (part / total).to(gradient.dtype)
