"""visdom and TensorBoard start, answer on the loopback alone, draw, and end with the kernel."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from course_utils import tensorboard_server, visdom_server
from course_utils.kernels.sandbox import Sandbox, why_not
from course_utils.learner import servers
from course_utils.learner.servers import ServerError
from course_utils.learner.servers.server import page_is_there
from support.lab import MarkedProcesses, browser_page, needed_browser
from support.warm import eventually, gone, run_in

# visdom's own, of its logger.
pytestmark = pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated")

SERVERS = {
    "visdom": lambda *arguments: visdom_server(*arguments, page=False),
    "tensorboard": tensorboard_server,
}
SERVER, PAGE = "course_utils.learner.servers.server", "course_utils.learner.servers.page"
both = pytest.mark.parametrize("kind", SERVERS)


def listens_on(pid):
    """The addresses that a process and its children listen on."""
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    found = [each.laddr for process in family for each in process.net_connections()]
    return {(address.ip, address.port) for address in found}


@both
def test_a_block_starts_and_ends_it(kind):
    with SERVERS[kind]() as server:
        pid, folder = server._process.pid, server.folder
        assert listens_on(pid) == {("127.0.0.1", server.port)}
        assert "<html" in server.read()
        assert folder.is_dir()
        assert repr(server) == f"{kind} at {server.url}"
    assert gone(pid)
    assert not folder.exists()
    assert repr(server) == f"{kind}, which does not run"
    with pytest.raises(ServerError, match="does not run"):
        _ = server.url


@both
def test_start_and_stop_and_again(kind, tmp_path):
    server = SERVERS[kind](tmp_path)
    assert server.start() is server
    with pytest.raises(ServerError, match="runs already"):
        server.start()
    first = server._process.pid
    server.stop()
    server.stop()
    assert gone(first)
    assert tmp_path.is_dir(), "the folder is the caller's"
    with server.start():
        assert server._process.pid != first
    assert server.port is None


@both
def test_two_at_once(kind):
    with SERVERS[kind]() as one, SERVERS[kind]() as other:
        assert one.port != other.port
        assert one.folder != other.folder


@both
@pytest.mark.parametrize("how", ["sys.exit()", "os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_it_ends_with_its_process(kind, how, tmp_path):
    """Also when a fork of that process lives on and holds the pipe open."""
    program = (
        "import os, sys, time, course_utils\n"
        f"server = course_utils.{kind}_server().start()\n"
        "fork = os.fork()\n"
        "if not fork: time.sleep(60); os._exit(0)\n"
        "print(server._process.pid, server._work, fork, flush=True)\n" + how
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=(tmp_path / "out").open("w"),
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    pid, work, fork = (tmp_path / "out").read_text().split()
    try:
        assert done.returncode in (0, 3, -9)
        assert eventually(lambda: gone(int(pid)))
        assert not Path(work).exists()
    finally:
        os.kill(int(fork), signal.SIGKILL)


def test_what_does_not_start_says_its_last_words(monkeypatch):
    command = [sys.executable, "-c", "raise SystemExit('no colours left')"]
    monkeypatch.setattr(f"{SERVER}.server_command", lambda *_, **__: command)
    server = tensorboard_server()
    with pytest.raises(ServerError, match=r"tensorboard ended at once \(no colours left\)"):
        server.start()
    assert server._work is None


def test_what_never_answers_is_ended(monkeypatch):
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(f"{SERVER}.server_command", lambda *_, **__: command)
    with pytest.raises(ServerError, match="did not answer within 1 s"):
        tensorboard_server(seconds=1).start()


def test_another_port_is_taken_when_one_is_in_use(monkeypatch):
    with tensorboard_server() as first:
        ports = iter([first.port, servers.free_port()])
        monkeypatch.setattr(f"{SERVER}.free_port", lambda: next(ports))
        monkeypatch.setattr(f"{SERVER}.page_is_there", lambda port: (
            port != first.port and page_is_there(port)
        ))  # fmt: skip
        with tensorboard_server() as second:
            assert second.port != first.port


def test_a_proxy_of_the_environment_stays_out_of_it(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with visdom_server(page=False) as server:
        server.client().line(Y=[1.0, 2.0], win="loss")
        assert server.client().win_exists("loss")


def test_what_visdom_saved_is_there_again(tmp_path):
    with visdom_server(tmp_path, page=False) as server:
        client = server.client("first")
        client.line(Y=[3.0, 1.0], X=[0, 1], win="loss")
        client.line(Y=[0.5], X=[2], win="loss", update="append")
        client.save(["first"])
    with visdom_server(tmp_path, page=False) as server:
        client = server.client("second")
        assert {"first", "second"} <= set(client.get_env_list())
        window = json.loads(client.get_window_data("loss", "first"))
        assert window["content"]["data"][0]["y"] == [3.0, 1.0, 0.5]


def test_tensorboard_has_no_client():
    with pytest.raises(ServerError, match="no client"):
        tensorboard_server().client()


def test_they_work_in_the_grading_sandbox():
    reason = why_not()
    if reason and os.environ.get("COURSE_REQUIRE_SANDBOX") == "1":
        pytest.fail(f"COURSE_REQUIRE_SANDBOX=1, and there is no sandbox: {reason}")
    if reason:
        pytest.skip(reason)
    with Sandbox() as sandbox:
        texts = run_in(
            sandbox,
            "from course_utils import tensorboard_server, visdom_server\n"
            "with visdom_server() as server:\n"
            "    _ = server.client().line(Y=[1.0, 2.0], win='loss')\n"
            "    print(server.client().win_exists('loss'), 'no network' in server.page)",
            "with tensorboard_server() as server: print('data_location' in "
            "server.read('data/environment'))",
        )
    assert texts[0] in ("True True\n", "True False\n"), texts[0]
    assert texts[1] == "True\n"


def test_without_a_network_the_reason_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(f"{PAGE}.has_network", lambda: False)
    own, words = servers.visdom_page()
    if not words:
        pytest.skip("this visdom's own page is whole")
    assert own.name == "static"
    assert "no network" in words
    server = visdom_server()
    assert "would stay white" in server.page
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_could_not_be_fetched_leaves_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(f"{PAGE}.has_network", lambda: True)
    monkeypatch.setattr(f"{PAGE}.shutil.which", lambda _: None)
    monkeypatch.setattr(f"{PAGE}._fetch_by_visdom", lambda _: "the downloader is on holiday")
    _, words = servers.visdom_page()
    if not words:
        pytest.skip("this visdom's own page is whole")
    assert "npm is not installed; the downloader is on holiday" in words
    assert list(tmp_path.rglob("*.js")) == []


@pytest.fixture(scope="module")
def page():
    executable = needed_browser()
    marked = MarkedProcesses()
    with browser_page(executable, marked) as page:
        yield page
    assert marked.end() == [], "these processes were left behind"


def test_a_browser_sees_visdoms_line(page):
    """The page's scripts are fetched for it where they are not there yet."""
    with visdom_server() as server:
        if server.page:
            pytest.skip(server.page)
        server.client().line(Y=[1.0, 3.0, 2.0], X=[0, 1, 2], win="loss")
        page.goto(server.url)
        line = page.locator("path.js-line")
        line.wait_for()
        assert line.get_attribute("d").count(",") == 3, "a line through three points"
        assert line.bounding_box()["width"] > 100


