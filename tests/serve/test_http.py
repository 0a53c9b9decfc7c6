"""A real server without keys: every route, what it gives, and how it refuses."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from sourcebook.serve.routes import ROUTES
from tests.serve.running import Running, filled, running
from tests.town import FENCE

ODD = [
    "a/b",
    "//",
    "..",
    "a b?c#d%2Fe&f=g",
    "ünï/☃",
    "%41",
    "x/publish",
    "+",
    "'\"<>\\",
]
"""Ids that an address must carry as they are."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("http")
    with running(filled(folder), folder) as server:
        yield server


def hit(server: Running) -> dict[str, Any]:
    found = server.post("/v1/search", {"query": FENCE, "k": 1}).json()["results"][0]
    assert isinstance(found, dict)
    return found


def refused(answer: httpx.Response) -> dict[str, Any]:
    """The error of an answer, whose shape is checked on the way."""
    told = answer.json()
    assert set(told) == {"error"}
    assert set(told["error"]) == {"code", "message", "field", "suggestions"}
    assert answer.headers["content-type"] == "application/json"
    error: dict[str, Any] = told["error"]
    return error


# --- what is answered ----------------------------------------------------------------------------


def test_every_answer_is_what_the_document_says(server: Running) -> None:
    """Each route is asked something that works, and the answer must fit its type exactly."""
    cited = hit(server)
    requests: dict[str, dict[str, Any]] = {
        "similar": {"node_id": cited["node_id"]},
        "verify": {"citation": cited["citation"]},
        "feedback": {"query": FENCE, "citation": cited["citation"], "judgment": "helpful"},
        "node": {"id": cited["node_id"]},
        "links": {"id": "files/guidelines.md"},
        "create_baseline": {"name": "first"},
        "publish_baseline": {"id": "first"},
    }
    for route in ROUTES:
        given = dict(requests.get(route.name, route.example))
        path = route.path.replace("{id}", quote(str(given.pop("id", "")), safe=""))
        with server.client() as client:
            sent: dict[str, Any] = {"params": given} if route.method == "GET" else {"json": given}
            answer = client.request(route.method, path, **sent)
        assert answer.status_code == 200, (route.path, answer.text)
        route.answer.model_validate_json(answer.content, strict=True)
    many = server.post("/v1/search", {"query": FENCE, "repositories": "*"})
    next(r for r in ROUTES if r.name == "search").answer.model_validate_json(many.content)
    assert many.json()["repositories"][0]["repository_id"] == "default"


def test_the_openapi_document_names_every_route_of_the_contract(server: Running) -> None:
    said = server.get("/openapi.json").json()
    there = {(m.upper(), path) for path, methods in said["paths"].items() for m in methods}
    asked = {"search", "agent", "context", "ingest", "feedback", "verify", "reindex", "baselines"}
    read = {"nodes/{id}", "nodes", "links/{id}", "baselines", "revisions", "health/index"}
    wanted = {("POST", f"/v1/{name}") for name in asked} | {("GET", f"/v1/{name}") for name in read}
    wanted |= {("GET", path) for path in ("/health", "/ready", "/metrics")}
    wanted |= {("POST", "/v1/baselines/{id}/publish"), ("POST", "/api/ucg/search/hybrid")}
    wanted |= {("POST", "/api/ucg/search/agent"), ("POST", "/webhook/arc-retrieval")}
    assert there >= wanted
    for path, methods in said["paths"].items():
        for method, one in methods.items():
            assert one["summary"], path
            if method == "post":
                body = one["requestBody"]["content"]["application/json"]
                assert body["schema"]["$ref"].rpartition("/")[2] in said["components"]["schemas"]
                assert "example" in body, path


