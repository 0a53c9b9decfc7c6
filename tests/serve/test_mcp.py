"""The official client at the real server, on stdio and HTTP, by both revisions of the protocol:
the examples of the tools' first manifest, and the pair that general-purpose clients know."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from sourcebook.serve.mcp_catalog import LISTED
from sourcebook.serve.mcp_inputs import Layer
from sourcebook.sources.archimate.vocabulary import LAYERS
from tests.serve import mcp_world
from tests.serve.mcp_clients import CURRENT, PREVIOUS, REVISION, ask, on_http, on_stdio, serving

TOOLS = {
    "semanticSearch",
    "getContext",
    "getNode",
    "listBaselines",
    "getIndexHealth",
    "search",
    "fetch",
}


@pytest.fixture(scope="module")
def archisurance(tmp_path_factory: pytest.TempPathFactory, data_dir: Path, model_dir: Path) -> Path:
    store = tmp_path_factory.mktemp("archisurance") / "store.db"
    with mcp_world.opened(store) as sb:
        sb.ingest(data_dir / "archimate/models/Archisurance.xml")
    return store


@pytest.fixture(scope="module")
def address(archisurance: Path) -> Iterator[str]:
    with mcp_world.door(archisurance, keys=False) as door, serving(door) as url:
        yield url


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest, archisurance: Path, address: str) -> Any:
    if request.param == "stdio":
        return lambda mode: on_stdio(archisurance, mode)
    return lambda mode: on_http(address, mode=mode)


@pytest.mark.parametrize("mode", [CURRENT, PREVIOUS])
def test_the_examples_of_the_manifest(transport: Callable[[str], Client], mode: str) -> None:
    client = transport(mode)

    async def work(connected: Client) -> tuple[Any, Any, Any, Any]:
        assert connected.protocol_version == REVISION[mode]
        found = await connected.call_tool(
            "semanticSearch",
            {
                "query": "order fulfillment handling",
                "top_k": 5,
                "filters": {"layer": "application"},
            },
        )
        context = await connected.call_tool(
            "getContext",
            {
                "query": "customer authentication flow security",
                "max_tokens": 4000,
                "include_relationships": True,
            },
        )
        claims = await connected.call_tool(
            "getContext", {"query": "Which process handles a claim of a customer?"}
        )
        return await connected.list_tools(), found, context, claims

    tools, found, context, claims = ask(client, work)
    assert {tool.name for tool in tools.tools} == TOOLS
    assert not found.is_error
    assert not context.is_error
    hits = found.structured_content["results"]
    assert len(hits) == 5
    for hit in hits:
        assert hit["layer"] == "application"
        assert hit["element_type"].startswith(("Application", "DataObject"))
        assert hit["repository_id"] == "default"
        assert hit["element_name"] in hit["context"]
        assert 0 <= hit["score"] <= 1
        assert hit["read_context"] == found.structured_content["read_context"]
        assert hit["citation"]["version_id"] == hit["version_id"]
    assert [hit["score"] for hit in hits] == sorted((h["score"] for h in hits), reverse=True)
    assert found.structured_content["status"] == "low_confidence"  # nothing there is about orders
    assert hits[0]["element_name"] in found.content[0].text
    told = context.structured_content
    assert told["tokens"] <= 4000
    assert [s["number"] for s in told["sources"]] == list(range(1, len(told["sources"]) + 1))
    answered = claims.structured_content
    assert answered["status"] == "ok"
    names = [source["element_name"] for source in answered["sources"]]
    assert any("Claim" in name for name in names), names
    assert all(f"[SOURCE {n}]" in answered["context"] for n in range(1, len(names) + 1))
    assert answered["relationships"]
    assert "[RELATIONSHIPS]" in answered["context"]


def test_search_and_fetch_are_as_general_clients_expect(
    transport: Callable[[str], Client],
) -> None:
    async def work(connected: Client) -> tuple[Any, list[Any]]:
        found = await connected.call_tool("search", {"query": "who assesses damage claims"})
        ids = [hit["id"] for hit in found.structured_content["results"]]
        return found, [await connected.call_tool("fetch", {"id": id}) for id in ids[:3]]

    found, fetched = ask(transport(CURRENT), work)
    (content,) = found.content
    assert json.loads(content.text) == found.structured_content
    hits = found.structured_content["results"]
    assert len({hit["id"] for hit in hits}) == len(hits) == 10
    for hit, document in zip(hits, fetched, strict=False):
        (content,) = document.content
        read = json.loads(content.text)
        assert read == document.structured_content
        assert set(read) == {"id", "title", "text", "url", "metadata"}
        assert (read["id"], read["title"], read["url"]) == (hit["id"], hit["title"], hit["url"])
        assert read["title"] in read["text"]
        assert read["metadata"]["citation"]["element_id"] == hit["id"]


def test_tools_say_that_they_only_read_and_refuse_what_they_do_not_know() -> None:
    assert {tool.name for tool in LISTED} == TOOLS
    for tool in LISTED:
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        hints = tool.annotations
        assert (hints.read_only_hint, hints.destructive_hint) == (True, False)
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)
        assert tool.input_schema["additionalProperties"] is False
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"  # type: ignore[index]
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            assert "$ref" not in json.dumps(schema)
            jsonschema.Draft202012Validator.check_schema(schema)


def test_fields_of_the_manifest_are_there_with_their_defaults() -> None:
    schemas = {tool.name: tool.input_schema["properties"] for tool in LISTED}
    search, context = schemas["semanticSearch"], schemas["getContext"]
    assert search["top_k"]["default"] == 10
    assert search["min_score"]["default"] == 0
    layer = search["filters"]["properties"]["layer"]["anyOf"][0]
    assert {"strategy", "business", "application", "technology"} < set(layer["enum"])
    assert set(search["filters"]["properties"]) == {"layer", "element_type", "capability"}
    assert context["max_tokens"]["default"] == 4000
    assert context["include_relationships"]["default"] is True
    for given in (search, context):
        (at,) = [each for each in given["read_context"]["anyOf"] if each["type"] == "object"]
        assert {"selector", "baseline_id", "as_of"} <= set(at["properties"])


def test_every_layer_of_the_vocabulary_can_be_asked_for() -> None:
    assert Layer.__args__ == LAYERS  # type: ignore[attr-defined]
