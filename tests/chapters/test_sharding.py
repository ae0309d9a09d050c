"""What chapter 18 tries its exercises with."""

import pytest
import torch
import torch.distributed as dist

from course_utils import LaunchTimeout
from course_utils.chapters import sharding
from course_utils.chapters.sharding.gathering import LargeTensors
from course_utils.chapters.sharding.jobs import Sent, Untouched


def test_random_numbers_depend_on_all_seeds_and_on_nothing_else():
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = sharding.random_like((3, 2), 1, 2)
    assert torch.equal(first, sharding.random_like((3, 2), 1, 2))
    assert not torch.equal(first, sharding.random_like((3, 2), 2, 1))
    assert torch.equal(torch.get_rng_state(), state)


def raise_on_rank_1(rank, world_size):
    if rank == 1:
        raise ValueError("rank 1 does not want to")
    return rank


def test_an_attempt_gives_values_or_words():
    assert sharding.attempt(lambda rank, world_size: rank, 2) == [0, 1]
    assert "rank 1 does not want to" in sharding.attempt(raise_on_rank_1, 2)


def gather_thrice(rank, world_size, keep):
    shard, kept = torch.full((1, 2), float(rank)), []
    with LargeTensors([torch.tensor([[0.0, 0.0], [1.0, 1.0]])]) as large:
        for _ in range(3):
            whole = sharding.gather_rows(shard)
            kept += [keep(whole)]
            values = whole.tolist()
            del whole
    mean = sharding.scatter_mean_rows(torch.tensor([[1.0, 2.0], [3.0, 4.0]]) * (rank + 1))
    return values, mean.tolist(), large.most


@pytest.mark.parametrize(
    ("keep", "most"),
    [
        (lambda whole: whole, 3),
        (lambda whole: whole.T.contiguous(), 4),
        (lambda whole: torch.empty(2, 2).copy_(whole), 4),
        (lambda whole: whole[:1], 3),  # a view keeps the whole storage
        (lambda whole: whole[:1].clone(), 1),
        (lambda whole: whole + 1, 1),
    ],
)
def test_matrices_that_are_alive_are_counted_with_their_copies(keep, most):
    found = sharding.on_ranks(gather_thrice, 2, keep)
    whole = [[0.0, 0.0], [1.0, 1.0]]
    assert found == [(whole, [[1.5, 3.0]], most), (whole, [[4.5, 6.0]], most)]


def everything(rank, world_size):
    x, other = torch.ones(2), 1 - rank
    with Sent() as sent:
        dist.all_reduce(x)
        dist.barrier()
        dist.send(x, other) if rank == 0 else dist.recv(x, other)
        dist.all_gather_object([None, None], rank)
        dist._functional_collectives.wait_tensor(
            dist._functional_collectives.all_reduce(x, "sum", dist.group.WORLD)
        )
    return sent.names


def test_a_barrier_and_a_message_are_counted_like_a_collective():
    gathers = ["allgather_base", "allgather_base"]
    for rank, names in enumerate(sharding.on_ranks(everything, 2)):
        message = ("send", "recv")[rank]
        assert names == ["allreduce", "barrier", message, *gathers, "all_reduce"]


def test_what_a_call_leaves_on_a_leaf_is_said():
    leaves = {name: torch.ones(2, requires_grad=True) for name in ("a", "b", "c", "d", "e")}
    untouched = Untouched(leaves)
    assert untouched.changes() == []
    leaves["a"].register_hook(lambda grad: grad)
    leaves["b"].register_post_accumulate_grad_hook(lambda leaf: None)
    leaves["c"].ready = True
    leaves["d"].requires_grad_(False)
    leaves["e"].data.add_(1)
    words = untouched.changes()
    assert [text.split()[:4] for text in words[:2]] == [["a", "hook", "on", n] for n in "ab"]
    for word, text in zip(("ready", "does not require grad", "values"), words[2:], strict=True):
        assert word in text
    leaves["a"].grad = torch.ones(2)  # a backward pass leaves this
    assert len(untouched.changes()) == 5


def never(training, folder, rank, steps, every):
    pass


