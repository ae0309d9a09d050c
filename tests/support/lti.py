"""A learning platform, as small as LTI 1.3 allows: it signs who follows a link to a tool."""

from __future__ import annotations

import json
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

import jwt
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CLAIM = "https://purl.imsglobal.org/spec/lti/claim"
REPLY_SECONDS = 120


class Platform:
    """It answers for its public key at any address of it, while the block lasts."""

    def __init__(self, client: str):
        self.client = client
        self.key, self.other_key = (
            rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2)
        )
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        keys = json.dumps({"keys": [{**public, "kid": "one", "alg": "RS256", "use": "sig"}]})

        class Keys(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(keys.encode())

            def log_message(self, *arguments):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Keys)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Platform:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception) -> None:
        self.server.shutdown()
        self.server.server_close()

    def launch(self, tool: str, account: str, key=None) -> requests.Response:
        """Follow the link of a course's page as someone: the page at which they arrive."""
        browser = requests.Session()
        begin = {
            "iss": self.address,
            "login_hint": account,
            "client_id": self.client,
            "target_link_uri": f"{tool}/hub/spawn",
        }
        asked = browser.get(
            f"{tool}/hub/lti13/oauth_login",
            params=begin,
            allow_redirects=False,
            timeout=REPLY_SECONDS,
        )
        assert asked.status_code == 302, asked.text
        wanted = dict(
            urllib.parse.parse_qsl(urllib.parse.urlparse(asked.headers["Location"]).query)
        )
        now = int(time.time())
        claims = {
            "iss": self.address,
            "aud": self.client,
            "sub": "17",
            "iat": now,
            "exp": now + 60,
            "nonce": wanted["nonce"],
            f"{CLAIM}/message_type": "LtiResourceLinkRequest",
            f"{CLAIM}/version": "1.3.0",
            f"{CLAIM}/deployment_id": "1",
            f"{CLAIM}/target_link_uri": begin["target_link_uri"],
            f"{CLAIM}/resource_link": {"id": "1"},
            f"{CLAIM}/roles": ["http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"],
            f"{CLAIM}/custom": {"account": account},
        }
        token = jwt.encode(claims, key or self.key, algorithm="RS256", headers={"kid": "one"})
        return browser.post(
            wanted["redirect_uri"],
            data={"id_token": token, "state": wanted["state"]},
            timeout=REPLY_SECONDS,
        )
