"""Exercise 18.2: a sharded optimizer."""

from __future__ import annotations

import torch
import torch.nn as nn

from course_utils.chapters.sharding.jobs import random_like
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


def train_sharded(rank, world_size, sharded_optimizer, shapes, steps, options):
    parameters = [nn.Parameter(random_like(s, n)) for n, s in enumerate(shapes)]
    mine = list(parameters)
    answer = sharded_optimizer(parameters, rank, world_size, dict(options))
    fits = isinstance(answer, (tuple, list)) and len(answer) == 2 and callable(answer[0])
    assert fits, f"it returned {answer!r}, not the pair (step, adam): is there an answer yet?"
    step, adam = answer
    is_adam = isinstance(adam, torch.optim.Optimizer)
    assert is_adam, f"the second result is of type {type(adam).__name__}, no optimizer"
    for number in range(steps):
        for n, parameter in enumerate(mine):
            parameter.grad = random_like(shapes[n], n, number, rank)
        step()
    values = [v for state in adam.state.values() for v in state.values()]
    numbers = sum(v.numel() for v in values if torch.is_tensor(v) and v.dim() > 0)
    return [parameter.detach().clone() for parameter in mine], numbers


def one_process(world_size, shapes, steps, options, combine, forgets=False):
    parameters = [nn.Parameter(random_like(s, n)) for n, s in enumerate(shapes)]
    adam = torch.optim.Adam(parameters, **options)
    for number in range(steps):
        for n, p in enumerate(parameters):
            p.grad = combine([random_like(shapes[n], n, number, r) for r in range(world_size)])
        if forgets:
            adam.state.clear()
        adam.step()
    return [p.detach() for p in parameters]


@ends_in_notebook
def check_sharded_optimizer(found, world_size, shapes, steps, options):
    assert not isinstance(found, str), found
    job = (world_size, shapes, steps, options)

    def mean(gradients):
        return sum(gradients) / world_size

    truth = one_process(*job, mean)
    slips = {
        "Adam got the sum of the gradients; divide by the world's size": one_process(*job, sum),
        "Adam's moments begin anew in each step; make one Adam, and keep its tensor": one_process(
            *job, mean, forgets=True
        ),
        "of `options` the learning rate alone got to Adam; hand on all of them": one_process(
            world_size, shapes, steps, {"lr": options["lr"]}, mean
        ),
    }
    same = [
        all(torch.equal(a, b) for a, b in zip(found[0][0], one[0], strict=True)) for one in found
    ]
    assert all(same), "the ranks end with different parameters: does each get the others' parts?"
    start = one_process(world_size, shapes, 0, options, sum)
    for n, (values, right) in enumerate(zip(found[0][0], truth, strict=True)):
        name = f"parameter {n} of shape {tuple(shapes[n])} after {steps} steps"
        assert not torch.equal(values, start[n]), f"{name} did not move: change it in place"
        for words, slip in slips.items():
            slipped = torch.allclose(values, slip[n], 1e-4, 1e-5)
            slipped = slipped and not torch.allclose(right, slip[n], 1e-4, 1e-5)
            assert not slipped, f"{name}: {words}"
        check_close(values, right, name, rtol=1e-4, atol=1e-5)
    most = 2 * -(-sum(torch.Size(s).numel() for s in shapes) // world_size)
    for rank, (_, numbers) in enumerate(found):
        words = f"rank {rank}'s Adam keeps {numbers} numbers, at most {most}"
        assert numbers <= most, words + ": cut through the tensors, don't deal them out whole"
