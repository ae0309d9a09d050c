"""Exercise 6.6: a checkpoint by hand."""

from __future__ import annotations

from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._pytree import tree_leaves

from course_utils.chapters.custom_gradients.watching import (
    AGAIN,
    gradient_words,
    require_written,
)
from course_utils.learner.calls import python_calls
from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import ends_in_notebook


class Broken(Exception):
    """No RuntimeError: whatever a block raises counts."""


class Block(nn.Module):
    """Two layers with dropout between them; counts its calls."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.calls, self.most, self.noisy, wide = 0, 9, False, 4 * width
        self.layers = nn.Sequential(nn.Linear(width, wide), nn.Tanh(), nn.Dropout(0.5))
        self.last = nn.Linear(wide, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = self.last(self.layers(x))
        if self.noisy:
            y = y + torch.rand(y.shape) * F.dropout(y)
        if self.calls > self.most:
            raise Broken("the block breaks off")
        return y


def on_ctx(y):
    """Floating-point tensors that lie on the ctx of the Function that made y, as attributes."""
    kept = getattr(y.grad_fn, "__dict__", {}).items()
    tensors = [(name, t) for name, value in kept for t in tree_leaves(value)]
    return [name for name, t in tensors if isinstance(t, torch.Tensor) and t.is_floating_point()]


STATES = {
    "frozen": "a parameter that is frozen gets no gradient, and needs none: leave it out",
    "all frozen": "every parameter is frozen: x gets its gradient all the same",
    "unused": "a parameter that the block does not use gets no gradient: its .grad stays None",
    "eval": "the block is in eval: leave it so, and the generator as it was before backward",
    "eval, the dropout not": "a part of the block draws random numbers although the block is in "
    "eval: keep the generator's state always",
    "draws by itself": "the block draws by torch.rand and has no nn.Dropout: keep the generator's "
    "state always",
    "raises": "the block raises in backward, and the generator is not put back: finally does it",
    "leaf": "x is a leaf with a gradient in .grad: return yours, the engine adds it there",
    "filled": "the parameters had a gradient in .grad, also one that the block does not use: "
    "add to it, and leave that one as it is",
    "again": AGAIN,
    "two blocks": "another block runs in between: what backward needs goes on ctx",
}


def run_block(through, x, seed, times=1, state=""):
    """Facts of one forward and backward of a block that is called as ``through(block, x)``."""
    torch.manual_seed(seed)
    block, x, storages = Block(x.shape[1]), x.detach().clone().requires_grad_(), {}
    if state in ("unused", "filled"):
        block.spare = nn.Parameter(torch.ones(2))
    block = block.to(x.dtype).train(not state.startswith("eval"))
    block.layers.train(state != "eval")
    block.most, block.noisy = 1 if state == "raises" else 9, state == "draws by itself"
    if block.noisy:
        block.layers[2] = nn.Identity()
    for parameter in block.parameters() if state == "all frozen" else ():
        parameter.requires_grad_(False)
    if state == "frozen":
        block.last.weight.requires_grad_(False)
        block.layers[0].weight.requires_grad_(False)
    for tensor in (x, *block.parameters()) if state in ("leaf", "filled") else ():
        tensor.grad = torch.full_like(tensor, 7)
    places = set()

    def note(tensor):
        if tensor.is_floating_point():  # the generator's state is none
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    y = x if state == "leaf" else 2 * x
    watch = torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor)
    with nullcontext() if state else watch:  # unpacked by a hook, x would be another tensor
        for _ in range(times):
            places.add(y.untyped_storage().data_ptr())
            y = through(block, y)
            assert isinstance(y, torch.Tensor), f"apply gives {type(y).__name__}, not a tensor"
    own = {parameter.data_ptr() for parameter in block.parameters()}
    facts = {"bytes": sum(size for place, size in storages.items() if place not in own)}
    facts["copies"] = bool(storages.keys() - own - places)
    facts |= {"y": y.detach(), "calls in forward": block.calls, "on ctx": on_ctx(y)}
    if state == "two blocks":
        through(Block(x.shape[1]), torch.ones_like(x, requires_grad=True))
    torch.rand(2)  # other code draws random numbers before backward comes
    loss = (y**2).sum()
    if state == "again":
        loss.backward(retain_graph=True)
    try:
        gradient_words(loss.backward, "does backward record the second run (enable_grad)?")
    except Broken:
        facts["raised"] = True
    except (AssertionError, RuntimeError) as error:
        if state != "again" and "was freed" in str(error):
            words = (
                "backward runs on into the graph behind x: give the block a fresh leaf, made of "
            )
            raise AssertionError(f"{words}x.detach()") from None
        raise
    facts |= {"training": block.training, "dropout's mode": block.layers.training}
    facts |= {"calls": block.calls, "x": x.grad}
    facts["next random numbers"] = torch.rand(3)
    return facts | {name: parameter.grad for name, parameter in block.named_parameters()}


def run_checkpoint(function, x, seed, times, state=""):
    """Facts of a block with dropout that is run through a Checkpoint."""
    require_written(function)
    try:
        facts, names = python_calls(run_block, function.apply, x, seed, times, state)
    except Exception as error:
        text = str(error)
        if not state:
            raise
        words = f"{STATES[state]} (it raised {type(error).__name__}: {text[:90]})"
        raise AssertionError(words) from None
    facts["library"] = any(name.startswith("torch.utils.checkpoint.") for name in names)
    return facts


def states_of(try_checkpoint):
    """The STATES; none while the run without a state is wrong, for that has words of its own."""
    try:
        check_checkpoint(try_checkpoint, torch.linspace(-1, 1, 6).view(2, 3), 3)
    except Exception:
        return []
    return [*STATES]


@ends_in_notebook
def check_state(try_checkpoint, state):
    """Check a run in one of the STATES: the facts are those of the plain run."""
    __tracebackhide__ = True
    x = torch.linspace(-1, 1, 6).view(2, 3)
    yours = try_checkpoint(x, 3, 1, state)
    plain = run_block(lambda block, x: block(x), x, 3, 1, state)
    lost = "the block raises in backward, and nobody hears of it: let its error out"
    assert state != "raises" or yours.get("raised"), lost
    names = plain.keys() - {"bytes", "calls", "calls in forward", "on ctx", "copies"}
    for name in ("next random numbers",) if state == "raises" else names:
        mine, its = yours[name], plain[name]
        tensors = isinstance(its, torch.Tensor) and isinstance(mine, torch.Tensor)
        same = torch.equal(mine, its) if tensors else mine is its
        plainly = name in ("y", "training", "dropout's mode", "next random numbers")
        what = name if plainly else f"gradient of {name}"
        assert same, f"{what} is not that of the plain run. {STATES[state]}"


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
    assert not yours["copies"] or yours["bytes"] != times * x.nbytes, (
        "a copy of x is kept: save x itself, which is there anyhow"
    )
    alone = times * x.numel() * x.itemsize
    words = "keep the input alone, by save_for_backward"
    check_equal(yours["bytes"], alone, "bytes saved", words)
