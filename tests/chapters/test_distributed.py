"""What the chapter on distributed training tries its exercises with."""

import time

import torch
import torch.distributed as dist

from course_utils.chapters import distributed


def test_a_report_waits_until_the_ranks_stand_still():
    def late(rank, world_size):
        if rank == 0:
            time.sleep(0.5)
            dist.all_reduce(torch.ones(1))

    words = distributed.stuck(late, 2, timeout=0.2)
    assert "rank 0 was in all_reduce" in words
    assert "rank 1 returned" in words
