"""The judge says of every named answer what a check in the learner's own notebook says."""

import pytest

from course_utils.grading.verdict.snapshot import Snapshot
from support.answers import Answer, chapters, exercises, model_answer, read_answers
from support.judged import judge_answer
from support.promises import CASES, EXERCISES, differences, label
from support.structure import stub_of

# An answer may warn, as in test_answers.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize(("chapter", "answer"), CASES, ids=label)
def test_the_judge_says_what_the_notebook_says(chapter, answer):
    if answer.judge == "passes":
        assert set(judge_answer(chapter, answer).values()) == {None}
    else:
        assert differences(chapter, answer) == []


@pytest.mark.parametrize(("chapter", "exercise"), EXERCISES, ids=label)
def test_the_judge_refuses_an_untouched_stub(chapter, exercise):
    stub = stub_of(model_answer(chapter, exercise).source)
    answer = Answer(chapter.name, exercise, "the stub", False, (), stub)
    verdicts = judge_answer(chapter, answer)
    assert verdicts
    for check, error in verdicts.items():
        assert isinstance(error, AssertionError), f"{check}: {error!r}"


def test_a_judge_that_hears_other_values_is_noticed(monkeypatch):
    call = Snapshot.call

    def mishear(self, *request):
        result = call(self, *request)
        return result + 1 if isinstance(result, int) else result

    monkeypatch.setattr(Snapshot, "call", mishear)
    (chapter,) = [chapter for chapter in chapters() if chapter.name.startswith("02")]
    assert "element-offset" in exercises(chapter)
    answer = next(
        answer
        for answer in read_answers(chapter)
        if answer.right and answer.exercise == "element-offset"
    )
    assert differences(chapter, answer) != []
