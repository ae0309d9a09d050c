"""What a rank communicates is counted, also in backward passes."""

import pytest
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

from course_utils import count_traffic, launch, rank_device


def calls_of(work, world_size=2):
    """What ``count_traffic`` saw on rank 0, as tuples."""

    def counted(rank, world_size):
        with count_traffic() as traffic:
            work(rank)
        return [tuple(call) for call in traffic.calls], traffic.count(), traffic.nbytes()

    return launch(counted, world_size)[0]


def test_collectives_are_counted_with_the_bytes_handed_in():
    def work(rank):
        x, y = torch.ones(4), torch.empty(2, 4)
        dist.all_reduce(x)
        dist.all_gather(list(y), x)
        dist.all_gather_into_tensor(y.view(-1), x)
        dist.reduce_scatter_tensor(torch.empty(2), x)
        dist.barrier()

    calls, count, nbytes = calls_of(work)
    assert calls == [
        ("all_reduce", 16, None),
        ("all_gather", 16, None),
        ("all_gather", 16, None),
        ("reduce_scatter", 16, None),
        ("barrier", 0, None),
    ]
    assert count == {"all_reduce": 1, "all_gather": 2, "reduce_scatter": 1, "barrier": 1}
    assert nbytes == 64


def test_sending_names_the_other_rank_and_receiving_costs_nothing():
    def work(rank):
        x = torch.ones(3)
        if rank == 0:
            dist.send(x, 1)
            dist.irecv(x, 1).wait()
        else:
            dist.recv(x, 0)
            dist.isend(x, 0).wait()

    assert calls_of(work)[0] == [("send", 12, 1), ("recv", 0, 1)]


def test_a_rank_that_is_not_there_is_not_waited_for():
    def work(rank, world_size):
        group = dist.new_group([1, 2])
        if rank == 0:
            return None
        with count_traffic() as traffic, pytest.raises(ValueError, match="ranks go from 0 to 1"):
            dist.send(torch.ones(3), group=group, group_dst=2)
        return traffic.calls

    assert launch(work, 3) == [None, [], []]


def test_a_broadcast_costs_its_root_alone():
    def work(rank):
        x = torch.ones(3)
        dist.broadcast(x, 0)
        dist.broadcast(x, 1)

    assert calls_of(work)[0] == [("broadcast", 12, None), ("broadcast", 0, None)]


def test_in_a_group_of_its_own_the_root_is_found_as_well():
    def work(rank, world_size):
        group = dist.new_group([1, 2])
        with count_traffic() as traffic:
            if rank > 0:
                dist.broadcast(torch.ones(3), 1, group=group)
        return traffic.nbytes()

    assert launch(work, 3) == [0, 12, 0]


def test_backward_passes_are_counted():
    def work(rank):
        model = DistributedDataParallel(nn.Linear(4, 2))
        with count_traffic() as inner:
            model(torch.ones(1, 4)).sum().backward()
        assert inner.count() == {"all_reduce": 1}
        assert inner.nbytes("all_reduce") == 40

    assert calls_of(work)[1]["all_reduce"] == 1


def test_without_a_group_tensors_live_on_the_cpu():
    assert rank_device() == torch.device("cpu")
