"""Where a class server's files are, what class.toml chooses, and what is wrong with either."""

from __future__ import annotations

import grp
import os
import pwd
import socket
import stat
import subprocess
import sys
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]
# Commands that mend what is wrong, wherever they are typed.
MAKE = f"sudo make -C {COURSE}"
# Its name in nbgrader's exchange, as nbgrader_config.py has it.
COURSE_ID = "pytorch"
# May everyone write here, and nobody rename what is another's?
OPEN_TO_ALL = 0o1777
PORTS = ("pages", "proxy", "hub", "instructors", "class page")


class SettingsError(Exception):
    """What is wrong, in one line."""


@dataclass(frozen=True)
class ClassSettings:
    """The values of class.toml, whose comments say what they are for."""

    address: str = "127.0.0.1"
    port: int = 8000
    students: str = "students"
    instructors: str = "instructors"
    account: str = "course"
    memory: float = 4.0
    cores: float = 1.0
    processes: int = 256
    hours: float = 4.0
    idle_minutes: float = 60.0
    spawner: str = "auto"

    # The folder that holds all of it: the course's folder is one of five.
    folder = COURSE.parent
    course = COURSE
    python = folder / "python"
    settings = folder / "settings"
    exchange = folder / "exchange"
    state = folder / "hub"
    home = folder / "home"

    def port_of(self, whose: str) -> int:
        """The port of one of ``PORTS``; all but the first answer this machine alone."""
        return self.port + PORTS.index(whose)

    @property
    def uses_systemd(self) -> bool:
        """Whether students' servers are units of systemd."""
        running = Path("/run/systemd/system").is_dir()
        return self.spawner == "systemd" or (self.spawner == "auto" and running)


def load(path: Path = COURSE.parent / "class.toml") -> ClassSettings:
    """Read class.toml.

    Raises:
        SettingsError: it isn't there, isn't TOML, or holds what it may not.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}; run: {MAKE} install-class") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
    known = {field.name: field.default for field in fields(ClassSettings)}
    for name, value in values.items():
        if name not in known:
            raise SettingsError(
                f"{path}: no setting is called {name}; there are {', '.join(known)}"
            )
        kind = type(known[name])
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or isinstance(value, bool):
            raise SettingsError(
                f"{path}: {name} is {value!r}, and has to be of type {kind.__name__}"
            )
        if isinstance(value, (int, float)) and value <= 0:
            raise SettingsError(f"{path}: {name} is {value}, and has to be more than 0")
    if values.get("spawner", "auto") not in ("auto", "systemd", "local"):
        raise SettingsError(f"{path}: spawner is {values['spawner']!r}, not auto, systemd or local")
    return ClassSettings(**values)


def members(group: str) -> list[str]:
    """Who is in a group of the system, also by the account's first group; none without it."""
    try:
        found = grp.getgrnam(group)
    except KeyError:
        return []
    first = [user.pw_name for user in pwd.getpwall() if user.pw_gid == found.gr_gid]
    return sorted({*found.gr_mem, *first})


def home_problem(name: str) -> str:
    """What is wrong with a student's home; empty where nothing is."""
    try:
        account = pwd.getpwnam(name)
        mode = os.stat(account.pw_dir)
    except KeyError:
        return f"{name} has no account on this machine"
    except OSError:
        return f"{name} has no home {account.pw_dir}; run: sudo mkhomedir_helper {name} 0077"
    if mode.st_uid != account.pw_uid:
        return f"{account.pw_dir} isn't {name}'s; run: sudo chown -R {name}: {account.pw_dir}"
    if stat.S_IMODE(mode.st_mode) & 0o077:
        return f"others may enter {account.pw_dir}; run: sudo chmod 700 {account.pw_dir}"
    return ""


def problems(settings: ClassSettings) -> list[str]:
    """Everything that keeps the class server from being safe, or from starting: a line each."""
    if os.geteuid() != 0:
        return [f"it starts as root, to act for each student; run: {MAKE} class-server"]
    return [
        *accounts(settings),
        *folders(settings),
        *environment(),
        *ports(settings),
        *filter(None, map(home_problem, members(settings.students))),
    ]


def accounts(settings: ClassSettings) -> list[str]:
    found = []
    for group in (settings.students, settings.instructors):
        try:
            grp.getgrnam(group)
        except KeyError:
            found.append(f"there is no group {group}; run: sudo groupadd {group}")
    both = set(members(settings.students)) & set(members(settings.instructors))
    if both:
        found.append(f"a student is an instructor as well: {', '.join(sorted(both))}")
    return found


def folders(settings: ClassSettings) -> list[str]:
    again = f"run: {MAKE} install-class"
    found = []
    try:
        owner = pwd.getpwnam(settings.account).pw_uid
    except KeyError:
        return [f"there is no account {settings.account}; {again}"]
    for folder in (settings.course, settings.settings, settings.exchange, settings.state):
        if not folder.is_dir():
            found.append(f"there is no folder {folder}; {again}")
    if found:
        return found
    course, exchange = os.stat(settings.course), os.stat(settings.exchange)
    if course.st_uid != owner:
        found.append(f"{settings.course} isn't {settings.account}'s; {again}")
    for folder in (settings.course, settings.state):
        if stat.S_IMODE(os.stat(folder).st_mode) & 0o077:
            found.append(f"others may enter {folder}; run: sudo chmod 700 {folder}")
    if stat.S_IMODE(exchange.st_mode) != OPEN_TO_ALL:
        found.append(f"the exchange has the wrong rights; run: sudo chmod 1777 {settings.exchange}")
    return found


def environment() -> list[str]:
    """Whether an account without any rights can use this Python, and the course with it."""
    nobody = pwd.getpwnam("nobody")
    try:
        subprocess.run(
            [sys.executable, "-c", "import course_utils, jupyterhub"],
            cwd="/",
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return [f"students can't use the Python in {sys.prefix}: may they enter each folder above?"]
    return []


def ports(settings: ClassSettings) -> list[str]:
    found = []
    for whose in PORTS:
        port = settings.port_of(whose)
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((settings.address if whose == "pages" else "127.0.0.1", port))
            except (OSError, OverflowError) as error:
                why = getattr(error, "strerror", "") or "no such port"
                found.append(f"port {port}: {why}; class.toml: choose another address or port")
    return found