def test_a_browser_sees_tensorboards_line(page):
    from torch.utils.tensorboard import SummaryWriter

    with tensorboard_server() as server:
        with SummaryWriter(server.folder / "run") as writer:
            for step in range(20):
                writer.add_scalar("loss", 1 / (step + 1), step)
        # The page asks once, and the server may not have read its folder yet.
        assert eventually(lambda: '"loss"' in server.read("data/plugin/timeseries/tags"), 30)
        page.goto(server.url + "#timeseries")
        chart = page.locator("line-chart").first
        chart.wait_for()

        def columns_with_ink() -> int:
            """Columns of the chart with a pixel of the run's blue; axes and text are grey."""
            picture = np.asarray(Image.open(io.BytesIO(chart.screenshot())).convert("RGB"), int)
            return int(((picture[..., 2] - picture[..., 0] > 25).any(axis=0)).sum())

        assert eventually(lambda: columns_with_ink() > 200, 20)


@pytest.mark.parametrize("session", ["", "14_visualization.ipynb"])
def test_a_page_is_shown_only_where_jupyterlab_is(monkeypatch, session):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    monkeypatch.setenv("JPY_SESSION_NAME", session)
    server = visdom_server(page=False)
    with pytest.raises(ServerError, match="does not run"):
        server.show()
    server.port = 8097
    server.show("env/first", height=300)
    (data,) = shown
    assert data["text/plain"] == "visdom at http://127.0.0.1:8097/"
    page = data.get("text/html", "")
    assert bool(page) == bool(session)
    assert not page or all(
        words in page
        for words in (
            'height="300"',
            '"proxy/8097/"',
            '"http://127.0.0.1:8097/"',
            '"env/first"',
            'title="visdom',
        )
    )
