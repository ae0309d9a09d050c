"""draw_einsum: what it says in words, what it draws, and what it refuses."""

import pytest

from course_utils import draw_einsum


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def lines(figure):
    """The lines that lead from letters, knots left out."""
    return [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2]


def test_a_letter_that_the_result_keeps_leads_down_and_one_that_it_lacks_leads_up(monkeypatch):
    monkeypatch.delenv("COURSE_PICTURES", raising=False)
    figure = draw_einsum("ij,jk->ik", ["x", "y"], result="z")
    up = [line for line in lines(figure) if line.get_ydata()[1] > line.get_ydata()[0]]
    assert (len(lines(figure)), len(up)) == (4, 2)
    assert up[0].get_xdata()[1] == up[1].get_xdata()[1]
    assert sorted(texts(figure)) == sorted(["i", "j", "j", "k", "i", "k", "x", "y", "z", "Σ"])


def test_a_letter_twice_in_one_operand_has_two_lines(monkeypatch):
    monkeypatch.delenv("COURSE_PICTURES", raising=False)
    figure = draw_einsum("ii->", ["m"])
    assert len(lines(figure)) == 2
    assert "result: one number" in texts(figure)


def test_it_says_in_words_what_is_kept_and_summed():
    alt = draw_einsum("bthd,bshd->bhts", ["q", "k"]).alt
    assert "Kept: b, h, t, s. Summed over: d." in alt
    assert "Kept: none. Summed over: i." in draw_einsum("ii->").alt


def test_where_nobody_looks_there_are_words_only(monkeypatch):
    monkeypatch.setenv("COURSE_PICTURES", "words")
    assert draw_einsum("i,j->ij").axes == []


@pytest.mark.parametrize(
    ("equation", "names", "words"),
    [
        ("ij,jk", None, "has no arrow"),
        ("ij->ik", None, "must come from the operands"),
        ("...i->i", None, "must come from the operands"),
        ("i,j->ij", ["x"], "1 names for 2 operands"),
    ],
)
def test_what_cannot_be_drawn_is_refused(equation, names, words):
    with pytest.raises(ValueError, match=words):
        draw_einsum(equation, names)
