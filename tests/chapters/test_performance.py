"""What chapter 16 counts and compares with: right values, and what counts as waiting."""

import pytest
import torch

from course_utils.chapters.performance import breaks, flops, folding, ledger, profiles, schedules
from course_utils.chapters.performance.bytes_written import count_written
from course_utils.chapters.performance.precision import loss_scale
from course_utils.chapters.performance.quantising import affine
from course_utils.chapters.performance.syncs import count_syncs
from course_utils.chapters.performance.waiting import PretendDevice

X = torch.arange(4.0)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (lambda: X[0].item(), "item"),
        (lambda: bool(X.sum() > 0), "item"),
        (lambda: max(X[0], 1), "item"),
        (lambda: torch.tensor([X[0], X[1]]), "item"),
        (lambda: str(X), "print"),
        (lambda: f"{X[0]:.2f}", "print"),
        (lambda: X.tolist(), "tolist"),
        (lambda: X.numpy(), "numpy"),
        (lambda: X.to("cpu"), "cpu"),
        (lambda: X[X > 0], "mask"),
        (lambda: X.nonzero(), "nonzero"),
        (lambda: X.unique(), "unique"),
    ],
)
def test_what_waits_is_counted_once(line, kind):
    with count_syncs() as counts:
        line()
    assert dict(counts) == {kind: 1}


@pytest.mark.parametrize(
    "line",
    [
        lambda: torch.where(X > 0, X, 0).sum(),
        lambda: X.to(X.device),
        lambda: torch.nn.utils.clip_grad_norm_([X.clone().requires_grad_()], 1.0),
        lambda: torch.stack(list(X)),
        lambda: X.sum().detach(),
    ],
)
def test_what_does_not_wait_is_not_counted(line):
    with count_syncs() as counts:
        line()
    assert not counts


def test_a_pretend_device_is_busy_while_the_host_launches_the_next_kernel():
    device = PretendDevice([20])
    device.run()
    device.run()
    assert device.clock() == 10
    device.synchronise()
    assert device.clock() == 45


def test_self_times_take_off_direct_children_of_one_thread():
    events = [("a", 1, 0, 100), ("b", 1, 10, 60), ("c", 1, 20, 30), ("c", 2, 0, 100)]
    assert profiles.self_times(events) == {"a": (1, 50), "b": (1, 40), "c": (2, 110)}


def test_views_write_nothing():
    with count_written() as written:
        X.view(2, 2).t()
        X + 1
    assert (written.nbytes, written.kernels) == (16, 1)


def test_the_ledger_of_a_step_is_what_it_takes():
    layers = [("linear", 4, 4), ("relu",), ("linear", 4, 4)]
    right = {"parameters": 160, "gradients": 160, "optimizer": 320, "activations": 256}
    assert ledger.measured(layers, 8, "adam") == right
    assert ledger.predicted(layers, 8, "adam") == right


def test_memory_that_is_freed_is_not_alive():
    with ledger.track_memory() as memory:
        x = torch.rand(100)
        y = x.exp()
        del x
        assert memory.nbytes == y.nbytes


def test_the_smallest_peak_of_equal_layers_is_at_the_root():
    best = min(schedules.partitions(9), key=lambda lengths: schedules.peak([1] * 9, lengths))
    assert (best, schedules.peak([1] * 9, best)) == ([3, 3, 3], 5)


def test_grouped_convolutions_take_twice_the_flops_backward():
    counted = flops._truth(["depthwise, backward"], "cpu")
    assert counted["convolution_backward"] == 2 * counted["convolution"]


def test_scales_round_as_float16_does():
    assert loss_scale([torch.tensor([65519.0])])[0] == 1.0
    assert loss_scale([torch.tensor([65520.0])])[0] == 0.5
    assert loss_scale([torch.tensor([1.0, 1e-8])]) == (32768.0, 1, 0)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_folded_block_is_the_block(groups):
    case = {"inputs": 4, "outputs": 4, "skip": True, "groups": groups, "device": "cpu"}
    block, x = folding._block(case)
    with torch.no_grad():
        torch.testing.assert_close(folding._fold(block, x), block(x), rtol=1e-4, atol=1e-4)


def test_zero_is_always_exact():
    x = torch.tensor([3.0, 5.0, 9.0])
    q, scale, zero = affine(x)
    assert zero == -128
    assert ((q.float() - zero) * scale - x).abs().max() <= scale / 2


def test_broken_programs_are_several_graphs():
    rows = [(torch.tensor([1.0, 2.0]),), (torch.tensor([-1.0, -2.0]),)]
    assert all(breaks.graphs_of(program, rows) > 1 for program in breaks.BROKEN.values())
    assert breaks.graphs_of(lambda x: x.sin() * 2, rows) == 1
