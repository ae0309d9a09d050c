"""Plots have legends, and their words."""

import matplotlib.pyplot as plt
import pytest
import torch

from course_utils import draw_curves, draw_lines, draw_paths, panels_of
from course_utils.learner.drawings import LINES


def test_curves_are_drawn_with_words(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "course_utils.learner.plots.show", lambda figure, alt: shown.append((figure, alt))
    )
    draw_curves([1, 2], {"one": [3, 4], "two": [5, 6]}, title="t", labels=("x", "y"), alt="two")
    figure, alt = shown[0]
    assert alt == "two"
    assert [line.get_label() for line in figure.axes[0].lines] == ["one", "two"]


@pytest.fixture
def panels():
    figure, panels = panels_of(2, sharey=False)
    yield panels
    plt.close(figure)


def test_lines_and_paths_have_the_colours_of_the_house(panels):
    left, right = panels
    draw_lines(left, {"a": [1, 2, 3], "b": [3, 2, 1]}, title="two", xlabel="step")
    draw_lines(right, {"c": [5, 6]}, x=[10, 20], style="o--")
    assert [line.get_color() for line in left.lines] == list(LINES[:2])
    assert left.lines[0].get_xdata().tolist() == [0, 1, 2]
    assert right.lines[0].get_xdata().tolist() == [10, 20]
    assert (left.get_title(), left.get_xlabel()) == ("two", "step")


def test_a_path_is_drawn_over_the_contours_of_its_loss(panels):
    path = torch.tensor([[-1.0, 1.0], [0.5, 0.0]])
    draw_paths(panels[0], {"walk": path}, (-2, 2, -1, 3), lambda w: w.square().sum(0), title="t")
    (line,) = panels[0].lines
    assert line.get_xydata().tolist() == path.tolist()
    assert panels[0].get_xlim() == (-2, 2)
    assert panels[0].get_ylim() == (-1, 3)
    (contours,) = panels[0].collections
    assert len(contours.levels) > 5
