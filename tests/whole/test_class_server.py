"""A class server on loopback: ten students and an instructor, from a release to the feedback.

The tests stand in the order of a lesson, and share one hub.
"""

import contextlib
import csv
import importlib.util
import os
import pwd
import re
import shlex
import signal
import socket
import subprocess
import sys
from unittest.mock import patch

import psutil
import pytest
from playwright.sync_api import expect

from support.answers import ROOT
from support.class_server import COURSE_ID, PASSWORD, Visitor, class_server, processes_of, why_not
from support.lab import CELL_SECONDS, OpenNotebook, browser_page, find_browser
from support.warm import eventually

pytestmark = pytest.mark.timeout(900)

CHAPTER = "01_tiny"
SERVICE = f"services/{COURSE_ID}"
RIGHT = {"double": "def double(x):\n    return x + x", "halve": "def halve(x):\n    return x / 2"}
HALF_RIGHT = {**RIGHT, "halve": "def halve(x):\n    return x // 2"}
STUDENTS = ("ada", "alan", "alonzo", "barbara", "donald", "edsger", "emmy", "kurt", "mary", "tony")
# Who works alone at first, and who loses a server.
SEEN, KILLED = "ada", "alan"


@pytest.fixture(scope="module")
def laid():
    """A class server as it is laid down, with accounts for the class and for an instructor."""
    reason = why_not() or ("" if find_browser() else "no Chromium or Chrome on this machine")
    if reason and os.environ.get("COURSE_REQUIRE_HUB") == "1":
        pytest.fail(f"{reason}, and COURSE_REQUIRE_HUB=1 asks for a class server")
    if reason:
        pytest.skip(reason)
    with class_server() as server:
        for name in STUDENTS:
            server.add(name)
        server.add("grace", "instructors")
        yield server


@pytest.fixture(scope="module")
def hub(laid):
    """The same, running."""
    laid.start()
    return laid


@pytest.fixture(scope="module")
def grace(hub):
    """The instructor, in the course's own JupyterLab, who has released the chapter."""
    visitor = Visitor(hub, hub.named("grace"))
    visitor.open(SERVICE)
    said = visitor.in_terminal(
        f"nbgrader generate_assignment {CHAPTER} --force && nbgrader release_assignment {CHAPTER}"
    )
    assert f"Released as: {COURSE_ID} {CHAPTER}" in said, said
    return visitor


@pytest.fixture(scope="module")
def page(hub, grace):
    """A student's browser, logged in."""
    with browser_page(find_browser(), hub.marked) as page:
        page.goto(hub.address)
        log_in(page, hub.named(SEEN))
        yield page


@pytest.fixture(scope="module")
def nine(hub, page):
    """Every other student's browser, logged in: a window each."""
    with contextlib.ExitStack() as windows:
        pages = {}
        for name in STUDENTS:
            if name != SEEN:
                context = page.context.browser.new_context(viewport=page.viewport_size)
                windows.callback(context.close)
                pages[name] = context.new_page()
                pages[name].set_default_timeout(CELL_SECONDS * 1000)
                pages[name].goto(hub.address)
                log_in(pages[name], hub.named(name))
        yield pages


@pytest.fixture(scope="module")
def ada(hub, page):
    """The same student, at a terminal and in a notebook."""
    visitor = Visitor(hub, hub.named(SEEN))
    visitor.open()
    return visitor


def log_in(page, name):
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def open_the_list(hub, page, name=SEEN):
    """nbgrader's list, in a workspace without anything else, and whole before it is clicked."""
    page.goto(f"{hub.address}/user/{hub.named(name)}/lab/workspaces/list?reset")
    page.get_by_role("menuitem", name="Nbgrader").click()
    page.get_by_text("Assignment List", exact=True).click()
    expect(page.get_by_text("Submitted assignments", exact=True)).to_be_visible()


def fetch(hub, page, name=SEEN):
    """Press Fetch in nbgrader's list."""
    open_the_list(hub, page, name)
    page.get_by_role("button", name="Fetch", exact=True).click()
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_visible()


def open_chapter(hub, page, name=SEEN):
    """A student's copy in JupyterLab, its kernel ready."""
    address, home = f"{hub.address}/user/{hub.named(name)}", hub.home(hub.named(name))
    return OpenNotebook(page, address, "", home, CHAPTER)


def submit(hub, page, name=SEEN):
    """Press Submit in nbgrader's list."""
    open_the_list(hub, page, name)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_role("button", name="Fetch Feedback")).to_be_visible()


