"""Exercise 7.8: an optimizer that steps inside backward."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_utils.chapters.hooks import slips as known_slips
from course_utils.learner.tracebacks import ends_in_notebook
from course_utils.learner.values import check_value


def with_equal_layers(network: nn.Module) -> nn.Module:
    """The network with a second layer in its block, of the same sizes as the first."""
    block = network.get_submodule("block")
    assert isinstance(block, nn.Sequential)
    first = block[0]
    assert isinstance(first, nn.Linear)
    block.append(nn.Linear(6, 6, device=first.weight.device))
    return network


def run_steps(
    step_in_backward: Callable,
    network: nn.Module,
    batches: list[Tensor],
    lr: float,
    momentum: float,
    frozen: str,
    before: bool,
) -> tuple:
    """Weights after each backward; gradients at once, and left; whether it stops without hooks."""
    network = with_equal_layers(network).to(batches[0].dtype)
    network.get_submodule(frozen).requires_grad_(False)
    parameters, alive, left, weights = list(network.parameters()), [0], [], []
    if before:
        earlier = step_in_backward(parameters, 0.0, momentum)  # moves nothing
        network(2 * batches[-1]).square().mean().backward()
        for handle in earlier or []:
            handle.remove()
    given = [*parameters]
    handles = step_in_backward(given, lr, momentum)
    assert len(given) == len(parameters), "the caller's list of parameters was changed"
    missing = f"step_in_backward returned {handles!r}, not the handles of its hooks"
    assert isinstance(handles, list | tuple | dict), f"{missing}: is there an answer yet?"
    handles = [*handles.values()] if isinstance(handles, dict) else handles

    def count() -> int:
        return sum(parameter.grad is not None for parameter in parameters)

    for parameter in parameters:
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda _: alive.append(count()))
    for x in batches:
        try:
            network(x).square().mean().backward()
        except RuntimeError as error:
            if "size of tensor" not in str(error):
                raise
            late = "a loop's variable is looked up when the hook runs: by then it is the last one"
            late += "; or `==` met two parameters, as in a list's index: say `is`, or use a dict"
            raise AssertionError(f"{error}: {late}") from None
        weights.append([parameter.detach().clone() for parameter in parameters])
        left.append(count())
    most = max(alive), max(left)
    for handle in handles:
        handle.remove()
    network(batches[0]).square().mean().backward()
    return weights, most, all(map(torch.equal, parameters, weights[-1]))


@ends_in_notebook
def check_steps(
    trial: Callable,
    make_network: Callable,
    batches: list[Tensor],
    lr: float,
    momentum: float,
    frozen: str,
    before: bool = False,
) -> None:
    """Check the weights after each backward against those of SGD."""
    __tracebackhide__ = True
    weights, (most, left), stopped = trial(batches, lr, momentum, frozen, before)
    runs = {}
    for rule in ("", *known_slips.DESCENTS):
        network = with_equal_layers(make_network()).to(batches[0].dtype)
        network.get_submodule(frozen).requires_grad_(False)
        earlier = 2 * batches[-1] if before else None
        runs[rule] = known_slips.descent(network, batches, lr, momentum, rule, earlier)
    names = [name for name, _ in network.named_parameters()]
    first = dict(with_equal_layers(make_network()).to(batches[0].dtype).named_parameters())
    for name, weight in zip(names, weights[-1], strict=True):
        still = not name.startswith(frozen) or torch.equal(weight, first[name])
        assert still, f"{name} moved: its requires_grad is False, so leave it be"
    for number, right in enumerate(runs[""]):
        for place, name in enumerate(names):
            slips = {
                words: runs[rule][number][place] for rule, words in known_slips.DESCENTS.items()
            }
            what, found = f"{name} after backward number {number + 1}", weights[number][place]
            check_value(found, right[place], what, slips, rtol=1e-4, atol=1e-6)
    assert most <= 1, f"{most} gradients at once: use each in its own hook, then set it to None"
    assert left == 0, f"after backward() {left} gradients are left: set each to None after its use"
    assert stopped, "a backward() after all handles were removed still changed the weights"
