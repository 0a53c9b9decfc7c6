"""Every surface under one form, for the parity test: a question of the wire in, its answer as HTTP
has it out, or the code of its error.

A surface that has no such question, or no such field, says so by `offers`. What MCP adds to a hit,
or leaves out, is undone here and looked at on the way.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

import grpc
import httpx
from mcp import Client

from sourcebook import Sourcebook
from sourcebook.errors import SourcebookError
from sourcebook.hashing import text_hash
from sourcebook.history import parse_read_context
from sourcebook.model import Citation, Filter
from sourcebook.querying.fence import code_for, fenced
from sourcebook.serve.cli import run
from sourcebook.serve.mcp_server import ERROR
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb

from .grpc_client import error_of
from .test_grpc_fields import shown

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    op: str
    given: Json = field(default_factory=dict)

    def at(self, otherwise: str) -> Question:
        """The same, said by name where nothing is said."""
        if "read_context" in self.given or self.op in TIMELESS:
            return self
        return Question(self.op, {**self.given, "read_context": otherwise})


TIMELESS = ("revisions", "baselines", "health", "verify")
"""Operations that are not of one revision."""


# --- HTTP ----------------------------------------------------------------------------------------

POSTED = ("search", "agent", "context", "similar", "verify")
ADDRESSED = {"node": "/v1/nodes/", "links": "/v1/links/"}
LISTED = {
    "nodes": "/v1/nodes",
    "baselines": "/v1/baselines",
    "revisions": "/v1/revisions",
    "health": "/v1/health/index",
}


def http(client: httpx.Client, asked: Question) -> Json:
    if asked.op in POSTED:
        return _of_http(client.post(f"/v1/{asked.op}", json=asked.given))
    given = dict(asked.given)
    path = LISTED.get(asked.op) or ADDRESSED[asked.op] + quote(given.pop("node_id"), safe="")
    wanted = [
        ("filter", f"{key}={value}")
        for key, values in given.pop("filters", {}).items()
        for value in _several(values)
    ]
    at = given.get("read_context")
    if isinstance(at, dict):
        given["read_context"] = _as_text(at)
    return _of_http(client.get(path, params=[*given.items(), *wanted]))


def _of_http(answer: httpx.Response) -> Json:
    told: Json = answer.json()
    return told if answer.status_code == 200 else {"error": told["error"]["code"]}


def _several(values: Any) -> list[Any]:
    found = values if isinstance(values, list) else [values]
    return [str(each).lower() if isinstance(each, bool) else each for each in found]


def _as_text(at: Any) -> str:
    """A read context as one word, as command lines and addresses have it."""
    if isinstance(at, str):
        return at
    names = {"baseline_id": "baseline", "as_of": "as-of", "revision": "revision"}
    found = [f"{names[name]}:{value}" for name, value in at.items() if name in names]
    return found[0] if found else str(at["selector"])


# --- Python --------------------------------------------------------------------------------------


def python(sb: Sourcebook, asked: Question) -> Json:
    given = dict(asked.given)
    engine = sb.in_repository(given.pop("repository")) if "repository" in given else sb
    if "read_context" in given:
        given["read_context"] = _as_text(given["read_context"])
    try:
        if "read_context" in given:
            given["read_context"] = parse_read_context(given["read_context"])
        if "filters" in given:
            pairs = given["filters"].items()
            given["filters"] = tuple(
                Filter(key, tuple(str(value) for value in _several(values)))
                for key, values in pairs
            )
        told = PYTHON[asked.op](engine, given)
    except SourcebookError as error:
        return {"error": error.code}
    made: Json = json.loads(json.dumps(told))
    return made


def _python_search(sb: Sourcebook, given: Json) -> Json:
    if "repositories" not in given:
        return sb.search(**given).to_dict()
    names = given.pop("repositories")
    return sb.search_across(**given, repositories=None if names == "*" else names).to_dict()


def _python_agent(sb: Sourcebook, given: Json) -> Json:
    if "exclude_stubs" in given:
        given["exclude_stubs"] = tuple(given["exclude_stubs"])
    return sb.agent(**given).to_dict()


def _python_context(sb: Sourcebook, given: Json) -> Json:
    if "include_relationships" in given:
        given["relationships"] = given.pop("include_relationships")
    return sb.context(**given).to_dict()


def _python_node(sb: Sourcebook, given: Json) -> Json:
    at = given.get("read_context", parse_read_context("head"))
    if "version_id" in given:
        given["version"] = given.pop("version_id")
    told = sb.resolve(at)
    node, text = sb.get(given.pop("node_id"), **given)
    where = (sb.scope.repository, node.element_id, node.version_id, node.start, node.end)
    return {
        **_node(sb, node),
        "text": text,
        "quality": sb.quality(node, text),
        "citation": asdict(Citation(*where, text_hash(text))),
        "read_context": asdict(told),
    }


def _python_nodes(sb: Sourcebook, given: Json) -> Json:
    at = given.get("read_context", parse_read_context("head"))
    found = sb.list(**given)
    more = found and sb.list(**{**given, "after": found[-1].id, "limit": 1})
    return {
        "read_context": asdict(sb.resolve(at)),
        "nodes": [_node(sb, node) for node in found],
        "next": found[-1].id if more else None,
    }


def _node(sb: Sourcebook, node: Any) -> Json:
    told = asdict(node)
    names = (
        "element_id version_id title kind section_path page start end source parent_id position "
        "content_hash metadata"
    ).split()
    kept = {name: told[name] for name in names}
    return {**kept, "node_id": node.id, "repository_id": sb.scope.repository}


def _python_links(sb: Sourcebook, given: Json) -> Json:
    at = given.get("read_context", parse_read_context("head"))
    found = [asdict(link) for link in sb.links(given["node_id"], at)]
    told = asdict(sb.resolve(at))
    return {"read_context": told, "node_id": given["node_id"], "links": found}


def _python_verify(sb: Sourcebook, cited: Citation) -> Json:
    """In the repository that it names, as the other surfaces do by themselves."""
    return sb.in_repository(cited.repository_id).verify(cited).to_dict()


PYTHON: Mapping[str, Callable[[Sourcebook, Json], Json]] = {
    "search": _python_search,
    "agent": _python_agent,
    "context": _python_context,
    "similar": lambda sb, given: sb.similar(**given).to_dict(),
    "node": _python_node,
    "nodes": _python_nodes,
    "links": _python_links,
    "baselines": lambda sb, given: {"baselines": [asdict(one) for one in sb.baselines()]},
    "revisions": lambda sb, given: {
        "revisions": [asdict(one) for one in sb.log(given.get("limit"))]
    },
    "health": lambda sb, given: sb.status(),
    "verify": lambda sb, given: _python_verify(sb, Citation(**given["citation"])),
}


# --- the command line ----------------------------------------------------------------------------

COMMANDS = {"node": "get", "nodes": "list", "revisions": "log", "health": "status"}
WORDS = {"k": "-k", "version_id": "--version", "exclude_stubs": "--exclude-stub"}


def words(asked: Question) -> list[str]:
    """The command line of a question, without --store."""
    given = dict(asked.given)
    made: list[str] = []
    if "repository" in given:
        made += ["--repository", given.pop("repository")]
    made += ["baseline", "list"] if asked.op == "baselines" else [COMMANDS.get(asked.op, asked.op)]
    last = [str(given.pop(name)) for name in ("query", "node_id") if name in given]
    if "citation" in given:
        last = [json.dumps(given.pop("citation"))]
    for key, values in given.pop("filters", {}).items():
        made += [each for value in _several(values) for each in ("--filter", f"{key}={value}")]
    if "read_context" in given:
        made += ["--read-context", _as_text(given.pop("read_context"))]
    if isinstance(given.get("repositories"), list):
        given["repositories"] = ",".join(given["repositories"])
    for name, value in given.items():
        option = WORDS.get(name, f"--{name.replace('_', '-')}")
        made += [each for one in _several(value) for each in (option, str(one))]
    return [*made, "--json", "--", *last]


def cli(store: str, asked: Question) -> Json:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        run(["--store", store, *words(asked)])
    told: Json = json.loads(out.getvalue())
    if "error" in told:
        return {"error": told["error"]["code"]}
    if asked.op == "health":  # what the whole store takes is for who runs it alone
        assert told.pop("storage")["bytes"] > 0
    return told


# --- gRPC ----------------------------------------------------------------------------------------

METHODS = {"search": "Search", "context": "GetContext", "health": "GetIndexHealth"}
REQUESTS = {
    "search": pb.SearchRequest,
    "context": pb.GetContextRequest,
    "health": pb.GetIndexHealthRequest,
}


def grpc_message(asked: Question) -> Any:
    given = dict(asked.given)
    at = given.pop("read_context", None)
    for key, values in given.pop("filters", {}).items():
        texts = [str(value) for value in _several(values)]
        given.setdefault("filters", {})[key] = pb.Values(values=texts)
    if "repositories" in given:
        names = given.pop("repositories")
        given["repositories"] = (
            pb.Repositories(all=True) if names == "*" else pb.Repositories(names=names)
        )
    if at is not None:
        given["read_context"] = pb.ReadContext(**(_as_object(at) if isinstance(at, str) else at))
    return REQUESTS[asked.op](**given)


def _as_object(at: str) -> Json:
    name, _, value = at.partition(":")
    if name == "revision" and value.isdigit():
        return {"revision": int(value)}
    names = {"baseline": "baseline_id", "as-of": "as_of"}
    return {names[name]: value} if name in names else {"selector": at}


def grpc_whole(stub: Any, asked: Question) -> Json:
    def ask() -> Json:
        return shown(getattr(stub, METHODS[asked.op])(grpc_message(asked), timeout=60))

    return _of_grpc(ask)


def grpc_stream(stub: Any, asked: Question) -> Json:
    def ask() -> Json:
        parts = [shown(part) for part in stub.SearchStream(grpc_message(asked), timeout=60)]
        hits = [part["hit"] for part in parts if "hit" in part]
        return {**parts[0]["header"], "results": hits, **parts[-1]["trailer"]}

    return _of_grpc(ask)


def _of_grpc(ask: Callable[[], Json]) -> Json:
    try:
        return ask()
    except grpc.RpcError as error:
        return {"error": error_of(error)["code"]}


# --- MCP -----------------------------------------------------------------------------------------

SAME = ("read_context", "repository", "filters")
FIELDS: Mapping[str, dict[str, str]] = {
    "search": {"query": "query", "k": "top_k", "min_relevance": "min_score"},
    "context": {
        "query": "query",
        "max_tokens": "max_tokens",
        "include_relationships": "include_relationships",
    },
    "node": {"node_id": "node_id", "version_id": "version_id"},
    "links": {"node_id": "node_id"},
    "baselines": {},
    "health": {},
}
TOOLS = {
    "search": "semanticSearch",
    "context": "getContext",
    "node": "getNode",
    "links": "getNode",
    "baselines": "listBaselines",
    "health": "getIndexHealth",
}
Call = Callable[[str, Json], Awaitable[Json]]


async def mcp(client: Client, asked: Question) -> Json:
    names = FIELDS[asked.op] | {name: name for name in SAME}
    given = {names.get(name, name): value for name, value in asked.given.items()}

    async def call(more: Json) -> Json:
        found = await client.call_tool(TOOLS[asked.op], {**given, **more})
        if found.is_error:
            return {"error": (found.meta or {})[ERROR]["code"]}
        return found.structured_content or {}

    told = await PAGES[asked.op](call)
    return told if "error" in told else MCP[asked.op](told)


Ask = Callable[[Json], Awaitable[Json]]


async def _one(call: Ask) -> Json:
    return await call({})


async def _related(call: Ask) -> Json:
    return await call({"include_relationships": True})


def _pages_of(name: str) -> Callable[[Ask], Awaitable[Json]]:
    """All of a list, or of a text, however many answers it takes."""

    async def ask(call: Ask) -> Json:
        first = told = await call({})
        while told.get("next_cursor"):
            told = await call({"cursor": told["next_cursor"]})
            first = {**first, name: first[name] + told[name]}
        return first

    return ask


PAGES: Mapping[str, Callable[[Ask], Awaitable[Json]]] = {
    "search": _pages_of("results"),
    "context": _one,
    "node": _pages_of("text"),
    "links": _related,
    "baselines": _pages_of("baselines"),
    "health": _one,
}
NAMES = ("element_name", "element_type", "layer")
PAGING = ("notice", "left_out", "next_cursor", "shortened")


def _without(told: Json, *names: str) -> Json:
    return {name: value for name, value in told.items() if name not in names}


def _mcp_search(told: Json) -> Json:
    hits = []
    for hit in told["results"]:
        assert (hit["score"], hit["shortened"]) == (hit["relevance"], [])
        assert hit["read_context"]["revision"] == told["read_context"]["revision"]
        hits.append(_without(hit, *NAMES, "score", "shortened", "read_context"))
    query = _without(told["query"], "shortened")
    return {**_without(told, *PAGING), "results": hits, "query": query}


def _mcp_context(told: Json) -> Json:
    sources = []
    for source in told["sources"]:
        assert (source["read_context"], source["shortened"]) == (told["read_context"], [])
        sources.append(_without(source, *NAMES, "read_context", "shortened"))
    query = _without(told["query"], "shortened")
    text = _unfenced(told["context"])
    return {**_without(told, "notice", "context"), "text": text, "sources": sources, "query": query}


def _unfenced(text: str) -> str:
    if not text:
        return ""
    inner = "\n".join(text.split("\n")[1:-1])
    assert text == fenced("context", code_for(inner), inner)
    return inner


def _mcp_node(told: Json) -> Json:
    assert len(told["text"]) == told["text_length"]
    paged = ("text_start", "text_length", "relationships", "relationships_left_out")
    return _without(told, *PAGING, *NAMES, *paged)


def _mcp_links(told: Json) -> Json:
    assert told["relationships_left_out"] == 0
    at, node = told["read_context"], told["node_id"]
    return {"read_context": at, "node_id": node, "links": told["relationships"]}


MCP: Mapping[str, Callable[[Json], Json]] = {
    "search": _mcp_search,
    "context": _mcp_context,
    "node": _mcp_node,
    "links": _mcp_links,
    "baselines": lambda told: _without(told, *PAGING),
    "health": lambda told: _without(told, "shortened"),
}
MISSING: Mapping[str, tuple[str, ...]] = {"search": ("rejected",), "context": ()}
"""What of HTTP's answer MCP does not tell."""


def without_mcps_gaps(asked: Question, told: Json) -> Json:
    """HTTP's answer, as far as MCP gives one. The text of a source stands in the context."""
    if asked.op == "context" and "error" not in told:
        return {**told, "sources": [_without(source, "text") for source in told["sources"]]}
    return _without(told, *MISSING.get(asked.op, ()))


# --- who offers what -----------------------------------------------------------------------------


def offers(surface: str, asked: Question) -> bool:
    given = set(asked.given)
    if surface in ("stdio", "streamable"):
        return asked.op in FIELDS and given <= {*FIELDS[asked.op], *SAME}
    if surface in ("grpc", "stream"):
        return asked.op in METHODS and (surface == "grpc" or asked.op == "search")
    if surface == "cli":
        return "include_relationships" not in given
    return True