def server_of(hub, name):
    """The process of a student's JupyterLab."""
    user = pwd.getpwnam(hub.named(name)).pw_uid
    found = [p for p in psutil.process_iter(["uids", "cmdline"]) if p.info["uids"].real == user]
    (server,) = [p for p in found if any("jupyterhub-singleuser" in w for w in p.info["cmdline"])]
    return server


@pytest.fixture
def checks(laid):
    """hub/class_settings.py as the class server imports it."""
    path = laid.course / "hub" / "class_settings.py"
    spec = importlib.util.spec_from_file_location("class_settings", path)
    module = importlib.util.module_from_spec(spec)
    with patch.dict(sys.modules, class_settings=module):
        spec.loader.exec_module(module)
    yield module
    laid.choose()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 8000", "no setting is called prot; there are address, port, "),
        ('port = "8000"', "port is '8000', and has to be of type int"),
        ("memory = 0", "memory is 0, and has to be more than 0"),
        ('spawner = "docker"', "spawner is 'docker', not auto, systemd or local"),
        ("port = ", "Invalid value (at "),
    ],
)
def test_what_class_toml_may_not_hold_gets_one_line(laid, checks, text, words):
    path = laid.folder / "class.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(checks.SettingsError) as caught:
        checks.load(path)
    assert str(caught.value).startswith(f"{path}: {words}")
    assert "\n" not in str(caught.value)


@contextlib.contextmanager
def mode(path, wrong):
    """A path with other rights for a while."""
    right = path.stat().st_mode
    path.chmod(wrong)
    yield
    path.chmod(right)


@contextlib.contextmanager
def moved(path):
    """A path that isn't there for a while."""
    away = path.rename(path.with_name("away"))
    yield
    away.rename(path)


