"""What each named answer is promised: by a check in a notebook, and by the judge."""

import re

from course_utils.project import Chapter
from support import answers
from support.answers import (
    Answer,
    chapters,
    checks_of,
    exercises,
    is_slow,
    model_answer,
    tried,
    verdicts_of,
)
from support.judged import judge_answer

CHANGED = "an argument was changed"
# A notebook says so below what a check says, the judge where nothing else is wrong.
LEFT = "leaves something behind"
DECIMALS = re.compile(r"-?\d+\.\d+(e[-+]?\d+)?")
TEMPORARY = re.compile(r"\b(tmp|course-)[a-z0-9_]{8}\b")
MESSAGE_STARTS_WITH_KIND = re.compile(r"^\w+(Error|Exception): ")
EXERCISES = [(chapter, exercise) for chapter in chapters() for exercise in exercises(chapter)]
CASES = [
    (chapter, answer)
    for chapter, exercise in EXERCISES
    for answer in [
        # Otherwise nbval runs it, and of quick exercises what follows the wrong answers does.
        *([model_answer(chapter, exercise)] if answers.every else []),
        *tried(chapter, exercise),
    ]
]


def label(case) -> str:
    """How a failure names a chapter, an exercise or an answer."""
    if isinstance(case, Answer):
        return f"{case.exercise}-{'right' if case.right else 'wrong'}-{case.name}"
    return case.name if isinstance(case, Chapter) else case


def complaint(chapter: Chapter, answer: Answer) -> str | None:
    """What is not as promised when an answer is run, or None."""
    verdicts = verdicts_of(chapter, answer)
    expected = {check.metadata.nbgrader.grade_id for check in checks_of(chapter, answer.exercise)}
    if set(verdicts) != expected:
        return f"ran {sorted(verdicts)}, not {sorted(expected)}"
    raised = {name: error for name, error in verdicts.items() if error is not None}
    if answer.right:
        return "\n".join(f"{name}: {error!r}" for name, error in raised.items()) or None
    if not raised:
        return "every check passes: give it a visible case, or call the answer right"
    said = "\n".join(str(error) for error in raised.values())
    for error in raised.values():
        # A wrong answer may fail by itself, but then its author says so by the exception's name.
        if not isinstance(error, AssertionError) and type(error).__name__ not in answer.says:
            return f"raises {error!r}, not an AssertionError"
    names = {type(error).__name__ for error in raised.values()}
    missing = [words for words in answer.says if words not in said and words not in names]
    return f"the words {missing} are not in:\n{said or 'no words'}" if missing else None


def words(error: BaseException | None) -> str | None:
    """What a verdict says; None where the check passed."""
    if error is None:
        return None
    # An exception of a kind of its own has its name in front of its words; what training came to
    # differs in its last digits, and a folder for temporary files has another name each time.
    plain = MESSAGE_STARTS_WITH_KIND.sub("", str(error))
    return TEMPORARY.sub("…", DECIMALS.sub("…", plain))


def differences(chapter, answer: Answer) -> list[str]:
    """Where the judge and the learner's own notebook do not say the same."""
    judged = judge_answer(chapter, answer)
    if answer.right and is_slow(chapter, answer.exercise):
        # The judge alone runs it: in a notebook every check passes, which the weekly run tests.
        return [f"{check}: the judge: {error!r}" for check, error in judged.items() if error]
    plain = verdicts_of(chapter, answer)
    assert plain.keys() == judged.keys()
    said = [words(error) or "" for error in [*judged.values(), *plain.values()]]
    if answer.judge or any(CHANGED in text or LEFT in text for text in said):
        # In a notebook a changed argument stays changed, and later cases may fail for that; the
        # judge hands over its own to each, at other addresses. The answer is refused in both.
        refused = any(plain.values()) and any(judged.values())
        return [] if refused else [f"the notebook: {plain}, the judge: {judged}"]
    return [
        f"{check}: {plain[check]!r}, the judge: {judged[check]!r}"
        for check in plain
        if words(plain[check]) != words(judged[check])
    ]
