"""The report of a class: what it counts, what it shows, and that nobody can write into its page."""

import json
import os
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from nbformat.v4 import new_notebook

from course_utils.grading.report.contents import class_report, exercise_names
from course_utils.grading.report.given import ReportedRun, ReportedStudent
from course_utils.grading.report.misunderstandings import statements, without_values
from course_utils.grading.report.page import (
    SHOWN_COLUMNS,
    SHOWN_LINES,
    SHOWN_PAIRS,
    TEMPLATES,
    page_style,
    render,
    side_by_side,
    spelled_out,
    write_report,
)
from course_utils.grading.report.similar import THE_SAME, SimilarAnswers
from course_utils.notebooks import read_notebook
from course_utils.project import Chapter
from support.answers import ROOT, exercises
from support.contrast import contrast, themes
from support.lab import MarkedProcesses, browser_page, needed_browser

CHAPTER = Chapter("02_storage_and_strides", ROOT)
RUN = ReportedRun("2026-11-21T14:05:00+01:00", 75.0, 2, "bwrap")
POSSIBLE = {"view-or-copy": 3.0, "view-strides": 2.0}
ATTACK = (
    "<script>document.title = 'taken'</script>\"'><img src=x onerror=\"document.title = 'taken'\">"
)


@pytest.fixture(scope="module")
def source():
    return read_notebook(CHAPTER.solution)


def graded(student, first, second, **rest):
    points = {"view-or-copy": first, "view-strides": second}
    return ReportedStudent(student, first + second, 5, points, POSSIBLE, **rest)


def cells(**seconds):
    return [{"id": f"id-{name}", "grade_id": name, "seconds": s} for name, s in seconds.items()]


@pytest.fixture(scope="module")
def report(source):
    students = [
        graded("ada", 3, 2, cells=cells(setup=1.0, dense=2.0), phases={"start": 0.1, "judge": 0.3}),
        graded(
            "bob",
            3,
            0,
            cells=cells(setup=3.0),
            phases={"start": 0.3, "judge": 0.5},
            messages={
                "view-strides-check": "AssertionError: view_strides: expected 6, got 8 (in boxes)"
            },
            flags=["cell 3, line 1: opens a connection (socket)"],
        ),
        graded(
            "eve",
            1,
            0,
            cells=cells(setup=2.0),
            phases={"start": 9.0},
            cached=True,
            messages={
                "view-strides-check-2": "view_strides: expected 6, got 48 (in boxes)",
                "view-or-copy-check": "2 differ:\n  x.t() is not 'copy': why\n  x[1] is not 1: so",
            },
            died="cell view-strides: out of memory",
        ),
        graded("dan", 0, 0, problem="not a notebook"),
    ]
    similar = [
        SimilarAnswers(
            "view-strides", ("ada", "bob"), THE_SAME, 1.0, (("ada", "a\nb"), ("bob", "a\nc"))
        )
    ]
    return class_report("02_storage_and_strides", source, students, similar, RUN)


def test_the_marks_are_counted(report):
    marks = report["marks"]
    assert (marks["students"], marks["max_score"]) == (4, 5)
    assert (marks["mean"], marks["median"], marks["least"], marks["most"]) == (2.25, 2, 0, 5)
    assert [(bar["label"], bar["students"]) for bar in marks["bars"]] == [
        ("0", 1),
        ("1", 1),
        ("2", 0),
        ("3", 1),
        ("4", 0),
        ("5", 1),
    ]


def test_who_was_not_graded_is_in_no_average(source):
    students = [
        graded("ada", 3, 2),
        graded("bob", 1, 0),
        graded("eve", 0, 0, problem="not graded: no kernel can be started"),
        ReportedStudent("dan", 0, 5, problem="not graded: it could not be run"),
    ]
    report = class_report("x", source, students, [], RUN)
    marks = report["marks"]
    assert (marks["students"], marks["not_graded"]) == (4, 2)
    assert (marks["mean"], marks["median"], marks["least"]) == (3, 3, 1)
    assert sum(bar["students"] for bar in marks["bars"]) == 2
    assert [(row["mean"], row["none"]) for row in report["exercises"]] == [(2, 0), (1, 1)]
    assert [row["score"] for row in report["students"]] == [5, 1, None, None]
    page = render(report)
    assert "2 students not graded, through no fault of theirs, are left out" in page
    nobody = class_report("x", source, students[2:], [], RUN)
    assert nobody["exercises"] == []
    assert "nobody could be graded" in render(nobody)


