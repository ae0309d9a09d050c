"""Exercise 6.6: a checkpoint by hand."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from course_utils.chapters.custom_gradients.watching import gradient_words, require_written
from course_utils.learner.calls import python_calls
from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import ends_in_notebook


class Block(nn.Module):
    """Two layers with dropout between them; counts its calls."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.calls, wide = 0, 4 * width
        self.layers = nn.Sequential(nn.Linear(width, wide), nn.Tanh(), nn.Dropout(0.5))
        self.last = nn.Linear(wide, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.last(self.layers(x))


def on_ctx(y):
    """Floating-point tensors that lie on the ctx of the Function that made y, as attributes."""
    kept = getattr(y.grad_fn, "__dict__", {}).items()
    tensors = [(name, t) for name, value in kept for t in tree_leaves(value)]
    return [name for name, t in tensors if isinstance(t, torch.Tensor) and t.is_floating_point()]


def run_block(through, x, seed, times=1):
    """Facts of one forward and backward of a block that is called as ``through(block, x)``."""
    torch.manual_seed(seed)
    block, x, storages = Block(x.shape[1]), x.detach().clone().requires_grad_(), {}

    def note(tensor):
        if tensor.is_floating_point():  # the generator's state is none
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    y = 2 * x
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        for _ in range(times):
            y = through(block, y)
            assert isinstance(y, torch.Tensor), f"apply gives {type(y).__name__}, not a tensor"
    own = {parameter.data_ptr() for parameter in block.parameters()}
    facts = {"bytes": sum(size for place, size in storages.items() if place not in own)}
    facts |= {"y": y.detach(), "calls in forward": block.calls, "on ctx": on_ctx(y)}
    torch.rand(2)  # other code draws random numbers before backward comes
    gradient_words((y**2).sum().backward, "does backward record the second run (enable_grad)?")
    facts |= {"calls": block.calls, "x": x.grad, "next random numbers": torch.rand(3)}
    return facts | {name: parameter.grad for name, parameter in block.named_parameters()}


def run_checkpoint(function, x, seed, times):
    """Facts of a block with dropout that is run through a Checkpoint."""
    require_written(function)
    facts, names = python_calls(run_block, function.apply, x, seed, times)
    facts["library"] = any(name.startswith("torch.utils.checkpoint.") for name in names)
    return facts


@ends_in_notebook
def check_checkpoint(try_checkpoint, x, seed, times=1):
    """Check one run of the checkpoint."""
    __tracebackhide__ = True
    yours = try_checkpoint(x, seed, times)
    plain = run_block(lambda block, x: block(x), x, seed, times)
    assert not yours["library"], "torch.utils.checkpoint runs here: write the checkpoint yourself"
    calls = "runs of the block in forward"
    check_equal(yours["calls in forward"], times, calls, "once for each call of apply")
    same = isinstance(yours["y"], torch.Tensor) and torch.equal(yours["y"], plain["y"])
    words = "the result differs from that of block(x): does forward seed the generator, or turn it "
    assert same, f"{words}back? Only backward does"
    words = "once more in backward: it is computed again, not kept"
    check_equal(yours["calls"], 2 * times, "runs of the block in all", words)
    for name in ("x", "last.weight", "last.bias", "layers.0.weight", "layers.0.bias"):
        what, weight = f"the gradient of {name}", name != "x"
        assert yours[name] is not None, (
            f"{what} is None: it never arrived (torch.autograd.backward lets it)"
        )
        if not torch.equal(yours[name], plain[name]) and torch.count_nonzero(yours[name]) == 0:
            raise AssertionError(f"{what} is zero everywhere: it never arrived")
        slip = torch.equal(yours[name], 2 * plain[name])
        assert not slip, f"{what} is twice what it should be: it was added twice"
        same = torch.equal(yours[name], plain[name])
        words = (
            "(does backward draw the same dropout as forward?)"
            if times == 1
            else ("with the block used twice (was .grad overwritten? is the dropout the same?)")
        )
        assert same or not weight, f"{what} differs from that of the plain run {words}"
        assert same, f"{what} differs from that of the plain run {words}"
    words = "random numbers drawn afterwards differ: put the generator back where it was"
    assert torch.equal(yours["next random numbers"], plain["next random numbers"]), words
    words = (
        f"kept on ctx: {', '.join(yours['on ctx'])}; x goes through save_for_backward, nothing else"
    )
    assert not yours["on ctx"], words
    alone = times * x.numel() * x.itemsize
    words = "keep the input alone, by save_for_backward"
    check_equal(yours["bytes"], alone, "bytes saved", words)
