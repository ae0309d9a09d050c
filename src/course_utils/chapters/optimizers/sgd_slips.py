"""SGD as an optimizer, with known slips."""

from __future__ import annotations

from functools import partial

import torch


def decoupled(params, lr, **options):
    """A kind of SGD whose decay goes past the buffer."""
    decay = options.pop("weight_decay", 0.0)
    made = torch.optim.SGD(params, lr, **options)

    def pull(optimizer, *_):
        for group in optimizer.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                p.detach().mul_(1 - group["lr"] * decay)

    made.register_step_pre_hook(pull)
    return made


def no_first_look(params, lr, **options):
    """A kind of SGD whose first step with Nesterov does not look ahead."""
    made, ahead = torch.optim.SGD(params, lr, **options), []

    def note(optimizer, *_):
        ahead.clear()
        for group in optimizer.param_groups:
            for p in (p for p in group["params"] if p.grad is not None and group["nesterov"]):
                if not optimizer.state.get(p):
                    first = p.grad + group["weight_decay"] * p.detach()
                    ahead.append((p, group["lr"] * group["momentum"] * first))

    def take_back(*_):
        for p, look in ahead:
            p.detach().add_(look)

    made.register_step_pre_hook(note)
    made.register_step_post_hook(take_back)
    return made


class WithSlip(torch.optim.Optimizer):
    """SGD by hand, in which one slip is made.

    Args:
        params: as PyTorch's optimizers have them.
        lr: likewise.
        slip: of the first buffer, "damped" or "shared", the gradient's own memory if there is no
            decay; "damped later", except in the very first step; "old buffer", by which Nesterov
            looks ahead, or "the older", where there is one; "rate inside" the buffer.
        options: as ``torch.optim.SGD`` has them.
    """

    def __init__(self, params, lr, slip, **options):
        self.slip = slip
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    def step(self, closure=None):
        loss, fresh = None if closure is None else closure(), not self.state
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                self.move(p, p.grad, self.state[p], group, fresh)
        return loss

    @torch.no_grad()
    def move(self, p, grad, state, group, first):
        """One parameter's step; ``first``: no parameter has made one before."""
        g = grad + group["weight_decay"] * p if group["weight_decay"] else grad
        if not group["momentum"]:
            p -= group["lr"] * g
            return
        rate = group["lr"]
        g, rate = (rate * g, 1) if self.slip == "rate inside" else (g, rate)
        old, fresh = state.get("buffer"), (1 - group["dampening"]) * g
        if old is None:
            begins = {"damped": fresh, "shared": g, "damped later": g.clone() if first else fresh}
            state["buffer"] = begins.get(self.slip, g.clone())
        else:
            state["buffer"] = group["momentum"] * old + fresh
        none = {"old buffer": 0, "the older": g}.get(self.slip)
        ahead = state["buffer"] if none is None else none if old is None else old
        p -= rate * (g + group["momentum"] * ahead if group["nesterov"] else state["buffer"])


class BeforeClosure(torch.optim.SGD):
    """SGD that moves those alone that had a gradient before the closure ran."""

    def step(self, closure=None):
        before = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        loss = None if closure is None else closure()
        every = [p for group in self.param_groups for p in group["params"]]
        kept = {p: p.grad for p in every if all(p is not moved for moved in before)}
        for p in kept:
            p.grad = None
        super().step()
        for p, grad in kept.items():
            p.grad = grad
        return loss


class OldGradients(torch.optim.SGD):
    """SGD that moves by the gradients that lay there before the closure ran."""

    def step(self, closure=None):
        every = [p for group in self.param_groups for p in group["params"]]
        before = [p.grad for p in every]
        loss = None if closure is None else closure()
        kept = [p.grad for p in every]
        for p, grad in zip(every, before, strict=True):
            p.grad = grad
        super().step()
        for p, grad in zip(every, kept, strict=True):
            p.grad = grad
        return loss


CLOSURE_KINDS = {
    "the gradients were taken before the closure ran, which makes new ones": OldGradients,
    "which parameters have a gradient was asked before the closure ran, which fills .grad": (
        BeforeClosure
    ),
}


KINDS = {
    "a parameter's own first gradient is undamped, also where it comes after the others'": partial(
        WithSlip, slip="damped later"
    ),
    "the first buffer is the gradient itself, undamped": partial(WithSlip, slip="damped"),
    "Nesterov takes the new buffer, not the old one": partial(WithSlip, slip="old buffer"),
    "Nesterov takes the new buffer, not the older": partial(WithSlip, slip="the older"),
    "the rate is inside the buffer: only the step is multiplied by it": partial(
        WithSlip, slip="rate inside"
    ),
    "the first buffer is .grad's own memory, which zero_grad and backward write into: copy it": (
        partial(WithSlip, slip="shared")
    ),
    "the decay goes past the buffer: it is added to the gradient, before the buffer": decoupled,
    "a first step with Nesterov looks ahead, too: it is g + momentum * the new buffer, g": (
        no_first_look
    ),
}


OWN = (
    "lr and momentum were read from self.defaults, or from the first group: each group has its own "
    "lr and momentum, which may change between two steps"
)


SGD_SLIPS = {
    "zeros skipped": (
        "a gradient of zeros is skipped: momentum and decay move the weight all the same; skip "
        "only where .grad is None"
    ),
    "the first rate": (
        "the groups' lr and momentum were halved after five steps, as a scheduler does, and the "
        "steps stayed as they were: read the group's options anew in each step"
    ),
    "the first momentum": (
        "the groups' momentum was halved after five steps, and the steps stayed as they were: read "
        "all of the group's options anew in each step"
    ),
    "no past": (
        "each step begins without a buffer: read the old one from self.state[p], where the last "
        "step left it"
    ),
    "the defaults": OWN,
    "the first group": OWN,
    "the defaults' rate": (
        "lr was read from self.defaults: each group has its own, which may change between two steps"
    ),
    "the defaults' momentum": (
        "momentum was read from self.defaults or from the call: each group has its own"
    ),
}