@pytest.mark.parametrize(
    ("scores", "most", "labels"),
    [
        ([0, 34, 36], 34, ["0–4", "5–9", "10–14", "15–19", "20–24", "25–29", "30–34"]),
        ([10], 30, ["0–4", "5–9", "10–14", "15–19", "20–24", "25–29", "30"]),
        ([0.5, 2], 2, ["0 to <1", "1 to <2", "2 to 2"]),
        ([250], 1000, [f"{n}–{n + 99}" for n in range(0, 1000, 100)] + ["1000"]),
        ([0], 0, []),
        ([], 5, []),
    ],
)
def test_every_student_stands_in_one_bar(source, scores, most, labels):
    students = [ReportedStudent(f"s{n}", score, most) for n, score in enumerate(scores)]
    marks = class_report("x", source, students, [], RUN)["marks"]
    if scores:
        assert [bar["label"] for bar in marks["bars"]] == labels
    assert sum(bar["students"] for bar in marks["bars"]) == (len(scores) if labels else 0)


def test_the_exercises_have_their_headings_and_shares(report):
    first, second = report["exercises"]
    assert (first["number"], first["title"]) == ("2.3", "View or copy?")
    assert (first["all"], first["some"], first["none"], first["mean"]) == (2, 1, 1, 1.75)
    assert (second["all"], second["some"], second["none"], second["mean"]) == (1, 0, 3, 0.5)


def test_every_exercise_of_a_chapter_has_a_numbered_heading(source):
    names = exercise_names(source)
    assert list(names) == exercises(CHAPTER)
    assert all(re.fullmatch(r"2\.\d+", number) for number, _ in names.values())
    assert all(re.fullmatch(r"[^★·]+\S", title) for _, title in names.values())


def test_messages_that_differ_in_values_are_one(report):
    dense, view = report["misunderstandings"]
    assert (dense["exercise"], dense["students"]) == ("view-strides", 2)
    (group,) = dense["messages"]
    assert (group["count"], group["students"]) == (2, ["bob", "eve"])
    assert group["example"] == "view_strides: expected 6, got 8 (in boxes)"
    assert [wording["students"] for wording in group["wordings"]] == [["bob"], ["eve"]]
    said = [group["example"] for group in view["messages"]]
    assert said == ["x.t() is not 'copy': why", "x[1] is not 1: so"]


def test_an_answer_that_nobody_gave_is_no_misunderstanding(source):
    """One that was only commented upon counts as not given, one that is wrong as given."""
    stub = read_notebook(CHAPTER.release)
    texts = {
        cell.metadata.nbgrader["grade_id"]: cell.source
        for cell in stub.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }
    words = {"view-strides-check": "view_strides: got None", "view-or-copy-check": "blank"}
    wrong = texts["view-strides"] + "\n    return None"
    students = [
        graded("ada", 0, 0, messages=words, answers=texts),
        graded("bob", 0, 0, messages=words, answers=texts | {"view-strides": wrong}),
        graded("eve", 0, 0, messages=words, answers={n: f"\n# no\n{t}" for n, t in texts.items()}),
    ]
    report = class_report("x", source, students, [], RUN)
    dense, view = report["misunderstandings"]
    assert (dense["exercise"], dense["students"], dense["not_attempted"]) == ("view-strides", 1, 2)
    assert [group["students"] for group in dense["messages"]] == [["bob"]]
    assert (view["exercise"], view["students"], view["not_attempted"]) == ("view-or-copy", 0, 3)
    assert view["messages"] == []
    text = read(render(report)).texts["misunderstood"]
    assert "failed by 1 of 3; not attempted: 2" in text
    assert "blank" not in text


def test_an_answer_with_the_marks_of_a_solution_is_flagged(source):
    answers = {
        "view-strides": "def f():\n    ### BEGIN SOLUTION\n    return 1",
        "view-or-copy": "x",
    }
    report = class_report("x", source, [graded("ada", 3, 2, answers=answers)], [], RUN)
    (row,) = report["flags"]
    assert row["flags"] == ["view-strides: it holds the marks of a solution (### BEGIN SOLUTION)"]
    assert report["students"][0]["flags"] == 1


