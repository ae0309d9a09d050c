"""``docs/instructors.md`` says of every exercise what its marks rest on, as its checks have it."""

import re

from course_utils.command.project import all_chapters
from course_utils.grading.execution import names_of_the_answer
from support.answers import ROOT, checks_of, exercises, grader_of, notebook_of

OPERATORS = re.compile(r"\b(count_operators|forbid_operators|forbid_copies)\b")


def told_names(chapter):
    """The names that locked cells lend to the answers of a chapter."""
    cells = notebook_of(chapter).cells
    locked = [c for c in cells if c.cell_type == "code" and grader_of(c).get("locked")]
    return [name for cell in locked for name in names_of_the_answer(cell)]


def evidence(chapter, exercise):
    """The columns ``operators`` and ``told`` of an exercise's row."""
    source = "\n".join(check.source for check in checks_of(chapter, exercise))
    used = [name for name in told_names(chapter) if re.search(rf"\b{name}\b", source)]
    return bool(OPERATORS.search(source)), bool(used)


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
    written = [(chapter, name, bool(ops), bool(told)) for chapter, name, _, ops, told in rows()]
    assert written == expected
