# %% [markdown]
# Rules:
#
# - "keeps nothing for backward but the block, `x`"
# - "goes through `save_for_backward`, not on `ctx`"
# - "runs `block` a second time"
# - "on the same random numbers"
# - "recording this time"
# - "returns the gradient of `x`"
# - "and adds those of the block's parameters to their `.grad`"
# - "nothing for one that is frozen or not used"
# - "`block` may be used twice"
# - "leaves the generator as it was before backward"
# - "also where `block` raises there"
# - "equal to those of the plain run to the last bit"
# - "`torch.utils.checkpoint` is not allowed"
# - "returns what `block(x)` returns"
#
# Admits:
#
# - "may be used twice": times=2
# - "`x`, which requires grad": x of shape (2, 3)
# - "the block's parameters": custom_gradients.states_of

# %% wrong="no replay of the random numbers" breaks="on the same random numbers" says=["does backward draw the same dropout as forward?"]
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


# %% wrong="does not put the generator back" breaks="leaves the generator as it was before backward" says=["put the generator back where it was"]
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


# %% wrong="keeps the graph of the first forward" breaks="runs `block` a second time" says=["runs of the block in all: expected 2, got 1", "it is computed again, not kept"]
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


# %% wrong="seeds instead of replaying" says=["does backward draw the same dropout as forward?"]
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
        torch.manual_seed(0)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad


# %% wrong="forgets to record the second run" breaks="recording this time" says=["does backward record the second run (enable_grad)?"]
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


# %% wrong="loses the gradients of the parameters" breaks="and adds those of the block's parameters to their `.grad`" says=["the gradient of last.weight is None: it never arrived"]
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


# %% wrong="keeps the result too" breaks="keeps nothing for backward but the block, `x`" says=["keep the input alone"]
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


# %% wrong="keeps the result on ctx" says=["kept on ctx: y"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        ctx.y = block(x)
        return ctx.y.clone()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad


# %% wrong="keeps x on ctx" breaks="goes through `save_for_backward`, not on `ctx`" says=["kept on ctx: x", "save_for_backward"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.x = x
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.x
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = ctx.block(x)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, x.grad


# %% wrong="the library's" breaks="`torch.utils.checkpoint` is not allowed" says=["torch.utils.checkpoint runs here"]
from torch.utils.checkpoint import checkpoint


class Checkpoint(torch.autograd.Function):
    @staticmethod
    def backward(ctx, gradient):
        return None, gradient

    @staticmethod
    def apply(block, x):
        return checkpoint(block, x, use_reentrant=False)


# %% wrong="the library's own class" says=["torch.utils.checkpoint runs here"]
from torch.utils.checkpoint import CheckpointFunction


class Checkpoint(CheckpointFunction):
    @classmethod
    def apply(cls, block, x):
        return CheckpointFunction.apply(block, True, x)


# %% wrong="writes over .grad" breaks="`block` may be used twice" says=["was .grad overwritten?"]
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
        parameters = list(ctx.block.parameters())
        mine, *theirs = torch.autograd.grad(y, [x, *parameters], gradient)
        for parameter, part in zip(parameters, theirs):
            parameter.grad = part
        return None, mine


# %% wrong="forgets the gradient that arrives" breaks="equal to those of the plain run to the last bit" says=["differs from that of the plain run"]
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
        torch.autograd.backward(y, torch.ones_like(y))
        return None, x.grad


# %% wrong="one gradient for two inputs" breaks="returns the gradient of `x`" says=["backward returns one gradient for each input"]
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
        torch.autograd.backward(y, gradient)
        return x.grad


# %% wrong="runs the block twice in forward" breaks="returns what `block(x)` returns" says=["runs of the block in forward: expected 1, got 2"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block, ctx.state = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        block(x)
        torch.set_rng_state(ctx.state)
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
        torch.autograd.backward(y, gradient)
        return None, x.grad


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
        parameters = [p for p in ctx.run.parameters() if p.requires_grad]
        mine, *theirs = torch.autograd.grad(y, [x, *parameters], gradient, allow_unused=True)
        for parameter, part in zip(parameters, theirs):
            if part is None:
                continue
            parameter.grad = part if parameter.grad is None else parameter.grad + part
        return None, mine


# %% right="saves the state as a tensor, one product backward"
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.save_for_backward(x, torch.get_rng_state())
        ctx.block = [block]
        return ctx.block[0](x)

    @staticmethod
    def backward(ctx, gradient):
        x, then = ctx.saved_tensors
        now = torch.get_rng_state()
        leaf = torch.empty_like(x).copy_(x)
        leaf.requires_grad_()
        try:
            torch.set_rng_state(then)
            with torch.set_grad_enabled(True):
                y = ctx.block[0](leaf)
        finally:
            torch.set_rng_state(now)
        y.backward(gradient)
        return (None, leaf.grad)


