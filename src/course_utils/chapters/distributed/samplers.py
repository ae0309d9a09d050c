"""Exercise 17.4: who gets which samples."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import torch
from torch.utils.data.distributed import DistributedSampler

from course_utils.chapters.distributed.launches import alone, refusing
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import ends_in_notebook


def run_sampler(answer, cases: list) -> list:
    """The indices for each case, and whether the global random state is as before."""
    words = "this makes a DistributedSampler: deal the indices out by hand"

    def work():
        found = []
        with refusing(DistributedSampler, words):
            for args, options in cases:
                torch.manual_seed(2**40 + len(found))
                torch.rand(3)  # a state to which no seed leads back
                before, others = torch.get_rng_state(), other_states()
                result = answer(*args, **options)
                kept = torch.equal(before, torch.get_rng_state()) and others == other_states()
                again = result
                if isinstance(result, list):  # what a caller does with its list is its own affair
                    again, result = result, list(result)
                    again.append(-1)
                    again = answer(*args, **options)
                found.append((result, kept, again == result))
        return found

    return alone(work, "sampler_by_hand")


def other_states():
    return random.getstate(), pickle.dumps(np.random.get_state())


@ends_in_notebook
def check_sampler(try_sampler, *groups):
    """Each of ``groups`` is a list of cases; all run one after the other, in one process."""
    found = iter(try_sampler([each for cases in groups for each in cases]))
    with every_case() as case:
        for cases in groups:
            of_group = [next(found) for _ in cases]
            slip = slip_of([result for result, *_ in of_group], cases, try_sampler)
            for (args, options), (result, kept, fresh) in zip(cases, of_group, strict=True):
                length, _, ranks = args
                right = of_the_library(args, options)
                words = "".join(f", {key}={value}" for key, value in options.items())
                with case(f"sampler_by_hand({', '.join(map(str, args))}{words})"):
                    check_indices(result, right, length, ranks, options, slip)
                    assert kept, "the global random state changed: draw from a torch.Generator()"
                    assert fresh, (
                        "after the caller appended to its list, the same call gave another one: "
                        "make a new list for each call, and change none that you keep"
                    )


def of_the_library(args, options):
    length, rank, ranks = args
    wanted = dict(options)
    epoch = wanted.pop("epoch", 0)
    samples: Any = range(length)  # of a data set it asks only the length
    library = DistributedSampler(samples, ranks, rank, **wanted)
    library.set_epoch(epoch)
    return list(library)


def check_indices(result, right, length, ranks, options, slip):
    assert result is not None, "it returned None: is there an answer yet?"
    kind = type(result).__name__
    assert isinstance(result, list), f"expected a list of int, got {kind}"
    assert all(type(index) is int for index in result), "the entries are not int: use .tolist()"
    cut = options.get("drop_last")
    count = f"{'⌊' if cut else '⌈'}{length} / {ranks}{'⌋' if cut else '⌉'} = {len(right)}"
    assert len(result) == len(right), f"{len(result)} indices; each rank gets {count}"
    check_equal(result, right, "the indices", slip)


SLIPS = {
    "every epoch has the same order: the seed of the shuffle is seed + epoch": {"epoch": 0},
    "`seed` changes nothing: the seed of the shuffle is seed + epoch": {"seed": 0},
    "these are blocks: deal like cards, entries rank, rank + world_size, …": {"blocks": True},
    "each rank shuffles in another way: the seed must not depend on the rank": {"by_rank": True},
    "drop_last cuts the end of the order, not its beginning": {"head": True},
    "it is not shuffled, and shuffle is True, also where it is left out": {"shuffle": False},
    "it is shuffled, and shuffle=False: seed and epoch change nothing then": {"shuffle": True},
    "the seed of the shuffle is the sum, seed + epoch": {"times": True},
    "only the padding differs: it is the beginning of the order, shuffled or not": {
        "pad": lambda order: range(len(order))
    },
    "only the padding differs: one sample comes again and again; continue along the order": {
        "pad": lambda order: order[:1]
    },
    "only the padding differs: it is the beginning of the order, not its end": {
        "pad": lambda order: order[-1:]
    },
}


def slip_of(results, cases, try_sampler=None):
    """Words for the slip that explains every wrong result; else where to look."""
    rights = [of_the_library(*case) for case in cases]
    wrong = [place for place, right in enumerate(rights) if results[place] != right]
    stays = [results[place] in rights[:place] for place in wrong]
    if try_sampler and not all(stays):
        first = wrong[0]
        if try_sampler([cases[first]])[0][0] == rights[first]:
            return "the same call is right when it comes first: keep nothing from earlier calls"
    for words, change in SLIPS.items():
        if all(results[place] == dealt(*cases[place], **change) for place in wrong):
            return words
    if all(stays):
        return "an earlier call returned that, with another seed or epoch: keep nothing from it"
    if all(not 0 <= seed_of(cases[place][1]) < 10**6 for place in wrong):
        return "seed + epoch may be any whole number, also below 0 or large: hand it on as it is"
    if all(cases[place][1].get("shuffle", True) for place in wrong):
        return "unshuffled cases are right: compare order, padding and dealing with the statement"
    return "entries rank, rank + world_size, …; padding starts over at the beginning"


def seed_of(options):
    return options.get("seed", 0) + options.get("epoch", 0)


def dealt(
    args, options, *, blocks=False, pad=None, by_rank=False, head=False, times=False, **change
):
    """The indices with one slip: another option, blocks in place of dealing, other padding."""
    length, rank, ranks = args
    given = {"seed": 0, "epoch": 0, "shuffle": True, **options, **change}
    order = list(range(length))
    if given["shuffle"]:
        own = rank if by_rank else 0
        both = given["seed"] * given["epoch"] if times else given["seed"] + given["epoch"]
        generator = torch.Generator().manual_seed(both + own)
        order = torch.randperm(length, generator=generator).tolist()
    each = length // ranks if options.get("drop_last") else -(-length // ranks)
    order = order[length - each * ranks :] if head and options.get("drop_last") else order
    more = list(pad(order)) if pad else order
    whole = (order + more * each * ranks)[: each * ranks]
    return whole[rank * each : (rank + 1) * each] if blocks else whole[rank::ranks]