def test_read_contexts_and_their_defaults(server: Running) -> None:
    before = server.get("/v1/revisions").json()["revisions"][0]["number"]
    assert server.post("/v1/baselines", {"name": "spring"}).json()["revision"] == before
    assert server.post("/v1/baselines/spring/publish", {}).json()["published"] is True
    document = {"name": "new/late.md", "text": "Bees are kept behind the orchard."}
    made = server.post("/v1/ingest", {"documents": [document], "wait": True}).json()
    assert made["revision"] == before + 1
    question = {"query": "Where are bees kept?"}
    context = server.post("/v1/context", question).json()
    assert (context["read_context"]["selector"], context["read_context"]["revision"]) == (
        "published",
        before,
    )
    assert "orchard" not in context["text"]
    for path in ("/v1/search", "/v1/agent"):
        answer = server.post(path, question).json()
        assert answer["read_context"] == {
            "selector": "head",
            "revision": before + 1,
            "baseline_id": None,
            "as_of": None,
        }
    assert server.get("/v1/nodes/new/late.md").status_code == 200
    at = {"read_context": "baseline:spring"}
    assert server.get("/v1/nodes/new/late.md", params=at).status_code == 404
    old = server.post("/v1/search", {**question, "read_context": context["read_context"]}).json()
    assert old["read_context"]["revision"] == before


def test_ids_with_odd_characters(server: Running) -> None:
    rows = [json.dumps({"_id": each, "title": each, "text": f"Row {each}."}) for each in ODD]
    upload = {"name": "odd.jsonl", "text": "\n".join(rows)}
    made = server.post("/v1/ingest", {"documents": [upload], "wait": True}).json()
    assert (made["nodes"], made["skipped"]) == (len(ODD), [])
    for each in ODD:
        for safe in ("", "/") if not each.startswith((".", "/")) else ("",):
            where = quote(each, safe=safe).replace(".", "%2E")
            assert raw(server, f"/v1/nodes/{where}")["node_id"] == each
            assert raw(server, f"/v1/links/{where}")["node_id"] == each
    name = "a/b c?#%2F"
    assert server.post("/v1/baselines", {"name": name}).status_code == 200
    there = f"/v1/baselines/{quote(name, safe='')}/publish"
    assert raw(server, there, "POST")["id"] == name


def raw(server: Running, target: str, method: str = "GET") -> Any:
    """Asked with this very address: clients like to tidy up."""
    host = urlsplit(server.url).netloc
    with socket.create_connection(tuple(host.split(":"))) as sock:  # type: ignore[arg-type]
        length = "Content-Length: 0\r\n" if method == "POST" else ""
        asked = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{length}Connection: close\r\n\r\n"
        sock.sendall(asked.encode("ascii"))
        with sock.makefile("rb") as answer:
            head, _, body = answer.read().partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0], (target, body)
    return json.loads(body)


def test_pages_of_a_list(server: Running) -> None:
    whole = server.get("/v1/nodes", params={"kind": "document", "limit": 1000}).json()["nodes"]
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = server.get("/v1/nodes", params={"kind": "document", "limit": 4, "after": after})
        seen += [node["node_id"] for node in page.json()["nodes"]]
        after = page.json()["next"]
    assert seen == [node["node_id"] for node in whole]
    binding = {"filter": ["document_type=design_guidelines", "is_binding=true"]}
    found = server.get("/v1/nodes", params={**binding, "kind": "document"}).json()["nodes"]
    assert [node["node_id"] for node in found] == ["files/guidelines.md"]


def test_the_same_request_id_changes_nothing(server: Running) -> None:
    body = {"documents": [{"name": "once.md", "text": "Once."}], "request_id": "r1", "wait": True}
    first, again = (server.post("/v1/ingest", body).json() for _ in range(2))
    assert first == again
    assert first["nodes"] == 1


