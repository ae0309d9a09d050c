# %% wrong="the sum of the gradients" says=["Adam got the sum of the gradients"]
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


# %% wrong="whole tensors dealt out" says=["one big parameter", "cut through the tensors"]
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


# %% wrong="each rank the whole state" says=["Adam keeps 10 numbers, at most 6"]
def sharded_optimizer(parameters, rank, world_size, options):
    adam = torch.optim.Adam(parameters, **options)

    def step():
        for p in parameters:
            dist.all_reduce(p.grad)
            p.grad /= world_size
        adam.step()

    return step, adam


# %% wrong="nothing comes back from the others" says=["the ranks end with different parameters"]
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


# %% wrong="new parameters in the list" says=["did not move: change it in place"]
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


# %% wrong="forgets to pad" says=["2 ranks, shapes (2, 2) and (1,)", "raised"]
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


# %% wrong="returns the step alone" says=["not the pair (step, adam)"]
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
