"""Exercise 13.2: a model that notes how a training loop called it."""

from __future__ import annotations

import weakref

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.learner.devices import device
from course_utils.learner.tracebacks import ends_in_notebook


class Mark(torch.autograd.Function):
    """The identity, as a node of the graph that can be watched."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):  # ty: ignore[incompatible-method-override]  of one gradient
        return grad


class Spy(nn.Module):
    """A small network that notes how it was called."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.body = nn.Sequential(
                nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)
            )
        self.calls, self.alive, self.nodes = [], 0, []

    def forward(self, x):
        self.calls.append((len(x), self.training, torch.is_grad_enabled()))
        self.alive = max(self.alive, sum(node() is not None for node in self.nodes[:-1]))
        output = Mark.apply(self.body(x))
        if output.grad_fn is not None:
            self.nodes.append(weakref.ref(output.grad_fn))
        return output


class Elsewhere:
    """A tensor on another device: it has to be moved before it can be used."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.to, self.shape, self.device = tensor.to, tensor.shape, torch.device("meta")
        self.size, self.numel, self.cuda, self.cpu = (
            tensor.size,
            tensor.numel,
            tensor.cuda,
            tensor.cpu,
        )
        self.dtype, self.ndim, self.dim = tensor.dtype, tensor.ndim, tensor.dim

    def __len__(self) -> int:
        return self.shape[0]

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise AssertionError("a batch was used where it lies: move x and y to the model's device")


def spy_batches(sizes: list[int], seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(n, 4, generator=generator), torch.randint(3, (n,), generator=generator))
        for n in sizes
    ]


@ends_in_notebook
def run_fit(fit, sizes: tuple, epochs: int, elsewhere: bool = False) -> tuple:
    """The history, the types in it, the spy's notes, graphs kept alive, and the weights."""
    spy, parts = Spy().to(device), [spy_batches(part, n) for n, part in enumerate(sizes, start=1)]
    place = Elsewhere if elsewhere else lambda part: part.to(device)
    train, val = ([(place(x), place(y)) for x, y in part] for part in parts)
    optimizer = torch.optim.SGD(spy.parameters(), lr=0.5, momentum=0.5)
    history = fit(spy, train, val, optimizer, epochs)
    assert history is not None, "fit returned None: is there an answer yet, and does it return?"
    assert isinstance(history, (list, tuple)), f"fit returned a {type(history).__name__}, no list"
    assert all(isinstance(entry, dict) for entry in history), "an entry of the history is no dict"
    kinds = [{name: type(value).__name__ for name, value in entry.items()} for entry in history]
    plain = [{name: float(value) for name, value in entry.items()} for entry in history]
    weights = [value.detach().clone().cpu() for value in spy.state_dict().values()]
    return plain, kinds, spy.calls, spy.alive, weights


def true_fit(sizes: tuple, epochs: int) -> tuple:
    """What is right, each batch's loss by itself, which tells slips apart, and the weights."""
    spy = Spy()
    optimizer = torch.optim.SGD(spy.parameters(), lr=0.5, momentum=0.5)
    train, val, seen = spy_batches(sizes[0], 1), spy_batches(sizes[1], 2), []
    for _ in range(epochs):
        losses = []
        for x, y in train:
            loss = F.cross_entropy(spy.train()(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            logits = [spy.eval()(x) for x, _ in val]
        tests = [F.cross_entropy(z, y).item() for z, (_, y) in zip(logits, val, strict=True)]
        hits = [
            (z.argmax(1) == y).float().mean().item() for z, (_, y) in zip(logits, val, strict=True)
        ]
        seen.append({"train_loss": losses, "val_loss": tests, "val_accuracy": hits})
    return seen, [value.detach() for value in spy.state_dict().values()]


def slip_of(value, means, sizes):
    """Words for a wrong average, if a known slip gives it."""
    total = sum(mean * size for mean, size in zip(means, sizes, strict=True))
    slips = {
        "the mean of the batch means, so a short last batch counts too much": sum(means)
        / len(means),
        "the last batch's value alone": means[-1],
        "the first batch's value alone": means[0],
        "a sum of batch means divided by the number of samples": sum(means) / sum(sizes),
        "a sum of batch means, never divided": sum(means),
        "a sum over the samples, never divided": total,
        "in percent; a share from 0 to 1 is asked for": 100 * total / sum(sizes),
    }
    close = [words for words, slip in slips.items() if abs(value - slip) < 1e-4 * (1 + abs(slip))]
    return f": this is {close[0]}" if close else ""


def check_numbers(history, seen, sizes):
    for number, (entry, means) in enumerate(zip(history, seen, strict=True), start=1):
        for name, parts in means.items():
            assert name in entry, f"epoch {number}: the dict has no {name!r}"
            mine = sizes[0] if name == "train_loss" else sizes[1]
            right = sum(p * n for p, n in zip(parts, mine, strict=True)) / sum(mine)
            words = slip_of(entry[name], parts, mine)
            text = f"epoch {number}: {name} is {entry[name]:.4f}, expected {right:.4f}{words}"
            assert abs(entry[name] - right) < 2e-3 * (1 + abs(right)), text


WEIGHTS = "a weight or buffer (one step a batch? gradients forgotten between steps?)"


def check_plain(kinds):
    odd = sorted({f"{k} is a {t}" for kind in kinds for k, t in kind.items() if t != "float"})
    assert not odd, f"{', '.join(odd)}: return Python floats, by item()"


def check_calls(calls, train):
    """The order of the training batches, the modes, and whether evaluation recorded a graph."""
    position = 0
    for n, training, graph in calls:
        if position == len(train) and n == train[0]:
            position = 0  # a new epoch
        if position < len(train):
            words = (
                f"the model saw a batch of {n} where the training batch of {train[position]} comes"
            )
            assert n == train[position], f"{words}: one step for each, in order"
            words = "a training batch ran in evaluation mode: call model.train() in every epoch"
            assert training, words
            position += 1
        else:
            words = "a validation batch ran in training mode: call model.eval() before it"
            assert not training, words
            words = "a validation batch recorded a graph: torch.no_grad() is missing"
            assert not graph, f"{words}; eval() doesn't do that"
