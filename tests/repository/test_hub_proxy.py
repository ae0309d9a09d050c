"""The hub's proxy under a class: many requests at once, slow answers, a web server in front."""

import asyncio
import contextlib
import socket
import subprocess

import pytest

from support.hub_files import settings_with, tool

STUDENTS = 15
# The proxy's package by itself gives up after 20.
SLOW = 21
START_SECONDS = 60


@pytest.fixture
def proxied(tmp_path):
    """Where the proxy answers, as the hub starts it, and the port of what it passes on to."""
    tool("configurable-http-proxy")
    settings = settings_with(tmp_path, 'spawner = "local"\n')
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        front, api, behind = (str(each.getsockname()[1]) for each in sockets)
    command = [*settings.ConfigurableHTTPProxy.command, "--log-level", "error"]
    command += ["--ip", "127.0.0.1", "--port", front, "--api-ip", "127.0.0.1", "--api-port", api]
    proxy = subprocess.Popen([*command, "--default-target", f"http://127.0.0.1:{behind}"])
    try:
        yield f"http://127.0.0.1:{front}", int(behind), proxy
    finally:
        proxy.terminate()
        proxy.wait(START_SECONDS)


def test_a_whole_class_waits_for_slow_answers_at_once(proxied):
    """Each answers only when all have asked, and then not at once."""
    from tornado.httpclient import AsyncHTTPClient
    from tornado.httpserver import HTTPServer
    from tornado.web import Application, RequestHandler

    address, port, proxy = proxied

    async def see():
        asked, all_have_asked = [], asyncio.Event()

        class Slow(RequestHandler):
            async def get(self):
                asked.append(dict(self.request.headers))
                if len(asked) == STUDENTS:
                    all_have_asked.set()
                await all_have_asked.wait()
                await asyncio.sleep(SLOW)

        class Quick(RequestHandler):
            def get(self):
                self.write("here")

        server = HTTPServer(Application([("/slow", Slow), ("/", Quick)]))
        server.listen(port, "127.0.0.1")
        # A client of its own: others in this process keep theirs.
        client = AsyncHTTPClient(force_instance=True, max_clients=STUDENTS)
        try:
            async with asyncio.timeout(START_SECONDS):
                while True:
                    assert proxy.poll() is None
                    with contextlib.suppress(OSError):
                        assert (await client.fetch(address)).body == b"here"
                        break
                    await asyncio.sleep(0.2)
            # As a web server in front says it.
            said = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "class.school.example"}
            ask = {"headers": said, "raise_error": False, "request_timeout": 3 * SLOW}
            answers = await asyncio.gather(
                *(client.fetch(f"{address}/slow", **ask) for _ in range(STUDENTS))
            )
        finally:
            client.close()
            server.stop()
        return [answer.code for answer in answers], asked

    codes, asked = asyncio.run(see())
    assert codes == [200] * STUDENTS
    for headers in asked:
        assert headers["X-Forwarded-Proto"] == "https"
        assert headers["X-Forwarded-Host"] == "class.school.example"
