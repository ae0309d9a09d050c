"""The HTTP server around ``answer_request``, of Python's own library."""

import json
import traceback
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .service import answer_request

LIMIT = 1_000_000  # bytes of a request


def make_server(find: Callable, port: int = 0) -> ThreadingHTTPServer:
    """A server on loopback; port 0 takes a free one, ``server_address`` says which."""

    def told(image):
        try:
            return find(image)
        except Exception:
            traceback.print_exc()  # into the server's log; the caller is told less
            raise

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(*((200, {"ok": True}) if self.path == "/health" else (404, {})))

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(min(max(length, 0), LIMIT + 1))
            self.close_connection = length > LIMIT
            self.reply(*answer_request(body, told, LIMIT))

        def reply(self, status: int, content: dict) -> None:
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
