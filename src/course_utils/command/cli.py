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
