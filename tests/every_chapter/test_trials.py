"""No notebook earns points by giving a trial of the chapter another meaning."""

import pytest

from course_utils.grading.solution import Solution
from support.answers import Answer, chapters, checks_of, grader_of, model_answer
from support.judged import judge_answer, source_of
from support.promises import EXERCISES, label

# An answer may warn, as in test_answers.
pytestmark = pytest.mark.filterwarnings("default")


def trials_of(solution: Solution, check) -> list[str]:
    """The trials that a check may call."""
    return sorted(set(solution.names[grader_of(check)["grade_id"]]).intersection(solution.trials))


TRIED = [
    (chapter, exercise)
    for chapter, exercise in EXERCISES
    if any(trials_of(source_of(chapter), check) for check in checks_of(chapter, exercise))
]


@pytest.mark.parametrize(("chapter", "exercise"), TRIED, ids=label)
def test_a_trial_that_has_another_meaning_earns_nothing(chapter, exercise):
    solution = source_of(chapter)
    for check in checks_of(chapter, exercise):
        trials = trials_of(solution, check)
        # Right in all but that: the model's answer works, and so would the chapter's own trial.
        lines = [
            f"globals()['{name}'] = lambda *a, _own={name}, **k: _own(*a, **k)" for name in trials
        ]
        source = "\n".join([model_answer(chapter, exercise).source, *lines])
        verdicts = judge_answer(
            chapter, Answer(chapter.name, exercise, "rebinds", False, (), source)
        )
        error = verdicts[grader_of(check)["grade_id"]]
        assert isinstance(error, AssertionError) or not trials, f"{trials}: {error!r}"
        assert "another meaning than the chapter" in str(error) or not trials


def test_most_chapters_have_trials():
    assert len({chapter.name for chapter, _ in TRIED}) > len(chapters()) / 2
