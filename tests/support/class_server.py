"""A class server on loopback, with accounts of the system that are made for it and removed.

It is what docs/class-server.md lays down, by the same files, but for three things: the course is
the tiny one, the Python is this one's packages, and the accounts have names that no school gives.
"""

from __future__ import annotations

import contextlib
import grp
import http.cookiejar
import importlib.util
import json
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import requests
import websocket

from course_utils.authoring.build import build_into_place
from course_utils.project import Chapter
from support.answers import ROOT
from support.lab import MarkedProcesses
from support.tiny import make_tiny_course

START_SECONDS = 180
STOP_SECONDS = 60
REPLY_SECONDS = 120
COURSE_ID = "pytorch"
PASSWORD = "a password for tests"


def usable_by_everyone(python: str) -> bool:
    """Whether an account without any rights can run a Python."""
    nobody = pwd.getpwnam("nobody")
    try:
        done = subprocess.run(
            [python, "-c", ""], cwd="/", user="nobody", group=nobody.pw_gid, extra_groups=[]
        )
    except PermissionError:
        return False
    return done.returncode == 0


def base_python() -> str | None:
    """A Python of this version that everyone may run."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [sys._base_executable, f"/usr/bin/python{version}"]
    return next((p for p in candidates if Path(p).exists() and usable_by_everyone(p)), None)


def why_not() -> str:
    """Why no class server can be tried on this machine; empty where one can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root makes accounts"
    if importlib.util.find_spec("jupyterhub") is None:
        return "JupyterHub is not installed; run: make install-hub"
    for command in ("useradd", "chpasswd", "prlimit"):
        if shutil.which(command) is None:
            return f"no command {command}"
    if any(not parent.stat().st_mode & 0o001 for parent in (ROOT, *ROOT.parents)):
        return f"other accounts can't enter {ROOT}"
    if base_python() is None:
        return "other accounts can't run this Python"
    return ""


def make_python(folder: Path) -> None:
    """This environment under another name, which every account may use."""
    base = base_python()
    assert base
    own = Path(sys.prefix)
    if base == sys._base_executable:
        folder.symlink_to(own)
        return
    # Its Python is root's alone: another Python of the system stands in, with the same packages.
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(base).parent}\n", encoding="utf-8")
    for name in ("python", "python3"):
        (folder / "bin" / name).symlink_to(base)
    for name in ("share", "etc"):
        (folder / name).symlink_to(own / name)
    # A sandbox sees what is in this folder, and not where links lead. Read-only: what removes the
    # folder must not remove the packages.
    (folder / "lib").mkdir()
    run("mount", "--options", "bind,ro", own / "lib", folder / "lib")
    # What pip wrote names the other environment's Python in its first line.
    for script in (own / "bin").iterdir():
        first, _, rest = script.read_bytes().partition(b"\n")
        if first.startswith(b"#!") and b"python" in first and script.is_file():
            copy = folder / "bin" / script.name
            copy.write_bytes(f"#!{folder}/bin/python\n".encode() + rest)
            copy.chmod(0o755)


def free_ports(count: int) -> int:
    """The first of so many neighbouring ports that nobody uses."""
    while True:
        first = secrets.randbelow(20000) + 20000
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
        return first


