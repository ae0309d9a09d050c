"""What the chapter on layers compares with; the slips it knows lead elsewhere than the answer."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_utils import seeded
from course_utils.chapters.layers import (
    choose_parts,
    dry_run,
    norm_slips,
    parts,
    refused,
    watched_in_use,
)
from course_utils.chapters.layers import slips as known
from support.mutants import changes_of


def differ(slips, right):
    return {name: not torch.allclose(wrong, right, atol=1e-3) for name, wrong in slips.items()}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: None, ""),
        (lambda w: (0 * w).sum().backward(), "its grad"),  # shows where there is none yet
        (lambda w: setattr(w, "grad", None), "its grad"),  # shows where there is one
        (lambda w: w.requires_grad_(False), "its requires_grad"),
    ],
)
def test_a_weight_that_requires_a_gradient_is_watched_with_and_without_one(change, words):
    weight = torch.ones(2, requires_grad=True)
    assert watched_in_use(change, weight)[2] == words


@pytest.mark.parametrize("backwards", [False, True])
def test_stamps_that_do_not_overlap_are_right_and_others_are_not(backwards):
    normal = seeded(0)
    x, weight = normal(1, 2, 3, 3), normal(2, 3, 2, 2)
    for stride, same in ((2, True), (1, False)):
        right = F.conv_transpose2d(x, weight, stride=stride)
        assert torch.allclose(known.overwritten_stamps(x, weight, stride, backwards), right) == same


@pytest.mark.parametrize("kind", ["batch", "layer", "instance", "group", "rms"])
def test_norms_that_slip_differ_from_the_norm(kind):
    x = 1 + seeded(0)(3, 6, 2, 4)
    norms = {
        "batch": lambda: F.batch_norm(x, None, None, training=True, eps=0.5),
        "layer": lambda: F.layer_norm(x, x.shape[1:], eps=0.5),
        "instance": lambda: F.instance_norm(x, eps=0.5),
        "group": lambda: F.group_norm(x, 2, eps=0.5),
        "rms": lambda: F.rms_norm(x, x.shape[1:], eps=0.5),
    }
    slips = norm_slips.norm_slips(x, kind, 2, 0.5)
    assert slips
    assert all(differ(slips, norms[kind]()).values())


def test_a_sigmoid_in_place_of_the_tanh_of_g():
    normal = seeded(0)
    x, state = normal(2, 3), (normal(2, 4), normal(2, 4))
    weights = normal(16, 3), normal(16, 4), normal(16), normal(16)
    i, f, g, _ = (
        (F.linear(x, *weights[::2]) + F.linear(state[0], *weights[1::2])).sigmoid().chunk(4, 1)
    )
    torch.testing.assert_close(known.soft_g(x, state, weights), f * state[1] + i * g)


def test_the_gradient_without_a_cut_is_autograds():
    normal = seeded(0)
    x, w_ih, w_hh = normal(5, 2, 3), normal(4, 3), normal(4, 4).requires_grad_()
    states, zeros = [x.new_zeros(2, 4)], x.new_zeros(4)
    for step in x:
        states.append(torch.rnn_tanh_cell(step, states[-1], w_ih, w_hh, zeros, zeros))
    right = torch.autograd.grad(torch.stack(states).sum(), w_hh)[0]
    torch.testing.assert_close(known.bptt_gradient(x, w_ih, w_hh.detach(), ()), right)
    assert not torch.allclose(known.bptt_gradient(x, w_ih, w_hh.detach(), (2,)), right)


@pytest.mark.parametrize("lengths", [None, [4, 2]])
def test_heads_that_slip_differ_from_the_module(lengths):
    normal, module = seeded(0), nn.MultiheadAttention(6, 2, batch_first=True)
    _ = module.load_state_dict({name: normal(*p.shape) for name, p in module.named_parameters()})
    x, padding = normal(2, 4, 6), None
    if lengths:
        padding = torch.arange(4) >= torch.tensor(lengths).view(-1, 1)
    with torch.no_grad():
        right = module(x, x, x, key_padding_mask=padding)[0]
    slips = known.head_slips(x, module, padding)
    assert len(slips) > 8
    assert all(differ(slips, right).values())


def test_a_dry_run_gives_sizes():
    layers = [{"kind": "conv", "kernel": 5}, {"kind": "pool", "kernel": 2}]
    assert dry_run(layers, 28) == [24, 12]
    assert dry_run([{"kind": "transposed", "kernel": 3, "stride": 2}], 4) == [9]
    assert dry_run(layers, 3) == "ValueError"


def test_what_a_call_raises_is_named():
    assert refused(lambda: 1 / 0) == "ZeroDivisionError"
    assert refused(lambda: 1) == "nothing"


def test_parts_that_work_are_taken():
    def linear(x, weight, bias):
        return x @ weight.t() + bias

    def norm(x, weight, bias, mean, var, training):
        return F.batch_norm(x, mean, var, weight, bias, training), mean, var

    def heads(x, weights, count):
        return parts.library_heads(x, weights, count) * 1.0

    assert choose_parts(linear, norm, heads) == (linear, norm, heads)


def test_parts_without_values_gradients_or_an_answer_are_replaced():
    def no_graph(x, weight, bias):
        return F.linear(x, weight, bias).detach()

    def in_eval(x, weight, bias, mean, var, training):
        return F.batch_norm(x, mean, var, weight, bias, False), mean, var

    def nothing(x, weights, count):
        return None

    library = (F.linear, parts.library_norm, parts.library_heads)
    assert choose_parts(no_graph, in_eval, nothing) == library


def test_the_librarys_heads_are_the_modules():
    normal, module = seeded(0), nn.MultiheadAttention(6, 2, batch_first=True)
    x = normal(2, 4, 6)
    torch.testing.assert_close(parts.library_heads(x, module.state_dict(), 2), module(x, x, x)[0])


@pytest.mark.parametrize(
    ("source", "operator", "now"),
    [
        ("y = x @ w.t()", "t taken away", "y = x @ w"),
        (
            "y = x.transpose(1, 2)",
            "reshape for transpose",
            "y = x.reshape(x.transpose(1, 2).shape)",
        ),
        ("y = x / (v + e).sqrt()", "eps outside the root", "y = x / (v.sqrt() + e)"),
        ("y = x.tanh()", "another activation", "y = x.sigmoid()"),
        ("i, f = x.chunk(2)", "neighbours in another order", "f, i = x.chunk(2)"),
        ("def f(x):\n    return h, c", "neighbours in another order", "return (c, h)"),
    ],
)
def test_a_layer_is_changed_as_its_subject_invites(source, operator, now):
    assert (operator, now) in changes_of("09_layers", source)