def test_a_server_reads_no_file_that_a_request_names(server: Running, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("The password is swordfish.")
    body = {"documents": [{"name": str(secret), "text": "Nothing of it."}], "wait": True}
    assert server.post("/v1/ingest", body).status_code == 200
    assert "swordfish" not in server.post("/v1/search", {"query": "the password"}).text
    assert server.post("/v1/ingest", {"paths": [str(secret)]}).status_code == 422


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_unknown_fields_are_refused(server: Running, route: Any) -> None:
    path = route.path.replace("{id}", "x")
    with server.client() as client:
        if route.method == "GET":
            given = {name: value for name, value in route.example.items() if name != "id"}
            answer = client.get(path, params={**given, "kk": 1})
        else:
            body = {name: value for name, value in route.example.items() if name != "id"}
            answer = client.post(path, json={**body, "kk": 1})
    assert answer.status_code == 422
    assert "kk" in refused(answer)["message"]


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/v1/search", {}, 422, "query"),
        ("/v1/search", {"query": "a", "k": 0}, 422, "k"),
        ("/v1/search", {"query": "a", "k": "5"}, 422, "k"),
        ("/v1/search", {"query": "a", "k": True}, 422, "k"),
        ("/v1/search", {"query": "a", "mode": "magic"}, 422, "mode"),
        ("/v1/search", {"query": "a", "read_context": "yesterday"}, 422, "read_context"),
        ("/v1/search", {"query": "a", "read_context": "baseline:no"}, 404, None),
        ("/v1/search", {"query": "a" * 10_001}, 422, "query"),
        ("/v1/baselines/none/publish", {}, 404, None),
        ("/v1/baselines/none/publish", {"name": "other"}, 422, "name"),
        ("/v1/verify", {"citation": {}}, 422, "citation.repository_id"),
        ("/v1/nowhere", {}, 404, None),
    ],
)
def test_mistakes_are_named(
    server: Running, path: str, body: Any, status: int, field: str | None
) -> None:
    answer = server.post(path, body)
    assert answer.status_code == status
    assert refused(answer)["field"] == field


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'"a"', "application/json", 400),
        (b'{"query": "a", "min_relevance": NaN}', "application/json", 400),
        (b'{"query": "a", "min_relevance": 1e999}', "application/json", 422),
        (b'{"query": "\\ud800"}', "application/json", 400),
        (b'{"query": "\xff"}', "application/json", 400),
        (b'{"query": ' + b"[" * 100_000, "application/json", 400),
        (b'{"query": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", "application/json", 400),
        (b'{"query": "a", "k": ' + b"9" * 1000 + b"}", "application/json", 422),
        (b'{"query": "a"}', "text/plain", 415),
        (b"query=a", "application/x-www-form-urlencoded", 415),
        (gzip.compress(b'{"query": "a"}'), "application/json", 400),
    ],
)
def test_bodies_that_are_no_request(
    server: Running, content: bytes, kind: str, status: int
) -> None:
    with server.client() as client:
        answer = client.post("/v1/search", content=content, headers={"content-type": kind})
    assert answer.status_code == status, answer.text
    assert len(refused(answer)["message"]) < 500


def test_a_question_may_hold_anything(server: Running) -> None:
    for text in ("\u0000", "a\u0000b", "\ufeff", "'; DROP TABLE node; --", "\u202e", "(" * 500):
        answer = server.post("/v1/search", {"query": text})
        assert answer.status_code == 200
        assert answer.json()["query"]["text"] == text


def test_a_body_that_is_too_large_is_not_read(server: Running) -> None:
    host = urlsplit(server.url).netloc
    with socket.create_connection(tuple(host.split(":"))) as sock:  # type: ignore[arg-type]
        head = f"POST /v1/ingest HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        sock.sendall(f"{head}Content-Length: 20000000\r\n\r\n".encode())
        sock.settimeout(10)
        assert b" 413 " in sock.recv(100)
    document = {"name": "large.md", "text": "x" * 20_000_000}
    answer = server.post("/v1/ingest", {"documents": [document]})
    assert (answer.status_code, refused(answer)["code"]) == (413, "too_large")

    def chunks() -> Iterator[bytes]:
        yield from (b"x" * 1_000_000 for _ in range(20))

    with server.client() as client:
        kind = {"content-type": "application/json"}
        streamed = client.post("/v1/ingest", content=chunks(), headers=kind)
    assert streamed.status_code == 413