@contextlib.contextmanager
def taken(port):
    """A port that someone else listens at."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        yield


WRONG = {
    "no exchange": (
        lambda s: moved(s.folder / "exchange"),
        "there is no folder {}/exchange; run: ",
    ),
    "an exchange where names may be taken away": (
        lambda s: mode(s.folder / "exchange", 0o777),
        "the exchange has the wrong rights; run: sudo chmod 1777 {}/exchange",
    ),
    "a course that students may enter": (
        lambda s: mode(s.course, 0o755),
        "others may enter {}/course; run: sudo chmod 700 {}/course",
    ),
    "a port that is taken": (lambda s: taken(s.port), "port PORT: Address already in use; class.t"),
    "a student without a home": (
        lambda s: moved(s.home(s.named("kurt"))),
        "PREFIX-kurt has no home {}/homes/PREFIX-kurt; run: sudo mkhomedir_helper PREFIX-kurt 0077",
    ),
    "a home that others may enter": (
        lambda s: mode(s.home(s.named("kurt")), 0o755),
        "others may enter {}/homes/PREFIX-kurt; run: sudo chmod 700 {}/homes/PREFIX-kurt",
    ),
    "a Python that is root's": (
        lambda s: mode(s.folder, 0o700),
        "students can't use the Python in {}/python: may they enter each folder above?",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_with_the_machine_gets_one_line(laid, what):
    make, words = WRONG[what]
    expected = (
        words.replace("{}", str(laid.folder))
        .replace("PREFIX", laid.prefix)
        .replace("PORT", str(laid.port))
    )
    with make(laid):
        done = subprocess.run(laid.command(), capture_output=True, text=True, cwd="/")
    assert done.returncode == 1
    assert done.stderr.startswith(f"class server: {expected}")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""


def test_a_student_does_a_chapter_in_the_browser(hub, page):
    expect(page.get_by_role("menuitem", name="Nbgrader")).to_be_visible()
    fetch(hub, page)
    opened = open_chapter(hub, page)
    opened.run(opened.position("setup"))
    for exercise, source in RIGHT.items():
        opened.type_into(opened.position(exercise), source)
        opened.run(opened.position(exercise))
        opened.run(opened.position(f"{exercise}-check"))
        assert opened.errors(opened.position(f"{exercise}-check")).count() == 0
    assert "Success" in opened.validate()
    submit(hub, page)


def test_nine_more_at_once_lose_nothing_when_the_hub_and_a_server_are_killed(hub, nine):
    for name, page in nine.items():
        fetch(hub, page, name)
    opened = {name: open_chapter(hub, page, name) for name, page in nine.items()}
    for chapter in opened.values():
        for exercise, source in HALF_RIGHT.items():
            chapter.type_into(chapter.position(exercise), source)
        chapter.page.keyboard.press("Control+S")
    for chapter in opened.values():
        assert eventually(lambda path=chapter.path: "x // 2" in path.read_text(encoding="utf-8"))
    before = {name: server_of(hub, name).pid for name in nine}
    os.kill(before[KILLED], signal.SIGKILL)
    hub.kill()
    hub.start()
    for page in nine.values():
        page.goto(hub.address)
    for name, page in nine.items():
        expect(page.get_by_role("menuitem", name="Nbgrader")).to_be_visible()
        chapter = open_chapter(hub, page, name)
        chapter.run(chapter.position("setup"))
        for exercise in HALF_RIGHT:
            chapter.run(chapter.position(exercise))
            chapter.run(chapter.position(f"{exercise}-check"))
        failing = [e for e in HALF_RIGHT if chapter.errors(chapter.position(f"{e}-check")).count()]
        assert failing == ["halve"], name
        submit(hub, page, name)
    after = {name: server_of(hub, name).pid for name in nine}
    assert {name for name in before if before[name] != after[name]} == {KILLED}


def test_the_instructor_collects_and_grades_and_gives_back(hub, grace):
    grace.open(SERVICE)
    said = grace.in_terminal(
        f"nbgrader collect {CHAPTER} && course grade {CHAPTER} &&"
        f" nbgrader release_feedback {CHAPTER}"
    )
    assert "Error" not in said, said
    with (hub.course / "grades.csv").open(encoding="utf-8") as file:
        marks = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert marks == {hub.named(name): 3.0 if name == SEEN else 1.0 for name in STUDENTS}


def test_the_student_reads_the_feedback(hub, page):
    name = hub.named(SEEN)
    open_the_list(hub, page)
    page.get_by_role("button", name="Fetch Feedback").click()
    page.get_by_text("(view feedback)").first.click()
    (feedback,) = hub.home(name).glob(f"{CHAPTER}/feedback/*/{CHAPTER}.html")
    page.locator(".jp-DirListing-item", has_text=feedback.name).dblclick()
    words = page.frame_locator("iframe").get_by_text("1 Double a number")
    expect(words.first).to_be_visible()


def test_progress_and_renewal_work_in_a_students_terminal(ada):
    said = ada.in_terminal("course progress")
    assert re.search("01 A tiny chapter +██", said)
    assert "all solved" in said
    said = ada.in_terminal(f"course renew {CHAPTER} && cat {CHAPTER}/{CHAPTER}.ipynb")
    assert f"{CHAPTER}: renewed: 2 answers" in said
    assert "return x + x" in said


def test_the_class_page_shows_who_handed_in_and_how_far_everyone_is(hub, grace, ada):
    page = grace.session.get(f"{hub.address}/services/class/").text
    (row,) = [row for row in page.split("<tr>") if hub.named(SEEN) in row]
    assert "2 of 2" in row
    assert "handed in 20" in row
    assert "3 of 3 points" in row
    assert f"{len(STUDENTS)}\nhanded in" in page
    assert ada.session.get(f"{hub.address}/services/class/").status_code == 403


def test_instructors_have_formgrader_and_the_admins_page_and_students_have_not(
    hub, grace, ada, page
):
    context = page.context.browser.new_context()
    try:
        other = context.new_page()
        other.set_default_timeout(CELL_SECONDS * 1000)
        other.goto(f"{hub.address}/{SERVICE}/")
        log_in(other, grace.name)
        other.get_by_role("menuitem", name="Nbgrader").click()
        other.get_by_text("Formgrader", exact=True).click()
        chapter = other.frame_locator("iframe").get_by_role("link", name=CHAPTER)
        expect(chapter.first).to_be_visible()
    finally:
        context.close()
    assert grace.session.get(f"{hub.address}/hub/admin").ok
    for path in ("hub/admin", f"{SERVICE}/", f"{SERVICE}/formgrader", f"user/{grace.name}/lab"):
        assert ada.session.get(f"{hub.address}/{path}").status_code in (403, 404), path


def test_a_student_reads_nothing_that_is_not_theirs(hub, ada, grace):
    """What is tried by its full name, since a folder that can't be listed may still be entered."""
    neighbour = hub.home(hub.named("alan"))
    inbound = hub.folder / "exchange" / COURSE_ID / "inbound"
    feedback = hub.folder / "exchange" / COURSE_ID / "feedback"
    theirs = {
        "a neighbour's folder": (neighbour, neighbour / CHAPTER / f"{CHAPTER}.ipynb"),
        "the exchange's inbound": (inbound,),
        "other students' feedback": (feedback,),
        "the gradebook": (hub.course / "gradebook.db", hub.course / "grades.csv"),
        "the source": (hub.course, hub.chapter.source, hub.chapter.solution),
        "what was handed in": (hub.course / "submitted", hub.course / "autograded"),
        "the hub's secrets": (hub.folder / "hub", hub.folder / "hub" / "cookie_secret"),
        "the account of the course": (hub.folder / "home",),
    }
    paths = [path for each in theirs.values() for path in each]
    assert all(path.exists() for path in paths)
    read = "\n".join(f"ls -d {path}/* || cat {path} || echo closed" for path in map(str, paths))
    said = ada.in_terminal(f"sh -c {shlex.quote(read)} | grep -c closed")
    assert said.splitlines()[-1] == str(len(paths)), ada.in_terminal(f"sh -c {shlex.quote(read)}")
    code = (
        "import os, pathlib\n"
        f"for path in map(pathlib.Path, {list(map(str, paths))}):\n"
        "    try:\n"
        "        print(path, list(path.iterdir()) if path.is_dir() else path.read_bytes()[:40])\n"
        "    except PermissionError:\n"
        "        pass\n"
    )
    assert ada.in_notebook(code) == ""
    # Nor by the hub, or as the account of the course.
    assert "password" in ada.in_terminal(f"su -c id {hub.prefix}-account < /dev/null").lower()
    for path in (f"user/{hub.named('alan')}/api/contents", "hub/api/users"):
        assert ada.session.get(f"{hub.address}/{path}").status_code in (403, 404), path
    # An instructor's part is the course.
    assert grace.session.get(f"{hub.address}/user/{ada.name}/api/contents").status_code == 403


