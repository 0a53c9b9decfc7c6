"""Every route of the application is tried with every kind of key that must not open it. The routes
come from the application's own table, so a new one cannot be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route as Served

from sourcebook import Sourcebook
from sourcebook.config import Serve
from sourcebook.serve.door import Door
from sourcebook.serve.metrics import Metrics
from sourcebook.serve.ready import Readiness
from sourcebook.serve.rest import Rest
from sourcebook.serve.routes import PUBLIC, ROUTES
from tests.serve.running import Running, filled, key_for, running
from tests.town import FENCE, quick

NAMED = {(route.method, route.path): route for route in ROUTES}


def served(tmp: Path) -> list[tuple[str, str]]:
    """Method and path of everything that the application routes."""
    engine = quick(tmp, {"a.md": "Some words."})
    door = Door(engine, keys=True)
    with ThreadPoolExecutor(1) as pool:
        app = Rest(door, Serve(), Metrics(door.turns), Readiness(engine), pool).app()
    engine.close()
    found = []
    for route in app.routes:
        assert isinstance(route, Served), f"{route} is not a plain route: add it to this test"
        found += [(m, route.path.replace("{id:path}", "{id}")) for m in route.methods or ()]
    return [(method, path) for method, path in found if method != "HEAD"]


@dataclass(frozen=True)
class World:
    store: str
    server: Running
    keys: dict[str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("keys")
    store = filled(folder)
    keys = {right: key_for(store, rights=right) for right in ("read", "write", "admin")}
    keys["stranger"] = key_for(store, tenant="elsewhere")
    keys["elsewhere"] = key_for(store, repositories=("another",))
    keys["revoked"] = key_for(store, rights="admin")
    keys["wrong"] = keys["admin"][:-1] + ("0" if keys["admin"][-1] != "0" else "1")
    with Sourcebook.open(store) as sb:
        sb.revoke_key(keys["revoked"].split("_")[1])
    with running(store, folder) as server:
        yield World(store, server, keys)


def ask(world: World, method: str, path: str, key: str | None) -> tuple[int, Any]:
    route = NAMED.get((method, path))
    example = dict(route.example) if route else {}
    where = path.replace("{id}", str(example.pop("id", "x")))
    if example.get("citation"):
        example["citation"] = {**example["citation"]}
    with world.server.client(key) as client:
        sent: dict[str, Any] = {"params": example} if method == "GET" else {"json": example}
        answer = client.request(method, where, **sent)
    return answer.status_code, answer.json() if "json" in answer.headers["content-type"] else None


def test_every_route_is_closed_to_keys_that_do_not_fit(world: World, tmp_path: Path) -> None:
    routes = served(tmp_path)
    assert {path for _, path in routes} >= {*PUBLIC, "/metrics", *(r.path for r in ROUTES)}
    for method, path in routes:
        if path in PUBLIC:
            continue
        for name in (None, "wrong", "revoked"):
            status, said = ask(world, method, path, world.keys[name] if name else None)
            assert (status, said["error"]["code"]) == (401, "unauthorized"), (method, path, name)
        for name in ("stranger", "elsewhere"):
            status, said = ask(world, method, path, world.keys[name])
            assert status in (403, 404), (method, path, name, said)


def test_a_key_does_what_its_right_allows_and_no_more(world: World, tmp_path: Path) -> None:
    ranks = ("read", "write", "admin")
    for method, path in served(tmp_path):
        if path in PUBLIC:
            continue
        route = NAMED.get((method, path))
        needed = ranks.index(route.operation.right if route else "admin")
        for right in ranks:
            status, said = ask(world, method, path, world.keys[right])
            if ranks.index(right) < needed:
                assert (status, said["error"]["code"]) == (403, "forbidden"), (path, right)
            else:
                assert status not in (401, 403), (path, right, said)


@pytest.mark.parametrize("path", PUBLIC)
def test_what_is_public_needs_no_key(world: World, path: str) -> None:
    assert world.server.get(path).status_code == 200


def test_the_key_is_looked_at_before_the_request(world: World) -> None:
    with world.server.client(world.keys["wrong"]) as client:
        assert client.post("/v1/search", content=b"{").status_code == 401
    with world.server.client() as client:
        assert client.post("/v1/search", content=b"{").status_code == 401


@pytest.mark.parametrize("header", ["Basic abc", "Bearer", "Bearer a b", "sb_1_2", "Bearer \xff"])
def test_a_strange_authorization_is_refused(world: World, header: str) -> None:
    with world.server.client() as client:
        headers = {"authorization": header.encode("latin-1")}
        answer = client.get("/v1/nodes", headers=headers)  # type: ignore[arg-type]
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_revoked_key_ends_at_the_next_request(world: World) -> None:
    key = key_for(world.store)
    assert world.server.get("/v1/nodes", key).status_code == 200
    with Sourcebook.open(world.store) as sb:
        sb.revoke_key(key.split("_")[1])
    assert world.server.get("/v1/nodes", key).status_code == 401


def test_metrics_show_an_admin_its_own_repositories(world: World) -> None:
    text = world.server.get("/metrics", world.keys["admin"]).text
    assert 'sourcebook_index_pending{organization="default",repository="default"' in text
    assert "elsewhere" not in text


def test_neither_key_nor_question_nor_text_is_logged(world: World) -> None:
    key = world.keys["read"]
    assert world.server.post("/v1/search", {"query": FENCE}, key).status_code == 200
    line = world.server.logged(operation="search", key_id=key.split("_")[1])
    assert {"request_id", "status", "ms", "route"} <= set(line)
    log = world.server.log.read_text()
    assert key not in log
    assert "rear line" not in log