def run(*command: str | Path, **keywords) -> subprocess.CompletedProcess:
    """Run a command to its end; what it prints is shown where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, **keywords)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


@dataclass
class ClassServer:
    """A class server that may be started, killed, and started again."""

    folder: Path
    prefix: str = field(default_factory=lambda: f"t{secrets.token_hex(3)}")
    marked: MarkedProcesses = field(default_factory=MarkedProcesses)
    port: int = field(default_factory=lambda: free_ports(5))
    process: subprocess.Popen | None = None
    accounts: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def course(self) -> Path:
        return self.folder / "course"

    @property
    def chapter(self) -> Chapter:
        return Chapter("01_tiny", self.course)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8")

    def lay_down(self) -> None:
        """The course's folder, the Python, class.toml; then hub/install.py."""
        self.folder.chmod(0o755)
        self.course.mkdir()
        make_tiny_course(self.course)
        build_into_place(self.chapter)
        for name in ("hub", "etc"):
            shutil.copytree(ROOT / name, self.course / name)
        make_python(self.folder / "python")
        self.choose()
        run(sys.executable, self.course / "hub" / "install.py")

    def choose(self, **other) -> None:
        """Write class.toml."""
        names = {name: f"{self.prefix}-{name}" for name in ("students", "instructors", "account")}
        values = {**names, "port": self.port, "spawner": "local", **other}
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in values.items()]
        (self.folder / "class.toml").write_text("".join(lines), encoding="utf-8")

    def add(self, name: str, group: str = "students") -> str:
        """A new account of the system, with a home and a password. Returns its whole name."""
        full = self.named(name)
        self.accounts.append(full)
        homes = self.folder / "homes"
        homes.mkdir(exist_ok=True)
        more = ["--groups", f"{self.prefix}-{group}", "--base-dir", str(homes)]
        run("useradd", "--create-home", "--shell", "/bin/bash", *more, full)
        (homes / full).chmod(0o700)
        run("chpasswd", input=f"{full}:{PASSWORD}\n")
        return full

    def named(self, name: str) -> str:
        """The whole name of an account."""
        return f"{self.prefix}-{name}"

    def home(self, name: str) -> Path:
        return self.folder / "homes" / name

    def command(self) -> list[str | Path]:
        return [self.folder / "python" / "bin" / "python", self.course / "hub" / "start.py"]

    def start(self) -> None:
        """Start the hub and wait until it answers."""
        environment = self.marked.environment(self.folder / "roots-own")
        # A class server has what hub/ sets, and nothing from whoever starts it.
        for name in [name for name in environment if name.startswith(("JUPYTER", "IPYTHON"))]:
            del environment[name]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                self.command(),
                cwd="/",
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        limit = time.monotonic() + START_SECONDS
        while time.monotonic() < limit:
            assert self.process.poll() is None, self.log
            with contextlib.suppress(requests.RequestException):
                if requests.get(f"{self.address}/hub/api/", timeout=5).ok:
                    return
            time.sleep(0.2)
        raise TimeoutError(self.log)

    def kill(self) -> None:
        """End the hub without a warning, with its proxy and services, as systemd ends a unit."""
        assert self.process
        for process in [psutil.Process(self.process.pid), *self.beside_it()]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()

    def beside_it(self) -> list[psutil.Process]:
        """The hub's proxy and services; students' servers are meant to live on without it."""
        assert self.process
        students = {pwd.getpwnam(name).pw_uid for name in self.accounts}
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in children if child.uids().real not in students]

    def clean_up(self) -> list[str]:
        """End the hub, then students' servers, which outlive it; remove every account.

        Returns:
            The command lines of what else was still there: empty when all went well.
        """
        left = []
        if self.process and self.process.poll() is None:
            beside_it = self.beside_it()
            self.process.terminate()
            self.process.wait(STOP_SECONDS)
            _, alive = psutil.wait_procs(beside_it, STOP_SECONDS)
            left = [" ".join(process.cmdline()) for process in alive]
        known = {user.pw_name: user.pw_uid for user in pwd.getpwall()}
        accounts = {name: known[name] for name in known if name.startswith(f"{self.prefix}-")}
        left += self.marked.end()
        limit = time.monotonic() + STOP_SECONDS
        while (theirs := processes_of(accounts.values())) and time.monotonic() < limit:
            for process in theirs:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            time.sleep(0.1)
        library = self.folder / "python" / "lib"
        if f" {library} " in Path("/proc/self/mountinfo").read_text(encoding="utf-8"):
            # Lazily: a process that looked around on the machine may still hold it.
            run("umount", "--lazy", library)
        for name in accounts:
            # It says that there is no mail to remove, and exits with 12.
            subprocess.run(["userdel", "--remove", name], check=False, capture_output=True)
        for group in [group.gr_name for group in grp.getgrall()]:
            if group.startswith(f"{self.prefix}-"):
                run("groupdel", group)
        names = {user.pw_name for user in pwd.getpwall()}
        return [*left, *(f"the account {name}" for name in accounts if name in names)]


def processes_of(users: Iterable[int]) -> list[psutil.Process]:
    """The processes of accounts, by their numbers."""
    wanted, found = set(users), []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.uids().real in wanted and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@contextlib.contextmanager
def class_server() -> Iterator[ClassServer]:
    """A class server that is laid down and not started; nothing of it is left afterwards."""
    with tempfile.TemporaryDirectory(prefix="course-class-", dir="/var/tmp") as name:
        server = ClassServer(Path(name))
        try:
            server.lay_down()
            yield server
        finally:
            left = server.clean_up()
    assert left == [], "these were left behind"