def test_a_job_that_runs_nothing_is_told_so():
    found = sharding.elastic_trial(never, 2, 1, ("",))
    with pytest.raises(AssertionError, match=r"training\.run was not called"):
        sharding.check_elastic(found, 2, 1, ("",))


def test_after_a_job_that_hung_the_next_one_gets_less_time(monkeypatch):
    given = []

    def ready(function, world_size, *args, timeout):
        given.append(timeout)
        if function is None:
            raise LaunchTimeout("after some seconds ranks 0, 1 were not through", [])
        return [function]

    monkeypatch.setattr("course_utils.chapters.sharding.jobs.on_ranks", ready)
    for function in ("goes", None, None, "goes", "goes"):
        sharding.attempt(function, 2)
    assert given == [8.0, 8.0, 4.0, 4.0, 8.0]


def test_a_save_that_hangs_is_not_taken_for_a_killed_one():
    words = "after 8 seconds ranks 0, 1 were not through\nin sharded_checkpoint, line 3"
    with pytest.raises(AssertionError, match=r"dcp\.save and dcp\.load are for all of them"):
        sharding.check_checkpoint(words, 2, [0, 1], "table", 1)


def test_a_slip_that_has_a_name_comes_before_bare_numbers():
    words = sharding.some_of(["a differs in 1", "b differs in 2", "c was forgotten"] * 2, most=2)
    assert words == "c was forgotten; a differs in 1; and 1 more"


@pytest.mark.parametrize(("ahead", "ticks", "whole"), [(0, 15, 1), (1, 11, 2), (2, 11, 3)])
def test_prefetching_trades_whole_layers_for_ticks(ahead, ticks, whole):
    rows = sharding.overlap(5, 1, 2, ahead)
    assert (rows[-1][-1], sharding.most_whole(rows)) == (ticks, whole)


def test_a_kept_copy_of_a_matrix_counts_as_a_whole_matrix():
    def copying(x, shards):
        kept.extend(sharding.gather_rows(shard).clone() for shard in shards)
        return x + sum(shard.sum() for shard in shards)

    kept = []
    job = ([(4, 4)] * 3, 1, True)
    words = sharding.attempt(sharding.run_fully_sharded, 1, copying, *job)
    assert [forward["large"] for _, _, _, forward, _, _ in words] == [3]


def test_words_for_a_step_that_was_not_the_newest():
    found = [(15, torch.zeros(7, 2), torch.zeros(2), 0.5)]
    with pytest.raises(AssertionError, match="entries come in any order"):
        sharding.check_checkpoint(found, 1, [13, 22, 15, 17], "", 1)
    found = [(17, torch.zeros(7, 2), torch.zeros(2), 0.5)]
    with pytest.raises(AssertionError, match="not the one saved last"):
        sharding.check_checkpoint(found, 1, [13, 22, 15, 17], "", 1)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (("stage 3", 5), ""),
        (None, ""),
        ("stage 3", "a plan is the pair"),
        (("FSDP", 5), "the layouts are DDP"),
        (("stage 3", 5.0), "an `int`, here of type float"),
        (("stage 3", "5"), "an `int`, here of type str"),
        (([], 5), "the layouts are DDP"),
        (("stage 3", 0), "no samples are no plan"),
        (("stage 3", 33), "at most `batch`"),
        (("stage 3", 6), "does not fit"),
        (("stage 3", 4), "more samples fit; exactly full fits"),
        (("stage 3", 3), "more samples fit"),
        (("stage 2", 3), "fewer seconds"),
    ],
)
def test_words_for_a_plan(found, words):
    job = {"parameters": 1000, "largest": 250, "sample": 500, "batch": 32, "world_size": 4}
    job |= {"budget": 8_500}
    said = sharding.why_not(found, ("stage 3", 5), job, lambda layout, samples, job: 1 / samples)
    assert words in said
    assert bool(said) == bool(words)


def test_words_for_the_lower_of_two_equal_plans():
    job = {"parameters": 1000, "largest": 250, "sample": 500, "batch": 4, "world_size": 4}
    job |= {"budget": 10**6}
    said = sharding.why_not(("stage 1", 4), ("DDP", 4), job, lambda *_: 1.0)
    assert said == "of equals, take the upper one"