# %% wrong="asks for gradients of frozen parameters too" breaks="and adds those of the block's parameters to their `.grad`" says=["frozen"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        params = list(ctx.block.parameters())
        grads = torch.autograd.grad(y, [leaf, *params], gradient)
        for p, g in zip(params, grads[1:]):
            p.grad = g if p.grad is None else p.grad + g
        return None, grads[0]


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="asks for gradients of unused parameters too" breaks="and adds those of the block's parameters to their `.grad`" says=["its .grad stays None"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        params = [p for p in ctx.block.parameters() if p.requires_grad]
        grads = torch.autograd.grad(y, [leaf, *params], gradient)
        for p, g in zip(params, grads[1:]):
            p.grad = g if p.grad is None else p.grad + g
        return None, grads[0]


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="zeros for a parameter that is not used" breaks="and adds those of the block's parameters to their `.grad`" says=["its .grad stays None"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        params = [p for p in ctx.block.parameters() if p.requires_grad]
        grads = torch.autograd.grad(y, [leaf, *params], gradient, allow_unused=True)
        for p, g in zip(params, grads[1:]):
            g = torch.zeros_like(p) if g is None else g
            p.grad = g if p.grad is None else p.grad + g
        return None, grads[0]


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="keeps the block on the class" breaks="returns the gradient of `x`" says=["what backward needs goes on ctx"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        Checkpoint.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = Checkpoint.block(leaf)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="forgets the generator of a block in eval" breaks="leaves the generator as it was before backward" says=["the block is in eval"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            if ctx.block.training:
                torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="puts the block in train" breaks="returns what `block(x)` returns" says=["the block is in eval"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block.train()(leaf)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="keeps a copy of x" breaks="keeps nothing for backward but the block, `x`" says=["a copy of x is kept"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x.clone())
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="adds to x's grad itself" breaks="returns the gradient of `x`" says=["x is a leaf with a gradient"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        if x.is_leaf and x.grad is not None:
            x.grad += leaf.grad
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="lets go of the block after one backward" breaks="and adds those of the block's parameters to their `.grad`" says=["backward comes a second time"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
                ctx.block = None
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="a gradient in float32" breaks="equal to those of the plain run to the last bit" says=["float64"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        leaf = x.detach().requires_grad_()
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient.float())
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="generator lost in an error" breaks="also where `block` raises there" says=["the generator is not put back: finally does it"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        leaf = x.detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        with torch.enable_grad():
            y = ctx.block(leaf)
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


# %% wrong="no state kept in eval" breaks="on the same random numbers" says=["draws random numbers although the block is in eval"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state() if block.training else None
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        leaf = x.detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(now if ctx.state is None else ctx.state)
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


# %% wrong="cannot have every parameter frozen" breaks="nothing for one that is frozen or not used" says=["every parameter is frozen: x gets its gradient all the same"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        leaf = x.detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        params = [p for p in ctx.block.parameters() if p.requires_grad]
        (of_x,) = torch.autograd.grad(y, leaf, gradient, retain_graph=True)
        torch.autograd.backward(y, gradient, inputs=params)
        return None, of_x


# %% wrong="adds the old gradient, used or not" breaks="nothing for one that is frozen or not used" says=["also one that the block does not use: add to it"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        leaf = x.detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        old = [p.grad for p in ctx.block.parameters()]
        ctx.block.zero_grad()
        torch.autograd.backward(y, gradient)
        for p, g in zip(ctx.block.parameters(), old, strict=True):
            if g is not None:
                p.grad = p.grad + g
        return None, leaf.grad


# %% wrong="frozen by the first parameter" breaks="and adds those of the block's parameters to their `.grad`" says=["a parameter that is frozen gets no gradient"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        leaf = x.detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        if next(ctx.block.parameters()).requires_grad:
            torch.autograd.backward(y, gradient)
            return None, leaf.grad
        return None, torch.autograd.grad(y, leaf, gradient)[0]


# %% wrong="the state only for nn.Dropout" says=["draws by torch.rand and has no nn.Dropout"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        leaf = x.detach().requires_grad_()
        now = torch.get_rng_state()
        if any(isinstance(m, nn.Dropout) for m in ctx.block.modules()):
            torch.set_rng_state(ctx.state)
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="swallows what the block raises" says=["nobody hears of it"]
class Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x):
        ctx.block = block
        ctx.state = torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        leaf = x.detach().requires_grad_()
        now = torch.get_rng_state()
        torch.set_rng_state(ctx.state)
        try:
            with torch.enable_grad():
                y = ctx.block(leaf)
        except Exception:
            return None, torch.zeros_like(x)
        finally:
            torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


def checkpoint_by_hand(block, x):
    return Checkpoint.apply(block, x)


# %% wrong="puts the generator back after a RuntimeError alone" says=["finally does it"]
class Checkpoint(torch.autograd.Function):
    """``block(x)`` that keeps only ``x`` and computes the rest again in backward."""

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
        try:
            with torch.enable_grad():
                leaf = x.detach().requires_grad_()
                y = ctx.block(leaf)
        except RuntimeError:
            torch.set_rng_state(now)
            raise
        torch.set_rng_state(now)
        torch.autograd.backward(y, gradient)
        return None, leaf.grad


def checkpoint_by_hand(block: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Given: ``block(x)``, by your Function."""
    return Checkpoint.apply(block, x)
