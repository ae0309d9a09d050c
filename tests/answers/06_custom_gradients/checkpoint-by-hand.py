# %% wrong="no replay of the random numbers" says=["(another dropout?)"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad


def checkpoint_by_hand(x, seed):
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)


# %% wrong="does not put the generator back" says=["put the generator back where it was"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.autograd.backward(y, gradient)
        return None, x.grad


def checkpoint_by_hand(x, seed):
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)


# %% wrong="keeps the graph of the first forward" says=["calls of the block in all", "once more in backward"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.save_for_backward(x)
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = block(ctx.x)
        return ctx.y.detach()

    @staticmethod
    def backward(ctx, gradient):
        torch.autograd.backward(ctx.y, gradient)
        return None, ctx.x.grad


def checkpoint_by_hand(x, seed):
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)


# %% wrong="seeds instead of replaying" says=["(another dropout?)"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.manual_seed(0)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad


def checkpoint_by_hand(x, seed):
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)


# %% wrong="forgets to record the second run" says=["RuntimeError"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        if True:
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad


def checkpoint_by_hand(x, seed):
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)


# %% wrong="loses the gradients of the parameters" says=["the gradient of layers.0.weight"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        return None, torch.autograd.grad(y, x, gradient)[0]


def checkpoint_by_hand(x, seed):
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)


# %% wrong="keeps the result too" says=["keep the input alone"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block, ctx.state = block, torch.get_rng_state()
        y = block(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, _ = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad


def checkpoint_by_hand(x, seed):
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)


# %% right="fork_rng, and gradients by hand"
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.run, ctx.random = block, torch.default_generator.get_state()
        ctx.save_for_backward(x)
        with torch.no_grad():
            return block.forward(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.default_generator.set_state(ctx.random)
            y = ctx.run.forward(x)
        parameters = list(ctx.run.parameters())
        mine, *theirs = torch.autograd.grad(y, [x, *parameters], gradient)
        for parameter, part in zip(parameters, theirs):
            parameter.grad = part if parameter.grad is None else parameter.grad + part
        return None, mine


def checkpoint_by_hand(x, seed):
    if "backward" not in vars(Checkpoint):
        return None
    return run_block(lambda block, x: block(x), x, seed), run_block(Checkpoint.apply, x, seed)
