"""The ``course`` command."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import click

from course_utils.errors import CourseError
from course_utils.project import find_course, find_root, has_sources, pick_chapters

FIXED_BY_A_RUN = ("isolation", "seed", "pictures", "again")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Take, build, verify and grade the course, and see whether this machine can run it."""


@main.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--carry-over", is_flag=True, help="Copy answers that were saved in notebooks/, without asking."
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lab(carry_over: bool, arguments: tuple[str, ...]) -> None:
    """Take the course: JupyterLab on a folder of your own. ARGUMENTS go to JupyterLab.

    The folder is my-notebooks, or what COURSE_FOLDER names. It is filled from notebooks/ with the
    chapters that it lacks; what is there is never written over.
    """
    from course_utils.command.lab import open_lab
    from course_utils.copies import copying
    from course_utils.copies.stopped import where_stopped

    root = find_course()
    folder = copying.learner_folder(root)
    for chapter in copying.answered_releases(root):
        words = f"{chapter.name}: notebooks/ holds answers, which git and builds write over"
        if not copying.is_free(chapter, folder):
            click.echo(f"{words}; your folder has answers of its own, so they stay there")
        elif not copying.copy_of(folder, chapter).exists():
            click.echo(f"{words}; they are now in {copying.carry_over(chapter, folder)}")
        elif carry_over or (
            sys.stdin.isatty() and click.confirm(f"{words}. Copy them to your folder?", True)
        ):
            click.echo(f"{chapter.name}: copied to {copying.carry_over(chapter, folder)}")
        else:
            click.echo(f"{words}; to copy them: course lab --carry-over")
    filled = copying.fill(root, folder)
    for name in filled.changed:
        click.echo(f"{name}: there is a newer release; to get it: course renew {name[:2]}")
    for name in filled.damaged:
        click.echo(
            f"{name}: your copy is not a notebook any more; to bring back your last checkpoint, "
            f"or else the release: course renew {name[:2]} (the damaged file is kept)"
        )
    click.echo(f"your answers are saved in {folder}")
    if stopped := where_stopped(folder):
        click.echo(f"you stopped at {stopped}")
    sys.exit(open_lab(root, folder, arguments))


@main.command()
@click.argument("chapters", nargs=-1, required=True)
def renew(chapters: tuple[str, ...]) -> None:
    """Bring your answers, cells and outputs of CHAPTERS into their newest release.

    The old file is kept beside the new one. A copy that is no notebook any more is replaced by its
    last checkpoint, or else by the release.
    """
    from course_utils.copies.copying import learner_folder
    from course_utils.copies.renewal import renew as bring_over

    root = find_course()
    folder = learner_folder(root)
    for chapter in pick_chapters(root, chapters):
        renewed = bring_over(chapter, folder)
        click.echo(
            renewed.tell(chapter) if renewed else f"{chapter.name}: your copy is of today's release"
        )


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print data, for scripts.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page instead: the course as a map of what is done, passed, due for review.",
)
def progress(as_json: bool, page: Path | None) -> None:
    """See how far you are: a bar a chapter, the minutes left, the next exercise.

    It reads what is saved; nothing is executed.
    """
    from course_utils import exercises
    from course_utils.command.lab import show_bars
    from course_utils.copies.copying import learner_folder
    from course_utils.files import write_whole

    folder = learner_folder(find_course())
    chapters = exercises.read_folder(folder)
    if not chapters and not as_json:
        raise CourseError(f"no chapter in {folder} yet; run: course lab")
    if as_json:
        data = {"folder": str(folder), "chapters": [chapter.as_data() for chapter in chapters]}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    if page:
        from course_utils.copies.progress_map import page_with_map
        from course_utils.copies.review import due_now

        due = due_now(pick_chapters(find_course(), ()), folder)
        try:
            write_whole(page, page_with_map(chapters, due))
        except OSError as error:
            raise CourseError(f"{page} can't be written ({error.strerror})") from error
        click.echo(f"{page}: written")
        return
    from rich.console import Console

    show_bars(chapters, Console())


@main.command()
def review() -> None:
    """Answer again, days later, what you once answered: some ten minutes of questions.

    It writes review/review.ipynb in your folder, with predictions from chapters in which you solved
    them, as they become due; and counts the answers in the one before.
    """
    from course_utils.copies.copying import learner_folder
    from course_utils.copies.review import review as ask_again

    root = find_course()
    for line in ask_again(pick_chapters(root, ()), learner_folder(root)).tell():
        click.echo(line)


