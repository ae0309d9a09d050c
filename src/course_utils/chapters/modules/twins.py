"""Exercise 8.7: a network as a function, and many networks at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn as nn

from course_utils.learner.checks import check_close
from course_utils.learner.operators import count_operators


def _net(net_class: type[nn.Module], seed: int, like: torch.Tensor) -> nn.Module:
    """A ConvNet with weights from a seed, on the device and in the dtype of ``like``."""
    torch.manual_seed(seed)
    model = net_class()
    return model.to(like)


def run_functional_twin(
    functional_twin: Callable, parameters: dict, x: torch.Tensor, weights: torch.Tensor
) -> tuple:
    """The twin's output, and the gradient of (weights * output).sum() by each parameter."""

    def refuse(module, args):
        raise AssertionError(f"a module was called ({type(module).__name__}): use functions only")

    parameters = {name: t.clone().requires_grad_() for name, t in parameters.items()}
    with nn.modules.module.register_module_forward_pre_hook(refuse):
        y = functional_twin(parameters, x)
    assert y is not None, "functional_twin returned None: is there an answer yet?"
    assert isinstance(y, torch.Tensor), f"functional_twin returned {type(y).__name__}, not a tensor"
    assert y.requires_grad, "no gradient flows back to the parameters"
    total = (weights * y).sum()
    grads = torch.autograd.grad(total, list(parameters.values()), materialize_grads=True)
    return y.detach(), dict(zip(parameters, grads, strict=True))


def run_ensemble(
    ensemble: Callable, net_class: type[nn.Module], seeds: list[int], x: torch.Tensor
) -> tuple:
    """The ensemble's output, how many products ran, and whether the models stayed the same."""
    models = [_net(net_class, seed, x).eval() for seed in seeds]
    olds = [{name: t.clone() for name, t in model.state_dict().items()} for model in models]
    objects = [[id(p) for p in model.parameters()] for model in models]
    with count_operators() as counts:
        y = ensemble(models, x)
    assert y is not None, "ensemble returned None: is there an answer yet?"
    assert isinstance(y, torch.Tensor), f"ensemble returned {type(y).__name__}, not a tensor"
    kinds = ("conv", "mm", "bmm", "baddbmm", "addmm")
    runs = sum(n for name, n in counts.items() if name in kinds or "conv" in name)
    same = objects == [[id(p) for p in model.parameters()] for model in models]
    for model, old in zip(models, olds, strict=True):
        same = same and all(torch.equal(t, old[name]) for name, t in model.state_dict().items())
        same = same and not model.training and all(p.requires_grad for p in model.parameters())
        same = same and all(p.device == x.device and p.grad is None for p in model.parameters())
    return y.detach(), runs, same


def check_twin(trial, net_class, x, seed):
    model = _net(net_class, seed, x)
    weights = torch.arange(10.0).to(x) - 4
    parameters = {name: p.detach().clone() for name, p in model.named_parameters()}
    y, grads = trial(parameters, x, weights)
    right = model(x)
    check_close(y, right.detach(), "the output", rtol=1e-3, atol=1e-4)
    (weights * right).sum().backward()
    for name, parameter in model.named_parameters():
        slack = {"rtol": 1e-3, "atol": 1e-3}
        check_close(grads[name], parameter.grad, f"the gradient by {name}", **slack)


def check_ensemble(trial, net_class, seeds, x):
    y, runs, same = trial(seeds, x)
    right = torch.stack([_net(net_class, seed, x)(x).detach() for seed in seeds])
    check_close(y, right, "the result", rtol=1e-3, atol=1e-4)
    assert same, "the models were changed: their weights, mode, grad or device"
    return runs
