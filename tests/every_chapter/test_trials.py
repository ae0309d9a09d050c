"""No notebook earns points by giving a trial of the chapter another meaning."""

from itertools import groupby

import pytest

from course_utils.authoring.mutants.running import sampled
from course_utils.grading.solution import Solution
from support import answers
from support.answers import Answer, chapters, checks_of, grader_of, model_answer
from support.judged import judge_answer, source_of
from support.promises import EXERCISES, label

# An answer may warn, as in test_answers.
pytestmark = pytest.mark.filterwarnings("default")


def trials_of(solution: Solution, check) -> list[str]:
    """The trials that a check may call."""
    return sorted(set(solution.names[grader_of(check)["grade_id"]]).intersection(solution.trials))


WITH_TRIALS = [
    (chapter, exercise)
    for chapter, exercise in EXERCISES
    if any(trials_of(source_of(chapter), check) for check in checks_of(chapter, exercise))
]


def few_of_each_chapter(exercises: list) -> list:
    """All of them, or where answers are sampled a seeded draw of two of each chapter."""
    few = None if answers.every else 2
    groups = groupby(exercises, key=lambda pair: pair[0])
    return [pair for chapter, group in groups for pair in sampled([*group], few, chapter.name)]


@pytest.mark.parametrize(("chapter", "exercise"), few_of_each_chapter(WITH_TRIALS), ids=label)
def test_a_trial_that_has_another_meaning_earns_nothing(chapter, exercise):
    solution = source_of(chapter)
    trials = {
        grader_of(check)["grade_id"]: trials_of(solution, check)
        for check in checks_of(chapter, exercise)
    }
    # Right in all but that: the model's answer works, and so would the chapter's own trial.
    lines = [
        f"globals()['{name}'] = lambda *a, _own={name}, **k: _own(*a, **k)"
        for name in sorted({name for names in trials.values() for name in names})
    ]
    source = "\n".join([model_answer(chapter, exercise).source, *lines])
    verdicts = judge_answer(chapter, Answer(chapter.name, exercise, "rebinds", False, (), source))
    for check, names in trials.items():
        if names:
            error = verdicts[check]
            assert isinstance(error, AssertionError), f"{names}: {error!r}"
            assert "another meaning than the chapter" in str(error)


def test_most_chapters_have_trials():
    assert len({chapter.name for chapter, _ in WITH_TRIALS}) > len(chapters()) / 2
