# %% [markdown]
# Rules:
#
# - "returns a pair `(step, adam)`"
# - "of the **mean** of the ranks' gradients"
# - "the parameters are on all ranks"
# - "what `torch.optim.Adam(parameters, **options)` would have made"
# - "They are changed **in place**"
# - "the same `Parameter` objects hold the new values"
# - "`.grad` stays as it is"
# - "`adam` is the `torch.optim.Adam` that does this rank's work"
# - "the only optimizer on this rank"
# - "moments for at most ⌈n / world_size⌉ numbers"
# - "n counts all numbers in all parameters, whatever their shapes"
# - "of any shapes"
# - "have no gradients yet when you are called"
# - "A second call is independent of the first"
# - "`options` stays as it is"
#
# Admits:
#
# - "of any shapes": a parameter without dimensions and one without numbers
# - "whatever their shapes": one big parameter and one small
# - "A gradient may be zero": shapes (2, 2) and (1,), weight_decay

# %% wrong="the sum of the gradients" breaks="of the **mean** of the ranks' gradients" says=["Adam got the sum of the gradients"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    pad = -n % world_size
    row = lambda ts: F.pad(torch.cat([t.reshape(-1) for t in ts]), (0, pad))
    mine = row([p.detach() for p in parameters]).chunk(world_size)[rank].clone()
    adam = torch.optim.Adam([mine], **options)

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        adam.step()
        whole = torch.empty(n + pad)
        dist.all_gather_into_tensor(whole, mine)
        at = 0
        for p in parameters:
            with torch.no_grad():
                p.copy_(whole[at : at + p.numel()].view(p.shape))
            at += p.numel()

    return step, adam


# %% wrong="whole tensors dealt out" breaks="n counts all numbers in all parameters, whatever their shapes" says=["one big parameter", "cut through the tensors"]
def sharded_optimizer(parameters, rank, world_size, options):
    mine = [p for n, p in enumerate(parameters) if n % world_size == rank]
    adam = torch.optim.Adam(mine or [torch.zeros(1)], **options)

    def step():
        for p in parameters:
            dist.all_reduce(p.grad)
            p.grad /= world_size
        adam.step()
        for n, p in enumerate(parameters):
            dist.broadcast(p.detach(), n % world_size)

    return step, adam


# %% wrong="each rank the whole state" breaks="moments for at most ⌈n / world_size⌉ numbers" says=["Adam keeps 10 numbers, at most 6"]
def sharded_optimizer(parameters, rank, world_size, options):
    adam = torch.optim.Adam(parameters, **options)

    def step():
        for p in parameters:
            dist.all_reduce(p.grad)
            p.grad /= world_size
        adam.step()

    return step, adam


# %% wrong="nothing comes back from the others" breaks="the parameters are on all ranks" says=["the ranks end with different parameters"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    pad = -n % world_size
    row = lambda ts: F.pad(torch.cat([t.reshape(-1) for t in ts]), (0, pad))
    whole = row([p.detach() for p in parameters])
    mine = whole.chunk(world_size)[rank]
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        for p, new in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
            p.copy_(new.view_as(p))

    return step, adam


# %% wrong="new parameters in the list" breaks="They are changed **in place**" says=["did not move: change it in place"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    pad = -n % world_size
    row = lambda ts: F.pad(torch.cat([t.reshape(-1) for t in ts]), (0, pad))
    mine = row([p.detach() for p in parameters]).chunk(world_size)[rank].clone()
    adam = torch.optim.Adam([mine], **options)
    grads = list(parameters)

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in grads]))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(n + pad)
        dist.all_gather_into_tensor(whole, mine)
        for i, new in enumerate(whole[:n].split([p.numel() for p in grads])):
            parameters[i] = nn.Parameter(new.view_as(grads[i]))

    return step, adam


# %% wrong="forgets to pad" breaks="of any shapes" says=["2 ranks, shapes (2, 2) and (1,)", "raised"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    row = lambda ts: torch.cat([t.reshape(-1) for t in ts])
    mine = row([p.detach() for p in parameters]).view(world_size, -1)[rank].clone()
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(n)
        dist.all_gather_into_tensor(whole, mine)
        for p, new in zip(parameters, whole.split([p.numel() for p in parameters])):
            p.copy_(new.view_as(p))

    return step, adam


# %% wrong="returns the step alone" breaks="returns a pair `(step, adam)`" says=["not the pair (step, adam)"]
def sharded_optimizer(parameters, rank, world_size, options):
    return torch.optim.Adam(parameters, **options).step


