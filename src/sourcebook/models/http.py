"""A JSON body for a model service in, its JSON answer out: bounded in time and size, retried where
that helps, and left alone for a while when the service is down.

Whatever goes wrong becomes ModelUnavailable: one sentence that names the host, what happened and
what to do, and never the key.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from typing import Any, Literal, NoReturn

import httpx
from pydantic import SecretStr

from sourcebook.errors import ConfigError, ModelUnavailable
from sourcebook.model import Json
from sourcebook.models.answers import one_line, retry_after, said, strict_json
from sourcebook.models.breaker import Breaker

_AGAIN = (408, 409, 425, 429)
"""Besides all of 5xx: the same request may succeed a little later."""
_TOO_LONG = "exceeds the context length"
"""What Ollama says of a text, in some versions as if it had failed itself (HTTP 500)."""


@dataclass(frozen=True, slots=True)
class Limits:
    timeout_s: float = 15.0
    """One try, from connecting to the last byte. A try that takes so long is not repeated."""
    total_s: float | None = None
    """All tries and the waits between them; None is as long as one try."""
    connect_s: float = 5.0
    tries: int = 4
    first_wait_s: float = 0.5
    """Doubles with each try; a longer wait that the service asks for is kept to."""
    max_bytes: int = 4 << 20
    failures: int = 3
    """In a row, before the service is left alone for `cool_down_s`."""
    cool_down_s: float = 30.0


DEFAULT = Limits()


class Refused(ModelUnavailable):
    """The service answers, but not this request; change what was asked."""

    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter
        """The part of the request that the service names as wrong."""


Subject = Literal["key", "model"]


class Service:
    """One model service. Safe in many threads; connections are kept and shared."""

    def __init__(
        self,
        base_url: str,
        *,
        what: str,
        advice: str,
        key: str | SecretStr | None = None,
        header: tuple[str, str] = ("Authorization", "Bearer "),
        query: Mapping[str, str] | None = None,
        hints: Mapping[Subject, str] | None = None,
        limits: Limits = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`what` and `advice` are for people: "the language model", "check [generator] …"; `hints`
        take the place of the advice where the key or the model is not right. `query` goes with
        every request."""
        self._url = _checked_url(base_url, what)
        self.host = self._url.netloc.decode("ascii")
        self._key = _checked_key(key)
        self._header = header
        self._what = what
        self._advice = advice
        self._hints = dict(hints or {})
        self._query = httpx.QueryParams(dict(query or {}))
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._breaker = Breaker(limits.failures, limits.cool_down_s, clock)
        self._last: tuple[str, Subject | None] = ("failed", None)
        self._client: httpx.AsyncClient | None = None

    def __repr__(self) -> str:
        return f"Service({self.host!r})"

    def post(self, path: str, body: Json) -> Json:
        """The parsed answer to `body` sent to `path` below the base URL."""
        data = json.dumps(body, allow_nan=False).encode("ascii")
        if left := self._breaker.closed_for():
            reason, subject = self._last
            reason = f"{reason} and is left alone for another {left:.0f} s"
            raise ModelUnavailable(self._sentence(reason, subject))
        try:
            answer = self._persist(path, data)
        except Refused:
            self._breaker.succeeded()
            raise
        except BaseException:
            self._breaker.failed()
            raise
        self._breaker.succeeded()
        return answer

    def _persist(self, path: str, data: bytes) -> Json:
        limits = self._limits
        total = limits.timeout_s if limits.total_s is None else limits.total_s
        deadline = self._clock() + total
        for number in range(limits.tries):
            left = deadline - self._clock()
            try:
                return _run(self._exchange(path, data, min(limits.timeout_s, left)))
            except _Again as again:
                backoff = limits.first_wait_s * 2**number * random.uniform(0.75, 1.25)
                wait = max(backoff, again.wait)
                if number + 1 == limits.tries or self._clock() + wait >= deadline:
                    self._fail(f"{again}{_asked(again.wait)}")
            self._sleep(wait)
        raise AssertionError("the last try returns or fails")

    async def _exchange(self, path: str, data: bytes, seconds: float) -> Json:
        """One try. Asynchronous only so that its time can be bounded in every phase: name lookup,
        headers that drip, a body that drips."""
        status, headers, body = 0, httpx.Headers(), b""
        try:
            async with asyncio.timeout(max(seconds, 0)):
                url = self._url.copy_with(path=f"{self._url.path.rstrip('/')}/{path}")
                url = url.copy_merge_params(self._query) if self._query else url
                client = self._client = self._client or self._connected()
                async with client.stream("POST", url, content=data, headers=self._head()) as reply:
                    status, headers = reply.status_code, reply.headers
                    body = await self._read(reply)
        except httpx.ConnectTimeout:
            self._fail(f"could not be reached within {self._limits.connect_s:g} s")
        except TimeoutError:
            self._fail(f"did not answer within {seconds:.3g} s")
        except httpx.ConnectError as error:
            raise _Again(f"could not be reached ({one_line(str(error))})") from None
        except httpx.TransportError as error:
            raise _Again(f"broke the connection off ({type(error).__name__})") from None
        return self._judged(status, headers, body)

    def _connected(self) -> httpx.AsyncClient:
        """Made in the loop's thread. This machine is reached without the environment's proxy."""
        timeout = httpx.Timeout(None, connect=self._limits.connect_s)
        return httpx.AsyncClient(timeout=timeout, trust_env=not is_loopback(self._url.host))

    def _head(self) -> dict[str, str]:
        """Compressed answers are not asked for: a small one could fill the memory."""
        plain = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        name, scheme = self._header
        return {**plain, name: f"{scheme}{self._key.get_secret_value()}"} if self._key else plain

    async def _read(self, reply: httpx.Response) -> bytes:
        if reply.headers.get("Content-Encoding", "identity").lower() != "identity":
            self._fail("sent a compressed answer, which was not asked for")
        body = bytearray()
        async for piece in reply.aiter_raw():
            body += piece
            if len(body) > self._limits.max_bytes:
                self._fail(f"sent more than {self._limits.max_bytes:,} bytes")
        return bytes(body)

    def _judged(self, status: int, headers: httpx.Headers, body: bytes) -> Json:
        if 200 <= status < 300:
            try:
                return strict_json(body)
            except ValueError:
                self._fail("sent an answer that is not JSON")
        message, parameter = said(body, self._without_key)
        if (status in _AGAIN or status >= 500) and _TOO_LONG not in message:
            reason = "is overloaded" if status == 429 else "failed"
            raise _Again(f"{reason} (HTTP {status}{message})", retry_after(headers))
        if status in (401, 403):  # what such an answer says may repeat the key
            told = "refused the key" if self._key else "wants a key"
            self._fail(f"{told} (HTTP {status})", "key")
        if status == 404:
            self._fail(f"does not know the address or the model (HTTP 404{message})", "model")
        if 300 <= status < 400:
            self._fail(f"answered with a redirection, which is not followed (HTTP {status})")
        raise Refused(self._sentence(f"refused the request (HTTP {status}{message})"), parameter)

    def _fail(self, reason: str, subject: Subject | None = None) -> NoReturn:
        self._last = (self._without_key(reason), subject)
        raise ModelUnavailable(self._sentence(reason, subject)) from None

    def _sentence(self, reason: str, subject: Subject | None = None) -> str:
        advice = self._hints.get(subject, self._advice) if subject else self._advice
        return f"{self._what} at {self.host} {self._without_key(reason)}; {advice}"

    def _without_key(self, reason: str) -> str:
        return reason.replace(self._key.get_secret_value(), "…") if self._key else reason


class _Again(Exception):
    """Worth another try, after `wait` seconds if the service said so."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _checked_url(text: str, what: str) -> httpx.URL:
    try:
        url = httpx.URL("" if " " in text else text)
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query:
        raise ConfigError(
            f"the address of {what} must be http:// or https://, a host and a path, without a "
            "user, a password or a query; keys come from the environment"
        )
    return url.copy_with(fragment=None)


def _checked_key(key: str | SecretStr | None) -> SecretStr | None:
    """A key with a line end would be shown by the error that the HTTP library makes of it."""
    text = (key.get_secret_value() if isinstance(key, SecretStr) else key or "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ConfigError("the key in the environment has characters that no key has; copy it anew")
    return SecretStr(text)


def _asked(wait: float) -> str:
    return f" and asks to wait {wait:.0f} s" if wait else ""


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The one event loop of all services, in a thread that ends with the program."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="model-http", daemon=True).start()
    return loop


def _run(exchange: Coroutine[Any, Any, Json]) -> Json:
    with _starting:
        loop = _loop()
    future = asyncio.run_coroutine_threadsafe(exchange, loop)
    try:
        return future.result()
    finally:
        future.cancel()


_starting = threading.Lock()
