"""The judge says of every named answer what a check in the learner's own notebook says."""

import re

import pytest

from course_utils.grading.verdict.snapshot import Snapshot
from support.answers import Answer, chapters, exercises, model_answer, read_answers, verdicts_of
from support.judged import judge_answer
from support.structure import stub_of
from test_answers import CASES, EXERCISES, label

# An answer may warn, as in test_answers.
pytestmark = pytest.mark.filterwarnings("default")

CHANGED = "an argument was changed"
# The judge says so at the call, a notebook at the end of the check.
LEFT = "leaves something behind"
DECIMALS = re.compile(r"-?\d+\.\d+(e[-+]?\d+)?")
MESSAGE_STARTS_WITH_KIND = re.compile(r"^\w+(Error|Exception): ")


def words(error: BaseException | None) -> str | None:
    """What a verdict says; None where the check passed."""
    if error is None:
        return None
    # An exception of a kind of its own has its name in front of its words; and what training came
    # to differs in its last digits.
    return DECIMALS.sub("…", MESSAGE_STARTS_WITH_KIND.sub("", str(error)))


def differences(chapter, answer: Answer) -> list[str]:
    """Where the judge and the learner's own notebook do not say the same."""
    plain, judged = verdicts_of(chapter, answer), judge_answer(chapter, answer)
    assert plain.keys() == judged.keys()
    said = [words(error) or "" for error in [*judged.values(), *plain.values()]]
    if any(CHANGED in text or LEFT in text for text in said):
        # In a notebook a changed argument stays changed, and later cases may fail for that; the
        # judge hands over its own to each. The answer has to be refused in both.
        refused = any(plain.values()) and any(judged.values())
        return [] if refused else [f"the notebook: {plain}, the judge: {judged}"]
    return [
        f"{check}: {plain[check]!r}, the judge: {judged[check]!r}"
        for check in plain
        if words(plain[check]) != words(judged[check])
    ]


@pytest.mark.parametrize(("chapter", "answer"), CASES, ids=label)
def test_the_judge_says_what_the_notebook_says(chapter, answer):
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
