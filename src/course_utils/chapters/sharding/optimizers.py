"""Exercise 18.2: a sharded optimizer."""

from __future__ import annotations

import gc

import torch
import torch.nn as nn

from course_utils.chapters.sharding.jobs import gradients_are_on, random_like
from course_utils.learner.checks import check_close
from course_utils.learner.tracebacks import ends_in_notebook


def train_sharded(rank, world_size, sharded_optimizer, shapes, steps, options):
    """Train twice, each time anew: the parameters, numbers of state, whose .grad was changed."""
    job = (rank, world_size, sharded_optimizer, shapes, steps, options)
    parameters = [nn.Parameter(random_like(s, n)) for n, s in enumerate(shapes)]
    values, *kept = _train_once(*job, parameters=parameters)
    again, *later = _train_once(*job)
    same = all(torch.equal(a, b) for a, b in zip(values, again, strict=True))
    assert same, (
        "a second call with new parameters ends with other values than the first: each call makes "
        "a step and an Adam for its own parameters"
    )
    assert later[0] == kept[0], (
        f"after a second call Adam keeps {later[0]} numbers, after the first {kept[0]}: each call "
        "makes an Adam for its own parameters"
    )
    beside, *_ = _train_once(*job, another=True)
    same = all(torch.equal(a, b) for a, b in zip(values, beside, strict=True))
    assert same, (
        "with a second call before the first call's steps, these end with other values: what a "
        "step needs belongs to its call alone"
    )
    with torch.no_grad():
        for n, parameter in enumerate(parameters):
            parameter.copy_(random_like(shapes[n], n))
            parameter.grad = None
    once_more, *_ = _train_once(*job, parameters=parameters)
    same = all(torch.equal(a, b) for a, b in zip(values, once_more, strict=True))
    assert same, (
        "a second call with the same parameters, set back to their first values, ends with other "
        "values: each call begins with the values that it finds, and with an Adam of its own"
    )
    return values, *kept


def _train_once(
    rank, world_size, sharded_optimizer, shapes, steps, options, another=False, parameters=None
):
    parameters = parameters or [nn.Parameter(random_like(s, n)) for n, s in enumerate(shapes)]
    mine, settings, before, touched = list(parameters), dict(options), _optimizers(), []
    try:
        answer = sharded_optimizer(parameters, rank, world_size, settings)
    except (AttributeError, TypeError) as error:
        if "NoneType" not in str(error):
            raise
        raise AssertionError(
            "when sharded_optimizer is called, the parameters have no gradients yet (.grad is "
            f"None): read them in step() ({type(error).__name__}: {error})"
        ) from None
    assert settings == options, "`options` was changed: it is the caller's dict"
    fits = isinstance(answer, (tuple, list)) and len(answer) == 2 and callable(answer[0])
    got = type(answer).__name__
    assert fits, f"it returned {got}, not the pair (step, adam): is there an answer yet?"
    step, adam = answer
    assert all(parameter.grad is None for parameter in mine), (
        "sharded_optimizer set the .grad of a parameter: it is the rank's own, and each backward "
        "pass may put another tensor there; read it in step()"
    )
    is_adam = isinstance(adam, torch.optim.Adam)
    assert is_adam, f"the second result is of type {type(adam).__name__}, not torch.optim.Adam"
    if another:
        others = [nn.Parameter(random_like(s, n, 1)) for n, s in enumerate(shapes)]
        sharded_optimizer(others, rank, world_size, dict(options))
    for number in range(steps):
        for n, parameter in enumerate(mine):
            parameter.grad = _gradient(shapes[n], n, number, rank)
        step()
        gradients_are_on("step()")
        for n, (listed, parameter) in enumerate(zip(parameters, mine, strict=True)):
            assert listed is parameter, (
                f"parameter {n} did not move: change it in place; a new Parameter was put into "
                "the list, and the model still has the old one"
            )
        for n, parameter in enumerate(mine):
            own = _gradient(shapes[n], n, number, rank)
            if parameter.grad is None or not torch.equal(parameter.grad, own):
                touched.append(n)
    learns = all(parameter.requires_grad for parameter in mine)
    assert learns, "a parameter does not require grad any more: it must still be trained"
    gc.collect()
    others = [one for one in _optimizers() if one is not adam and one not in before]
    kept = [parameter.detach().clone() for parameter in mine]
    return kept, _numbers(adam), sum(_numbers(one) for one in others), touched