# %% right="all-reduce, uneven slices, broadcast"
def sharded_optimizer(parameters, rank, world_size, options):
    flat = nn.utils.parameters_to_vector(parameters).detach().clone()
    slices = list(flat.tensor_split(world_size))  # views of flat
    adam = torch.optim.Adam([slices[rank]], **options)

    def step():
        grad = nn.utils.parameters_to_vector([p.grad for p in parameters])
        dist.all_reduce(grad)
        slices[rank].grad = (grad / world_size).tensor_split(world_size)[rank]
        adam.step()
        for owner, piece in enumerate(slices):
            if piece.numel():
                dist.broadcast(piece, owner)
        nn.utils.vector_to_parameters(flat, parameters)

    return step, adam


# %% right="a class, every W-th number"
class Sharded:
    def __init__(self, parameters, rank, world_size, options):
        self.parameters, self.rank, self.world = parameters, rank, world_size
        flat = torch.cat([p.detach().flatten() for p in parameters])
        self.count = len(flat)
        self.mine = nn.Parameter(flat[rank::world_size].clone())
        self.adam = torch.optim.Adam([self.mine], **options)

    @torch.no_grad()
    def __call__(self):
        grads = torch.cat([p.grad.flatten() for p in self.parameters]) / self.world
        dist.all_reduce(grads)
        self.mine.grad = grads[self.rank :: self.world].clone()
        self.adam.step()
        whole = torch.zeros(self.count)
        whole[self.rank :: self.world] = self.mine
        dist.all_reduce(whole)
        at = 0
        for p in self.parameters:
            p.set_(p.copy_(whole[at : at + p.numel()].reshape(p.shape)))
            at += p.numel()


def sharded_optimizer(parameters, rank, world_size, options):
    step = Sharded(parameters, rank, world_size, options)
    return [step, step.adam]


# %% wrong="the moments are cleared with each step" says=["moments begin anew in each step"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    size = -(-n // world_size)
    adam = torch.optim.Adam([torch.zeros(size)], **options)

    def flatten(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(flat, (0, size * world_size - n))

    def step():
        mine = flatten(parameters)[rank * size : (rank + 1) * size].clone()
        adam.state.clear()
        adam.param_groups[0]["params"] = [mine]
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, flatten([p.grad for p in parameters]) / world_size)
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine)
        with torch.no_grad():
            for p, new in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
                p.copy_(new.view_as(p))

    return step, adam


# %% wrong="only the learning rate gets to Adam" breaks="what `torch.optim.Adam(parameters, **options)` would have made" says=["the learning rate alone"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    size = -(-n // world_size)

    def flatten(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(flat, (0, size * world_size - n))

    mine = nn.Parameter(flatten(parameters)[rank * size : (rank + 1) * size].clone())
    adam = torch.optim.Adam([mine], lr=options["lr"])

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, flatten([p.grad for p in parameters]) / world_size)
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        with torch.no_grad():
            for p, new in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
                p.copy_(new.view_as(p))

    return step, adam


# %% wrong="pads for two ranks only" says=["3 ranks, a parameter without dimensions"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    size = (n + 1) // 2 if world_size > 1 else n

    def flatten(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(flat, (0, size * world_size - n))

    mine = nn.Parameter(flatten(parameters)[rank * size : (rank + 1) * size].clone())
    adam = torch.optim.Adam([mine], **options)

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, flatten([p.grad for p in parameters]) / world_size)
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        with torch.no_grad():
            for p, new in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
                p.copy_(new.view_as(p))

    return step, adam


# %% right="a class, zeros and an all-reduce instead of gathering"
class Sharded:
    def __init__(self, parameters, rank, world_size, options):
        self.parameters, self.world_size = list(parameters), world_size
        sizes = [p.numel() for p in self.parameters]
        total = sum(sizes)
        chunk = (total + world_size - 1) // world_size
        self.low, self.high = min(rank * chunk, total), min((rank + 1) * chunk, total)
        whole = nn.utils.parameters_to_vector(self.parameters).detach()
        self.slice = nn.Parameter(whole[self.low : self.high].clone())
        self.adam = torch.optim.Adam([self.slice], **options)

    @torch.no_grad()
    def step(self):
        grads = torch.cat(
            [
                p.grad.view(-1) if p.grad.is_contiguous() else p.grad.reshape(-1)
                for p in self.parameters
            ]
        )
        dist.all_reduce(grads.div_(self.world_size))
        self.slice.grad = grads[self.low : self.high].clone()
        self.adam.step()
        self.adam.zero_grad()
        fresh = torch.zeros_like(grads)
        fresh[self.low : self.high] = self.slice
        dist.all_reduce(fresh)
        offset = 0
        for p in self.parameters:
            p[...] = fresh[offset : offset + p.numel()].reshape(p.shape)
            offset += p.numel()


