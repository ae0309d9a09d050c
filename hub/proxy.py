"""The hub's proxy, wide enough for a class.

By itself it has ten requests under way for everyone together, and gives up on an answer after
twenty seconds: the eleventh student whose server starts would wait in vain, and so would whoever
validates a long chapter.
"""

import sys

from configurable_http_proxy.cli import main
from tornado.httpclient import AsyncHTTPClient

REQUESTS_AT_ONCE = 10_000
SECONDS = 3600

if __name__ == "__main__":
    AsyncHTTPClient.configure(
        None, max_clients=REQUESTS_AT_ONCE, defaults={"request_timeout": SECONDS}
    )
    sys.exit(main())
