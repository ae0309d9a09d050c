"""What the chapter on training tries answers with, and the words it has for slips."""

import numpy as np
import pytest
import torch

from course_utils.chapters.training import (
    KINDS,
    STOPS,
    Tried,
    check_apart,
    check_stopped,
    not_plain,
    one_slip,
    one_slip_in,
    patient,
    right_folder,
    right_loss,
    right_stop,
    run_early_stopping,
)
from course_utils.chapters.training.counts import Reads
from course_utils.chapters.training.killed import told_of_each
from course_utils.chapters.training.stopping import SLIPS
from support.mutants import changes_of


def test_each_slip_of_stopping_differs_from_the_right_one_and_from_the_others():
    def all_of(slip):
        return str([right_stop(*given, slip=slip) for given in STOPS.values()])

    found = {slip: all_of(slip) for slip in ["", *SLIPS]}
    assert len(set(found.values())) == len(found)


def test_a_slip_of_stopping_is_named_only_where_it_explains_every_case():
    def late(model, epoch, patience, min_delta, most):
        best, best_epoch, bad, n = float("inf"), 0, 0, 0
        while n < most and bad <= patience:
            n, loss = n + 1, epoch()
            bad += 1
            if loss < best - min_delta:
                best, best_epoch, bad = loss, n, 0
        return best_epoch, n

    def tried(*given):
        return run_early_stopping(late, *given)

    assert one_slip(tried) == SLIPS["late"]
    assert one_slip(lambda *given: {"over": 0, "result": (7, 7)}) == ""
    assert one_slip(lambda *given: 1 / 0) == ""
    with pytest.raises(AssertionError, match="called after the run should have stopped: one epoch"):
        check_stopped(tried([1.0, 2.0], 1, 0.0), (1, 2), SLIPS["late"])


def test_what_torch_load_refuses_is_found_in_the_state():
    state = {"a": [torch.ones(2), {"b": np.ones(2)}], "c": (1, "two", None, np.float32(3))}
    assert [words.split(":")[0] for words in not_plain({**state, "d": {1}})] == [
        "state['a'][1]['b'] is NumPy's ndarray",
        "state['c'][3] is NumPy's float32",
        "state['d'] is a set",
    ]


def test_a_child_tells_what_it_raised_and_changes_nothing_here():
    seen = []
    assert told_of_each([lambda: seen.append(1)]) == [""]
    assert seen == []
    words = "it raised IndexError: list index out of range"
    assert told_of_each([lambda: [][0]]) == [words]
    assert told_of_each([lambda: pytest.fail("no")]) != [""]


def test_calls_are_made_first_and_raise_when_they_are_asked_for():
    tried = Tried({"good": lambda: 1, "bad": lambda: 1 / 0})
    assert tried.given == {"good": 1}
    assert tried.result("good") == 1
    with pytest.raises(ZeroDivisionError):
        tried.result("bad")


@pytest.mark.parametrize(
    ("call", "reads"),
    [
        (lambda x: f"{x[0]}", 1),
        (lambda x: f"{x}", 1),
        (lambda x: x[x[0].long()], 1),
        (lambda x: x.sum() > 0, 0),
        (lambda x: bool(x.sum() > 0), 1),
        (lambda x: x[1:], 0),
        (lambda x: x.to("cpu"), 1),
        (lambda x: x.to(device="cpu"), 1),
        (lambda x: x.to(x.device, non_blocking=True), 0),
        (lambda x: x.to(torch.float64), 0),
    ],
)
def test_reads_are_counted(call, reads):
    with Reads() as seen:
        call(torch.ones(3))
    assert seen.count == reads


def test_the_folder_of_the_last_keep():
    saves = [(1, 0.1, 4), (2, 0.4, 4), (3, 0.2, 4), (4, 0.3, 2)]
    names = ["best.pt", "step-000003.pt", "step-000004.pt"]
    assert sorted(right_folder(saves, 4)) == names
    assert right_folder(saves, 4)["best.pt"][0] == 2


def test_colliding_pairs_are_named():
    check_apart([(0, 1), (1, 0)], [("a|b", "[1]"), ("b|a", "[2]")])
    with pytest.raises(AssertionError, match=r"\(0, 1\) and \(1, 0\) give the same noise"):
        check_apart([(0, 1), (1, 0)], [("a|b", "[1]"), ("b|a", "[1]")])


def test_two_slips_of_the_teachers_loss_have_no_name():
    generator = torch.Generator().manual_seed(0)
    z, t = (torch.randn(4, 3, generator=generator, dtype=torch.float64) for _ in "zt")
    wide = (z, t, torch.tensor([0, 1, 2, 0]), 4.0, 0.7)
    assert "T squared is missing" in one_slip_in([(right_loss(*wide, power=0), wide)])
    assert one_slip_in([(right_loss(*wide, power=0, slip="each"), wide)]) == ""
    assert one_slip_in([(right_loss(*wide), wide)]) == ""
    assert "log_target=True" in one_slip_in([(torch.tensor(torch.nan), wide)])
    assert one_slip_in([(torch.ones(4), wide)]) == ""
    for name in ("unweighted", "both", "entropy"):
        assert one_slip_in([(right_loss(*wide, slip=name), wide)]) != ""


def test_the_patients_differ_as_their_words_say():
    losses = {kind: patient(kind) for kind in KINDS}
    assert losses["healthy"][-1] < 0.1
    assert len({round(loss, 4) for loss in losses["other parameters"]}) == 1
    slow = losses["rate too low"]
    assert slow == sorted(slow, reverse=True)
    assert slow[-1] > 1.8
    assert max(losses["rate too high"]) > 10
    assert min(losses["wrong labels"]) > 1.8


@pytest.mark.parametrize(
    ("source", "operator", "now"),
    [
        ("{'model': m, 'scaler': s}", "a part forgotten", "{'model': m}"),
        ("f('a', ('a', 'b', 'c'))", "a part forgotten", "f('a', ('a', 'c'))"),
        ("f(step)", "step is 1 more", "f(step + 1)"),
        ("run.position", "position is 1 more", "run.position + 1"),
        ("loss * len(y)", "a batch counted as 1", "loss * 1"),
        ("atomic_save(x, path)", "written in place", "torch.save(x, path)"),
        ("f.default_rng([seed, epoch])", "seed and epoch added", "f.default_rng(seed + epoch)"),
    ],
)
def test_an_answer_has_a_slip_of_this_chapter(source, operator, now):
    assert (operator, f"z = {now}") in changes_of("13_training", f"z = {source}")


def test_a_dict_of_blanks_loses_no_part():
    found = changes_of("13_training", "z = {'A': None, 'B': None}")
    assert found
    assert "a part forgotten" not in [operator for operator, _ in found]
