"""Exercise 17.7: gradients that are accumulated first."""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from course_utils.chapters.distributed.collectives import near
from course_utils.chapters.distributed.launches import check_ran, launched
from course_utils.learner.awkward import forbid_side_effects
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_close
from course_utils.learner.ranks import count_traffic, rank_device
from course_utils.learner.tracebacks import ends_in_notebook


def accumulating_model(dtype=torch.float32):
    """In training with a part in eval, and one parameter frozen."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5).eval(), nn.Linear(4, 5)).to(dtype)
    model[0].bias.requires_grad_(False)
    return model


def flat_gradient(model):
    """The gradients of all that trains, side by side; None where one is missing."""
    grads = [p.grad for p in model.parameters() if p.requires_grad]
    return None if None in grads else torch.cat([g.detach().flatten() for g in grads]).cpu()


def run_no_sync(answer, world_size: int, batches: list) -> list | str:
    """For each rank: gradient, calls, those of an ordinary step after it, what else changed."""

    def work(rank, world_size):
        inner = accumulating_model(batches[0][0][0].dtype).to(rank_device())
        model = DDP(inner)
        mine = [(x.to(rank_device()), y.to(rank_device())) for x, y in batches[rank]]
        handed, copies = list(mine), [(x.clone(), y.clone()) for x, y in mine]
        state, modes = torch.get_rng_state(), modes_of_torch()
        with count_traffic() as traffic, forbid_side_effects(inner, but=tuple(ALL)) as watch:
            answer(model, handed)
        drawn = not torch.equal(state, torch.get_rng_state())
        watch.but = ("grad",)
        changes = watch.changes()
        if model.training != inner.training:
            changes.append("the mode of the DDP model was changed")
        changes += ["the global random state was changed"] if drawn else []
        same = modes == modes_of_torch()
        changes += [] if same else ["the default dtype, or whether gradients are recorded, changed"]
        frozen = [p for p in inner.parameters() if not p.requires_grad and p.grad is not None]
        changes += ["a frozen parameter has a .grad now"] if frozen else []
        same = len(handed) == len(mine) and all(map(same_pair, handed, copies))
        changes += [] if same else ["the list of batches, or a batch in it, was changed"]
        asked = any(t.requires_grad or t.grad is not None for pair in mine for t in pair)
        changes += ["a tensor of a batch requires grad now"] if asked else []
        grad = flat_gradient(inner)
        model.zero_grad()
        with count_traffic() as later:
            F.mse_loss(model(copies[0][0]), copies[0][1]).backward()
        again = flat_gradient(inner)
        twice = of_one_twice(answer, model, copies[0]), flat_gradient(inner)
        calls = [call.name for call in traffic.calls]
        names = [call.name for call in later.calls]
        return grad, calls, (names, again, twice), changes

    return launched(work, world_size)


def of_one_twice(answer, model, batch):
    """The calls for a list that holds one batch twice, or the exception."""
    model.zero_grad()
    with count_traffic() as traffic:
        try:
            answer(model, [batch, batch])
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]
    return [call.name for call in traffic.calls]


def modes_of_torch():
    return torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()


ALL = ("mode", "requires_grad", "grad", "hooks", "values", "names")


def same_pair(pair, copy):
    return all(map(torch.equal, pair, copy))


@ends_in_notebook
def check_no_sync(try_no_sync, world_size, steps, seed, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)

    def draw(n):
        return torch.randn(4, n, generator=generator).to(dtype)

    batches = [[(draw(3), draw(5)) for _ in range(steps)] for _ in range(world_size)]
    found = try_no_sync(world_size, batches)
    check_ran(found, world_size, f"no_sync with {steps} batches")
    flat = [pair for rank in batches for pair in rank]
    right = gradient_over(flat)
    parts = [gradient_over([rank[step] for rank in batches]) for step in range(steps)]
    words = (
        "in an ordinary step after it, .grad is no longer the average over the ranks: leave "
        "nothing on the DDP model, such as a communication hook"
    )
    grads = [grad for grad, *_ in found]
    with every_case() as case:
        for rank, (grad, calls, later, changes) in enumerate(found):
            with case(f"{steps} batches, rank {rank} of {world_size}, gradient"):
                check_accumulated(grad, right, parts, grads, changes)
                assert near(later[2][1], parts[0]), (
                    "where the list holds the same batch twice, .grad is not the average over "
                    "both: it counts twice"
                )
            with case(f"{steps} batches, rank {rank} of {world_size}, calls"):
                check_rounds(calls, later[0], later[2][0])
            with case(f"{steps} batches, rank {rank} of {world_size}, what else changed"):
                assert not changes, "; ".join(changes) + ": only .grad may change, no step is made"
                assert torch.allclose(later[1], parts[0], 1e-4, 1e-6), words


def gradient_over(batches):
    """The gradient of the mean loss over all of them, as one batch."""
    x, y = (torch.cat(part) for part in zip(*batches, strict=True))
    model = accumulating_model(x.dtype)
    F.mse_loss(model(x), y).backward()
    return flat_gradient(model)


def check_accumulated(grad, right, parts, of_all, changes):
    def is_(slip):
        same = isinstance(grad, torch.Tensor) and grad.shape == slip.shape
        return same and torch.allclose(grad, slip, 1e-4, 1e-6)

    steps, ranks = len(parts), len(of_all)
    assert grad is None or grad.shape == right.shape, (
        f"{grad.numel()} numbers have a .grad, expected {right.numel()}: was a parameter frozen or "
        "thawed?"
    )
    if is_(right * 20):
        raise AssertionError(
            "the gradient is 20 times too large, and a batch has 4 times 5 numbers: `F.mse_loss` "
            "is their mean, not their sum"
        )
    if is_(right * 5):
        raise AssertionError(
            "the gradient is 5 times too large, and y has 5 numbers for each sample: `F.mse_loss` "
            "is the mean over all numbers, not over samples alone"
        )
    if steps > 1 and is_(right * steps):
        raise AssertionError(
            f"the gradient is {steps} times too large: a sum of means, not their mean"
        )
    if ranks > 1 and ranks != steps and is_(right * ranks):
        raise AssertionError(
            f"the gradient is {ranks} times too large: the sum over the ranks, not their mean"
        )
    for which, words in ((-1, "last"), (0, "first")):
        if steps > 1 and (is_(parts[which]) or is_(parts[which] / steps)):
            raise AssertionError(
                f"that is the gradient of the {words} batch alone: the others are lost"
            )
    if steps > 1 and is_(sum(parts[:-1]) / steps + parts[-1]):
        raise AssertionError(f"the last batch's loss was not divided by {steps}, as the others'")
    if ranks > 1 and is_(right / ranks):
        raise AssertionError(
            f"the gradient is 1/{ranks} of what it should be: DDP averages over the ranks already"
        )
    there = all(isinstance(other, torch.Tensor) for other in of_all)
    if not is_(right) and any("mode" in words for words in changes):
        raise AssertionError("it was computed in another mode: leave the model in its modes")
    if there and not is_(right) and any(not is_(other) for other in of_all):
        raise AssertionError(
            "the ranks have different gradients: what was gathered *before* the synchronising "
            "backward goes along with it, and what comes later stays on its rank"
        )
    if there and all(other.shape == right.shape for other in of_all):
        factor = (grad @ right / (right @ right)).item()
        assert not is_(factor * right) or is_(right), (
            f"the gradient is {factor:.4g} times what it should be, in every number: was it "
            "divided, scaled or clipped?"
        )
    if there and steps > 1 and not is_(right):
        check_shares(grad, parts)
    fine = {"rtol": 1e-4, "atol": 1e-6}
    if is_(right) and grad.dtype == right.dtype == torch.float64:
        fine = {"rtol": 1e-10, "atol": 1e-12}
        assert torch.allclose(grad, right, 1e-10, 1e-12), (
            ".grad is right to seven digits only: the model is float64, and on the way the "
            "gradient was rounded to float32"
        )
    check_close(grad, right, ".grad over all batches of all ranks", **fine)


def check_shares(grad, parts):
    """Refuse a sum of all batches' gradients in which they don't count alike."""
    table = torch.stack(parts, 1).double()
    shares = torch.linalg.lstsq(table, grad.double()[:, None]).solution[:, 0]
    told = ", ".join(f"{round(share, 3):g}" for share in shares.tolist())
    assert not torch.allclose(table @ shares, grad.double(), 1e-4, 1e-6), (
        f"the batches' gradients were added up with the factors {told}: each counts alike"
    )


def check_rounds(calls, later, twice):
    rounds = [name for name in calls if name != "broadcast"]
    assert rounds, (
        "the ranks sent nothing: the last batch's backward has to synchronise; or is there no "
        "answer yet?"
    )
    assert rounds == ["all_reduce"], (
        f"{len(rounds)} calls ({', '.join(rounds)}), expected one all_reduce: forward *and* "
        "backward of all batches but the last belong in no_sync, and DDP's own all_reduce of the "
        "last does the rest"
    )
    assert "all_reduce" in later, "after it an ordinary backward no longer synchronises"
    rounds = [name for name in twice if name != "broadcast"]
    assert rounds == ["all_reduce"], (
        f"where the list holds the same batch twice: {', '.join(rounds) or 'no call'}, expected "
        "one all_reduce: the last batch is the last by its place in the list"
    )
