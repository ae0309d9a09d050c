"""Exercise 8.7: a network as a function, and many networks at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import torch
import torch.nn as nn
import torch.nn.functional as F

from course_utils.chapters.modules.precision import check_digits
from course_utils.chapters.modules.surroundings import untouched
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
    """The twin's output, and the gradient of (weights * output).sum() by each tensor.

    That by the images goes by the name "x", if they need one.
    """

    def refuse(module, args):
        raise AssertionError(f"a module was called ({type(module).__name__}): use functions only")

    given = {name: t.clone().requires_grad_() for name, t in parameters.items()}
    parameters, needs = dict(given), x.requires_grad
    with nn.modules.module.register_module_forward_pre_hook(refuse):
        try:
            y = functional_twin(parameters, x)
        except (RuntimeError, IndexError) as error:
            raise AssertionError(_told(error, parameters, x)) from None
    assert x.requires_grad == needs, "x.requires_grad was changed: only read x"
    kept = list(parameters) == list(given) and all(
        parameters[name] is given[name] for name in given
    )
    assert kept, "the dict is no longer as it was (pop, or new entries): only read it"
    assert y is not None, "functional_twin returned None: is there an answer yet?"
    assert isinstance(y, torch.Tensor), f"functional_twin returned {type(y).__name__}, not a tensor"
    assert y.requires_grad, "no gradient flows back to the parameters"
    total = (weights * y).sum()
    tensors = parameters | ({"x": x} if needs else {})
    grads = torch.autograd.grad(total, list(tensors.values()), materialize_grads=True)
    return y.detach(), dict(zip(tensors, grads, strict=True))


def _told(error: Exception, parameters: dict, x: torch.Tensor) -> str:
    """An exception of the twin, and what the case has that may have led to it."""
    told = f"{type(error).__name__}: {error}"
    if x.dtype == torch.float64 and "Float" in str(error):
        return f"{told} (all is float64 here: what was made float32?)"
    if not len(x):
        return f"{told} (no image, so no numbers: a size given as -1 can't be told from them)"
    if next(iter(parameters)) == "fc.bias":
        return f"{told} (the names come in another order here: ask the dict by name)"
    return told


def run_ensemble(
    ensemble: Callable,
    net_class: type[nn.Module],
    seeds: list[int],
    x: torch.Tensor,
    again: bool = False,
    trained: bool = False,
) -> tuple:
    """The ensemble's output, how many products ran, and what has changed of the models.

    With ``again``, the last model is the very object that the first is. They are in training mode
    but for a part, the first convolution is frozen, and the head has a gradient and a hook. With
    ``trained``, the ensemble has been called before, when their weights were twice as large.
    """
    models = [_net(net_class, seed, x) for seed in seeds]
    models = [*models[:-1], models[0]] if again else models
    for model in models:
        model.get_submodule("conv1").requires_grad_(False)
        model.get_submodule("conv2").eval()
        model.get_submodule("fc").register_forward_hook(_as_it_is)
        weight = model.get_parameter("fc.weight")
        weight.grad = torch.ones_like(weight)
    if trained:
        _scale(models, 2.0)
        ensemble(models, x)
        _scale(models, 0.5)
    given, before = list(models), [_facts(model) for model in models]
    with untouched(), count_operators() as counts:
        y = ensemble(models, x)
    assert not x.requires_grad, "x requires a gradient now: only read it"
    assert y is not None, "ensemble returned None: is there an answer yet?"
    assert isinstance(y, torch.Tensor), f"ensemble returned {type(y).__name__}, not a tensor"
    kinds = ("conv", "mm", "bmm", "baddbmm", "addmm")
    runs = sum(n for name, n in counts.items() if name in kinds or "conv" in name)
    after = [_facts(model) for model in given]
    changed = {
        what
        for old, new in zip(before, after, strict=True)
        for what in old
        if old[what] != new[what]
    }
    changed |= {"list itself"} if [id(m) for m in models] != [id(m) for m in given] else set()
    return y.detach(), runs, sorted(changed)


def _scale(models: list[nn.Module], factor: float) -> None:
    """Multiply all weights in place, as an optimizer would change them."""
    with torch.no_grad():
        for model in models:
            for parameter in model.parameters():
                parameter.mul_(factor)


def _as_it_is(module: nn.Module, args: tuple, output: torch.Tensor) -> None:
    """A hook that changes nothing."""


def _sum(tensor: torch.Tensor) -> float | None:
    """The sum of a tensor's numbers; on the meta device it has none."""
    return None if tensor.is_meta else tensor.sum().item()


def _facts(model: nn.Module) -> dict:
    """What must not change, by its name."""
    named = dict(model.named_parameters())
    return {
        "values": [t.tolist() for t in named.values() if not t.is_meta],
        "Parameter objects": [id(t) for t in named.values()],
        "mode": [module.training for module in model.modules()],
        "hooks": [list(module._forward_hooks.values()) for module in model.modules()],
        "requires_grad": [t.requires_grad for t in named.values()],
        "grad": [None if t.grad is None else _sum(t.grad) for t in named.values()],
        "device or dtype": [(str(t.device), t.dtype) for t in named.values()],
    }


