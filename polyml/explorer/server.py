"""The server that answers a page: on the loopback address alone, for those who know its token.

    GET  /TOKEN/    the page
    POST /TOKEN/    a question of the page, as JSON; the answer is JSON

A request for another path, with another name of a host, from an address that is none of this computer, or with a longer body is refused.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from polyml.explorer.answers import MOST_BYTES, TOO_LONG, Answers

HOST = "127.0.0.1"
_SECONDS = 30  # that a client may take to send a question


@dataclass(frozen=True)
class Server:
    """A running server.

    address: of its page, with the token.
    close: ends it.
    """

    address: str
    close: Callable[[], None]


def serve(answers: Answers, page: Callable[[str], str], port: int = 0) -> Server:
    """Starts a server in a thread of its own, which ends with the program.

    page: makes the page's text of the server's address.
    port: 0: any that is free. Raises OSError where it is not free.
    """
    token = secrets.token_urlsafe(24)

    class Handler(_Handler):
        known: ClassVar[_Known] = _Known(token, answers, page)

    server = ThreadingHTTPServer((HOST, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="polyml explore", daemon=True).start()

    def close() -> None:
        server.shutdown()
        server.server_close()

    return Server(_address(server.server_port, token), close)


def _address(port: int, token: str) -> str:
    return f"http://{HOST}:{port}/{token}/"


@dataclass(frozen=True)
class _Known:
    """What the requests to one server have in common."""

    token: str
    answers: Answers
    page: Callable[[str], str]


class _Handler(BaseHTTPRequestHandler):
    """A handler of one request."""

    known: ClassVar[_Known]
    timeout = _SECONDS
    server_version, sys_version = "polyml", ""

    def do_GET(self) -> None:
        """Sends the page."""
        if self._is_allowed():
            self._send(HTTPStatus.OK, self.known.page(_address(self._port, self.known.token)).encode(), "text/html; charset=utf-8")

    def do_OPTIONS(self) -> None:
        """Tells a browser that a page in a notebook, which is of another origin, may ask."""
        if self._is_allowed():
            self._send(HTTPStatus.NO_CONTENT, b"", "text/plain")

    def do_POST(self) -> None:
        """Answers a question."""
        if not self._is_allowed():
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or len(length) > 9 or int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LONG)
            return
        status, text = self.known.answers.reply(self.rfile.read(int(length)))
        self.close_connection = self.close_connection or status is not HTTPStatus.OK
        self._send(status, text.encode(), "application/json")

    @property
    def _port(self) -> int:
        return int(self.connection.getsockname()[1])

    def _is_allowed(self) -> bool:
        """Refuses a request that is not for this server and its page, and returns whether it is."""
        if self.headers.get("Host") not in (f"{HOST}:{self._port}", f"localhost:{self._port}"):
            self._refuse(HTTPStatus.FORBIDDEN, "this server answers to its own address alone")
        elif not hmac.compare_digest(self.path.encode("utf-8", "replace"), f"/{self.known.token}/".encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "the address has no token, or another one")
        else:
            return True
        return False

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what is left of the request is not read
        self._send(status, json.dumps({"error": why}).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        if status in (HTTPStatus.OK, HTTPStatus.NO_CONTENT):  # the token is what opens the server, not the origin
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Access-Control-Allow-Methods", "POST")
            self.send_header("Access-Control-Allow-Headers", "Content-Type")
            self.send_header("Access-Control-Allow-Private-Network", "true")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing: the terminal and the notebook are the user's."""
