"""Plots have legends, and their words."""

from course_utils import draw_curves


def test_curves_are_drawn_with_words(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "course_utils.learner.plots.show", lambda figure, alt: shown.append((figure, alt))
    )
    draw_curves([1, 2], {"one": [3, 4], "two": [5, 6]}, title="t", labels=("x", "y"), alt="two")
    figure, alt = shown[0]
    assert alt == "two"
    assert [line.get_label() for line in figure.axes[0].lines] == ["one", "two"]
