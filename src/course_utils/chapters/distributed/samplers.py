"""Exercise 17.4: who gets which samples."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data.distributed import DistributedSampler

from course_utils.chapters.distributed.launches import refusing
from course_utils.learner.cases import every_case
from course_utils.learner.checks import check_equal
from course_utils.learner.tracebacks import ends_in_notebook


def run_sampler(answer, cases: list) -> list:
    """The indices for each case, and whether the global random state is as before."""
    found = []
    words = "this makes a DistributedSampler: deal the indices out by hand"
    with refusing(DistributedSampler, words):
        for args, options in cases:
            torch.manual_seed(2**40 + len(found))  # a state that no answer's own seed leads to
            before = torch.get_rng_state()
            result = answer(*args, **options)
            found.append((result, torch.equal(before, torch.get_rng_state())))
    return found


@ends_in_notebook
def check_sampler(try_sampler, cases):
    with every_case() as case:
        for (args, options), (result, kept) in zip(cases, try_sampler(cases), strict=True):
            length, rank, ranks = args
            words = "".join(f", {key}={value}" for key, value in options.items())
            wanted = dict(options)
            epoch = wanted.pop("epoch", 0)
            samples: Any = range(length)  # of a data set it asks only the length
            library = DistributedSampler(samples, ranks, rank, **wanted)
            library.set_epoch(epoch)
            with case(f"sampler_by_hand({length}, {rank}, {ranks}{words})"):
                check_indices(result, list(library), length, ranks, options)
                assert kept, "the global random state changed: draw from a torch.Generator()"


def check_indices(result, right, length, ranks, options):
    assert result is not None, "it returned None: is there an answer yet?"
    kind = type(result).__name__
    assert isinstance(result, list), f"expected a list of int, got {kind}"
    assert all(type(index) is int for index in result), "the entries are not int: use .tolist()"
    cut = options.get("drop_last")
    count = f"{'⌊' if cut else '⌈'}{length} / {ranks}{'⌋' if cut else '⌉'} = {len(right)}"
    assert len(result) == len(right), f"{len(result)} indices; each rank gets {count}"
    check_equal(result, right, "the indices", explain(result, right, options, length // ranks))


def explain(result, right, options, whole_rounds):
    if right and result[:whole_rounds] == right[:whole_rounds] and whole_rounds < len(right):
        return "only the padding differs: it is the beginning of the order, shuffled or not"
    if options.get("epoch", 0) and options.get("shuffle", True):
        return "the seed of the shuffle is seed + epoch"
    if options.get("shuffle", True):
        return "randperm from a generator seeded with seed + epoch; then deal, not cut into blocks"
    return (
        "deal like cards: entries rank, rank + world_size, …; padding starts over at the beginning"
    )
