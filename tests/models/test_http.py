"""The HTTP client of model services, over real connections to a server that fails as told."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from sourcebook.errors import ConfigError, ModelUnavailable
from sourcebook.models.answers import retry_after, said, strict_json
from sourcebook.models.breaker import Breaker
from sourcebook.models.http import Limits, Refused, Service, is_loopback
from tests.models.server import ChatServer, Reply, told

KEY = "sk-a-secret-that-nobody-may-see"
QUICK = Limits(timeout_s=2.0, total_s=5.0, first_wait_s=0.001, failures=100)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def service(server: ChatServer | str, limits: Limits = QUICK, **more: Any) -> Service:
    url = server if isinstance(server, str) else server.url
    given: dict[str, Any] = {"key": KEY, "limits": limits, **more}
    return Service(url, what="the test model", advice="start it", **given)


class Waits(list[float]):
    """Takes the place of time.sleep."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def test_a_body_goes_out_and_an_answer_comes_back(server: ChatServer) -> None:
    server.script = [told(200, {"answer": [1, "é", None]})]
    assert service(server).post("thing/of", {"text": "naïve 🙂"}) == {"answer": [1, "é", None]}
    assert server.requests == [{"text": "naïve 🙂"}]
    assert server.paths == ["/v1/thing/of"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_a_service_names_the_header_of_its_key(server: ChatServer) -> None:
    service(server, header=("api-key", "")).post("x", {})
    service(server, key=None).post("x", {})
    assert server.headers[0]["api-key"] == KEY
    assert "Authorization" not in server.headers[0]
    assert not {"api-key", "Authorization"} & server.headers[1].keys()


@pytest.mark.parametrize("failure", ["429", "500", "503", "hang up"])
def test_a_passing_failure_is_tried_again(server: ChatServer, failure: str) -> None:
    server.script = [failure, failure, told(200, "fine")]
    assert service(server).post("x", {}) == "fine"
    assert len(server.requests) == 3


def test_waits_double_and_tries_end(server: ChatServer) -> None:
    server.always = "500"
    waits = Waits()
    limits = replace(QUICK, first_wait_s=0.1)
    with pytest.raises(ModelUnavailable, match=r"test model at 127.*HTTP 500: out of.*; start it"):
        service(server, limits, sleep=waits).post("x", {})
    assert len(server.requests) == 4
    assert [0.075 * 2**n <= wait <= 0.125 * 2**n for n, wait in enumerate(waits)] == [True] * 3


def test_a_wait_that_the_service_asks_for_is_kept_to(server: ChatServer) -> None:
    later = told(429, {}, Retry_After="3")
    server.script = [later, told(200, 1)]
    waits = Waits()
    assert service(server, sleep=waits).post("x", {}) == 1
    assert waits == [3.0]


def test_a_wait_beyond_the_total_time_is_not_begun(server: ChatServer) -> None:
    server.always = "429 for an hour"
    waits = Waits()
    with pytest.raises(ModelUnavailable, match="overloaded .*asks to wait 3600 s"):
        service(server, sleep=waits).post("x", {})
    assert (waits, len(server.requests)) == ([], 1)


@pytest.mark.parametrize("failure", ["hang", "drip", "drip headers"])
def test_no_answer_takes_longer_than_its_time(server: ChatServer, failure: str) -> None:
    server.always = failure
    start = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.3 s"):
        service(server, replace(QUICK, timeout_s=0.3)).post("x", {})
    assert 0.2 < time.monotonic() - start < 10
    assert len(server.requests) == 1


def test_a_total_time_bounds_all_tries_together(server: ChatServer) -> None:
    server.script = ["500"]
    server.always = "hang"
    start = time.monotonic()
    with pytest.raises(ModelUnavailable, match="did not answer within"):
        service(server, replace(QUICK, timeout_s=30, total_s=0.4)).post("x", {})
    assert time.monotonic() - start < 10


def test_a_huge_answer_is_not_read_to_its_end(server: ChatServer) -> None:
    server.script = ["huge"]
    with pytest.raises(ModelUnavailable, match="more than 4,194,304 bytes"):
        service(server).post("x", {})
    exact = Reply(200, b'"' + b"x" * (QUICK.max_bytes - 2) + b'"')
    server.script = [exact]
    assert len(service(server).post("x", {})) == QUICK.max_bytes - 2


@pytest.mark.parametrize("failure", ["html", "nan", "cut off", "deep", "latin-1"])
def test_what_is_not_json_is_said_so(server: ChatServer, failure: str) -> None:
    server.always = failure
    with pytest.raises(ModelUnavailable, match="not JSON; start it$"):
        service(server).post("x", {})
    assert len(server.requests) == 1


def test_a_compressed_answer_is_refused(server: ChatServer) -> None:
    server.always = "gzip"
    with pytest.raises(ModelUnavailable, match="compressed"):
        service(server).post("x", {})


def test_a_redirection_gets_neither_the_body_nor_the_key(server: ChatServer) -> None:
    with ChatServer() as other:
        server.always = Reply(307, b"", {"Location": f"{other.url}/x"})
        with pytest.raises(ModelUnavailable, match="redirection"):
            service(server).post("x", {})
        assert other.requests == []


def test_a_dead_port_is_tried_again_and_named() -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        waits = Waits()
        with pytest.raises(ModelUnavailable, match=rf"127\.0\.0\.1:{port} could not be reached"):
            service(f"http://127.0.0.1:{port}", sleep=waits).post("x", {})
    assert len(waits) == 3


def test_a_refusal_names_the_parameter_and_is_not_tried_again(server: ChatServer) -> None:
    error = {"message": "no such\nvalue", "param": "temperature"}
    server.always = told(400, {"error": error})
    with pytest.raises(Refused, match="HTTP 400: no such value") as caught:
        service(server).post("x", {})
    assert caught.value.parameter == "temperature"
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500])
def test_no_error_repeats_the_key(server: ChatServer, status: int) -> None:
    server.always = told(status, {"error": {"message": f"the key {KEY} is wrong: Bearer {KEY}"}})
    asked = service(server)
    with pytest.raises(ModelUnavailable, match="127") as caught:
        asked.post("x", {})
    shown = f"{caught.value} {caught.value!r} {asked!r} {caught.value.__cause__!r}"
    assert KEY not in shown
    assert str(status) in shown
    assert KEY not in repr(vars(asked))