def _gradient(shape: tuple, n: int, number: int, rank: int) -> torch.Tensor:
    """A rank's gradient of a parameter in a step; the third step's are zero."""
    return random_like(shape, n, number, rank) * (number != 2)


def _optimizers() -> list[torch.optim.Optimizer]:
    return [one for one in gc.get_objects() if issubclass(type(one), torch.optim.Optimizer)]


def _numbers(adam: torch.optim.Optimizer) -> int:
    """How many numbers of state it keeps, step counts not counted."""
    values = [v for state in adam.state.values() for v in state.values()]
    return sum(v.numel() for v in values if torch.is_tensor(v) and v.dim() > 0)


def one_process(
    world_size, shapes, steps, options, combine, forgets=False, kind="Adam", adds=False, skips=False
):
    parameters = [nn.Parameter(random_like(s, n)) for n, s in enumerate(shapes)]
    adam = getattr(torch.optim, kind)(parameters, **options)
    for number in range(steps):
        for n, p in enumerate(parameters):
            now = combine([_gradient(shapes[n], n, number, r) for r in range(world_size)])
            p.grad = now + p.grad if adds and p.grad is not None else now
        if forgets:
            adam.state.clear()
        if not skips or any(p.grad.any() for p in parameters if p.grad is not None):
            adam.step()
    return [p.detach() for p in parameters]


