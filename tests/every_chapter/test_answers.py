"""Each exercise refuses the wrong answers that people write, in words, and takes the right ones."""

import re

import pytest

from support import answers as named
from support.answers import (
    ANSWERS,
    RIGHT_OF_OTHERS,
    RIGHT_OF_SLOW,
    ROOT,
    SLOW,
    WRONG_OF_OTHERS,
    WRONG_OF_SLOW,
    Answer,
    chapters,
    exercises,
    is_slow,
    model_answer,
    read_answers,
    run_answer,
    tried,
    verdicts_of,
)
from support.promises import CASES, EXERCISES, complaint, label
from support.structure import stub_of

# An answer may warn: a learner reads that in the notebook.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize(("chapter", "answer"), CASES, ids=label)
def test_an_answer_gets_what_it_is_promised(chapter, answer):
    wrong = complaint(chapter, answer)
    assert wrong is None, f"{chapter.name}, {answer.exercise}, {answer.name!r}: {wrong}"


@pytest.mark.parametrize(("chapter", "exercise"), EXERCISES, ids=label)
def test_a_right_answer_passes_after_the_wrong_ones(chapter, exercise):
    if is_slow(chapter, exercise):
        pytest.skip("slow: the weekly run and course test run it")
    for answer in tried(chapter, exercise):
        if not answer.right:
            verdicts_of(chapter, answer)
    verdicts = run_answer(chapter, model_answer(chapter, exercise))
    assert set(verdicts.values()) == {None}, "something is left of a wrong answer"


# How checks say that nothing was answered yet.
BLANK = re.compile(
    "is there (an answer|one yet)|no answer yet|still (blank|None)|None, .*: write|is None: write"
    "|no cure yet"
)
# Exercises that hand out code which runs and is to be changed, or whose None is told otherwise.
TOLD_OTHERWISE = {"show-batch", "lie-detector", "topk-accuracy", "capture", "view-strides"}


@pytest.mark.parametrize(("chapter", "exercise"), EXERCISES, ids=label)
def test_an_untouched_stub_is_refused_by_every_check(chapter, exercise):
    stub = stub_of(model_answer(chapter, exercise).source)
    answer = Answer(chapter.name, exercise, "the stub", False, (), stub)
    said = []
    for name, error in verdicts_of(chapter, answer).items():
        assert isinstance(error, AssertionError), f"{name}: {error!r}"
        assert str(error).strip(), f"{name}: it fails without words"
        said.append(str(error))
    asked = any(map(BLANK.search, said))
    assert asked or exercise in TOLD_OTHERWISE, f"no word of a missing answer: {said}"


@pytest.mark.parametrize(("chapter", "exercise"), EXERCISES, ids=label)
def test_an_exercise_has_three_wrong_answers_and_a_right_one(chapter, exercise):
    answers = [answer for answer in read_answers(chapter) if answer.exercise == exercise]
    model = model_answer(chapter, exercise).source.split()
    file = ANSWERS / chapter.name / f"{exercise}.py"
    wrong = sum(not answer.right for answer in answers)
    assert wrong >= 3, f"{file.relative_to(ROOT)} names {wrong} wrong answers, at least 3 are asked"
    others = any(answer.right and answer.source.split() != model for answer in answers)
    assert others, f"{file.relative_to(ROOT)} names no right answer unlike the model solution"
    names = [answer.name for answer in answers]
    assert len(names) == len(set(names)), "two answers have one name"


def test_a_sample_of_the_answers_is_run_or_all(monkeypatch):
    for chapter in chapters():
        slow = SLOW.get(chapter.name, set())
        assert slow <= set(exercises(chapter)), "no such exercise any more"
        for exercise in exercises(chapter):
            found = [answer for answer in read_answers(chapter) if answer.exercise == exercise]
            monkeypatch.setattr(named, "every", True)
            assert tried(chapter, exercise) == found
            monkeypatch.setattr(named, "every", False)
            few = tried(chapter, exercise)
            assert few == tried(chapter, exercise)
            right, wrong = (sum(answer.right == kind for answer in found) for kind in (True, False))
            limits = RIGHT_OF_OTHERS, WRONG_OF_OTHERS
            if exercise in slow:
                limits = RIGHT_OF_SLOW, WRONG_OF_SLOW
            most = min(right, limits[0]), min(wrong, limits[1])
            assert (sum(answer.right for answer in few), len(few)) == (most[0], sum(most))


def test_every_file_of_answers_belongs_to_an_exercise():
    known = {ANSWERS / chapter.name / f"{exercise}.py" for chapter, exercise in EXERCISES}
    assert set(ANSWERS.rglob("*.py")) <= known


# The test of the answers is itself tested on the tiny course.

RIGHT = "def double(x):\n    return x + x"
WRONG = "def double(x):\n    return x * x"


@pytest.mark.parametrize(
    ("source", "right", "says", "words"),
    [
        (RIGHT, True, (), None),
        (WRONG, False, ("double(-3) is -6",), None),
        ("def double(x):\n    return x", False, ("double(2) is 4", "not 2"), None),
        ("def double(x):\n    return x + y", False, ("NameError",), None),
        ("def double(x)", False, ("SyntaxError",), None),
        (WRONG, True, (), "double-check: AssertionError"),
        (RIGHT, False, ("double(2) is 4",), "every check passes: give it a visible case"),
        (WRONG, False, ("double(2) is 4",), "are not in:\ndouble(-3) is -6"),
        ("def double(x):\n    return x + y", False, ("double(2)",), "raises NameError"),
        ("1 / 0", False, ("double(2)",), "raises ZeroDivisionError"),
    ],
)
def test_a_promise_that_is_not_kept_is_noticed(tiny_chapter, source, right, says, words):
    found = complaint(tiny_chapter, Answer("01_tiny", "double", "name", right, says, source))
    assert found is None if words is None else words in found


def test_the_model_solutions_of_the_tiny_course_pass(tiny_chapter):
    assert exercises(tiny_chapter) == ["double", "halve"]
    for exercise in exercises(tiny_chapter):
        assert complaint(tiny_chapter, model_answer(tiny_chapter, exercise)) is None


def test_a_check_sees_the_locked_cells_and_its_own_exercise_alone(tiny_chapter):
    text = tiny_chapter.source.read_text(encoding="utf-8")
    leaning = text.replace("assert halve(3) == 1.5", "assert halve(double(3)) == 3")
    tiny_chapter.source.write_text(leaning, encoding="utf-8")
    assert "NameError" in complaint(tiny_chapter, model_answer(tiny_chapter, "halve"))


@pytest.mark.parametrize(
    "header",
    [
        *('right="a" wrong="b" says=["c"]', 'wrong="b"', 'right="a" says=["c"]', ""),
        *('wrong="b" says="c"', 'wrong="b" says=[""]', 'wrong="b" says=[4]'),
        *('right="a" judge="passes"', 'wrong="b" says=["c"] judge="refuses"'),
    ],
)
def test_an_answer_without_a_verdict_or_words_is_refused(
    tiny_chapter, tmp_path, monkeypatch, header
):
    folder = tmp_path / "answers" / "01_tiny"
    folder.mkdir(parents=True)
    monkeypatch.setattr("support.answers.ANSWERS", folder.parent)
    (folder / "double.py").write_text(f"# %% {header}\n{RIGHT}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="each cell needs right="):
        read_answers(tiny_chapter)
