"""What the documents say of the code is what the code says: ``make docs`` writes it."""

import pytest

import course_utils
from support import documents
from support.answers import ROOT, chapters, notebook_of
from support.curriculum import meanings


@pytest.mark.parametrize("name", sorted({*documents.PAGES, *(n for n, _ in documents.PARTS)}))
def test_a_document_is_as_made(name):
    path = ROOT / name
    assert path.read_text(encoding="utf-8") == documents.made()[path], f"{name}: run make docs"


def test_a_chapter_that_nobody_planned_is_on_the_map(tiny_chapter, monkeypatch):
    monkeypatch.setattr(documents, "chapters", lambda: [tiny_chapter])
    lines = documents.course_map().splitlines()
    assert lines[-1] == "| More | 01_tiny | A tiny chapter | 2 | | 3 |"
    assert "| Tensors | 01_tensors | Tensors | to come | | |" in lines


def test_a_part_without_its_marks_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "docs/instructors.md"):
        (tmp_path / name).write_text("no marks\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"README.md lacks the lines <!-- map: made by make docs"):
        documents.made()


def test_evidence_is_read_off_the_checks():
    (chapter,) = [chapter for chapter in chapters() if chapter.name.startswith("02")]
    assert documents.evidence_of(chapter, "predict-strides") == (False, False, False)
    assert documents.evidence_of(chapter, "sliding-windows") == (True, True, False)
    (chapter,) = [chapter for chapter in chapters() if chapter.name.endswith("_hooks")]
    assert documents.evidence_of(chapter, "capture") == (False, False, True)


def test_every_name_of_the_curriculum_has_a_meaning_of_its_own():
    for kind in ("topics", "errata"):
        known = meanings(kind)
        assert list(known) == sorted(known)
        assert all(meaning != name for name, meaning in known.items())


def test_every_public_name_of_the_library_says_what_it_is_for():
    rows = [line for line in documents.library().splitlines() if line.startswith("| `")]
    assert sorted(row.split("`")[1] for row in rows) == sorted(course_utils.__all__)
    assert all(len(row.split(" | ")[1].strip(" |")) > 10 for row in rows), rows


@pytest.mark.parametrize("kind", ["topics", "errata"])
def test_every_name_of_the_curriculum_is_taught_by_a_cell(kind):
    cells = [cell for chapter in chapters() for cell in notebook_of(chapter).cells]
    taught = {name for cell in cells for name in cell.metadata.get(kind, [])}
    assert not meanings(kind).keys() - taught