def test_a_student_takes_no_more_than_a_share(ada):
    said = ada.in_notebook(
        "import threading, time\n"
        "try:\n    bytearray(5 * 2**30)\nexcept MemoryError:\n    print('no memory')\n"
        "try:\n"
        "    for _ in range(400):\n"
        "        threading.Thread(target=time.sleep, args=(1,)).start()\n"
        "except RuntimeError:\n    print('no threads')\n"
    )
    assert said == "no memory\nno threads\n"


def test_nobody_hands_in_under_anothers_name(hub, ada, grace):
    other = hub.named("alan")
    ada.in_terminal(f"nbgrader submit {CHAPTER} --student {other}")
    inbound = hub.folder / "exchange" / COURSE_ID / "inbound"
    forged = [path for path in inbound.glob(f"{other}+*") if path.owner() == ada.name]
    assert forged
    said = grace.in_terminal(f"nbgrader collect {CHAPTER} --update")
    assert f"left aside: it is from {ada.name}" in said, said
    (collected,) = hub.course.glob(f"submitted/{other}/{CHAPTER}/*.ipynb")
    assert "x // 2" in collected.read_text(encoding="utf-8")


def test_idle_servers_are_ended_and_nothing_saved_is_lost(hub, ada):
    hub.process.terminate()
    hub.process.wait()
    hub.choose(idle_minutes=0.05)
    hub.start()
    students = [pwd.getpwnam(hub.named(name)).pw_uid for name in STUDENTS]
    assert eventually(lambda: not processes_of(students), 60)
    assert "return x + x" in (hub.home(ada.name) / CHAPTER / f"{CHAPTER}.ipynb").read_text()


def test_a_student_comes_from_the_schools_platform_by_lti(hub, ada):
    """With the settings of docs/class-server.md, but for the platform's address."""
    from support.lti import Platform  # needs what only a class server installs

    text = (ROOT / "docs" / "class-server.md").read_text(encoding="utf-8")
    (settings,) = re.findall(
        r"```python\n(c\.JupyterHub\.authenticator_class.*?)```", text, re.DOTALL
    )
    with Platform("the client's id") as platform:
        more = hub.folder / "more.py"
        settings = settings.replace("https://moodle.school.example", platform.address)
        more.write_text(settings, encoding="utf-8")
        hub.process.terminate()
        hub.process.wait()
        hub.choose()
        hub.start()
        for account, status in ((ada.name, 200), ("stranger", 500)):
            page = platform.launch(hub.address, account)
            assert page.status_code == status, page.text
        forged = platform.launch(hub.address, ada.name, key=platform.other_key)
        assert forged.status_code == 400
    more.unlink()
