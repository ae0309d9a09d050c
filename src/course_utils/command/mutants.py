"""``course mutants``: which changes of a right answer do the checks let pass?"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from course_utils.authoring.mutants import known, running, table, words
from course_utils.authoring.mutants.running import HIDDEN, SURVIVED, Result
from course_utils.errors import CourseError
from course_utils.project import Chapter


def measure(
    chapter: Chapter,
    exercise: str | None,
    console: Console,
    *,
    sample: int | None = None,
    seed: int = 0,
    model: bool = False,
) -> list[Result]:
    """Run a chapter's mutants, with a line for each exercise as it is done.

    Args:
        chapter: which one.
        exercise: only this one.
        console: where the lines go.
        sample: at most so many mutants of each exercise.
        seed: which sample.
        model: of the model solutions alone.

    Raises:
        CourseError: the chapter has no such exercise.
    """
    names = running.exercises_in(chapter)
    if exercise is not None and exercise not in names:
        raise CourseError(f"no exercise {exercise!r} in {chapter.name}: {', '.join(names)}")

    def choose(name: str) -> list:
        making = running.mutants_of_the_model if model else running.mutants_of
        return running.sampled(list(making(chapter, name)), sample, f"{seed} {name}")

    results: list[Result] = []
    wanted = names if exercise is None else [exercise]
    for result in running.apart(chapter, choose, wanted):
        if results and results[-1].exercise != result.exercise:
            _tell_of(results[-1].exercise, results, console)
        results.append(result)
    if results:
        _tell_of(results[-1].exercise, results, console)
    return results


def _tell_of(name: str, results: list[Result], console: Console) -> None:
    mine = [result for result in results if result.exercise == name]
    left = sum(result.verdict == SURVIVED for result in mine)
    console.print(f"{name}: {len(mine)} mutants, {left} survived", highlight=False)


def show(chapter: Chapter, results: list[Result], console: Console) -> list[Result]:
    """Print the table, the survivors that no line explains, and where words are missing.

    Returns:
        Those survivors.
    """
    explained = known.read(running.list_of(chapter))
    shown = Table(title=chapter.name)
    for column in table.COLUMNS:
        shown.add_column(column, justify="left" if column == "exercise" else "right")
    for row in table.rows(results, explained):
        shown.add_row(*map(str, row))
    open_ones = [
        result
        for result in results
        if result.verdict == SURVIVED and not table.is_equivalent(result, explained)
    ]
    for result in open_ones:
        console.print(table.difference(result), highlight=False, markup=False)
    hidden = [result for result in results if result.verdict == HIDDEN]
    if hidden:
        console.print("\nrefused by hidden tests alone:", highlight=False)
    for result in hidden:
        console.print(table.difference(result), highlight=False, markup=False)
        console.print(f"  {result.words[:300]}", highlight=False, markup=False)
    for name, some in words.candidates(results).items():
        console.print(
            f"\n{name}: {len(some)} different mutants are told two numbers alone, for instance",
            highlight=False,
        )
        for result in some[:3]:
            console.print(table.difference(result), highlight=False, markup=False)
            console.print(f"  {result.words[:300]}", highlight=False, markup=False)
    console.print(shown)
    return open_ones


def note(chapter: Chapter, results: list[Result], sample: int | None = None) -> Path:
    """Write the survivors into the chapter's list: new ones open, those that are gone taken out.

    Args:
        chapter: which one.
        results: what ran.
        sample: so many mutants of each exercise ran, which the list tells. All of them where it is
            None: what is listed and didn't run is gone.
    """
    path = running.list_of(chapter)
    before = known.read(path)
    survivors = {
        known.key_of(result.exercise, result.mutant): result
        for result in results
        if result.verdict == SURVIVED
    }
    ran = {known.key_of(result.exercise, result.mutant) for result in results}
    measured = {result.exercise for result in results}
    whole = measured if sample is None else set()
    sizes: dict[str, int | None] = {**known.sampled(path), **dict.fromkeys(measured, sample)}
    kept = [
        entry
        for key, entry in before.items()
        if key in survivors or (key not in ran and entry.exercise not in whole)
    ]
    new = [
        known.Known(one.exercise, one.mutant.operator, one.mutant.was, one.mutant.now)
        for key, one in survivors.items()
        if key not in before
    ]
    order = {name: place for place, name in enumerate(running.exercises_in(chapter))}
    entries = sorted([*kept, *new], key=lambda entry: order.get(entry.exercise, len(order)))
    sampled = {name: size for name in order if (size := sizes.get(name))}
    known.write(path, entries, sampled)
    return path