class Visitor:
    """Someone logged in at the hub, as a browser is, but without one."""

    def __init__(self, server: ClassServer, name: str):
        self.server, self.name = server, name
        self.session = requests.Session()
        self.session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy())
        page = self.session.get(f"{server.address}/hub/login", timeout=REPLY_SECONDS)
        form = {"username": name, "password": PASSWORD, "_xsrf": xsrf(page.text)}
        answer = self.session.post(
            f"{server.address}/hub/login", data=form, timeout=REPLY_SECONDS, allow_redirects=False
        )
        assert answer.status_code == 302, answer.text

    def open(self, service: str = "") -> None:
        """Start the JupyterLab, or enter that of a service, and wait until it answers."""
        self.base = f"{self.server.address}/{service or f'user/{self.name}'}"
        start = f"{self.server.address}/{service + '/' if service else 'hub/spawn'}"
        limit = time.monotonic() + START_SECONDS
        page = self.session.get(start, timeout=REPLY_SECONDS)
        while time.monotonic() < limit:
            if page.url.startswith(self.base) and page.ok:
                return
            assert "Spawn failed" not in page.text, page.text
            time.sleep(0.3)
            page = self.session.get(f"{self.base}/lab", timeout=REPLY_SECONDS)
        raise TimeoutError(self.server.log)

    def ask(self, method: str, path: str, **keywords) -> requests.Response:
        """Call something of the JupyterLab that was opened."""
        tokens = [c.value for c in self.session.cookies if c.name == "_xsrf" and self.covers(c)]
        return self.session.request(
            method,
            f"{self.base}/{path}",
            timeout=REPLY_SECONDS,
            headers={"X-XSRFToken": tokens[-1] if tokens else ""},
            **keywords,
        )

    def covers(self, cookie: http.cookiejar.Cookie) -> bool:
        return urllib.parse.urlparse(self.base).path.startswith(cookie.path.rstrip("/"))

    def channel(self, path: str) -> websocket.WebSocket:
        """A web socket of that JupyterLab."""
        pairs = [f"{c.name}={c.value}" for c in self.session.cookies if self.covers(c)]
        return websocket.create_connection(
            f"{self.base}/{path}".replace("http", "ws", 1),
            cookie="; ".join(pairs),
            timeout=REPLY_SECONDS,
        )

    def in_terminal(self, command: str) -> str:
        """What a command prints in a new terminal."""
        made = self.ask("POST", "api/terminals")
        assert made.ok, made.text
        terminal = made.json()["name"]
        channel = self.channel(f"terminals/websocket/{terminal}")
        mark = secrets.token_hex(4)
        # The mark in two pieces, so that the echo of what is typed isn't taken for it.
        echo = f"echo {mark[:4]}''{mark[4:]}"
        line = f"{echo}; {{ {command}; }} 2>&1; {echo}\r"
        channel.send(json.dumps(["stdin", line]))
        text = ""
        while text.count(mark) < 2:
            kind, *rest = json.loads(channel.recv())
            text += rest[0] if kind == "stdout" else ""
        channel.close()
        self.ask("DELETE", f"api/terminals/{terminal}")
        return re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", text.split(mark)[1]).strip()

    def in_notebook(self, code: str) -> str:
        """What a cell prints in a new kernel."""
        kernel = self.start_kernel()
        text = self.run(kernel, code)
        self.ask("DELETE", f"api/kernels/{kernel}")
        return text

    def start_kernel(self) -> str:
        """The name of a new kernel, which may not answer yet."""
        made = self.ask("POST", "api/kernels", json={"name": "python3"})
        assert made.ok, made.text
        return made.json()["id"]

    def run(self, kernel: str, code: str) -> str:
        """What a cell prints, its errors among it."""
        channel = self.channel(f"api/kernels/{kernel}/channels")
        header = {"msg_id": secrets.token_hex(8), "msg_type": "execute_request", "session": "one"}
        message = {
            "channel": "shell",
            "header": {**header, "username": self.name, "version": "5.3"},
            "parent_header": {},
            "metadata": {},
            "content": {"code": code, "silent": False},
        }
        channel.send(json.dumps(message))
        text, ended = "", False
        while not ended:
            said = json.loads(channel.recv())
            if said["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            content = said["content"]
            if said["msg_type"] == "error":
                text += "\n".join(content["traceback"])
            text += content.get("text", "")
            ended = content.get("execution_state") == "idle"
        channel.close()
        return text


def xsrf(page: str) -> str:
    """The token that a form of JupyterHub carries."""
    found = re.search(r'name="_xsrf" value="([^"]+)"', page)
    assert found, page
    return found[1]
