"""The sickbay: what is broken there is broken in the way its name says, and the same every time."""

import re

import pytest
import torch

from course_utils.chapters import debugging


@pytest.mark.parametrize("name", debugging.PROGRAMS)
def test_every_program_fails_in_a_line_of_its_own(name):
    message, line = debugging.run_program(debugging.PROGRAMS[name])
    assert message
    assert 1 <= line <= len(debugging.PROGRAMS[name].splitlines())


def test_a_program_that_runs_has_no_message():
    assert debugging.run_program("x = 1") == ("", 0)


@pytest.mark.parametrize("illness", [*debugging.ILLNESSES, "healthy", "healthy regression"])
def test_a_patient_is_the_same_every_time_and_only_a_healthy_one_learns(illness):
    first, second = (debugging.make_patient(illness) for _ in range(2))
    losses = [first.step() for _ in range(60)]
    assert losses == [second.step() for _ in range(60)]
    assert (losses[-1] < 0.5 * losses[0]) == illness.startswith("healthy")


def test_what_can_be_reached_of_a_tensor_includes_its_graph():
    loss = torch.ones(2, requires_grad=True).sum()
    assert any(debugging.counts(thing) for thing in debugging.neighbours(loss))
    assert not debugging.counts([loss])
    assert loss in debugging.neighbours([loss])


def test_a_finding_is_a_pair_or_none():
    debugging.check_finding(("a", 1), ("a", 1), "it")
    debugging.check_finding(None, None, "it")
    for answer, right, words in (
        (None, ("a", 1), "there is something to find"),
        (("a", 1), None, "there is nothing to find"),
        ("a", ("a", 1), "expected a pair"),
        (("b", 1), ("a", 1), "expected ('a', 1)"),
    ):
        with pytest.raises(AssertionError, match=f"it: .*{re.escape(words)}"):
            debugging.check_finding(answer, right, "it")


def test_the_script_has_sixty_lines_and_fails_on_the_way_back():
    assert len(debugging.SCRIPT) == 60
    message, line = debugging.run_program("\n".join(debugging.SCRIPT))
    assert "modified by an inplace operation" in message
    assert debugging.SCRIPT[line - 1] == "loss.backward()"


def test_a_payload_is_refused_and_not_run(tmp_path):
    path = tmp_path / "checkpoint.pt"
    debugging.write_checkpoint("a payload", path)
    with pytest.raises(Exception, match="weights_only"):
        torch.load(path)
    assert not path.with_suffix(".opened").exists()