def sharded_optimizer(parameters, rank, world_size, options):
    it = Sharded(parameters, rank, world_size, options)
    return it.step, it.adam


# %% wrong="an empty Adam for show, a full one at work" breaks="`adam` is the `torch.optim.Adam` that does this rank's work" says=["keeps no state after a step", "the Adam that does the work"]
def sharded_optimizer(parameters, rank, world_size, options):
    show = torch.optim.Adam([nn.Parameter(torch.zeros(1))], **options)
    work = torch.optim.Adam(parameters, **options)

    def step():
        for p in parameters:
            dist.all_reduce(p.grad)
            p.grad /= world_size
        work.step()

    return step, show


# %% wrong="a sharded Adam for show, a full one at work" breaks="the only optimizer on this rank" says=["other optimizers keep"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    part = torch.zeros(-(-n // world_size))
    show = torch.optim.Adam([part], **options)
    work = torch.optim.Adam(parameters, **options)

    def step():
        for p in parameters:
            dist.all_reduce(p.grad)
            p.grad /= world_size
        part.grad = torch.zeros_like(part)
        show.step()
        work.step()

    return step, show


# %% wrong="each tensor cut by itself" says=["3 ranks, a parameter without dimensions", "lay all of them end to end"]
def sharded_optimizer(parameters, rank, world_size, options):
    def pieces(t):
        flat = t.detach().reshape(-1)
        return F.pad(flat, (0, -flat.numel() % world_size)).chunk(world_size)

    mine = [pieces(p)[rank].clone() for p in parameters]
    adam = torch.optim.Adam(mine, **options)

    @torch.no_grad()
    def step():
        for p, part in zip(parameters, mine):
            grad = p.grad.clone()
            dist.all_reduce(grad)
            part.grad = pieces(grad / world_size)[rank].clone()
        adam.step()
        for p, part in zip(parameters, mine):
            every = [torch.empty_like(part) for _ in range(world_size)]
            dist.all_gather(every, part)
            p.copy_(torch.cat(every)[: p.numel()].view_as(p))

    return step, adam


# %% wrong="reads the gradients when it is made" breaks="have no gradients yet when you are called" says=["no gradients yet", "read them in step()"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    size = -(-n // world_size)

    def flatten(tensors):
        return F.pad(torch.cat([t.detach().flatten() for t in tensors]), (0, size * world_size - n))

    mine = nn.Parameter(flatten(parameters)[rank * size : (rank + 1) * size].clone())
    adam = torch.optim.Adam([mine], **options)
    grads = flatten([p.grad for p in parameters])

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, grads / world_size)
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        with torch.no_grad():
            for p, new in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
                p.copy_(new.view_as(p))

    return step, adam


# %% wrong="one optimizer for all calls" breaks="A second call is independent of the first" says=["a second call"]
made = []


def sharded_optimizer(parameters, rank, world_size, options):
    if made:
        return made[0]
    n = sum(p.numel() for p in parameters)
    size = -(-n // world_size)

    def flatten(tensors):
        return F.pad(torch.cat([t.detach().flatten() for t in tensors]), (0, size * world_size - n))

    mine = nn.Parameter(flatten(parameters)[rank * size : (rank + 1) * size].clone())
    adam = torch.optim.Adam([mine], **options)

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, flatten([p.grad for p in parameters]) / world_size)
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        with torch.no_grad():
            for p, new in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
                p.copy_(new.view_as(p))

    made.append((step, adam))
    return made[0]


# %% wrong="the learning rate is taken out of the options" breaks="`options` stays as it is" says=["`options` was changed"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    size = -(-n // world_size)

    def flatten(tensors):
        return F.pad(torch.cat([t.detach().flatten() for t in tensors]), (0, size * world_size - n))

    mine = nn.Parameter(flatten(parameters)[rank * size : (rank + 1) * size].clone())
    adam = torch.optim.Adam([mine], lr=options.pop("lr"), **options)

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, flatten([p.grad for p in parameters]) / world_size)
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        with torch.no_grad():
            for p, new in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
                p.copy_(new.view_as(p))

    return step, adam