def test_exercises_are_numbered_as_their_headings_are(source):
    names = exercise_names(source)
    assert [number for number, _ in names.values()] == [f"2.{place}" for place in range(1, 13)]
    bare = new_notebook(cells=[cell for cell in source.cells if cell.cell_type == "code"])
    places = [(str(place), name) for place, name in enumerate(exercises(CHAPTER), start=1)]
    assert list(exercise_names(bare).values()) == places


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("f(2): expected 6, got 8", "f(3): expected -1.5e3, got 0", True),
        ("f((1, 2), (4,)) has shape (2, 3)", "f((), (1,)) has shape (4, 5, 6)", True),
        ("expected [1, [2, 3]], got 'a'", "expected [], got 'b c'", True),
        ("expected True, got False", "expected False, got True", False),
        ("got None", "got 3", False),
        ("expected 6 (in bytes)", "expected 6 (in boxes)", False),
        ("x[1] is wrong", "y[1] is wrong", False),
        ("int64 expected", "int32 expected", False),
    ],
)
def test_values_are_told_from_words(one, other, same):
    assert (without_values(one) == without_values(other)) is same


def test_a_message_is_read_as_its_author_wrote_it():
    assert statements("\x1b[31mAssertionError: no\x1b[0m") == ["no"]
    assert statements("NotRun: the kernel died") == ["the kernel died"]
    assert statements("IndexError: tuple") == ["IndexError: tuple"]
    assert statements("two lines:\nnot indented") == ["two lines:\nnot indented"]
    assert statements("wrong:\n  a\n  b") == ["a", "b"]
    assert len(statements("x" * 10_000)[0]) < 1000


def test_times_problems_and_flags_are_told(report):
    assert [
        (row["cell"], row["students"], row["median_seconds"], row["most_seconds"], row["slowest"])
        for row in report["slow_cells"]
    ] == [
        ("setup", 3, 2.0, 3.0, "bob"),
        ("dense", 1, 2.0, 2.0, "ada"),
        ("all checks", 2, 0.4, 0.5, "bob"),
    ]
    assert [row["seconds"] for row in report["students"]] == [3.3, 3.5, 2.0, 0]
    assert report["run"]["phases"] == {"start": 0.2, "judge": 0.4}, "what was cached took no time"
    assert (report["run"]["executed"], report["run"]["cached"]) == (2, 1)
    assert report["ungraded"] == [{"student": "dan", "why": "not a notebook"}]
    assert report["crashes"] == [{"student": "eve", "why": "cell view-strides: out of memory"}]
    assert [row["student"] for row in report["flags"]] == ["bob"]
    assert [row["flags"] for row in report["students"]] == [0, 1, 0, 0]


def test_students_alike_in_several_exercises_are_named(source):
    def alike(exercise, *students):
        return SimilarAnswers(exercise, students, THE_SAME, 1.0, (("ada", "a"), ("bob", "a")))

    found = [
        alike("view-or-copy", "ada", "bob", "eve"),
        alike("view-strides", "bob", "ada"),
        alike("view-strides", "eve", "dan"),
        alike("view-strides", "eve", "dan"),
    ]
    report = class_report("x", source, [graded("ada", 1, 1)], found, RUN)
    assert report["alike"] == [
        {"students": ["ada", "bob"], "exercises": ["view-or-copy", "view-strides"]}
    ]
    assert "ada and bob: 2.3, 2.4" in read(render(report)).texts["similar"]