def test_a_message_that_is_cut_inside_the_key_shows_no_part_of_it(server: ChatServer) -> None:
    server.always = told(400, {"error": {"message": "x" * 185 + KEY}})
    with pytest.raises(ModelUnavailable, match="127") as caught:
        service(server).post("x", {})
    assert "sk-" not in str(caught.value)


def test_who_gives_no_key_hears_that_one_is_wanted(server: ChatServer) -> None:
    server.always = told(401, {})
    with pytest.raises(ModelUnavailable, match="wants a key"):
        service(server, key=None).post("x", {})


@pytest.mark.parametrize(
    "url",
    ["", "ftp://host/v1", "host/v1", "http://", "http://me:word@host/v1", "http://h/v1?key=1",
     "http://ho st/v1", "http://[::1/v1"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="http:// or https://") as caught:
        service(url)
    assert "word" not in str(caught.value)[len("the address") :].replace("password", "")


@pytest.mark.parametrize("key", ["sk-secret\nX-Evil: 1", "“sk-secret”", "sk secret"])
def test_a_key_that_is_none_is_refused_without_being_repeated(key: str) -> None:
    with pytest.raises(ConfigError, match="characters that no key has") as caught:
        service("http://127.0.0.1:1", key=key)
    assert "secret" not in str(caught.value)


def test_white_space_around_a_key_is_not_part_of_it(server: ChatServer) -> None:
    service(server, key=f" {KEY}\n").post("x", {})
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


# --- the breaker ---------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_dead_service_is_left_alone_for_a_while(server: ChatServer) -> None:
    clock = Clock()
    limits = replace(QUICK, tries=1, failures=3, cool_down_s=30)
    asked = service(server, limits, clock=clock)
    server.always = "500"
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="HTTP 500"):
            asked.post("x", {})
    clock.now += 10
    with pytest.raises(ModelUnavailable, match="HTTP 500.*left alone for another 20 s"):
        asked.post("x", {})
    assert len(server.requests) == 3

    clock.now += 20  # one may try again; it fails, and the pause begins anew
    for _ in range(3):
        with pytest.raises(ModelUnavailable, match="HTTP 500"):
            asked.post("x", {})
    assert len(server.requests) == 4

    clock.now += 30
    server.always = told(200, "back")
    assert [asked.post("x", {}) for _ in range(3)] == ["back"] * 3


