"""What the chapter on distributed training tries its exercises with."""

import faulthandler
import os
import time

import pytest
import torch
import torch.distributed as dist

from course_utils.chapters import distributed
from course_utils.chapters.distributed import launches, samplers
from course_utils.chapters.distributed.data_parallel import bucket_slip, buckets_of
from course_utils.chapters.distributed.unequal import weighted_mean


def test_a_report_waits_until_the_ranks_stand_still():
    def late(rank, world_size):
        if rank == 0:
            time.sleep(0.5)
            dist.all_reduce(torch.ones(1))

    words = distributed.stuck(late, 2, timeout=0.2)
    assert "rank 0 was in all_reduce" in words
    assert "rank 1 returned" in words


def test_the_cause_comes_before_what_followed_from_it():
    def dies(rank, world_size):
        faulthandler.disable()
        if rank == 1:
            os.abort()
        dist.all_reduce(torch.ones(1))

    words = distributed.launched(dies, 2)
    assert "pair.cc" not in words
    assert words.index("rank 1 ended by SIGABRT") < words.index("rank 0 raised a lost connection")
    with pytest.raises(AssertionError, match="ended by SIGABRT"):
        launches.check_ran(words, 2, "the answer")


def test_calls_of_other_sizes_are_told_as_such():
    def unlike(rank, world_size):
        faulthandler.disable()
        x = torch.ones(3 if rank else 5)
        dist.recv(x, 0) if rank else dist.send(x, 1)

    with pytest.raises(AssertionError, match="do not fit each other"):
        launches.check_ran(distributed.launched(unlike, 2), 2, "the answer")


def test_work_that_does_not_end_is_stopped_with_words():
    assert launches.alone(lambda: 3, "the answer") == 3
    with pytest.raises(AssertionError, match="the answer gave no result: rank 0 failed"):
        launches.alone(lambda: 1 / 0, "the answer")


def test_a_slip_is_named_only_where_it_explains_every_wrong_result():
    cases = [((8, 0, 2), {"epoch": 1}), ((8, 1, 2), {"epoch": 2})]
    without = [samplers.dealt(*case, epoch=0) for case in cases]
    assert "every epoch has the same order" in samplers.slip_of(without, cases)
    other = [without[0], samplers.dealt(*cases[1], blocks=True)]
    assert "every epoch" not in samplers.slip_of(other, cases)


def test_the_slips_of_a_sampler_are_one_change_away_from_the_right_indices():
    for case in [((7, 1, 3), {"shuffle": False}), ((7, 2, 3), {"epoch": 1, "drop_last": True})]:
        assert samplers.dealt(*case) == samplers.of_the_library(*case)


def test_buckets_follow_the_example_of_the_statement():
    assert buckets_of(80, 4) == [56, 80, 80, 80]  # three are exactly full
    assert buckets_of(160, 8) == [112, 160, 160, 160]


def test_a_slip_of_the_buckets_has_words():
    want = buckets_of(100, 4)
    slips = {kind: buckets_of(100, 4, kind=kind) for kind in ("forward", "frozen", "tied")}
    words = [bucket_slip(2 * sums, want, 100, 4) for sums in slips.values()]
    assert all(words)
    assert len(set(words)) == 3
    assert "one gradient too late" in bucket_slip(2 * buckets_of(100, 4, late=True), want, 100, 4)
    assert "36 bytes more" in bucket_slip(2 * [*want, 36], want, 100, 4)
    assert bucket_slip([1, 2], want, 100, 4) == ""


def test_the_mean_over_all_samples_leaves_out_a_rank_without_any():
    gradients = [torch.tensor([1.0]), torch.tensor([torch.nan]), torch.tensor([5.0])]
    assert weighted_mean(gradients, [3, 0, 1]).item() == 2
