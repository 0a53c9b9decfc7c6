"""An embedding service on the loopback address that speaks four protocols, and fails as it is told.

`with EmbeddingServer() as server:` answers as Ollama, OpenAI, Azure OpenAI and Cohere do, each at
its own path, with its own header for the key and its own form of error. The vectors are real: of
the static model, so that a search over them finds what it should. What is put into `server.script`
comes first, one entry a request: the name of a failure, or a whole reply; `server.spoil` changes an
answer before it is sent.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import numpy as np

from sourcebook.models.install import install
from sourcebook.models.static import StaticModel
from tests.models.server import Reply, told

Json = Any
KEY = "sk-a-secret-that-nobody-may-see"
DIMENSIONS = 256
MODELS = {"nomic-embed-text", "text-embedding-3-small", "embed-v4.0", "house-model"}
"""The last one is a model of which nothing is known."""
DEPLOYMENT = "our-embeddings"
API_VERSION = "2024-10-21"
FORBIDDEN = "the forbidden word"
"""A text with it is refused, whatever stands beside it."""


class Asked(NamedTuple):
    """One request, as it came."""

    path: str
    headers: dict[str, str]
    body: Json

    @property
    def texts(self) -> list[str]:
        found: list[str] = self.body.get("input") or self.body.get("texts")
        return found


@cache
def static() -> StaticModel:
    return StaticModel(install("potion-base-8M"))


def vectors(texts: list[str], dimensions: int | None) -> list[list[float]]:
    """Not of unit length, as many services give them."""
    made = static().embed(texts)[:, : dimensions or DIMENSIONS] * 3
    return [[float(f"{value:.7g}") for value in row] for row in made.astype(np.float64)]


def tokens(texts: list[str]) -> int:
    return sum(static().count(texts))


# --- errors, in each provider's own form ---------------------------------------------------------


def openai_error(status: int, message: str, param: str | None = None, **headers: str) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return told(status, {"error": error}, **headers)


def azure_error(status: int, message: str, param: str | None = None, **headers: str) -> Reply:
    error = {"code": str(status), "message": message, "param": param}
    return told(status, {"error": error}, **headers)


def cohere_error(status: int, message: str, **headers: str) -> Reply:
    return told(status, {"id": "c0ffee", "message": message}, **headers)


def ollama_error(status: int, message: str, **headers: str) -> Reply:
    return told(status, {"error": message}, **headers)


ERRORS: dict[str, Callable[..., Reply]] = {
    "ollama": ollama_error,
    "openai": openai_error,
    "azure": azure_error,
    "cohere": cohere_error,
}


def provider_of(path: str) -> str:
    if path == "/api/embed":
        return "ollama"
    if path == "/v2/embed":
        return "cohere"
    return "azure" if path.startswith("/openai/deployments/") else "openai"


def failure(name: str, provider: str) -> Reply:
    """A failure by its name, in the words of a provider."""
    error = ERRORS[provider]
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    return {
        "429": lambda: error(429, "slow down", Retry_After="0"),
        "429 a second": lambda: error(429, "slow down", Retry_After="1"),
        "429 date": lambda: error(429, "slow down", Retry_After=soon),
        "429 for an hour": lambda: error(429, "quota", Retry_After="3600"),
        "500": lambda: error(500, "out of memory"),
        "html": lambda: Reply(200, b"<!doctype html><title>Sign in</title>"),
        "503 html": lambda: Reply(503, b"<html>Bad gateway</html>"),
        "huge": lambda: Reply(200, b'"' + b"x" * (33 << 20) + b'"'),
        "cut off": lambda: Reply(200, b'{"embeddings": [[0.1, 0.'),
        "nan": lambda: Reply(200, b'{"embeddings": [[NaN]], "data": [{"embedding": [NaN]}]}'),
        "list": lambda: told(200, [1, 2]),
        "other form": lambda: told(200, {"result": "fine"}),
        "nulls": lambda: told(200, {"embeddings": None, "data": None, "usage": None, "meta": None}),
    }[name]()


# --- the server ----------------------------------------------------------------------------------


class EmbeddingServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *, key: str | None = KEY) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = key
        self.script: list[str | Reply] = []
        self.always: str | Reply | None = None
        self.spoil: Callable[[list[Json]], list[Json]] = lambda rows: rows
        self.usage = True
        self.shuffle = True
        self.longest: int | None = None
        """Tokens of a text that are taken."""
        self.delay = 0.0
        self.asked: list[Asked] = []
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.busy = self.busiest = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """A client that went away is what some tests are about."""

    def next(self) -> str | Reply | None:
        with self.lock:
            return self.script.pop(0) if self.script else self.always

    def texts(self) -> list[str]:
        return [text for asked in self.asked for text in asked.texts]

    # what each provider checks, in its order: key, address and model, then the request itself

    def answer(self, asked: Asked) -> Reply:
        url = urlsplit(asked.path)
        provider = provider_of(url.path)
        return getattr(self, f"_{provider}")(asked, url)

    def _ollama(self, asked: Asked, url: Any) -> Reply:
        body = asked.body
        if body["model"].removesuffix(":latest") not in MODELS:
            message = f'model "{body["model"]}" not found, try pulling it first'
            return ollama_error(404, message)
        if body.keys() - {"model", "input", "truncate", "dimensions", "options", "keep_alive"}:
            return ollama_error(400, "unknown field")
        if body.get("truncate", True) is False and self._too_long(asked.texts):
            return ollama_error(400, "the input length exceeds the context length")
        rows = self.spoil(vectors(asked.texts, body.get("dimensions")))
        counted = {"prompt_eval_count": tokens(asked.texts)} if self.usage else {}
        return told(200, {"model": body["model"], "embeddings": rows, **counted})

    def _openai(self, asked: Asked, url: Any) -> Reply:
        if self.key and asked.headers.get("Authorization") != f"Bearer {self.key}":
            given = asked.headers.get("Authorization", "")
            return openai_error(401, f"Incorrect API key provided: {given}.")
        if url.path != "/v1/embeddings":
            return openai_error(404, f"Invalid URL (POST {url.path})")
        if asked.body["model"] not in MODELS:
            message = f"The model `{asked.body['model']}` does not exist"
            return openai_error(404, message)
        return self._openai_rows(asked, openai_error)

    def _azure(self, asked: Asked, url: Any) -> Reply:
        if self.key and asked.headers.get("api-key") != self.key:
            return azure_error(401, "Access denied due to invalid subscription key.")
        if parse_qs(url.query).get("api-version") != [API_VERSION]:
            return azure_error(404, "Resource not found")
        name = re.fullmatch(r"/openai/deployments/([^/]+)/embeddings", url.path)
        if not name or name[1] != DEPLOYMENT:
            return azure_error(404, "The API deployment for this resource does not exist.")
        return self._openai_rows(asked, azure_error)

    def _openai_rows(self, asked: Asked, error: Callable[..., Reply]) -> Reply:
        body = asked.body
        if body.get("encoding_format") != "float":
            return error(400, "only float is spoken here")
        if (body.get("dimensions") or 1) > DIMENSIONS:
            return error(400, f"dimensions must not exceed {DIMENSIONS}", param="dimensions")
        if len(body["input"]) > 2048 or self._too_long(asked.texts):
            return error(400, "This model's maximum context length is exceeded", param="input")
        if any(FORBIDDEN in text for text in asked.texts):
            return error(400, "The response was filtered")
        rows = self.spoil(vectors(asked.texts, body.get("dimensions")))
        data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
        if self.shuffle:
            random.Random(len(data)).shuffle(data)
        count = tokens(asked.texts)
        counted = {"usage": {"prompt_tokens": count, "total_tokens": count}} if self.usage else {}
        return told(200, {"object": "list", "data": data, "model": body["model"], **counted})

    def _cohere(self, asked: Asked, url: Any) -> Reply:
        body = asked.body
        if self.key and asked.headers.get("Authorization") != f"Bearer {self.key}":
            return cohere_error(401, "invalid api token")
        if body["model"] not in MODELS:
            return cohere_error(404, f"model '{body['model']}' not found")
        if body.get("input_type") not in ("search_document", "search_query"):
            return cohere_error(400, "valid input_type must be provided")
        if body.get("embedding_types") != ["float"]:
            return cohere_error(400, "embedding_types must be provided")
        if len(body["texts"]) > 96:
            return cohere_error(400, "total number of texts must be at most 96")
        if body.get("truncate") == "NONE" and self._too_long(asked.texts):
            return cohere_error(400, "too many tokens")
        if any(FORBIDDEN in text for text in asked.texts):
            return cohere_error(422, "this text cannot be processed")
        rows = self.spoil(vectors(asked.texts, body.get("output_dimension")))
        billed = {"billed_units": {"input_tokens": tokens(asked.texts)}}
        meta = {"api_version": {"version": "2"}, **(billed if self.usage else {})}
        return told(200, {"id": "1", "embeddings": {"float": rows}, "meta": meta})

    def _too_long(self, texts: list[str]) -> bool:
        return self.longest is not None and max(static().count(texts)) > self.longest


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EmbeddingServer

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(self.path, dict(self.headers), body)
        with server.lock:
            server.asked.append(asked)
            server.busy += 1
            server.busiest = max(server.busiest, server.busy)
        try:
            if server.delay:
                time.sleep(server.delay)
            self._reply(server.next(), asked)
        finally:
            with server.lock:
                server.busy -= 1

    def _reply(self, step: str | Reply | None, asked: Asked) -> None:
        if step == "hang up":
            self.close_connection = True
        elif step == "hang":
            self.close_connection = True
            self.server.stopping.wait(30)
        elif step == "drip":
            self._drip()
        elif isinstance(step, str):
            self._send(failure(step, provider_of(urlsplit(asked.path).path)))
        else:
            self._send(step or self.server.answer(asked))

    def _drip(self) -> None:
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
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
