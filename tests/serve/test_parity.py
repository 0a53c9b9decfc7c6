"""One question, one answer, whatever surface it is asked on: Python, the command line, HTTP, gRPC,
and MCP on stdio and over HTTP, compared field by field.

All ask the same store with the real model. HTTP, gRPC and MCP over HTTP are one real server.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from mcp import Client

from sourcebook import Sourcebook, bootstrap
from sourcebook.hashing import text_hash
from sourcebook.history import parse_read_context
from sourcebook.model import Citation
from sourcebook.serve.proto.sourcebook.v1.semantic_query_pb2_grpc import SemanticQueryServiceStub
from sourcebook.testing.observe import difference
from tests.town import write

from . import mcp_clients, mcp_world, parity
from .parity import Json, Question, offers
from .parity_questions import COUNT, Known, questions
from .running import RULES, Running, running
from .test_grpc_fields import NEW, OLD, differences
from .test_grpc_fields import RULES as HARBOUR

CONFIG = "[monitoring]\nlog = false\n[search]\ncache = false\ndepth = 20\n"
"""Who asked before, and on which surface, may not show."""
VARIES = ("timings_ms", "vectors_per_s", "oldest_pending_s")
DEFAULTS = {"stdio": "default", "streamable": "default", "grpc": "default", "stream": "default"}
"""What is read where nothing is said: agents' surfaces read what is published."""


@dataclass(frozen=True, slots=True)
class World:
    folder: Path
    store: str
    questions: list[Question]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> World:
    """Two revisions with names, the older one published, and another repository."""
    folder = tmp_path_factory.mktemp("parity")
    (folder / "sourcebook.toml").write_text(CONFIG)
    files = write(folder / "files", {**RULES, "rules.md": HARBOUR, "old.md": OLD})
    shutil.copy(mcp_world.LARKFIELD, files)
    store = f"sqlite:///{folder / 'store.db'}"
    with Sourcebook.open(store, config=folder / "sourcebook.toml") as sb:
        sb.ingest(files)
        sb.create_baseline("spring")
        sb.publish("spring")
        (files / "pets.md").write_text("Each home may keep one dog, and as many cats.\n")
        (files / "waste.md").unlink()
        write(files, {"new.md": NEW})
        sb.ingest(files, prune=True)
        sb.create_baseline("summer")
        sb.in_repository("other").ingest(files / "fences.md")
        return World(folder, store, questions(known(sb)))


def known(sb: Sourcebook) -> Known:
    first = sb.list(limit=1000, read_context=parse_read_context("baseline:spring"))
    now = sb.list(limit=1000)
    gone = [node for node in first if node.id not in {each.id for each in now}]
    assert gone
    cited = [*first[::9], *gone]
    return Known(
        [*RULES.values(), HARBOUR, NEW],
        [node.id for node in now],
        [(node.id, node.version_id) for node in (*now, *gone)],
        [citation(sb, node) for node in cited],
        [revision.at for revision in reversed(sb.log())],
    )


def citation(sb: Sourcebook, node: Any) -> Json:
    _, text = sb.get(node.id, version=node.version_id)
    place = (node.element_id, node.version_id, node.start, node.end)
    return asdict(Citation(sb.scope.repository, *place, text_hash(text)))


@pytest.fixture(scope="module")
def server(here: World) -> Iterator[Running]:
    with running(here.store, here.folder, "--grpc-port", "0") as made:
        yield made


@pytest.fixture(scope="module")
def http(here: World, server: Running) -> Iterator[Callable[[Question], Json]]:
    """What the other surfaces are compared with; each question is asked once."""
    with server.client() as client:
        told: dict[str, Json] = {}

        def ask(asked: Question) -> Json:
            key = json.dumps([asked.op, asked.given])
            if key not in told:
                told[key] = parity.http(client, asked)
            return told[key]

        yield ask


