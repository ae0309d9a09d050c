"""``docs/instructors.md`` says of every exercise what its marks rest on, as its checks have it."""

import re

from course_utils.command.project import all_chapters
from course_utils.grading.execution import names_of_the_answer, top_level_names
from support.answers import ROOT, checks_of, exercises, grader_of, notebook_of

OPERATORS = re.compile(r"\b(count_operators|forbid_operators|forbid_copies)\b")


def locked_cells(chapter):
    cells = notebook_of(chapter).cells
    return [c for c in cells if c.cell_type == "code" and grader_of(c).get("locked")]


def uses(source, names):
    return any(re.search(rf"\b{name}\b", source) for name in names)


def evidence(chapter, exercise):
    """Whether an exercise's checks watch operators, and whether locked cells tell something."""
    source = "\n".join(check.source for check in checks_of(chapter, exercise))
    told, helpers = False, []
    for cell in locked_cells(chapter):
        if uses(source, names_of_the_answer(cell)):
            told = True
        elif not grader_of(cell)["grade"] and uses(source, top_level_names(cell.source)):
            helpers.append(cell.source)
    watched = any(OPERATORS.search(text) for text in (source, *helpers))
    return watched, told


def rows():
    text = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    pattern = r"^\| (\d\d) \| ([\w-]+) \| (yes)? ?\| (yes)? ?\| (yes)? ?\|$"
    return re.findall(pattern, text, re.MULTILINE)


def test_the_table_of_evidence_is_as_the_checks_have_it():
    expected = [
        (chapter.name[:2], exercise, *evidence(chapter, exercise))
        for chapter in all_chapters(ROOT)
        for exercise in exercises(chapter)
    ]
    found = rows()
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    for (chapter, name, _, operators, told), (*_, watched, lent) in zip(
        found, expected, strict=True
    ):
        assert bool(operators) == watched, f"{chapter} {name}: operators"
        # A function that an exercise's own cell brings along may tell as well.
        assert told or not lent, f"{chapter} {name}: told"
