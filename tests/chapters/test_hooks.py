"""The slips that the chapter on hooks knows by name lead elsewhere than the right answer."""

import copy

import pytest
import torch
from torch import nn

from course_utils import seeded
from course_utils.chapters import hooks
from course_utils.chapters.hooks import slips as known


def differ(slips, right):
    return {
        words: wrong.shape != right.shape or not torch.allclose(wrong, right, atol=1e-4)
        for words, wrong in slips.items()
    }


def test_a_reversal_is_what_autograd_makes_of_a_detached_difference():
    x, weight = seeded(0)(5).double().requires_grad_(), 0.7
    y = -2 * x + 3 * x.detach()
    (gradient,) = torch.autograd.grad((y + weight * x).square().sum() / 2, x)
    right, slips = known.reversal(x.detach(), 2.0, weight)
    assert torch.allclose(right, gradient)
    assert all(differ(slips, right).values())


def test_frozen_rows_may_be_negative():
    right, slips = known.frozen_rows(torch.ones(4, 2), [0, -1])
    assert right[:, 0].tolist() == [0, 1, 1, 0]
    assert all(differ(slips, right).values())
    right, slips = known.frozen_rows(torch.ones(4, 2), [1, -3])
    (twice,) = (slip for words, slip in slips.items() if "twice" in words)
    assert right[:, 0].tolist() == [1, 0, 1, 1]
    assert twice[:, 0].tolist() == [1, -1, 1, 1]


def test_norms_that_slip():
    right, slips = known.norms(torch.diag(torch.tensor([3.0, -4.0])), torch.tensor([1.0]))
    assert right == 5
    assert 5 not in slips.values()


def test_the_map_of_a_linear_head_is_its_class_activation_map():
    maps, weight = 1 + seeded(0)(1, 4, 3, 5), seeded(1)(3, 4)
    right, slips = known.heat_maps(lambda m: m.mean(dim=(2, 3)) @ weight.T, maps, 1)
    cam = torch.einsum("c,chw->hw", weight[1], maps[0]).relu()
    assert torch.allclose(right, cam / cam.max(), atol=1e-5)
    assert sum(differ(slips, right).values()) > len(slips) / 2


def test_descent_is_what_sgd_does_and_each_other_rule_differs():
    make, batches = lambda: copy.deepcopy(network), [*seeded(0)(3, 5, 2)]
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    for x in batches:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    right = known.descent(make(), batches, 0.1, 0.5)[-1]
    assert all(map(torch.allclose, right, model.parameters()))
    for rule in known.DESCENTS:
        wrong = known.descent(make(), batches, 0.1, 0.5, rule, batches[0])[-1]
        assert not torch.allclose(wrong[0], right[0]), rule


def test_lengths_and_directions_that_slip():
    weight = seeded(0)(3, 2, 2, 5)
    right = weight.flatten(1).norm(dim=1).view(3, 1, 1, 1)
    assert all(differ(known.lengths(weight), right).values())
    assert all(differ(known.directions(weight), weight).values())


def test_numbers_counts_and_logs():
    known.check_near(1.0005e-8, 1e-8, "norm", {})
    with pytest.raises(AssertionError, match="norm: squared"):
        known.check_near(1e-16, 1e-8, "norm", {"squared": 1e-16})
    with pytest.raises(AssertionError, match="expected 1e-08, got 2e-08"):
        known.check_near(2e-8, 1e-8, "norm", {"squared": 1e-16})
    known.check_entries({"a": 1}, {"a": 1}, "numbers", "one each")
    with pytest.raises(AssertionError, match="'b' is missing; 'c' does not belong here; 'a' has 2"):
        known.check_entries({"a": 2, "c": 1}, {"a": 1, "b": 1}, "numbers", "one each")
    known.check_log(["b", "a"], ["a", "b"])
    with pytest.raises(AssertionError, match="1 lines are missing, such as 'a'"):
        known.check_log(["b"], ["a", "b"])


def test_hooks_on_counts_modules_and_parameters():
    layer = nn.Linear(2, 2)
    model = nn.Sequential(layer)

    def look(*_):
        pass

    assert hooks.hooks_on(model) == {}
    handles = [
        layer.register_forward_hook(look),
        layer.register_forward_pre_hook(look),
        layer.register_full_backward_hook(look),
        layer.register_full_backward_pre_hook(look),
        layer.register_state_dict_pre_hook(look),
        layer.register_state_dict_post_hook(look),
        layer.register_load_state_dict_pre_hook(look),
        layer.register_load_state_dict_post_hook(look),
        layer.weight.register_hook(look),
        layer.weight.register_post_accumulate_grad_hook(look),
    ]
    assert hooks.hooks_on(model) == {"0": 8, "0.weight": 2}
    for handle in handles:
        if handle is not None:
            handle.remove()
    assert hooks.hooks_on(model) == {}


def test_a_patched_run_has_one_output_exchanged_and_leaves_no_hook():
    model = hooks.make_committee(0)
    where = model.head.weight.device
    a, b = (torch.tensor([point], device=where) for point in ((1.0, 2.0), (1.0, -2.0)))
    assert torch.equal(known.patched(model, model, ["stem"], a, b), model(a))
    assert model(a) > 0 > model(b)
    assert hooks.hooks_on(model) == {}


def test_a_transplant_falls_back_where_there_is_no_answer():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), torch.ones(1, 2)
    found = hooks.transplant(lambda *_: None, model, model, ["0", "1"], x)
    assert all(torch.equal(answer, model(x)) for answer in found.values())