@pytest.fixture(scope="module")
def one_model() -> Iterator[None]:
    """Loaded once for all command lines, which are in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "make_embedder", functools.cache(bootstrap.make_embedder))
        yield


@pytest.fixture(scope="module")
def asks(here: World, server: Running, one_model: None) -> Iterator[dict[str, Any]]:
    """How each surface is asked a list of questions."""
    with ExitStack() as stack:
        config = here.folder / "sourcebook.toml"
        sb = stack.enter_context(Sourcebook.open(here.store, config=config))
        channel = stack.enter_context(grpc.insecure_channel(server.addresses["grpc"]))
        stub = SemanticQueryServiceStub(channel)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(here.folder)

        def each(ask: Callable[[Question], Json]) -> Callable[[list[Question]], list[Json]]:
            return lambda asked: [ask(one) for one in asked]

        yield {
            "python": each(lambda asked: parity.python(sb, asked)),
            "cli": each(lambda asked: parity.cli(here.store, asked)),
            "grpc": each(lambda asked: parity.grpc_whole(stub, asked)),
            "stream": each(lambda asked: parity.grpc_stream(stub, asked)),
            "stdio": over_mcp(lambda: mcp_clients.on_stdio(here.folder / "store.db")),
            "streamable": over_mcp(lambda: mcp_clients.on_http(f"{server.url}/mcp")),
        }


def over_mcp(connect: Callable[[], Client]) -> Callable[[list[Question]], list[Json]]:
    def ask(asked: list[Question]) -> list[Json]:
        async def work(client: Client) -> list[Json]:
            return [await parity.mcp(client, one) for one in asked]

        return mcp_clients.ask(connect(), work)

    return ask


def differ(surface: str, expected: Json, found: Json) -> str | None:
    """The first place where they differ."""
    if surface in ("grpc", "stream"):
        return next(differences(expected, found, "answer"), None)
    place = difference(steady(expected), steady(found), "answer")
    return place and f"{place[0]} is {str(place[2])[:200]}, not {str(place[1])[:200]}"


def steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in VARIES}
    return [steady(each) for each in value] if isinstance(value, list) else value


SURFACES = ("python", "cli", "grpc", "stream", "stdio", "streamable")


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_gives_the_answers_of_http(
    here: World, http: Callable[[Question], Json], asks: dict[str, Any], surface: str
) -> None:
    asked = [one for one in here.questions if offers(surface, one)]
    otherwise = DEFAULTS.get(surface, "head")
    told = []
    for one, found in zip(asked, asks[surface](asked), strict=True):
        expected = http(one.at(otherwise))
        if surface in ("stdio", "streamable"):
            expected = parity.without_mcps_gaps(one, expected)
        place = differ(surface, expected, found)
        if place:
            told.append(f"{one.op} {json.dumps(one.given)}: {place}")
    assert told == [], f"{len(told)} of {len(asked)} differ:\n" + "\n".join(told)


def test_the_questions_are_worth_asking(here: World, http: Callable[[Question], Json]) -> None:
    """So that nothing is not compared with nothing."""
    assert len(here.questions) >= COUNT
    asked = {each: sum(offers(each, one) for one in here.questions) for each in SURFACES}
    assert min(asked["python"], asked["cli"]) >= COUNT
    assert min(asked.values()) >= 40
    told = [(one, http(one.at("head"))) for one in here.questions]
    codes = Counter(answer["error"] for _, answer in told if "error" in answer)
    assert set(codes) == {"invalid_input", "not_found"}
    assert codes.total() < COUNT / 4
    found = Counter(
        one.op
        for one, answer in told
        if any(answer.get(name) for name in ("results", "sources", "nodes", "links", "text"))
    )
    assert found["search"] > 30
    assert min(found[op] for op in ("agent", "context", "similar", "node", "nodes")) > 5
    assert found["links"] > 2
    verdicts = [answer["valid"] for one, answer in told if one.op == "verify" and "valid" in answer]
    assert set(verdicts) == {True, False}


MALFORMED: list[Json] = [
    {},
    {"query": 5},
    {"query": None},
    {"query": "fence", "k": "3"},
    {"query": "fence", "k": 2.5},
    {"query": "fence", "k": True},
    {"query": "fence", "min_relevance": "0.5"},
    {"query": "fence", "colour": "blue"},
    {"query": "fence" * 2001},
    {"query": "fence", "filters": []},
    {"query": "fence", "filters": {"a": {"b": 1}}},
    {"query": "fence", "filters": {"a": None}},
    {"query": "fence", "repository": ""},
    {"query": "fence", "read_context": 1},
    {"query": "fence", "read_context": {"selector": "yesterday"}},
    {"query": "fence", "read_context": {"selector": "baseline"}},
    {"query": "fence", "read_context": {"revision": "1"}},
    {"query": "fence", "read_context": {"revision": 1, "baseline_id": "spring"}},
]


def test_what_http_refuses_to_read_mcp_refuses_too(
    http: Callable[[Question], Json], asks: dict[str, Any]
) -> None:
    asked = [Question("search", given) for given in MALFORMED]
    assert [http(one) for one in asked] == [{"error": "invalid_input"}] * len(asked)
    told = zip(MALFORMED, asks["streamable"](asked), strict=True)
    assert [given for given, found in told if found != {"error": "invalid_input"}] == []


def test_the_program_itself_says_the_same(here: World, http: Callable[[Question], Json]) -> None:
    """A few, since each starts a process: an answer, and an error."""
    found = [one for one in here.questions if "error" not in http(one.at("head"))]
    wrong = [one for one in here.questions if "error" in http(one.at("head"))]
    for one in (found[0], wrong[0]):
        command = [sys.executable, "-m", "sourcebook", "--store", here.store, *parity.words(one)]
        ran = subprocess.run(command, capture_output=True, cwd=here.folder, check=False)
        told = json.loads(ran.stdout)
        told = {"error": told["error"]["code"]} if "error" in told else told
        assert differ("cli", http(one.at("head")), told) is None


def test_the_pair_of_plain_clients_finds_the_same(here: World, server: Running) -> None:
    """`search` and `fetch` of MCP have a form of their own."""
    query = "How high may a fence be?"
    asked = Question("search", {"query": query, "per_document": 1, "read_context": "default"})
    with server.client() as client:
        hits = parity.http(client, asked)["results"]
        node = parity.http(client, Question("node", {"node_id": hits[0]["element_id"]}))
    connect = functools.partial(mcp_clients.on_http, f"{server.url}/mcp")
    found = mcp_clients.call(connect(), "search", query=query).structured_content
    told = [(each["id"], each["score"]) for each in found["results"]]
    assert told == [(hit["element_id"], hit["relevance"]) for hit in hits]
    document = mcp_clients.call(connect(), "fetch", id=hits[0]["element_id"]).structured_content
    assert node["text"] in document["text"]
    assert document["metadata"]["citation"] == node["citation"]
