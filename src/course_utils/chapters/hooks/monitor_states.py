"""Awkward states of exercise 7.6, the monitor of gradients: a check tries each by its words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

import course_utils
from course_utils.chapters.hooks.states import ones, small_network
from course_utils.learner.gradients import grad_of


def _as_data(grad_monitor: Callable) -> None:
    for rows in (2, 0):
        network = small_network()
        norms, _ = grad_monitor(network)
        # A full backward hook warns where no input needs a gradient: that is meant here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            network(ones(rows, 2)).sum().backward()
        found = {name: len(values) for name, values in norms.items()}
        words = f"a batch of {rows} that needs no gradient itself, and one backward"
        hint = "the gradient of each output is noted, whatever there is of the input's"
        assert found == {"0": 1, "1": 1}, f"{words}: the lists have the lengths {found}; {hint}"


def _no_children(grad_monitor: Callable) -> None:
    model = nn.Linear(2, 3).to(course_utils.device)
    norms, handles = grad_monitor(model)
    words = "a model that is a single Linear has no children, and its name is ''"
    assert [*norms] == [""], f"{words}: expected a list under '', and norms has {[*norms]}"
    for handle in handles:
        handle.remove()
    model(ones(1, 2).requires_grad_()).sum().backward()
    told = "all handles are removed, and a number was noted: is each hook's handle in the list?"
    assert not norms[""], f"{words}; {told}"


class _Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = self.alias = small_network()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def _own_container(grad_monitor: Callable) -> None:
    norms, _ = grad_monitor(_Own())
    words = "a class of its own holds a Sequential, under two names: the modules without children, "
    words += "and only these, each once, as named_modules() has them"
    assert sorted(norms) == ["inner.0", "inner.1"], f"{words}; norms has {sorted(norms)}"
    vacant = nn.Sequential()
    vacant.register_module("0", None)
    containers = nn.Sequential(nn.Sequential(nn.Linear(1, 1)), nn.Sequential())
    containers.add_module("10", vacant)
    norms, _ = grad_monitor(containers)
    words = "a Sequential of one Linear has a child; an empty Sequential, 1, has none, nor has 10, "
    words += "where a child was registered as None"
    assert sorted(norms) == ["0.0", "1", "10"], f"{words}; norms has {sorted(norms)}"


def _before(grad_monitor: Callable) -> None:
    norms, _ = grad_monitor(small_network())
    found = {name: list(values) for name, values in norms.items()}
    words = "before any backward() norms has a list, still empty, for each name"
    assert found == {"0": [], "1": []}, f"{words}; it is {found}"


def _same_graph(grad_monitor: Callable) -> None:
    network = small_network()
    norms, _ = grad_monitor(network)
    y = network(ones(2, 2).requires_grad_())
    words = "the model's output keeps its gradient now (retain_grad): as if you were not looking"
    assert not y.retains_grad, words
    loss = y.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    lengths = [len(values) for values in norms.values()]
    words = "two backwards through the graph of one forward pass give two numbers in each list"
    assert lengths == [2, 2], f"{words}, not {lengths}"


def _special(grad_monitor: Callable) -> None:
    network = small_network()
    norms, _ = grad_monitor(network)
    factors = (0.0, torch.inf, torch.nan)
    for factor in factors:
        (network(ones(2, 2).requires_grad_()) * factor).sum().backward()
    found, words = norms["1"], "gradients of 0, infinity and NaN are noted, too: "
    right = str(found) == str([*factors])
    assert right, f"{words}the last module's list is {found}"


def _vector(grad_monitor: Callable) -> None:
    network = small_network()
    norms, _ = grad_monitor(network)
    try:
        network(ones(2).requires_grad_()).sum().backward()
    except (RuntimeError, IndexError) as error:
        words = f"an input of shape (2,) instead of a batch: the hook raised {error}"
        raise AssertionError(f"{words}; the norm goes over all elements of any shape") from error
    found = norms["1"]
    words = "an input of shape (2,) instead of a batch: of three ones the norm is 3 ** 0.5"
    right = len(found) == 1 and abs(found[0] - 3**0.5) < 1e-4
    assert right, f"{words}, and {found} is noted"
    network(ones(3, 1, 4, 2).requires_grad_()).sum().backward()
    right = len(found := norms["1"][1:]) == 1 and abs(found[0] - 6) < 1e-4
    words = "an input of shape (3, 1, 4, 2): of an output of 36 ones the norm is 6"
    assert right, f"{words}, and {found} is noted"


def _small(grad_monitor: Callable) -> None:
    network = small_network().double()
    norms, _ = grad_monitor(network)
    x = ones(1, 2, dtype=torch.float64).requires_grad_()
    (network(x) * 1e-60).sum().backward()
    right, found = 3**0.5 * 1e-60, norms["1"][-1]
    words = f"a gradient of three times 1e-60 in float64: its norm is {right}, and {found} is noted"
    assert abs(found - right) < 1e-12 * right, words


def _half(grad_monitor: Callable) -> None:
    for dtype in (torch.bfloat16, torch.float16):
        network = small_network().to(dtype)
        norms, _ = grad_monitor(network)
        words = f"a model in {dtype}, and a gradient of six times 1000"
        try:
            (network(ones(2, 2, dtype=dtype).requires_grad_()) * 1000).sum().backward()
        except (RuntimeError, TypeError) as error:
            raise AssertionError(f"{words}: backward() raised {error}") from error
        found = norms["1"]
        words += f": its norm is about 2449, and {found} is noted"
        hint = "; the squares, 1000000 each, don't fit in float16: sum them in a wider dtype"
        right = len(found) == 1 and abs(found[0] - 2449.5) < 25
        assert right, words + hint * (found == [torch.inf])


def _frozen_layers(grad_monitor: Callable) -> None:
    network = small_network().append(nn.Linear(3, 1).to(course_utils.device))
    network[0].requires_grad_(False)
    norms, _ = grad_monitor(network)
    words = "the first layer is frozen and the input is data, so its output needs no gradient"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            network(ones(2, 2)).sum().backward()
        except RuntimeError as error:
            hint = "ask output.requires_grad: the grad mode says nothing about one tensor"
            raise AssertionError(f"{words}: it raised {error} ({hint})") from error
    assert len(norms) == 3, f"{words}: it has a list all the same, and norms has {[*norms]}"
    found = len(norms["2"])
    assert found == 1, f"{words}; the last layer's does, and {found} numbers are noted of it"


def _looks_alone(grad_monitor: Callable) -> None:
    for factor in (1.0, torch.inf):
        grads = []
        for monitored in (False, True):
            network, x = small_network(), ones(2, 2).requires_grad_()
            if monitored:
                grad_monitor(network)
            try:
                for _ in range(2):
                    loss = (network(x) * factor).sum()
                    (slope,) = torch.autograd.grad(loss, x, create_graph=True)
                    slope.square().sum().backward()
            except RuntimeError as error:
                # A hook may read its number by numpy(), which a gradient with a graph refuses.
                if "numpy" in str(error):
                    return
                raise
            grads.append(grad_of(network.get_parameter("0.weight")).nan_to_num(nan=7))
        words = "a loss made of a gradient (create_graph=True), twice"
        words += ", which is infinite" * (factor > 1)
        hint = "a hook that looks returns nothing, and no other gradient"
        same = torch.allclose(grads[0], grads[1])
        assert same, f"{words}, trains otherwise once a monitor is on: {hint}"


def _two_monitors(grad_monitor: Callable) -> None:
    network = small_network()
    first, second = grad_monitor(network), grad_monitor(network)
    for handle in second[1]:
        handle.remove()
    network(ones(2, 2).requires_grad_()).sum().backward()
    found = [{name: len(values) for name, values in norms.items()} for norms, _ in (first, second)]
    words = "two monitors on a network, the second one's handles removed, and one backward"
    right = [{"0": 1, "1": 1}, {"0": 0, "1": 0}]
    told = "each has its own lists and handles, and leaves other hooks alone"
    assert found == right, f"{words}: the lengths are {found}, expected {right}; {told}"


STATES: dict[str, dict[str, Callable[..., Any]]] = {
    "monitor": {
        "a model without children": _no_children,
        "a container of another class": _own_container,
        "before the first backward": _before,
        "two backwards after one forward": _same_graph,
        "gradients of 0, infinity and NaN": _special,
        "a tiny gradient in torch.float64": _small,
        "a model in half precision": _half,
        "an input without a batch": _vector,
        "inputs that need no gradient, and none at all": _as_data,
        "a frozen first layer": _frozen_layers,
        "a loss made of a gradient": _looks_alone,
        "two monitors on one network": _two_monitors,
    },
}
