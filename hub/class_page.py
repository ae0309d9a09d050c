"""The class on one page, for instructors: who handed in, and how far everyone is, as it is now.

A service of the hub, as root: it reads each student's notebooks with that student's rights.
"""

from __future__ import annotations

import asyncio
import csv
import json
import os
import pwd
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from jupyterhub.services.auth import HubOAuthCallbackHandler, HubOAuthenticated
from jupyterhub.utils import url_path_join
from tornado.web import Application, RequestHandler, authenticated

from class_settings import COURSE_ID, ClassSettings, load, members
from course_utils.exercises import read_folder

REFRESH_SECONDS = 15
# What one student's notebooks may take: they can be anything.
READING_SECONDS = 10
READING_BYTES = 2**30
ANSWER_BYTES = 2**16


@dataclass
class Standing:
    """How one student stands with one chapter."""

    solved: int = 0
    exercises: int = 0
    handed_in: str = ""
    mark: str = ""


def with_the_rights_of(name: str, work: Callable[[], Any]) -> Any:
    """What ``work`` returns in a process that may do what this account may; None if it fails."""
    account = pwd.getpwnam(name)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            # A notebook may be a pipe that nobody writes to, or a disk full of zeros.
            signal.alarm(READING_SECONDS)
            resource.setrlimit(resource.RLIMIT_DATA, (READING_BYTES, READING_BYTES))
            os.write(writing, json.dumps(work()).encode()[:ANSWER_BYTES])
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read(ANSWER_BYTES)
    os.waitpid(child, 0)
    try:
        return json.loads(told)
    except ValueError:
        return None


def progress(name: str) -> dict[str, list[int]]:
    """For each chapter of a student: how many exercises are solved, and how many there are."""
    home = Path(pwd.getpwnam(name).pw_dir)

    def work() -> dict[str, list[int]]:
        chapters = read_folder(home)
        return {
            chapter.name: [chapter.count("solved"), len(chapter.exercises)] for chapter in chapters
        }

    return with_the_rights_of(name, work) or {}


def handed_in(settings: ClassSettings) -> dict[tuple[str, str], str]:
    """When a student's last submission of a chapter came, whether it is collected or not."""
    last: dict[tuple[str, str], str] = {}
    for path in sorted((settings.exchange / COURSE_ID / "inbound").glob("*+*+*")):
        student, chapter, when, *_ = path.name.split("+")
        if path.owner() == student:
            last[student, chapter] = max(when, last.get((student, chapter), ""))
    return last


def marks(settings: ClassSettings) -> dict[tuple[str, str], str]:
    """The marks of the last ``course grade``."""
    try:
        with (settings.course / "grades.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        return {}
    return {
        (row["student_id"], row["assignment"]): " of ".join(
            # Empty where a submission could not be graded.
            f"{float(points):g}" if points else "–"
            for points in (row["score"], row["max_score"])
        )
        for row in rows
    }


def standings(settings: ClassSettings) -> tuple[list[str], dict[str, dict[str, Standing]]]:
    """The released chapters, and for each student how they stand with each."""
    released = sorted(p.name for p in (settings.exchange / COURSE_ID / "outbound").glob("*"))
    arrived, graded = handed_in(settings), marks(settings)
    table = {}
    for student in members(settings.students):
        reached = progress(student)
        table[student] = {
            chapter: Standing(
                *reached.get(chapter, (0, 0)),
                arrived.get((student, chapter), "")[:16],
                graded.get((student, chapter), ""),
            )
            for chapter in released
        }
    return released, table


PAGE = jinja2.Environment(autoescape=True).from_string(
    """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="{{ seconds }}">
<title>The class</title>
<style>
  :root { color-scheme: light dark; font-family: system-ui, sans-serif; }
  table { border-collapse: collapse; }
  th, td { padding: .4em .8em; text-align: left; border-bottom: 1px solid #8886; }
  small { display: block; opacity: .7; }
</style>
<h1>The class</h1>
<p>{{ table | length }} student{{ '' if table | length == 1 else 's' }}.
Progress is what their saved notebooks say; times are in UTC; this page
looks again every {{ seconds }} seconds.</p>
<table>
<tr><th>student</th>{% for chapter in released %}<th>{{ chapter }}<small>{{ counts[chapter] }}
handed in</small></th>{% endfor %}</tr>
{% for student, row in table.items() %}<tr><th>{{ student }}</th>
{% for it in row.values() %}<td>{% if it.exercises %}
<progress max="{{ it.exercises }}" value="{{ it.solved }}"></progress>
{{ it.solved }} of {{ it.exercises }}{% else %}–{% endif %}
{% if it.handed_in %}<small>handed in {{ it.handed_in }}</small>{% endif %}
{% if it.mark %}<small>{{ it.mark }} points</small>{% endif %}</td>{% endfor %}</tr>
{% endfor %}
</table>
</html>
"""
)


class ClassPage(HubOAuthenticated, RequestHandler):
    """The page, for whom the hub lets in."""

    @authenticated
    def get(self):
        released, table = standings(load())
        rows = table.values()
        counts = {name: sum(bool(row[name].handed_in) for row in rows) for name in released}
        self.finish(
            PAGE.render(released=released, table=table, counts=counts, seconds=REFRESH_SECONDS)
        )


async def main() -> None:
    prefix = os.environ["JUPYTERHUB_SERVICE_PREFIX"]
    handlers = [
        (prefix, ClassPage),
        (url_path_join(prefix, "oauth_callback"), HubOAuthCallbackHandler),
    ]
    application = Application(handlers, cookie_secret=os.urandom(32))
    address = os.environ["JUPYTERHUB_SERVICE_URL"].split("://")[1].strip("/")
    host, _, port = address.partition(":")
    application.listen(int(port), host)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