def _slices_by_own_gradients(world_size, shapes, steps, options):
    """What comes out where each rank steps its slice by its own gradient."""
    sizes = [torch.Size(shape).numel() for shape in shapes]
    each = -(-sum(sizes) // world_size)
    row = []
    for rank in range(world_size):
        own = one_process(world_size, shapes, steps, options, lambda grads, r=rank: grads[r])
        row.append(torch.cat([p.flatten() for p in own])[rank * each : (rank + 1) * each])
    parts = torch.cat(row).split(sizes)
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def _close(found: list[torch.Tensor], truth: list[torch.Tensor]) -> bool:
    return all(
        a.shape == b.shape and torch.allclose(a, b, 1e-4, 1e-5)
        for a, b in zip(found, truth, strict=True)
    )


@ends_in_notebook
def check_sharded_optimizer(found, world_size, shapes, steps, options):
    if isinstance(found, str) and "outputShape[0] * worldSize" in found:
        found = (
            "the sizes of a collective don't fit: the whole row is as long as all slices together, "
            f"and they are equally long; is it padded?\n{found}"
        )
    numbers = sum(torch.Size(shape).numel() for shape in shapes)
    each = -(-numbers // world_size)
    if isinstance(found, str) and "IndexError" in found:
        if -(-numbers // each) < world_size:
            found = (
                "did a rank find no slice? A row that is shorter than the world has fewer chunks "
                f"than there are ranks; pad it first\n{found}"
            )
        elif () in shapes:
            found = (
                "a parameter without dimensions has no rows and no slices: `numel()` and `copy_` "
                f"do for any shape\n{found}"
            )
    assert not isinstance(found, str), found
    job = (world_size, shapes, steps, options)

    def mean(gradients):
        return sum(gradients) / world_size

    truth = one_process(*job, mean)
    slips = {
        "Adam got the sum of the gradients; divide by the world's size": one_process(*job, sum),
        "the mean was taken twice; divide by the world's size once": one_process(
            *job, lambda gradients: sum(gradients) / world_size**2
        ),
        "Adam's moments begin anew in each step; make one Adam, and keep its tensor": one_process(
            *job, mean, forgets=True
        ),
        "each step's gradients were added to those before: the slice's .grad is made anew in each "
        "step": one_process(*job, mean, adds=True),
        "a step with zero gradients was left out; Adam's moments move the numbers in it as well": (
            one_process(*job, mean, skips=True)
        ),
        "nothing of `options` got to Adam; hand on all of them": one_process(
            world_size, shapes, steps, {}, mean
        ),
        "of `options` the learning rate alone got to Adam; hand on all of them": one_process(
            world_size, shapes, steps, {k: v for k, v in options.items() if k == "lr"}, mean
        ),
        "Adam got rank 0's gradients; it needs the mean over all ranks": one_process(
            *job, lambda gradients: gradients[0]
        ),
        "that is AdamW's weight decay; `torch.optim.Adam` adds it to the gradient": one_process(
            world_size, shapes, steps, {"weight_decay": 0.01} | options, mean, kind="AdamW"
        ),
    }
    if world_size > 1:
        words = "each slice was stepped by one rank's own gradient; Adam needs the mean over all"
        slips[words] = _slices_by_own_gradients(*job)
    for name in set(options) - {"lr"}:
        fewer = {key: value for key, value in options.items() if key != name}
        words = f"`{name}` of `options` did not get to Adam; hand on all of them"
        slips[words] = one_process(world_size, shapes, steps, fewer, mean)
    same = [
        all(torch.equal(a, b) for a, b in zip(found[0][0], one[0], strict=True)) for one in found
    ]
    assert all(same), "the ranks end with different parameters: does each get the others' parts?"
    start = one_process(world_size, shapes, 0, options, sum)
    rows = [torch.cat([p.flatten() for p in all_of]) for all_of in (found[0][0], truth, start)]
    first, *others = rows[0].split(each)
    assert not others or not all(_close([part], [first[: len(part)]]) for part in others), (
        "the slices of all ranks have the same numbers: does the collective write each into a "
        "tensor of its own?"
    )
    rest, many = len(rows[0]) % world_size, len(rows[0]) >= world_size
    if rest and many and _close([rows[0][:-rest]], [rows[1][:-rest]]):
        assert not torch.equal(rows[0][-rest:], rows[2][-rest:]), (
            f"the last {rest} of {len(rows[0])} numbers did not move: is each in a rank's slice? "
            "Round the length of a slice up, and pad the row"
        )
    for n, values in enumerate(found[0][0]):
        name = f"parameter {n} of shape {tuple(shapes[n])} after {steps} steps"
        moved = not values.numel() or not torch.equal(values, start[n])
        assert moved, f"{name} did not move: change it in place"
    if not _close(found[0][0], truth):
        for words, slip in slips.items():
            assert not _close(found[0][0], slip), f"the parameters after {steps} steps: {words}"
    for n, (values, right) in enumerate(zip(found[0][0], truth, strict=True)):
        name = f"parameter {n} of shape {tuple(shapes[n])} after {steps} steps"
        check_close(values, right, name, rtol=1e-4, atol=1e-5)
    _check_state([one[1:3] for one in found], world_size, shapes)
    for *_, touched in found:
        assert not touched, (
            f"step() changed the .grad of parameter {touched[0]}, which is the rank's own: add up "
            "and divide in a tensor of your own"
        )


def _check_state(kept: list[tuple[int, int]], world_size: int, shapes: list[tuple]) -> None:
    """Adam's numbers on each rank and those of other optimizers there: few enough, and all."""
    sizes = [torch.Size(shape).numel() for shape in shapes]
    dimensionless = shapes.count(())  # their numbers of state are not counted
    whole = 2 * sum(sizes), 2 * (sum(sizes) - dimensionless)
    most, all_ranks = 2 * -(-sum(sizes) // world_size), sum(numbers for numbers, _ in kept)
    cut_alone = 2 * sum(-(-size // world_size) for size in sizes)
    one_more = all(numbers == most + 2 for numbers, _ in kept)
    each_cut = all(numbers == cut_alone for numbers, _ in kept)
    rest = 2 * (sum(sizes) - (world_size - 1) * (sum(sizes) // world_size))
    for rank, (numbers, others) in enumerate(kept):
        assert numbers or all_ranks >= 2 * sum(sizes), (
            f"rank {rank}'s Adam keeps no state after a step: return the Adam that does the work"
        )
        assert not others, (
            f"beside rank {rank}'s Adam, other optimizers keep {others} numbers of state: return "
            "the Adam that does the work, and make no second one"
        )
        words = f"rank {rank}'s Adam keeps {numbers} numbers, at most {most}: "
        why = "lay all of them end to end in one row, and cut the row"
        if world_size > 1 and numbers in whole:
            why = "that is the state of all parameters"
        elif sum(sizes) % world_size == 0 and one_more:
            why = f"{world_size} divides {sum(sizes)}, so there is nothing to pad"
        elif rank == world_size - 1 and numbers == rest:
            why = "the last rank takes the rest; round the length of a slice up, not down"
        elif each_cut:
            why = f"cut by itself, each tensor is rounded up; {why}"
        elif numbers in _sums([2 * size for size in sizes]):
            why = "cut through the tensors, don't deal them out whole"
        assert numbers <= most, words + why
    words = (
        f"together the ranks' Adams keep {all_ranks} numbers, expected {2 * sum(sizes)} at least"
    )
    assert all_ranks >= 2 * sum(sizes), f"{words}: return the Adams that do the work"


def _sums(sizes: list[int]) -> set[int]:
    """What some of the sizes can add up to."""
    sums = {0}
    for size in sizes:
        sums |= {size + before for before in sums}
    return sums
