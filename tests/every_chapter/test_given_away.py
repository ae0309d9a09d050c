"""No function that a locked cell gives can be called in an answer's place to get its points."""

import ast
import inspect
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType

import pytest

from course_utils.project import Chapter
from support.answers import (
    Answer,
    grader_of,
    is_slow,
    model_answer,
    notebook_of,
    run_cell,
    verdicts_of,
)
from support.promises import EXERCISES, complaint, label
from support.structure import stub_of, tree_of

# What a helper that wants more than the exercise's function is given besides.
MORE = ("", ", {}", ", None")
# Exercises that a locked function still solves; a test fails when one of them does no longer.
NOT_YET: set[tuple[str, str]] = set()

pytestmark = pytest.mark.filterwarnings("default")


def asked_for(chapter: Chapter, exercise: str) -> ast.FunctionDef | None:
    """The function that an exercise asks for, without its answer; None where it is a prediction."""
    tree = ast.parse(stub_of(model_answer(chapter, exercise).source))
    name = exercise.replace("-", "_")
    return next(
        (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name),
        None,
    )


def calls_the_answer(helper: Callable, name: str) -> bool:
    """Whether a helper tries the answer out: in its place it would call itself for ever."""
    codes = [helper.__code__]
    for code in codes:
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    if any(name in code.co_names for code in codes):
        return True
    # A notebook's own functions have no file; their names are seen above.
    with suppress(OSError):
        return "@runs_with_the_answer" in inspect.getsource(helper)
    return False


def given_functions(chapter: Chapter, exercise: str) -> dict[str, Callable]:
    """What the locked cells above an exercise define, or import from the chapter's package."""
    namespace: dict = {"__name__": "__main__"}
    names: set[str] = set()
    for cell in notebook_of(chapter).cells:
        grader = grader_of(cell)
        if grader.get("grade_id") == exercise:
            break
        if cell.cell_type != "code" or not grader.get("locked") or grader.get("grade"):
            continue
        run_cell(cell.source, grader["grade_id"], namespace)
        for node in tree_of(cell).body:
            if isinstance(node, ast.FunctionDef):
                names.add(node.name)
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and module.startswith("course_utils.chapters"):
                names |= {alias.asname or alias.name for alias in node.names}
    function = exercise.replace("-", "_")
    return {
        name: namespace[name]
        for name in names
        if inspect.isfunction(namespace[name]) and not calls_the_answer(namespace[name], function)
    }


def shortcuts(chapter: Chapter, exercise: str) -> Iterator[Answer]:
    """Answers that only call a function that was given, with the arguments that they get."""
    function = asked_for(chapter, exercise)
    if function is None:
        return
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    if arguments.vararg or arguments.kwonlyargs or arguments.kwarg or not places:
        return
    passed = ", ".join(place.arg for place in places)
    function.body = [ast.Pass()]
    head = ast.unparse(function).rpartition("\n")[0]
    for name, helper in sorted(given_functions(chapter, exercise).items()):
        for more in MORE:
            try:
                inspect.signature(helper).bind(*places, *([None] if more else []))
            except (TypeError, ValueError):
                continue
            source = f"{head}\n    return {name}({passed}{more})"
            yield Answer(chapter.name, exercise, f"{name}({passed}{more})", False, (), source)


def solved_by(chapter: Chapter, exercise: str, most: int | None = None) -> list[str]:
    """The calls that get an exercise's points, of all or of a sample of ``most``."""
    answers = list(shortcuts(chapter, exercise))
    if most is not None and most < len(answers):
        answers = random.Random(exercise).sample(answers, most)
    return [answer.name for answer in answers if not any(verdicts_of(chapter, answer).values())]


@pytest.mark.parametrize(("chapter", "exercise"), EXERCISES, ids=label)
def test_no_locked_function_solves_an_exercise(chapter, exercise, calls_of_each):
    most = 1 if is_slow(chapter, exercise) else calls_of_each
    found = solved_by(chapter, exercise, most)
    if (chapter.name, exercise) in NOT_YET:
        assert found, f"{exercise} is no longer given away: take it off the list above"
        return
    assert not found, f"{chapter.name}, {exercise}: the points for {found}: move it, or rename it"


# The search itself, on the tiny course

GIVEN = '''

# %% nbgrader={"grade_id": "given", "locked": true}
def twice(x, how):
    """Solves the exercise."""
    return 2 * x


def once(x):
    return x


'''


def test_a_function_that_solves_an_exercise_is_found(tiny_chapter):
    text = tiny_chapter.source.read_text(encoding="utf-8")
    place = text.index('# %% nbgrader={"grade_id": "double"')
    tiny_chapter.source.write_text(text[:place] + GIVEN.lstrip() + text[place:], encoding="utf-8")
    assert solved_by(tiny_chapter, "double") == ["twice(x, {})", "twice(x, None)"]
    assert solved_by(tiny_chapter, "halve") == []
    assert complaint(tiny_chapter, model_answer(tiny_chapter, "double")) is None
