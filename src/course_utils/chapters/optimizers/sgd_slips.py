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
            decay; or "old buffer", by which Nesterov looks ahead.
        options: as ``torch.optim.SGD`` has them.
    """

    def __init__(self, params, lr, slip, **options):
        self.slip = slip
        defaults = dict(lr=lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)
        super().__init__(params, {**defaults, **options})

    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                self.move(p, p.grad, self.state[p], group)
        return loss

    @torch.no_grad()
    def move(self, p, grad, state, group):
        """One parameter's step."""
        g = grad + group["weight_decay"] * p if group["weight_decay"] else grad
        if not group["momentum"]:
            p -= group["lr"] * g
            return
        old, fresh = state.get("buffer"), (1 - group["dampening"]) * g
        if old is None:
            state["buffer"] = {"damped": fresh, "shared": g}.get(self.slip, g.clone())
        else:
            state["buffer"] = group["momentum"] * old + fresh
        ahead = (0 if old is None else old) if self.slip == "old buffer" else state["buffer"]
        p -= group["lr"] * (g + group["momentum"] * ahead if group["nesterov"] else state["buffer"])


KINDS = {
    "the first buffer is the gradient itself, undamped": partial(WithSlip, slip="damped"),
    "Nesterov takes the new buffer, not the old one": partial(WithSlip, slip="old buffer"),
    "the first buffer is .grad's own memory, which zero_grad and backward write into: copy it": (
        partial(WithSlip, slip="shared")
    ),
    "the decay goes past the buffer: it is added to the gradient, before the buffer": decoupled,
    "a first step with Nesterov looks ahead, too: it is g + momentum * the new buffer, g": (
        no_first_look
    ),
}
