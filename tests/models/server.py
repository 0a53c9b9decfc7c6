"""A chat service on the loopback address that speaks OpenAI's protocol, and fails as it is told.

`with ChatServer() as server:` answers every request with `server.answer(body)`. What is put into
`server.script` comes first, one entry a request: the name of a failure below, or a whole reply.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Json = Any


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def chat(content: Json, **more: Json) -> Json:
    """A chat completion with this content."""
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    choice = {"index": 0, "finish_reason": "stop", "message": message, **more}
    return {"object": "chat.completion", "choices": [choice]}


def told(status: int, body: Json, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(body).encode(), named)


FAILURES = {
    "429": told(429, {"error": {"message": "slow down"}}, Retry_After="0"),
    "429 for an hour": told(429, {"error": {"message": "quota"}}, Retry_After="3600"),
    "500": told(500, {"error": {"message": "out of memory"}}),
    "503": Reply(503, b"<html>Bad gateway</html>", {"Content-Type": "text/html"}),
    "html": Reply(200, b"<!doctype html><title>Sign in</title>", {"Content-Type": "text/html"}),
    "nan": Reply(200, b'{"choices": [{"message": {"content": NaN}}]}'),
    "wrong json": told(200, {"answer": "hello"}),
    "number": told(200, chat(42)),
    "null": told(200, chat(None)),
    "list": told(200, [1, 2]),
    "cut off": Reply(200, b'{"choices": [{"mess'),
    "deep": Reply(200, b"[" * 200_000),
    "latin-1": Reply(200, '{"a": "é"}'.encode("latin-1")),
    "huge": Reply(200, b'"' + b"x" * 10_000_000 + b'"'),
    "gzip": Reply(200, b"\x1f\x8b\x08", {"Content-Encoding": "gzip"}),
    "redirect": Reply(307, b"", {"Location": "http://127.0.0.1:1/v1/chat/completions"}),
}
"""And three more that are no replies: "hang", "drip" (a byte of the body at a time) and
"drip headers", "hang up" (the connection is closed)."""


class ChatServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    """Or a dozen clients at once would wait a second for their connections."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[str | Reply] = []
        self.always: str | Reply | None = None
        self.requests: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answer: Callable[[Json], Json] = lambda body: "It is about the harbour."
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.busy = self.busiest = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """A client that went away is what many tests are about."""

    def next(self) -> str | Reply | None:
        with self.lock:
            return self.script.pop(0) if self.script else self.always


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests.append(body)
            server.headers.append(dict(self.headers))
            server.paths.append(self.path)
            server.busy += 1
            server.busiest = max(server.busiest, server.busy)
        try:
            self._reply(server.next(), body)
        finally:
            with server.lock:
                server.busy -= 1

    def _reply(self, step: str | Reply | None, body: Json) -> None:
        if step == "hang":
            self.server.stopping.wait(30)
        elif step == "hang up":
            self.close_connection = True
        elif step in ("drip", "drip headers"):
            self._drip(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if step == "drip" else b"X-Slow: "))
        elif step is not None:
            self._send(step if isinstance(step, Reply) else FAILURES[step])
        else:
            self._send(told(200, chat(self.server.answer(body))))

    def _drip(self, start: bytes) -> None:
        self.close_connection = True
        self.wfile.write(start)
        while not self.server.stopping.wait(0.02):
            self.wfile.write(b"x")
            self.wfile.flush()

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        """Quiet."""