class Reader(HTMLParser):
    """The page's elements, and the text that a person sees, section by section."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.section, self.texts, self.hidden = [], "", {}, 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        self.hidden += tag in ("script", "style")
        if tag == "section":
            self.section = attributes["aria-labelledby"]

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.texts[self.section] = self.texts.get(self.section, "") + data


def read(html):
    return Reader(html)


def test_the_page_says_what_the_report_says(report):
    texts = read(render(report)).texts
    assert "1 student whose kernel ended early" in texts["look"]
    assert "2.3 View or copy?" in texts["exercises"]
    assert "failed by 2 of 4" in texts["misunderstood"]
    assert "view_strides: expected 6, got 48 (in boxes)" in texts["misunderstood"]
    assert "not a notebook" in texts["failed"]
    assert "out of memory" in texts["failed"]
    assert "opens a connection (socket)" in texts["flags"]
    assert "ada, bob — the same text" in " ".join(texts["similar"].split())
    assert "3.00 s" in texts["slow"]
    assert "1/3" in texts["students"], "part of the points"
    assert (
        "2 submissions executed and 1 taken from earlier runs, by 2 workers in 1 min 15 s"
        in (texts["run"])
    )


def test_an_empty_section_says_so(source):
    texts = read(render(class_report("x", source, [graded("ada", 3, 2)], [], RUN))).texts
    assert "look" not in texts
    for section, words in {
        "misunderstood": "every exercise was solved",
        "failed": "No kernel ended early.",
        "flags": "found nothing unusual",
        "similar": "No two answers",
        "slow": "No cell was timed",
        "run": "Nothing was executed",
    }.items():
        assert words in texts[section], section
    nobody = read(render(class_report("x", source, [], [], RUN))).texts
    assert "nobody handed in" in nobody["marks"]
    assert "Nobody handed in." in nobody["students"]
    assert "no exercises" in nobody["exercises"]


def test_grading_without_isolation_is_said(source):
    run = ReportedRun(RUN.finished, 1, 1, "none")
    texts = read(render(class_report("x", source, [], [], run))).texts
    assert "without isolation" in texts["run"]


@pytest.fixture(scope="module")
def attacked(source):
    """A class of one who writes markup wherever a student can."""
    row = graded(
        ATTACK,
        0,
        1,
        problem=ATTACK,
        died=ATTACK,
        flags=[ATTACK],
        messages={
            "view-strides-check": ATTACK + " \x1b[31m\u202e\ud800 {{ 7 * 7 }}",
            ATTACK: ATTACK,
        },
        cells=[{"id": ATTACK, "grade_id": "", "seconds": 1.0}],
        phases={"start": 1.0},
    )
    other = graded("../..", 0, 0, died="\x00")
    sources = ((ATTACK, ATTACK + "\n</style></td>"), ("../..", "\u202ex\ud800"))
    similar = [SimilarAnswers("view-strides", (ATTACK, "../.."), THE_SAME, 1.0, sources)]
    return class_report("x", source, [row, other], similar, RUN)


def test_what_students_write_is_text(attacked, report):
    html = render(attacked)
    page, plain = read(html), read(render(report))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements}
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert not [name for _, attributes in page.elements for name in attributes if name[:2] == "on"]
    for section in ("failed", "flags", "similar", "slow", "students", "misunderstood"):
        assert ATTACK in page.texts[section], section
    assert "{{ 7 * 7 }}" in page.texts["misunderstood"]
    assert r"\u202e\ud800" in page.texts["misunderstood"]
    assert not re.search("[\x00\u202e\ud800-\udfff]", html)


def test_signs_that_cannot_be_seen_are_spelled_out():
    assert spelled_out("a\u200bb\x07\u2066c\ud912") == r"a\u200bb\u0007\u2066c\ud912"
    assert spelled_out("two\n\tlines: é, 字, 🙂") == "two\n\tlines: é, 字, 🙂"


def test_the_page_needs_nothing_from_elsewhere(report):
    page = read(render(report))
    links = [attributes.get("href", "#") for _, attributes in page.elements]
    assert all(link.startswith(("#", "../../feedback/")) for link in links)
    assert "../../feedback/ada/02_storage_and_strides/02_storage_and_strides.html" in links
    assert not [tag for tag, attributes in page.elements if tag == "link" or "src" in attributes]


def test_the_page_can_be_read_aloud(report):
    page = read(render(report))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("table") == tags.count("caption")
    assert ("html", {"lang": "en"}) in page.elements
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    named = [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    assert named
    assert set(named) <= ids
    assert all("scope" in attributes for tag, attributes in page.elements if tag == "th")
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_text_stands_out_from_what_lies_behind(theme):
    colours = themes(page_style(TEMPLATES / "report.css"))[theme]
    for ink in ("ink", "quiet", "link", "warn"):
        for paper in ("page", "card", "warn-card", "differs"):
            if ink in ("quiet", "warn") and paper == "differs":
                continue  # only code stands there
            ratio = contrast(colours[ink], colours[paper])
            assert ratio >= 4.5, f"{ink} on {paper}: {ratio:.2f}"


def test_equal_lines_stand_beside_each_other():
    table = side_by_side([("ada", "a\nb\nc"), ("bob", "a\nx\ny\nc")])
    assert table["rows"] == [
        ("a", "a", True),
        ("b", "x", False),
        ("", "y", False),
        ("c", "c", True),
    ]
    long = "\n".join(str(number) for number in range(1000))
    table = side_by_side([("ada", long), ("bob", long)])
    assert len(table["rows"]) == SHOWN_LINES
    assert table["more"] == 1000 - SHOWN_LINES
    ((left, right, same),) = side_by_side([("ada", "x" * 999), ("bob", "x" * 998)])["rows"]
    assert left == right == "x" * SHOWN_COLUMNS + " …"
    assert not same


def test_both_files_are_written_whole(report, tmp_path, monkeypatch):
    folder = tmp_path / "reports" / "02_storage_and_strides"
    write_report(report, folder)
    assert json.loads((folder / "report.json").read_text(encoding="utf-8")) == report
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "report.json"]
    before = {path: path.read_bytes() for path in folder.iterdir()}

    def fail(source, target):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="full"):
        write_report({**report, "title": "Another"}, folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_class_of_four_hundred_is_a_page_of_three_megabytes_at_most(source, tmp_path):
    code = "\n".join(f"    line_{number} = {'x' * 150}" for number in range(300))
    students = [
        graded(
            f"student-{number}",
            number % 4,
            0,
            cells=cells(**{f"cell-{place}": 0.1 for place in range(60)}),
            messages={
                f"exercise-{place}-check": f"{'w' * (number % 30)}: got {number}"
                for place in range(12)
            },
            flags=[f"cell {place}, line 1: opens a connection (socket)" for place in range(40)],
        )
        for number in range(400)
    ]
    similar = [
        SimilarAnswers(
            "view-strides", ("ada", "bob"), THE_SAME, 1.0, (("ada", code), ("bob", code))
        )
    ] * (SHOWN_PAIRS + 5)
    report = class_report("x", source, students, similar, RUN)
    write_report(report, tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 3_000_000
    texts = read((tmp_path / "report.html").read_text(encoding="utf-8")).texts
    assert "The other 5 are in report.json" in texts["similar"]
    assert "student-399" in texts["students"]


# In a real browser.


@pytest.fixture(scope="module")
def page():
    executable = needed_browser()
    marked = MarkedProcesses()
    with browser_page(executable, marked) as page:
        yield page
    assert marked.end() == [], "these processes were left behind"


def names(page):
    return page.locator("#students ~ .scroll tbody th").all_inner_texts()


def test_a_heading_sorts_the_students(page, report, tmp_path):
    write_report(report, tmp_path)
    page.goto((tmp_path / "report.html").as_uri())
    heading = page.get_by_role("button", name="points")
    heading.click()
    assert [name.split()[0] for name in names(page)] == ["ada", "bob", "eve", "dan"]
    heading.click()
    assert [name.split()[0] for name in names(page)] == ["dan", "eve", "bob", "ada"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="student").click()
    assert [name.split()[0] for name in names(page)] == ["ada", "bob", "dan", "eve"]


def test_a_narrow_screen_scrolls_one_way(page, report, tmp_path):
    write_report(report, tmp_path)
    page.goto((tmp_path / "report.html").as_uri())
    page.set_viewport_size({"width": 360, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.set_viewport_size({"width": 1400, "height": 900})


def test_no_script_of_a_students_runs(page, attacked, tmp_path):
    write_report(attacked, tmp_path)
    page.goto((tmp_path / "report.html").as_uri())
    assert page.title() != "taken"
    # The second line of defence: were a text ever not escaped, the page's policy stops it.
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    (tmp_path / "open.html").write_text(html.replace("</main>", f"{ATTACK}</main>"), "utf-8")
    page.goto((tmp_path / "open.html").as_uri())
    assert page.locator("main img").count() == 1
    assert page.title() != "taken"
