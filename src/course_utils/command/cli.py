"""The ``course`` command."""

from __future__ import annotations

import click

from course_utils.command.project import CourseError, find_root, pick_chapters


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Build, verify and grade the course, and see whether this machine can run it."""


@main.command()
@click.argument("chapters", nargs=-1)
@click.option("--check", is_flag=True, help="Build elsewhere, compare, and change nothing.")
def build(chapters: tuple[str, ...], check: bool) -> None:
    """Make the executed solution notebooks and the released ones from the percent sources."""
    from course_utils.command import build as building

    differences = []
    for chapter in pick_chapters(find_root(), chapters):
        if not check:
            building.build_into_place(chapter)
            click.echo(f"{chapter.name}: built")
            continue
        difference = building.check(chapter)
        click.echo(difference or f"{chapter.name}: as built from its source")
        if difference:
            differences.append(chapter.name)
    if differences:
        raise CourseError(f"out of step with the source: {', '.join(differences)}")


@main.command()
@click.argument("chapters", nargs=-1)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Chapters at once; one per core if not given."
)
def verify(chapters: tuple[str, ...], workers: int | None) -> None:
    """Run the solution notebooks again and compare every output with the stored one."""
    from rich.console import Console

    from course_utils.command import verify as verifying

    console = Console()
    verdicts = verifying.verify(pick_chapters(find_root(), chapters), workers, console=console)
    verifying.show(verdicts, console)
    bad = [verdict.chapter for verdict in verdicts if not verdict.good]
    if bad:
        raise CourseError(f"not as stored: {', '.join(bad)}")


@main.command()
def doctor() -> None:
    """See whether this machine can run the course: each line says ok, or what to do."""
    from rich.console import Console

    from course_utils.command import doctor as examining

    if not examining.examine(Console()):
        raise CourseError("some lines above say what to do")


@main.command()
@click.argument("chapter")
@click.option(
    "--student", "students", multiple=True, metavar="NAME", help="Only this one; repeatable."
)
def grade(chapter: str, students: tuple[str, ...]) -> None:
    """Autograde what was handed in for CHAPTER, write feedback, export grades.csv.

    Submissions lie in submitted/STUDENT/CHAPTER/CHAPTER.ipynb, where nbgrader collects them. They
    are graded again if they were graded before. One that cannot be graded is named with the reason
    and scores nothing; the others are graded, and the exit status stays 0.
    """
    from rich.console import Console

    from course_utils.command import grade as grading

    console = Console()
    (picked,) = pick_chapters(find_root(), [chapter])
    grading.show(grading.grade(picked, students, console=console), picked, console)
