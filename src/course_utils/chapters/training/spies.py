"""Exercise 13.2: a model that notes how it was called, and batches for it."""

from __future__ import annotations

import weakref

import torch
import torch.nn as nn


class Mark(torch.autograd.Function):
    """The identity, as a node of the graph that can be watched."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):  # ty: ignore[incompatible-method-override]  of one gradient
        return grad


class Spy(nn.Module):
    """A small network that notes how it was called.

    It begins in evaluation mode, one bias is frozen, and all parameters have an old gradient.
    Where it is ``steep``, by 4 say, gradients get longer than 10; by 0, there is no norm, and no
    buffer. With ``dtype`` int64 it takes whole numbers, for an embedding; else it is of this dtype.
    """

    def __init__(self, steep: float = 1.0, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            first, norm = nn.Linear(4, 16), nn.Identity()
            if dtype == torch.int64:
                first = nn.Sequential(nn.Embedding(5, 4), nn.Flatten())
            if steep:
                norm = nn.BatchNorm1d(8)  # norms a batch of one sample, too
                nn.init.constant_(norm.weight, steep)
            parts = first, nn.Unflatten(1, (8, 2)), norm, nn.ReLU(), nn.Flatten()
            self.body = nn.Sequential(*parts, nn.Linear(16, 3))
        self.body[-1].bias.requires_grad_(False)
        for parameter in self.parameters():
            parameter.grad = torch.full_like(parameter, 0.5)
        self.eval().to(dtype if dtype.is_floating_point else torch.float32)
        self.calls, self.alive, self.nodes = [], 0, []

    def forward(self, x):
        modes = [part.training for part in self.modules()]
        training = all(modes) if self.training else any(modes)
        self.calls.append((len(x), training, torch.is_grad_enabled()))
        self.alive = max(self.alive, sum(node() is not None for node in self.nodes[:-1]))
        output = Mark.apply(self.body(x))
        if output.grad_fn is not None:
            self.nodes.append(weakref.ref(output.grad_fn))
        return output


class Elsewhere:
    """A tensor on another device: it has to be moved before it can be used."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.move, self.shape, self.device = tensor.to, tensor.shape, torch.device("meta")
        self.size, self.numel, self.cuda, self.cpu = (
            tensor.size,
            tensor.numel,
            tensor.cuda,
            tensor.cpu,
        )
        self.dtype, self.ndim, self.dim = tensor.dtype, tensor.ndim, tensor.dim

    def __len__(self) -> int:
        return self.shape[0]

    def to(self, *args, **options) -> torch.Tensor:
        moved = self.move(*args, **options)
        words = "a batch was moved to a device where the model isn't, such as the notebook's device"
        assert moved.device.type != "meta", f"{words}: ask a parameter of the model where it is"
        return moved

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise AssertionError("a batch was used where it is: move x and y to the model's device")


def spy_batches(
    sizes: list[int], seed: int, dtype: torch.dtype = torch.float32
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)

    def drawn(n: int) -> torch.Tensor:
        if dtype == torch.int64:
            return torch.randint(5, (n, 4), generator=generator)
        return torch.randn(n, 4, generator=generator).to(dtype)

    return [(drawn(n), torch.randint(3, (n,), generator=generator)) for n in sizes]
