"""Chapter 14's patients are ill and its cures work; known slips are told in words of their own."""

import matplotlib.pyplot as plt
import pytest
import torch

from course_utils import every_case
from course_utils.chapters import visualization
from course_utils.chapters.visualization import CURES, HEALTHY, ILLNESSES, PATIENTS, check_seen, run


def test_each_illness_is_one_patients_and_changes_what_its_cure_restores():
    assert sorted(map(str, PATIENTS.values())) == sorted(map(str, ILLNESSES.values()))
    for (illness, changes), (cure, restores) in zip(ILLNESSES.items(), CURES.items(), strict=True):
        assert set(restores) <= set(changes), (illness, cure)
        assert restores != changes
        assert all(key in HEALTHY for key in changes)


@pytest.mark.parametrize("letter", "BL")
def test_a_patient_is_ill_and_is_cured(letter):
    assert run(**PATIENTS[letter])["accuracy"][-1] < 0.85
    assert visualization.after_cure(letter, {})["accuracy"][-1] >= 0.85


def test_a_run_can_be_repeated():
    first = run(steps=5)["loss"]
    run.cache_clear()
    torch.manual_seed(99)
    assert run(steps=5)["loss"] == first


def test_a_runs_name_keeps_clear_of_the_numbers_beside_it():
    figure = visualization.draw_runs({"healthy": run(steps=5)})
    try:
        figure.canvas.draw()
        axis = figure.axes[0].yaxis
        numbers = [label.get_window_extent().x0 for label in axis.get_ticklabels()]
        assert axis.label.get_window_extent().x1 < min(numbers)
    finally:
        plt.close(figure)


def test_a_slip_has_its_words():
    truth, slips = torch.tensor([1.0, 2.0]), {"twice as much": torch.tensor([2.0, 4.0])}
    check_seen([1.0, 2.0], truth, "it", slips)
    with pytest.raises(AssertionError, match="it: twice as much"):
        check_seen(torch.tensor([2.0, 4.0]), truth, "it", slips)
    with pytest.raises(AssertionError, match="it differs in 1 of 2"):
        check_seen(torch.tensor([1.0, 3.0]), truth, "it", slips)


def test_what_an_answer_raises_is_a_failing_case():
    def attempt(*_):
        raise ZeroDivisionError("too small")

    words = "raised ZeroDivisionError: too small"
    with pytest.raises(AssertionError, match=words), every_case() as case:
        visualization.check_slice(case, attempt, "the example", [1.0])