# %% wrong="averages each .grad in place" says=["changed the .grad of parameter"]
def sharded_optimizer(parameters, rank, world_size, options):
    numbers = [p.numel() for p in parameters]
    size = -(-sum(numbers) // world_size)
    bounds = rank * size, min((rank + 1) * size, sum(numbers))
    flat = torch.cat([p.detach().flatten() for p in parameters])
    mine = nn.Parameter(flat[slice(*bounds)].clone())
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        for p in parameters:
            dist.all_reduce(p.grad)
            p.grad /= world_size
        gradient = torch.cat([p.grad.flatten() for p in parameters])
        mine.grad = gradient[slice(*bounds)].clone()
        adam.step()
        whole = torch.zeros_like(gradient)
        whole[slice(*bounds)] = mine
        dist.all_reduce(whole)
        for p, part in zip(parameters, whole.split(numbers), strict=True):
            p.copy_(part.view_as(p))

    return step, adam


# %% wrong="clears the gradients after the step" breaks="`.grad` stays as it is" says=["changed the .grad of parameter"]
def sharded_optimizer(parameters, rank, world_size, options):
    numbers = [p.numel() for p in parameters]
    size = -(-sum(numbers) // world_size)
    bounds = rank * size, min((rank + 1) * size, sum(numbers))
    flat = torch.cat([p.detach().flatten() for p in parameters])
    mine = nn.Parameter(flat[slice(*bounds)].clone())
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        gradient = torch.cat([p.grad.flatten() for p in parameters])
        dist.all_reduce(gradient)
        gradient /= world_size
        mine.grad = gradient[slice(*bounds)].clone()
        adam.step()
        whole = torch.zeros_like(gradient)
        whole[slice(*bounds)] = mine
        dist.all_reduce(whole)
        for p, part in zip(parameters, whole.split(numbers), strict=True):
            p.copy_(part.view_as(p))
            p.grad = None

    return step, adam


# %% wrong="pads a whole world where it divides" says=["so there is nothing to pad"]
def sharded_optimizer(parameters, rank, world_size, options):
    numbers = [p.numel() for p in parameters]
    count = sum(numbers)
    size = count // world_size + 1
    low, high = rank * size, (rank + 1) * size

    def flatten(tensors):
        row = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(row, (0, size * world_size - count)) if size * world_size > count else row

    mine = flatten(parameters)[low:high].clone()
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        gradient = flatten([p.grad for p in parameters])
        dist.all_reduce(gradient)
        mine.grad = gradient[low:high] / world_size
        adam.step()
        whole = torch.zeros_like(gradient)
        whole[low:high] = mine
        dist.all_reduce(whole)
        for n, part in enumerate(whole[:count].split(numbers)):
            parameters[n].copy_(part.view_as(parameters[n]))

    return step, adam


# %% wrong="the last rank takes the rest" says=["the last rank takes the rest"]
def sharded_optimizer(parameters, rank, world_size, options):
    numbers = [p.numel() for p in parameters]
    count = sum(numbers)
    size = count // world_size
    low, high = rank * size, count if rank == world_size - 1 else (rank + 1) * size

    def flatten(tensors):
        row = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(row, (0, size * world_size - count)) if size * world_size > count else row

    mine = flatten(parameters)[low:high].clone()
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        gradient = flatten([p.grad for p in parameters])
        dist.all_reduce(gradient)
        mine.grad = gradient[low:high] / world_size
        adam.step()
        whole = torch.zeros_like(gradient)
        whole[low:high] = mine
        dist.all_reduce(whole)
        for n, part in enumerate(whole[:count].split(numbers)):
            parameters[n].copy_(part.view_as(parameters[n]))

    return step, adam


# %% wrong="the mean twice" says=["the mean was taken twice"]
def sharded_optimizer(parameters, rank, world_size, options):
    numbers = [p.numel() for p in parameters]
    count = sum(numbers)
    size = -(-count // world_size)
    low, high = rank * size, (rank + 1) * size

    def flatten(tensors):
        row = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(row, (0, size * world_size - count)) if size * world_size > count else row

    mine = flatten(parameters)[low:high].clone()
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        gradient = flatten([p.grad for p in parameters])
        dist.all_reduce(gradient)
        mine.grad = gradient[low:high] / world_size**2
        adam.step()
        whole = torch.zeros_like(gradient)
        whole[low:high] = mine
        dist.all_reduce(whole)
        for n, part in enumerate(whole[:count].split(numbers)):
            parameters[n].copy_(part.view_as(parameters[n]))

    return step, adam


# %% wrong="a new Parameter in the place of each" breaks="the same `Parameter` objects hold the new values" says=["a new Parameter was put into the list"]
def sharded_optimizer(parameters, rank, world_size, options):
    numbers = [p.numel() for p in parameters]
    count = sum(numbers)
    size = -(-count // world_size)
    low, high = rank * size, (rank + 1) * size

    def flatten(tensors):
        row = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(row, (0, size * world_size - count)) if size * world_size > count else row

    mine = flatten(parameters)[low:high].clone()
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        gradient = flatten([p.grad for p in parameters])
        dist.all_reduce(gradient)
        mine.grad = gradient[low:high] / world_size
        adam.step()
        whole = torch.zeros_like(gradient)
        whole[low:high] = mine
        dist.all_reduce(whole)
        for n, part in enumerate(whole[:count].split(numbers)):
            parameters[n] = nn.Parameter(part.view_as(parameters[n]).clone())

    return step, adam


# %% wrong="hands on three options by name" says=["`eps` of `options` did not get to Adam"]
def sharded_optimizer(parameters, rank, world_size, options):
    parameters = list(parameters)
    n = sum(p.numel() for p in parameters)
    size = -(-n // world_size)

    def row(tensors):
        return F.pad(torch.cat([t.detach().flatten() for t in tensors]), (0, size * world_size - n))

    mine = row(parameters)[rank * size : (rank + 1) * size].clone()
    mine.requires_grad_()
    adam = torch.optim.Adam(
        [mine],
        lr=options["lr"],
        betas=options.get("betas", (0.9, 0.999)),
        weight_decay=options.get("weight_decay", 0),
    )

    @torch.no_grad()
    def step():
        mine.copy_(row(parameters)[rank * size : (rank + 1) * size])
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        for p, part in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
            p.copy_(part.view_as(p))

    return step, adam


# %% wrong="AdamW in place of Adam" says=["AdamW"]
def sharded_optimizer(parameters, rank, world_size, options):
    parameters = list(parameters)
    n = sum(p.numel() for p in parameters)
    size = -(-n // world_size)

    def row(tensors):
        return F.pad(torch.cat([t.detach().flatten() for t in tensors]), (0, size * world_size - n))

    mine = row(parameters)[rank * size : (rank + 1) * size].clone()
    mine.requires_grad_()
    adam = torch.optim.AdamW([mine], **options)

    @torch.no_grad()
    def step():
        mine.copy_(row(parameters)[rank * size : (rank + 1) * size])
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        for p, part in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
            p.copy_(part.view_as(p))

    return step, adam


# %% wrong="each rank steps by its own gradient" says=["one rank's own gradient"]
def sharded_optimizer(parameters, rank, world_size, options):
    parameters = list(parameters)
    n = sum(p.numel() for p in parameters)
    size = -(-n // world_size)

    def row(tensors):
        return F.pad(torch.cat([t.detach().flatten() for t in tensors]), (0, size * world_size - n))

    mine = row(parameters)[rank * size : (rank + 1) * size].clone()
    mine.requires_grad_()
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        mine.copy_(row(parameters)[rank * size : (rank + 1) * size])
        mine.grad = torch.empty_like(mine)
        mine.grad.copy_(row([p.grad for p in parameters])[rank * size : (rank + 1) * size])
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        for p, part in zip(parameters, whole[:n].split([p.numel() for p in parameters])):
            p.copy_(part.view_as(p))

    return step, adam


# %% wrong="gradients add up from step to step" says=["each step's gradients were added to those before"]
def sharded_optimizer(parameters, rank, world_size, options):
    parameters = list(parameters)

    def row(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(flat, (0, -flat.numel() % world_size))

    size = row(parameters).numel() // world_size
    mine = row(parameters)[rank * size : (rank + 1) * size].clone().requires_grad_()
    adam = torch.optim.Adam([mine], **options)

    def step():
        part = torch.empty(size)
        dist.reduce_scatter_tensor(part, row([p.grad for p in parameters]))
        mine.grad = part / world_size if mine.grad is None else mine.grad + part / world_size
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        lengths = [p.numel() for p in parameters]
        with torch.no_grad():
            for p, piece in zip(parameters, whole[: sum(lengths)].split(lengths)):
                p.copy_(piece.view_as(p))

    return step, adam


# %% wrong="no options get to Adam" says=["nothing of `options` got to Adam"]
def sharded_optimizer(parameters, rank, world_size, options):
    parameters = list(parameters)

    def row(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(flat, (0, -flat.numel() % world_size))

    size = row(parameters).numel() // world_size
    mine = row(parameters)[rank * size : (rank + 1) * size].clone().requires_grad_()
    adam = torch.optim.Adam([mine])

    def step():
        part = torch.empty(size)
        dist.reduce_scatter_tensor(part, row([p.grad for p in parameters]))
        mine.grad = part / world_size
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        lengths = [p.numel() for p in parameters]
        with torch.no_grad():
            for p, piece in zip(parameters, whole[: sum(lengths)].split(lengths)):
                p.copy_(piece.view_as(p))

    return step, adam


# %% wrong="chunk, and no padding" says=["the sizes of a collective don't fit"]
def sharded_optimizer(parameters, rank, world_size, options):
    parameters = list(parameters)

    def row(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return flat

    size = -(-row(parameters).numel() // world_size)
    mine = row(parameters).chunk(world_size)[rank].clone().requires_grad_()
    adam = torch.optim.Adam([mine], **options)

    def step():
        part = torch.empty(size)
        dist.reduce_scatter_tensor(part, row([p.grad for p in parameters]))
        mine.grad = part / world_size
        adam.step()
        whole = torch.empty(size * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        lengths = [p.numel() for p in parameters]
        with torch.no_grad():
            for p, piece in zip(parameters, whole[: sum(lengths)].split(lengths)):
                p.copy_(piece.view_as(p))

    return step, adam


# %% wrong="the slice of the last call" says=["what a step needs belongs to its call alone"]
def sharded_optimizer(
    parameters: list[nn.Parameter], rank: int, world_size: int, options: dict
) -> tuple[Callable[[], None], torch.optim.Optimizer]:
    sizes = [p.numel() for p in parameters]
    total = sum(sizes)
    part = -(-total // world_size)

    def row(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(flat, (0, part * world_size - total))

    sharded_optimizer.mine = (
        row(parameters)[rank * part : (rank + 1) * part].clone().requires_grad_()
    )
    adam = torch.optim.Adam([sharded_optimizer.mine], **options)

    def step():
        gradient = torch.empty(part)
        dist.reduce_scatter_tensor(gradient, row([p.grad for p in parameters]))
        mine = sharded_optimizer.mine
        mine.grad = gradient / world_size
        adam.step()
        whole = torch.empty(part * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        with torch.no_grad():
            for p, piece in zip(parameters, whole[:total].split(sizes)):
                p.copy_(piece.view_as(p))

    return step, adam


# %% wrong="takes the learning rate from the options" breaks="what `torch.optim.Adam(parameters, **options)` would have made" says=["no options: ", "KeyError: 'lr'"]
def sharded_optimizer(parameters, rank, world_size, options):
    sizes = [p.numel() for p in parameters]
    each = -(-sum(sizes) // world_size)

    def row(tensors):
        whole = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(whole, (0, each * world_size - len(whole)))

    mine = row(parameters)[rank * each :][:each].clone().requires_grad_()
    rest = {key: value for key, value in options.items() if key != "lr"}
    adam = torch.optim.Adam([mine], lr=options["lr"], **rest)

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(each * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        with torch.no_grad():
            for p, piece in zip(parameters, whole[: sum(sizes)].split(sizes), strict=True):
                p.copy_(piece.view(p.shape))

    return step, adam


# %% wrong="gradients stay switched off after a step" says=["gradients are still switched off after step()"]
def sharded_optimizer(parameters, rank, world_size, options):
    sizes = [p.numel() for p in parameters]

    def row(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(flat, (0, -len(flat) % world_size))

    mine = row(parameters).chunk(world_size)[rank].clone()
    adam = torch.optim.Adam([mine], **options)

    def step():
        torch.set_grad_enabled(False)
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(len(mine) * world_size)
        dist.all_gather_into_tensor(whole, mine)
        for p, piece in zip(parameters, whole[: sum(sizes)].split(sizes)):
            p.copy_(piece.view_as(p))

    return step, adam


# %% wrong="the rest of the row belongs to no rank" says=["the last 1 of 5 numbers did not move", "Round the length of a slice up"]
def sharded_optimizer(parameters, rank, world_size, options):
    sizes = [p.numel() for p in parameters]
    row = torch.cat([p.detach().flatten() for p in parameters])
    n = len(row) // world_size
    mine = row[rank * n : (rank + 1) * n].clone()
    adam = torch.optim.Adam([mine], **options)

    def step():
        gradients = torch.cat([p.grad.flatten() for p in parameters])
        dist.all_reduce(gradients)
        mine.grad = gradients[rank * n : (rank + 1) * n] / world_size
        adam.step()
        parts = [torch.empty_like(mine) for _ in range(world_size)]
        dist.all_gather(parts, mine)
        row[: n * world_size] = torch.cat(parts)
        with torch.no_grad():
            for p, piece in zip(parameters, row.split(sizes)):
                p.copy_(piece.view_as(p))

    return step, adam


# %% wrong="a bucket in the place of the gradients" says=["sharded_optimizer set the .grad of a parameter", "read it in step()"]
def sharded_optimizer(parameters, rank, world_size, options):
    sizes = [p.numel() for p in parameters]
    n = sum(sizes)
    padded = n + -n % world_size
    row = F.pad(torch.cat([p.detach().reshape(-1) for p in parameters]), (0, padded - n))
    bucket = torch.zeros(padded)
    for p, piece in zip(parameters, bucket[:n].split(sizes), strict=True):
        p.grad = piece.view_as(p)  # backward adds into the bucket: no copy in step
    shard = nn.Parameter(row.chunk(world_size)[rank].clone())
    adam = torch.optim.Adam([shard], **options)

    def step():
        mine = torch.empty_like(shard)
        dist.reduce_scatter_tensor(mine, bucket.clone())
        shard.grad = mine / world_size
        adam.step()
        dist.all_gather_into_tensor(row, shard.detach())
        with torch.no_grad():
            for p, piece in zip(parameters, row[:n].split(sizes), strict=True):
                p.copy_(piece.view_as(p))

    return step, adam


# %% wrong="fewer chunks than ranks" says=["a single number", "did a rank find no slice?"]
def sharded_optimizer(parameters, rank, world_size, options):
    sizes = [p.numel() for p in parameters]
    row = torch.cat([p.detach().reshape(-1) for p in parameters])
    pieces = row.chunk(world_size)
    shard = nn.Parameter(pieces[rank].clone())
    adam = torch.optim.Adam([shard], **options)

    def step():
        gradient = torch.cat([p.grad.reshape(-1) for p in parameters])
        dist.all_reduce(gradient)
        shard.grad = gradient.chunk(world_size)[rank] / world_size
        adam.step()
        pieces[rank].copy_(shard.detach())
        for owner, piece in enumerate(pieces):
            dist.broadcast(piece, owner)
        with torch.no_grad():
            for p, new in zip(parameters, row.split(sizes), strict=True):
                p.copy_(new.view_as(p))

    return step, adam


# %% wrong="a step and an Adam for each list of parameters" says=["a second call with the same parameters", "begins with the values that it finds"]
known = {}


def make(parameters, rank, world_size, options):
    sizes = [p.numel() for p in parameters]

    def row(tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors])
        return F.pad(flat, (0, -len(flat) % world_size))

    mine = row(parameters).chunk(world_size)[rank].clone()
    adam = torch.optim.Adam([mine], **options)

    def step():
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(len(mine) * world_size)
        dist.all_gather_into_tensor(whole, mine)
        with torch.no_grad():
            for p, piece in zip(parameters, whole[: sum(sizes)].split(sizes)):
                p.copy_(piece.view_as(p))

    return step, adam


def sharded_optimizer(parameters, rank, world_size, options):
    key = tuple(parameters)
    if key not in known:
        known[key] = make(parameters, rank, world_size, options)
    return known[key]


# %% wrong="values assigned to all rows" says=["a parameter without dimensions has no rows and no slices"]
def sharded_optimizer(parameters, rank, world_size, options):
    sizes = [p.numel() for p in parameters]
    pad = -sum(sizes) % world_size
    length = (sum(sizes) + pad) // world_size

    def row(tensors):
        return F.pad(torch.cat([t.detach().flatten() for t in tensors]), (0, pad))

    mine = nn.Parameter(row(parameters)[rank * length : (rank + 1) * length].clone())
    adam = torch.optim.Adam([mine], **options)

    def step():
        mine.grad = torch.empty(length)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(length * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        with torch.no_grad():
            for p, piece in zip(parameters, whole[: sum(sizes)].split(sizes), strict=True):
                p[:] = piece.view(p.shape)

    return step, adam


# %% right="one row of the gradients by parameters_to_vector"
def sharded_optimizer(parameters, rank, world_size, options):
    row = nn.utils.parameters_to_vector(parameters).detach()
    total = len(row)
    pad = -total % world_size
    length = (total + pad) // world_size
    mine = nn.Parameter(F.pad(row, (0, pad)).chunk(world_size)[rank].clone())
    adam = torch.optim.Adam([mine], **options)

    def step():
        gradient = nn.utils.parameters_to_vector([p.grad for p in parameters]).detach()
        mine.grad = torch.empty(length)
        dist.reduce_scatter_tensor(mine.grad, F.pad(gradient, (0, pad)))
        mine.grad /= world_size
        adam.step()
        whole = torch.empty(length * world_size)
        dist.all_gather_into_tensor(whole, mine.detach())
        start = 0
        with torch.no_grad():
            for p in parameters:
                p.copy_(whole[start : start + p.numel()].view_as(p))
                start += p.numel()

    return step, adam


# %% wrong="one tensor for the slices of all ranks" says=["the slices of all ranks have the same numbers"]
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    each = -(-n // world_size)

    def row(tensors):
        return F.pad(
            torch.cat([t.detach().reshape(-1) for t in tensors]), (0, each * world_size - n)
        )

    mine = row(parameters)[rank * each : (rank + 1) * each].clone()
    adam = torch.optim.Adam([mine], **options)

    def step():
        mine.grad = torch.empty(each)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        parts = [torch.empty(each)] * world_size
        dist.all_gather(parts, mine)
        whole, at = torch.cat(parts), 0
        with torch.no_grad():
            for p in parameters:
                p.copy_(whole[at : at + p.numel()].view_as(p))
                at += p.numel()

    return step, adam


# %% wrong="sizes by two dimensions" says=["a parameter without dimensions has no rows"]
def sharded_optimizer(parameters, rank, world_size, options):
    sizes = [p.shape[0] * (p.shape[1] if p.dim() > 1 else 1) for p in parameters]
    n = sum(sizes)
    each = -(-n // world_size)

    def row(tensors):
        return F.pad(
            torch.cat([t.detach().reshape(-1) for t in tensors]), (0, each * world_size - n)
        )

    mine = row(parameters)[rank * each : (rank + 1) * each].clone()
    adam = torch.optim.Adam([mine], **options)

    def step():
        mine.grad = torch.empty(each)
        dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
        mine.grad /= world_size
        adam.step()
        whole, at = torch.empty(each * world_size), 0
        dist.all_gather_into_tensor(whole, mine)
        with torch.no_grad():
            for p, size in zip(parameters, sizes):
                p.copy_(whole[at : at + size].view_as(p))
                at += size

    return step, adam


# %% right="the mean by the collective itself"
def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    each = -(-n // world_size)

    def row(tensors):
        return F.pad(
            torch.cat([t.detach().reshape(-1) for t in tensors]), (0, each * world_size - n)
        )

    mine = row(parameters)[rank * each : (rank + 1) * each].clone()
    adam = torch.optim.Adam([mine], **options)

    def step():
        mine.grad = torch.empty(each)
        dist.reduce_scatter_tensor(
            mine.grad, row([p.grad for p in parameters]), op=dist.ReduceOp.AVG
        )
        adam.step()
        whole, at = torch.empty(each * world_size), 0
        dist.all_gather_into_tensor(whole, mine)
        with torch.no_grad():
            for p in parameters:
                p.copy_(whole[at : at + p.numel()].view_as(p))
                at += p.numel()

    return step, adam


# %% wrong="divides the row of gradients in place, which may be a gradient itself" breaks="`.grad` stays as it is" says=["a single parameter of four numbers", "changed the .grad of parameter 0"]
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def sharded_optimizer(parameters, rank, world_size, options):
    n = sum(p.numel() for p in parameters)
    pad = -n % world_size
    size = (n + pad) // world_size

    def flatten(tensors):
        row = _flatten_dense_tensors(tensors)
        return torch.cat([row, row.new_zeros(pad)]) if pad else row

    mine = flatten([p.detach() for p in parameters])[rank * size :][:size].clone()
    mine.requires_grad_()
    mine.grad = torch.zeros_like(mine)
    adam = torch.optim.Adam([mine], **options)

    @torch.no_grad()
    def step():
        row = flatten([p.grad for p in parameters])
        row.div_(world_size)  # first the division: the sum can't overflow
        dist.reduce_scatter_tensor(mine.grad, row)
        adam.step()
        whole = torch.empty(n + pad)
        dist.all_gather_into_tensor(whole, mine.detach())
        for p, new in zip(parameters, _unflatten_dense_tensors(whole[:n], parameters)):
            p.copy_(new)

    return step, adam


# %% wrong="leaves Adam out where the mean gradient is zero" breaks="what `torch.optim.Adam(parameters, **options)` would have made" says=["a step with zero gradients was left out"]
def sharded_optimizer(parameters, rank, world_size, options):
    sizes = [p.numel() for p in parameters]

    def row(tensors):
        flat = torch.cat([t.reshape(-1) for t in tensors])
        return F.pad(flat, (0, -flat.numel() % world_size))

    with torch.no_grad():
        mine = row(parameters).view(world_size, -1)[rank].clone()
    mine.grad = torch.zeros_like(mine)
    adam = torch.optim.Adam([mine], **options)

    def step():
        with torch.no_grad():
            dist.reduce_scatter_tensor(mine.grad, row([p.grad for p in parameters]))
            mine.grad.div_(world_size)
            if mine.grad.any():
                adam.step()
            whole = mine.new_empty(mine.numel() * world_size)
            dist.all_gather_into_tensor(whole, mine)
            for p, piece in zip(parameters, whole[: sum(sizes)].split(sizes)):
                p.copy_(piece.view_as(p))

    return step, adam