def test_a_success_forgets_earlier_failures(server: ChatServer) -> None:
    limits = replace(QUICK, tries=1, failures=2)
    asked = service(server, limits, clock=Clock())
    server.script = ["500", told(200, 1), "500", told(200, 2)]
    for expected in (None, 1, None, 2):
        if expected is None:
            with pytest.raises(ModelUnavailable):
                asked.post("x", {})
        else:
            assert asked.post("x", {}) == expected


def test_a_refused_request_is_no_failure_of_the_service(server: ChatServer) -> None:
    asked = service(server, replace(QUICK, failures=1))
    server.script = [told(400, {}), told(422, {}), told(200, 1)]
    for _ in range(2):
        with pytest.raises(Refused):
            asked.post("x", {})
    assert asked.post("x", {}) == 1


def test_after_the_pause_one_thread_asks_and_the_others_do_not() -> None:
    clock = Clock()
    breaker = Breaker(1, 30, clock)
    breaker.failed()
    clock.now += 30
    gate = threading.Barrier(8)

    def come(_: int) -> float:
        gate.wait()
        return breaker.closed_for()

    with ThreadPoolExecutor(8) as pool:
        waits = sorted(pool.map(come, range(8)))
    assert waits == [0.0] + [30.0] * 7
    breaker.succeeded()
    assert breaker.closed_for() == 0


def test_many_threads_share_one_service(server: ChatServer) -> None:
    asked = service(server)
    server.answer = lambda body: body["n"]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: asked.post("x", {"n": n}), range(64)))
    assert [a["choices"][0]["message"]["content"] for a in answers] == list(range(64))


# --- what answers say ----------------------------------------------------------------------------


def test_a_retry_may_be_asked_for_in_seconds_or_by_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 57 < retry_after({"Retry-After": date}) <= 60
    assert retry_after({"Retry-After": "7"}) == 7
    past = "Wed, 21 Oct 2015 07:28:00 GMT"
    for unclear in ("", "-5", "soon", "1e9", "²", "9" * 400, past):
        assert 0 <= retry_after({"Retry-After": unclear}) <= 999_999_999
    assert retry_after({"Retry-After": past}) == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error": {"message": "no\\u0000\\u202e way", "param": "n"}}', (": no way", "n")),
        (b'{"error": "model not found"}', (": model not found", "")),
        (b'{"message": "hm"}', (": hm", "")),
        (b'{"error": {"message": 4, "param": []}}', ("", "")),
        (b"[]", ("", "")),
        (b"<html>", ("", "")),
        (b'{"error": null}', ("", "")),
    ],
)
def test_what_an_error_says_in_one_line(body: bytes, expected: tuple[str, str]) -> None:
    assert said(body) == expected


def test_a_long_message_is_cut() -> None:
    assert said(b'{"error": "' + b"x" * 5000 + b'"}')[0] == f": {'x' * 200}…"


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "{", "", "[" * 100_000])
def test_strict_json(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        strict_json(text)


def test_this_machine_has_several_names() -> None:
    here = ("localhost", "127.0.0.1", "127.8.8.8", "::1", "x.localhost")
    assert all(map(is_loopback, here))
    assert not any(map(is_loopback, ("localhost.example.org", "10.0.0.1", "128.0.0.1", "")))
