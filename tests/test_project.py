"""Where the course and its chapters are found."""

import pytest
from click.testing import CliRunner

from course_utils.command.cli import main
from course_utils.errors import CourseError
from course_utils.project import Chapter, all_chapters, find_course, find_root, pick_chapters


@pytest.fixture
def root(tmp_path):
    """A course of two chapters, and what looks like one but is none."""
    (tmp_path / "nbgrader_config.py").touch()
    for name in ("02_second", "01_first"):
        (tmp_path / "solutions" / name).mkdir(parents=True)
        (tmp_path / "solutions" / name / f"{name}.py").touch()
    (tmp_path / "solutions" / "01_first" / "worker.py").touch()
    (tmp_path / "solutions" / "03_empty").mkdir()
    return tmp_path


def test_a_chapters_files_have_fixed_places(root):
    chapter = Chapter("01_first", root)
    assert chapter.source == root / "solutions" / "01_first" / "01_first.py"
    assert chapter.solution == root / "solutions" / "01_first" / "01_first.ipynb"
    assert chapter.release == root / "notebooks" / "01_first" / "01_first.ipynb"


def test_the_root_is_found_from_inside(root, monkeypatch):
    assert find_root(root) == root
    assert find_root(root / "solutions" / "01_first") == root
    monkeypatch.chdir(root / "solutions")
    assert find_root() == root


def test_on_a_class_server_the_releases_are_the_chapters(root, tmp_path_factory, monkeypatch):
    """Students may not read the sources: COURSE_ROOT names a folder that has none."""
    home, releases = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("settings")
    (releases / "notebooks" / "01_first").mkdir(parents=True)
    (releases / "notebooks" / "01_first" / "01_first.ipynb").touch()
    monkeypatch.setenv("COURSE_ROOT", str(releases))
    assert find_course(home) == releases
    with pytest.raises(CourseError, match="holds nbgrader_config"):
        find_root(home)
    assert pick_chapters(releases, ["01"]) == [Chapter("01_first", releases)]
    # An instructor inside the course has that.
    assert find_course(root) == root


def test_outside_a_course_the_message_says_where_to_go(tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE_ROOT", raising=False)
    with pytest.raises(CourseError, match="run this inside the folder that holds") as caught:
        find_root(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_chapters_come_in_order_and_a_worker_module_is_none(root):
    assert [chapter.name for chapter in all_chapters(root)] == ["01_first", "02_second"]


def test_chapters_are_picked_by_name_once_or_all(root):
    assert pick_chapters(root, ()) == all_chapters(root)
    picked = pick_chapters(root, ("02_second", "01_first", "02_second"))
    assert [chapter.name for chapter in picked] == ["02_second", "01_first"]


def test_an_unknown_name_gets_the_list(root):
    with pytest.raises(CourseError) as caught:
        pick_chapters(root, ["01_first", "first"])
    assert str(caught.value) == ("no chapter named 'first'; the chapters are 01_first, 02_second")


def test_a_course_without_chapters_says_what_is_expected(tmp_path):
    (tmp_path / "solutions").mkdir()
    with pytest.raises(CourseError, match="expected NN_topic/NN_topic"):
        pick_chapters(tmp_path, ())


@pytest.mark.parametrize("arguments", [("build",), ("build", "--check")])
def test_the_command_outside_a_course_says_so_and_fails(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 1
    assert outcome.output.startswith("Error: no course in ")
    assert len(outcome.output.splitlines()) == 1


def test_the_command_explains_itself_and_refuses_what_it_does_not_know():
    for option in ("-h", "--help"):
        outcome = CliRunner().invoke(main, [option])
        assert outcome.exit_code == 0
        assert "build" in outcome.output
    outcome = CliRunner().invoke(main, ["bild"])
    assert outcome.exit_code == 2
    assert "No such command 'bild'" in outcome.output


def test_a_name_may_be_cut_short_where_it_stays_clear(tmp_path):
    for name in ("01_first", "02_second", "02_sequel"):
        (tmp_path / "solutions" / name).mkdir(parents=True)
        (tmp_path / "solutions" / name / f"{name}.py").write_text("# %%\n", encoding="utf-8")
    assert [chapter.name for chapter in pick_chapters(tmp_path, ["01"])] == ["01_first"]
    with pytest.raises(CourseError, match="'02' may be 02_second, 02_sequel"):
        pick_chapters(tmp_path, ["02"])
    with pytest.raises(CourseError, match="the chapters are 01_first"):
        pick_chapters(tmp_path, [""])
