"""What every test may use, and how the suite is dealt out to two processes.

Tests of one exercise stay together, so that its answers are run once (support.answers keeps what
came of them). All other tests of a file stay together, for the fixtures that they share. The
heaviest come first, so that no long group is left for one process at the end.
"""

import gc
import importlib
import multiprocessing.util
import os
import tempfile
import warnings
from unittest.mock import patch

import pytest
import torch

from course_utils.project import Chapter, pick_chapters
from support import answers
from support.answers import ROOT, Answer
from support.tiny import make_tiny_course

# The files that take longest, each in one process: measured by pytest --durations.
HEAVY = (
    "test_hostile",
    "test_instructor_loop",
    "test_kernels",
    "test_sandbox",
    "test_resume",
    # Before named answers leave threads and processes of their own in this process.
    "test_grade",
    "test_kindness",
    "test_browser",
    "test_class_server",
    "test_site",
)
# What takes long for each chapter; dealt out chapter by chapter.
WHOLE_CHAPTERS = ("test_nbval", "test_independence", "test_sync")
# It starts autograd's threads: ranks that are forked later in the same process fail.
LAST = "test_as_it_was"


def pytest_addoption(parser):
    parser.addoption(
        "--chapter",
        default="",
        metavar="NAME",
        help="Only the tests that concern this chapter (course test NAME).",
    )
    parser.addoption(
        "--every-answer",
        action="store_true",
        help="The judge runs every named answer; otherwise one of each exercise. Every mutant, "
        "every call of a given function and every wrong answer is tried as well.",
    )


def pytest_configure(config):
    answers.only = config.getoption("--chapter")
    answers.every = bool(answers.only) or config.getoption("--every-answer")


def chapter_of(item) -> str:
    """The name of the chapter that a test is about; empty for all others."""
    chapter = getattr(item, "callspec", None) and item.callspec.params.get("chapter")
    return chapter.name if isinstance(chapter, Chapter) else ""


def concerns(item, chapter: Chapter) -> bool:
    """Whether a test is about a chapter, or about what lies in the chapter's package."""
    of_the_package = item.path.parent.name == "chapters"
    return chapter_of(item) == chapter.name or (
        of_the_package and item.path.stem == f"test_{chapter.topic}"
    )


def group_of(item) -> str:
    """Which tests go to the same process as this one."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    exercise = parameters.get("exercise")
    if isinstance(parameters.get("answer"), Answer):
        exercise = parameters["answer"].exercise
    if chapter_of(item) and isinstance(exercise, str):
        return f"{chapter_of(item)}:{exercise}"
    if chapter_of(item) and item.path.stem in WHOLE_CHAPTERS:
        return f"{chapter_of(item)}:{item.path.stem}"
    return item.path.stem


def order_of(item) -> tuple:
    """Heavy files first, then whole chapters, then exercises, then what is quick."""
    name = item.path.stem
    if name == LAST:
        return 4, 0
    if name in HEAVY:
        return 0, HEAVY.index(name)
    if name in WHOLE_CHAPTERS and chapter_of(item):
        return 1, 0
    return (2 if ":" in group_of(item) else 3), 0


def keep(config, items, is_wanted) -> None:
    """Deselect the tests that are not wanted."""
    kept, rest = [], []
    for item in items:
        (kept if is_wanted(item) else rest).append(item)
    config.hook.pytest_deselected(items=rest)
    items[:] = kept


def is_left_to_the_weekly_run(item: pytest.Item) -> bool:
    """Whether a test runs an answer that is not drawn for this run.

    The checks are the same for a judge as in a notebook: that they refuse what is wrong and take
    what is right is tested there. Of each exercise a seeded draw has the judge run one answer: a
    wrong one, whose words have to come through, a right one unlike the model solution, whose values
    have to travel, or the untouched stub. Of slow exercises it is a right one, which is run by the
    judge alone.
    """
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    chapter, answer = parameters.get("chapter"), parameters.get("answer")
    if item.path.stem == "test_answers" and answer:
        return answer.right and answers.is_slow(chapter, answer.exercise)
    if item.path.stem != "test_verdict" or not parameters:
        return False
    exercise = answer.exercise if answer else parameters["exercise"]
    return answer != answers.drawn_for_the_judge(chapter, exercise)


# First, since xdist's own hook reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    wanted = config.getoption("--chapter")
    if wanted:
        (chapter,) = pick_chapters(ROOT, [wanted])
        keep(config, items, lambda item: concerns(item, chapter))
    if not config.getoption("--every-answer"):
        keep(config, items, lambda item: not is_left_to_the_weekly_run(item))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
    items.sort(key=lambda item: (order_of(item), group_of(item)))


def pytest_unconfigure():
    """Python's end looks through everything: what answers froze counts as leaked there."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory):
    """A folder that goes with the run: a process that is ended can't remove its own files, and
    there are many of them, forked for an answer each. What pytest and multiprocessing remove
    themselves stays where it is."""
    tmp_path_factory.getbasetemp()
    multiprocessing.util.get_temp_dir()
    with (
        tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True) as folder,
        patch.dict(os.environ, TMPDIR=folder),
        patch.object(tempfile, "tempdir", folder),
    ):
        # A database's own user has to reach its files.
        os.chmod(folder, 0o755)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """As in a kernel that grades. A pool of threads that is first made larger is made in forks too,
    and a judged answer is refused where a thread could run operators unseen."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def forward_mode():
    """What PyTorch imports when a process first uses forward mode: it warns of its own code."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".torch.jit.script. is deprecated", FutureWarning)
        importlib.import_module("torch._decomp.decompositions_for_jvp")


@pytest.fixture
def mutants_of_each(request) -> int | None:
    """How many mutants of an exercise are run: few, or more where one chapter is asked for."""
    if request.config.getoption("--every-answer"):
        return None
    return 6 if request.config.getoption("--chapter") else 2


@pytest.fixture
def calls_of_each(request) -> int | None:
    """How many calls of given functions are tried as an exercise's answer: as with the mutants."""
    if request.config.getoption("--every-answer"):
        return None
    return 6 if request.config.getoption("--chapter") else 2


@pytest.fixture
def tiny_chapter(tmp_path):
    """The only chapter of a throw-away course in ``tmp_path``, not yet built."""
    return make_tiny_course(tmp_path)