def test_methods_and_addresses_that_are_not_there(server: Running) -> None:
    with server.client() as client:
        assert refused(client.get("/nowhere"))["code"] == "no_route"
        for method in ("DELETE", "OPTIONS", "PUT", "BREW"):
            answer = client.request(method, "/v1/baselines")
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
            assert refused(answer)["code"] == "method_not_allowed"
        assert client.get("/v1/search").headers["allow"] == "POST"
        for path in ("/v1/search/", "/V1/search", "/v1/../health", "/%2e%2e/health"):
            assert client.post(path, json={}).status_code in (404, 405), path


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example", "", "localhost@evil"])
def test_only_this_machine_s_names_are_answered(server: Running, name: str) -> None:
    with server.client() as client:
        answer = client.get("/v1/nodes", headers={"host": name})
        assert (answer.status_code, refused(answer)["code"]) == (403, "forbidden")
        port = urlsplit(server.url).port
        for known in (f"localhost:{port}", "LOCALHOST", f"[::1]:{port}", "127.0.0.1"):
            assert client.get("/v1/nodes", headers={"host": known}).status_code == 200


def test_pages_from_elsewhere_may_not_ask(server: Running) -> None:
    with server.client() as client:
        for origin in ("https://evil.example", "null", "http://localhost:1"):
            answer = client.post("/v1/reindex", headers={"origin": origin})
            assert answer.status_code == 403
        own = client.get("/v1/nodes", headers={"origin": server.url})
        assert own.status_code == 200
        assert "access-control-allow-origin" not in own.headers


# --- headers, logs and metrics -------------------------------------------------------------------


def test_headers_of_every_response(server: Running) -> None:
    with server.client() as client:
        for path in ("/health", "/nowhere", "/v1/nodes"):
            headers = client.get(path, headers={"x-request-id": "abc-1"}).headers
            assert headers["x-request-id"] == "abc-1"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "server" not in headers
        for bad in ("a b", "x" * 129, "é".encode()):
            given = {"x-request-id": bad}
            made = client.get("/health", headers=given).headers["x-request-id"]  # type: ignore[arg-type]
            assert len(made) == 32


def test_long_answers_are_packed(server: Running) -> None:
    with server.client() as client:
        packed = client.get("/openapi.json", headers={"accept-encoding": "gzip"})
        plain = client.get("/openapi.json", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()


def test_metrics_count_what_was_asked(server: Running) -> None:
    def value(line: str) -> float:
        text = server.get("/metrics").text
        return next((float(x.split()[-1]) for x in text.splitlines() if x.startswith(line)), 0.0)

    done = 'sourcebook_outcomes_total{operation="search",outcome="ok"}'
    wrong = 'sourcebook_outcomes_total{operation="search",outcome="invalid_input"}'
    cached = 'sourcebook_cache_total{cache="answers",found="yes"}'
    server.post("/v1/reindex", {})  # an answer is kept only once no vector is missing
    before = [value(name) for name in (done, wrong, cached)]
    for _ in range(3):
        server.post("/v1/search", {"query": FENCE, "k": 3})
    server.post("/v1/search", {"query": FENCE, "k": -1})
    after = [value(name) for name in (done, wrong, cached)]
    assert after[:2] == [before[0] + 3, before[1] + 1]
    assert after[2] >= before[2] + 2
    assert value('sourcebook_stage_seconds_count{operation="search",stage="total"}') >= 3
    assert value('sourcebook_http_responses_total{method="POST",route="/v1/search"') > 0
    assert value('sourcebook_index_pending{organization="default",repository="default"') >= 0
    assert value("sourcebook_in_flight") == 0


def test_the_log_names_routes_not_ids(server: Running) -> None:
    server.get("/v1/nodes/files/fences.md", headers={"x-request-id": "the-one"})
    line = server.logged(request_id="the-one")
    assert (line["route"], line["status"], line["operation"]) == ("/v1/nodes/{id}", 200, "node")
    assert "fences.md" not in server.log.read_text()
    assert not server.lines("error")