def _slack(x: torch.Tensor) -> dict:
    """How far results may differ that were summed in another order."""
    exact = x.dtype == torch.float64
    return {"rtol": 1e-9, "atol": 1e-9} if exact else {"rtol": 1e-3, "atol": 1e-3}


def _slips(parameters: dict, x: torch.Tensor) -> dict:
    """What a ConvNet would give with a known slip, by the words for it."""

    def net(first=True, second=True, pools=(F.max_pool2d, F.max_pool2d), biases=(1, 1, 1)):
        y = x
        for number, relu in ((1, first), (2, second)):
            weight, bias = (parameters[f"conv{number}.{name}"] for name in ("weight", "bias"))
            y = F.conv2d(y, weight, bias * biases[number - 1])
            y = pools[number - 1](y.relu() if relu else y, 2)
        bias = parameters["fc.bias"] * biases[2]
        return F.linear(y.flatten(1), parameters["fc.weight"], bias)

    mean, largest, missing = F.avg_pool2d, F.max_pool2d, {}
    for biases in list(product((0, 1), repeat=3))[:-1]:
        names = [n for n, kept in zip(("conv1", "conv2", "fc"), biases, strict=True) if not kept]
        missing[f"without the bias of {' and '.join(names)}"] = net(biases=biases)
    return missing | {
        "the first ReLU is missing": net(first=False),
        "the second ReLU is missing": net(second=False),
        "both ReLUs are missing": net(first=False, second=False),
        "the first pooling takes means, not the largest": net(pools=(mean, largest)),
        "the second pooling takes means, not the largest": net(pools=(largest, mean)),
        "the poolings take means, not the largest": net(pools=(mean, mean)),
        "a ReLU follows the last layer; none belongs there": net().relu(),
        "it is the log of a softmax; scores are wanted": net().log_softmax(1),
    }


def check_twin(trial, net_class, x, seed, backwards=False):
    """Compare with the module, for ``x`` (batch, 1, 28, 28); ``backwards``: the dict's order.

    The first layer's last bias is 0: where an image is black, its sums are 0 as well.
    """
    model = _net(net_class, seed, x)
    with torch.no_grad():
        model.get_parameter("conv1.bias")[-1] = 0
    weights = torch.arange(10.0).to(x) - 4
    parameters = {name: p.detach().clone() for name, p in model.named_parameters()}
    if backwards:
        parameters = dict(reversed(parameters.items()))
    y, grads = trial(parameters, x, weights)
    right = model(x)
    check_digits(y, right.detach(), "the output")
    for words, slip in _slips(parameters, x).items():
        like = (y.shape, y.dtype) == (slip.shape, slip.dtype)
        near = like and torch.allclose(y, slip, **_slack(x))
        assert not near or torch.allclose(slip, right, **_slack(x)), f"the output: {words}"
    check_close(y, right.detach(), "the output", **_slack(x))
    (weights * right).sum().backward()
    for name, parameter in model.named_parameters():
        check_close(grads[name], parameter.grad, f"the gradient by {name}", **_slack(x))
    if x.requires_grad:
        words = "no gradient flows back to x, which needs one here: is it detached?"
        assert grads["x"].any(), words
        check_close(grads["x"], x.grad, "the gradient by x", **_slack(x))


def check_ensemble(trial, net_class, seeds, x, again=False, trained=False):
    """Compare with each module; gives how many convolutions and products ran.

    With ``again``, the last model is the very object that the first is; the seeds say so, too.
    With ``trained``, the ensemble is called before and after the weights change.
    """
    y, runs, changed = trial(seeds, x, again, trained)
    models = [_net(net_class, seed, x) for seed in seeds]
    right = torch.stack([model(x).detach() for model in models])
    if trained:
        _scale(models, 2.0)
        old = torch.stack([model(x).detach() for model in models])
        words = "the result is that of the weights at the first call: read them at each call"
        assert y.shape != old.shape or not torch.allclose(y, old, **_slack(x)), words
    check_digits(y, right, "the result")
    if y.shape == right.shape and len(seeds) > 1 and not torch.allclose(y, right, **_slack(x)):
        same = torch.allclose(y, y[:1].expand_as(y), **_slack(x))
        assert not same, "the result has equal scores for all models: each has weights of its own"
        known = [any(torch.allclose(part, one, **_slack(x)) for one in right) for part in y]
        words = "the result holds each model's scores, but not in the order of the list"
        assert not all(known), words
    check_close(y, right, "the result", **_slack(x))
    assert not changed, f"the models were changed: their {', '.join(changed)}"
    return runs