@main.command()
@click.argument("chapters", nargs=-1)
@click.option("--check", is_flag=True, help="Build elsewhere, compare, and change nothing.")
def build(chapters: tuple[str, ...], check: bool) -> None:
    """Make the executed solution notebooks and the released ones from the percent sources."""
    from course_utils.authoring import build as building

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
@click.option("--mine", is_flag=True, help="Your own copies, not the solutions.")
def verify(chapters: tuple[str, ...], workers: int | None, mine: bool) -> None:
    """Run the solution notebooks again and compare every output with the stored one.

    Without the sources, as with an installed package, your own copies are run, and compared with
    what you ran in them.
    """
    from rich.console import Console

    from course_utils.command import verify as verifying
    from course_utils.copies.copying import learner_folder, with_a_copy

    console, root = Console(), find_course()
    picked, own = pick_chapters(root, chapters), None
    if mine or not has_sources(root):
        own = learner_folder(root)
        picked = with_a_copy(picked, own, all_of_them=bool(chapters))
    verdicts = verifying.verify(picked, workers, console=console, own=own)
    verifying.show(verdicts, console)
    bad = [verdict.chapter for verdict in verdicts if not verdict.good]
    if bad:
        raise CourseError(f"not as stored: {', '.join(bad)}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--sources",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The source distribution of this version, a .tar.gz; by default pip downloads it.",
)
def init(folder: Path, sources: Path | None) -> None:
    """Make FOLDER an instructor's: the chapters' sources, releases and nbgrader's settings."""
    from course_utils.authoring import folders

    folders.lay_out(folder, sources)
    click.echo(f"{folder}: the sources of {folders.VERSION}; next: cd {folder}, then course grade")


@main.command()
@click.argument("name", metavar="NN_topic")
def new(name: str) -> None:
    """Lay down a chapter that builds and passes, to be written over."""
    from course_utils.authoring import new as laying

    root = find_root()
    for path in laying.lay_down(root, name):
        click.echo(f"{path.relative_to(root)}: written")
    click.echo(
        "next: write them over (another grade id: another file of answers), then: "
        f"course build {name}; course test {name}; make docs"
    )


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("chapter")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def test(chapter: str, arguments: tuple[str, ...]) -> None:
    """Run every test that concerns CHAPTER; further ARGUMENTS go to pytest."""
    from course_utils.command import testing

    root = find_root()
    (picked,) = pick_chapters(root, [chapter])
    sys.exit(testing.run(root, picked, arguments))


@main.command()
@click.argument("chapter")
@click.argument("exercise", required=False)
@click.option("--sample", type=click.IntRange(min=1), help="So many mutants of each exercise.")
@click.option("--seed", type=int, default=0, help="Which sample.")
@click.option("--model", is_flag=True, help="Of the model solutions alone.")
@click.option("--note", is_flag=True, help="Write the survivors into tests/mutants/CHAPTER.toml.")
def mutants(chapter: str, exercise: str | None, note: bool, **options) -> None:
    """Change one thing in each right answer of CHAPTER: which changes do the checks let pass?

    The exit status is not 0 where one survives that tests/mutants/CHAPTER.toml does not explain.
    """
    from rich.console import Console

    from course_utils.command import mutants as measuring

    console = Console(soft_wrap=True)
    (picked,) = pick_chapters(find_root(), [chapter])
    results = measuring.measure(picked, exercise, console, **options)
    survivors = measuring.show(picked, results, console)
    if note:
        click.echo(f"written: {measuring.note(picked, results, options['sample'])}")
    if survivors:
        raise CourseError(f"{len(survivors)} mutants survive that nothing explains")


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
@click.option(
    "--workers", type=click.IntRange(min=1), help="Submissions at once; one per core if not given."
)
@click.option(
    "--scheduler", metavar="ADDRESS", default="", help="Use the workers of this Dask scheduler."
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "bwrap", "none"]),
    help="What keeps students' code apart. none runs it as you, with your files in its reach.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    help="The seed of every random generator; 0 if not given.",
)
@click.option("--pictures", is_flag=True, help="Draw the course's pictures, for feedback.")
@click.option("--again", is_flag=True, help="Execute also what has not changed since the last run.")
@click.option("--resume", is_flag=True, help="Go on with the last run, which was cut off.")
def grade(chapter: str, students: tuple[str, ...], resume: bool, **options) -> None:
    """Autograde what was handed in for CHAPTER, write feedback, export grades.csv.

    Submissions lie in submitted/STUDENT/CHAPTER/CHAPTER.ipynb, where nbgrader collects them. Those
    graded before are recorded again, and executed again where something changed. One that cannot be
    graded is named with the reason and scores nothing; the others are graded, and the exit status
    stays 0. It does not where something was left undone through no fault of a student's.
    """
    from course_utils.command import grade as grading
    from course_utils.command.live import Output
    from course_utils.gradebook import log

    if resume and (students or any(options[name] for name in FIXED_BY_A_RUN)):
        raise CourseError(
            "--resume goes on with the last run as it was begun: leave out "
            "--student, --isolation, --seed, --pictures and --again"
        )
    console = Output()
    (picked,) = pick_chapters(find_root(), [chapter])
    with log.kept(picked.root, partial(console.print, highlight=False)):
        marks = grading.grade(picked, students, console=console, resume=resume, **options)
        if not marks:
            raise CourseError(
                f"{picked.name}: nothing to resume: the last run came to its end, or there was none"
            )
        grading.show(marks, picked, console)
        undone = grading.left_undone(picked, marks)
        if undone:
            raise CourseError(undone)
