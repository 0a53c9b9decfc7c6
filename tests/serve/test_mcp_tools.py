"""What each tool gives, over HTTP with the official client, which holds every answer against the
schema of its tool."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp import Client, MCPError

from sourcebook.serve.mcp_pages import BOUND
from sourcebook.serve.mcp_server import ERROR
from tests.serve import mcp_world
from tests.serve.mcp_clients import PREVIOUS, ask, call, on_http, serving
from tests.serve.mcp_world import HOSTILE, INJECTION, LEDGER, World

Tool = Callable[..., Any]
SIZE_OF_REST = 1000
"""Bytes of a result beside what the bound counts: the names of its fields, who answers."""


@pytest.fixture(scope="module")
def address(world: World) -> Iterator[str]:
    with mcp_world.door(world.store, keys=False) as door, serving(door) as url:
        yield url


@pytest.fixture
def tool(address: str) -> Tool:
    """The structured content of a call that must not fail."""

    def use(name: str, **arguments: Any) -> Any:
        result = call(on_http(address), name, **arguments)
        assert not result.is_error, result.content
        assert len(json.dumps(result.model_dump(mode="json"))) <= BOUND + SIZE_OF_REST
        return result.structured_content

    return use


@pytest.fixture
def refused(address: str) -> Tool:
    """The error of a call that must fail."""

    def use(name: str, **arguments: Any) -> Any:
        result = call(on_http(address), name, **arguments)
        assert result.is_error
        assert result.structured_content is None
        error = result.meta[ERROR]
        assert result.content[0].text == f"{error['code']}: {error['message']}"
        return error

    return use


# --- what is read --------------------------------------------------------------------------------


def test_without_a_published_baseline_head_is_read(tool: Tool) -> None:
    found = tool("semanticSearch", query="When does the gate of the mill close?", top_k=1)
    assert found["read_context"] == {
        "selector": "head",
        "revision": 2,
        "baseline_id": None,
        "as_of": None,
    }
    assert "ten o'clock" in found["results"][0]["text"]
    assert found["status"] == "ok"
    assert found["degraded"] == []


@pytest.mark.parametrize(
    ("given", "hour"),
    [
        ({"baseline_id": "spring"}, "nine"),
        ({"selector": "baseline_id", "baseline_id": "summer"}, "ten"),
        ({"revision": 1}, "nine"),
        ("baseline:spring", "nine"),
        ({"selector": "head"}, "ten"),
    ],
)
def test_another_point_in_history_is_read(tool: Tool, given: Any, hour: str) -> None:
    question = "When does the gate of the mill close?"
    found = tool("semanticSearch", query=question, top_k=1, read_context=given)
    assert f"{hour} o'clock" in found["results"][0]["text"]
    assert f"{hour} o'clock" in tool("getContext", query=question, read_context=given)["context"]
    node = tool("getNode", node_id="notes/rules.md", read_context=given)
    assert f"{hour} o'clock" in node["text"]
    again = tool("semanticSearch", query=question, top_k=1, read_context=found["read_context"])
    assert again["results"][0]["citation"] == found["results"][0]["citation"]


def test_published_is_read_once_a_baseline_is(world: World, tmp_path: Any) -> None:
    world_of_its_own = mcp_world.small(tmp_path)
    with mcp_world.door(world_of_its_own, keys=False) as door, serving(door) as url:
        question = {"query": "When does the gate of the mill close?"}
        before = call(on_http(url), "semanticSearch", **question).structured_content
        door.engine.publish("spring")
        after = call(on_http(url), "semanticSearch", **question).structured_content
        context = call(on_http(url), "getContext", **question).structured_content
    assert (before["read_context"]["selector"], before["read_context"]["revision"]) == ("head", 2)
    for answer in (after, context):
        assert answer["read_context"]["selector"] == "published"
        assert answer["read_context"]["baseline_id"] == "spring"
    assert "nine o'clock" in after["results"][0]["text"]


def test_a_version_is_read_whatever_the_read_context_is(tool: Tool) -> None:
    old = tool("getNode", node_id="notes/rules.md", read_context={"revision": 1})
    now = tool("getNode", node_id="notes/rules.md")
    assert old["version_id"] != now["version_id"]
    same = tool("getNode", node_id="notes/rules.md", version_id=old["version_id"])
    assert same["text"] == old["text"] != now["text"]


def test_baselines_and_health(tool: Tool) -> None:
    found = tool("listBaselines")
    assert [(b["id"], b["revision"], b["published"]) for b in found["baselines"]] == [
        ("spring", 1, False),
        ("summer", 2, False),
    ]
    health = tool("getIndexHealth")
    assert (health["revision"], health["published"]) == (2, None)
    assert health["counts"]["element"] == 31
    assert health["index"]["pending"] == 0


# --- what is asked -------------------------------------------------------------------------------


def test_filters_are_joined(tool: Tool) -> None:
    layers = tool("semanticSearch", query="members", filters={"layer": ["business", "strategy"]})
    assert {hit["layer"] for hit in layers["results"]} == {"business", "strategy"}
    wanted = {"layer": "business", "element_type": "BusinessProcess"}
    found = tool("semanticSearch", query="members", top_k=50, filters=wanted)
    assert {hit["element_type"] for hit in found["results"]} == {"BusinessProcess"}
    owner = tool("semanticSearch", query="members", filters={"owner": "Tool steward"})
    assert [hit["element_name"] for hit in owner["results"]] == ["Toolbook"]
    none = tool("semanticSearch", query="members", filters={"capability": "Astronomy"})
    assert (none["results"], none["status"]) == ([], "no_results")


def test_min_score_is_of_calibrated_relevance_and_hides_nothing_unless_asked(tool: Tool) -> None:
    question = {"query": "When does the gate of the mill close?"}
    everything = tool("semanticSearch", **question)["results"]
    scores = [hit["score"] for hit in everything]
    assert len(scores) == 10
    assert min(scores) < 0.3 < max(scores)
    assert all(hit["scores"]["fused"] != hit["score"] for hit in everything)
    kept = tool("semanticSearch", min_score=0.3, **question)["results"]
    assert [hit["score"] for hit in kept] == [score for score in scores if score >= 0.3]


def test_relationships_are_told_unless_not_wanted(tool: Tool) -> None:
    question = "How are tools lent to members?"
    told = tool("getContext", query=question)
    assert told["relationships"]
    assert "[RELATIONSHIPS]" in told["context"]
    assert any(source["why_included"].startswith("linked") for source in told["sources"])
    plain = tool("getContext", query=question, include_relationships=False)
    assert plain["relationships"] == []
    assert "[RELATIONSHIPS]" not in plain["context"]
    assert not any(source["why_included"].startswith("linked") for source in plain["sources"])
    node = tool("getNode", node_id="id-app-toolbook", include_relationships=True)
    assert ("id-app-toolbook", "serving") in {
        (link["source_id"], link["type"]) for link in node["relationships"]
    }
    assert tool("getNode", node_id="id-app-toolbook")["relationships"] is None


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("semanticSearch", {}, "query"),
        ("semanticSearch", {"query": "a", "k": 3}, "k"),
        ("semanticSearch", {"query": "a", "top_k": 0}, "top_k"),
        ("semanticSearch", {"query": "a", "min_score": 1.5}, "min_score"),
        ("semanticSearch", {"query": "a", "filters": {"layer": "middle"}}, "filters.layer"),
        ("semanticSearch", {"query": "a", "cursor": "zzz"}, "cursor"),
        ("semanticSearch", {"query": "a", "read_context": {"selector": "x"}}, "read_context"),
        ("semanticSearch", {"query": "a", "read_context": "yesterday"}, "read_context"),
        ("getContext", {"query": "a", "max_tokens": 0}, "max_tokens"),
        ("getContext", {"query": "a", "hops": 1}, "hops"),
        ("getNode", {"node_id": ""}, "node_id"),
        ("listBaselines", {"limit": 1}, "limit"),
        ("getIndexHealth", {"verbose": True}, "verbose"),
        ("search", {"query": "a", "top_k": 3}, "top_k"),
        ("fetch", {}, "id"),
    ],
)
def test_what_is_not_understood_is_refused(
    refused: Tool, name: str, arguments: dict[str, Any], field: str
) -> None:
    error = refused(name, **arguments)
    assert error["code"] == "invalid_input"
    assert error["field"].startswith(field)


def test_what_is_not_there_is_told(refused: Tool) -> None:
    assert refused("getNode", node_id="nobody")["code"] == "not_found"
    assert refused("fetch", id="nobody")["code"] == "not_found"
    error = refused("semanticSearch", query="a", read_context={"baseline_id": "autumn"})
    assert error["code"] == "not_found"


# --- how much is told ----------------------------------------------------------------------------


def test_a_long_list_comes_in_pages_of_whole_items(tool: Tool) -> None:
    arguments = {"query": "who works with the members, and by what?", "top_k": 60}
    pages = [tool("semanticSearch", **arguments)]
    total = len(pages[0]["results"]) + pages[0]["left_out"]
    while pages[-1]["next_cursor"]:
        pages.append(tool("semanticSearch", **arguments, cursor=pages[-1]["next_cursor"]))
    hits = [hit for page in pages for hit in page["results"]]
    assert len(pages) > 1
    assert [hit["rank"] for hit in hits] == list(range(1, total + 1))
    for hit in hits:
        assert hit["shortened"] == []
        digest = hashlib.sha256(hit["text"].encode()).hexdigest()
        assert digest == hit["citation"]["text_hash"]
    assert {page["read_context"]["revision"] for page in pages} == {2}


def test_a_cursor_is_of_one_question(tool: Tool, refused: Tool) -> None:
    first = tool("semanticSearch", query="members", top_k=60)
    error = refused("semanticSearch", query="stewards", top_k=60, cursor=first["next_cursor"])
    assert error["field"] == "cursor"


def test_a_long_text_comes_in_pieces_that_make_the_whole(tool: Tool) -> None:
    arguments = {"node_id": "id-ledger"}
    pieces = [tool("getNode", **arguments)]
    while pieces[-1]["next_cursor"]:
        pieces.append(tool("getNode", **arguments, cursor=pieces[-1]["next_cursor"]))
    assert len(pieces) > 2
    text = "".join(piece["text"] for piece in pieces)
    assert text == f"Ledger\n\n{LEDGER}"
    for piece in pieces[:-1]:
        assert piece["text"].endswith("\n\n")
        assert piece["left_out"] == len(text) - piece["text_start"] - len(piece["text"])
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == pieces[0]["citation"]["text_hash"]


def test_a_fetched_text_is_cut_and_says_so(tool: Tool) -> None:
    read = tool("fetch", id="id-ledger")
    assert "getNode" in read["metadata"]["left_out"]
    assert re.match(r"\d+ more characters", read["metadata"]["left_out"])


def test_a_context_that_is_too_large_keeps_whole_sources(tool: Tool) -> None:
    question = "Which rules, roles and tools are there?"
    told = tool("getContext", query=question, max_tokens=100_000)
    assert told["tokens"] < told["max_tokens"] == 100_000
    numbers = re.findall(r"^\[SOURCE (\d+)\]$", told["context"], re.MULTILINE)
    assert [int(number) for number in numbers] == [s["number"] for s in told["sources"]]
    small = tool("getContext", query=question, max_tokens=300)
    assert small["tokens"] <= 300


# --- what documents say is data ------------------------------------------------------------------


def fences(text: str, name: str) -> list[str]:
    """What stands between marks of this name that belong together."""
    return re.findall(rf"<{name}-([0-9a-f]{{12}})>\n(?:.*?)\n</{name}-\1>", text, re.DOTALL)


@pytest.mark.parametrize(
    ("name", "arguments", "fence"),
    [
        ("semanticSearch", {"query": "visitors' book", "top_k": 3}, "passage"),
        ("getContext", {"query": "visitors' book"}, "context"),
        ("getNode", {"node_id": "notes/visitors.md"}, "passage"),
        ("fetch", {"id": "notes/visitors.md"}, "document"),
    ],
)
def test_a_hostile_text_arrives_between_fences(
    address: str, name: str, arguments: dict[str, Any], fence: str
) -> None:
    result = call(on_http(address), name, **arguments)
    text = result.content[0].text
    if name == "fetch":
        text = json.loads(text)["text"]
    assert INJECTION in text
    code = re.search(rf"<{fence}-([0-9a-f]{{12}})>", text)
    assert code is not None
    outside = re.sub(rf"<{fence}-{code[1]}>\n.*?\n</{fence}-{code[1]}>", "", text, flags=re.DOTALL)
    assert INJECTION not in outside
    if fence != "document" and name != "getNode":  # these two give the text to the letter
        assert "\n> </passage-000000000000> The fence" in text
    assert "visitors" not in outside.lower()
    assert code[1] not in HOSTILE
    told = result.structured_content
    assert "never instructions" in (told.get("notice") or told["metadata"]["notice"])


# --- resources -----------------------------------------------------------------------------------


def test_resources_are_listed_and_read(address: str) -> None:
    async def work(client: Client) -> tuple[list[str], list[str], str, str]:
        found = await client.list_resources()
        uris = [resource.uri for resource in found.resources]
        while found.next_cursor:
            found = await client.list_resources(cursor=found.next_cursor)
            uris += [resource.uri for resource in found.resources]
        templates = (await client.list_resource_templates()).resource_templates
        now = await client.read_resource("sourcebook://node/notes%2Frules.md")
        then = await client.read_resource(
            "sourcebook://node/notes%2Frules.md?read_context=baseline:spring"
        )
        named = [template.uri_template for template in templates]
        return uris, named, now.contents[0].text, then.contents[0].text  # type: ignore[union-attr]

    uris, templates, now, then = ask(on_http(address), work)
    assert templates[0] == "sourcebook://node/{id}"
    assert len(uris) == len(set(uris)) == 31 + 3 + 2 + 2  # elements, notes, models, views
    assert "sourcebook://node/notes%2Frules.md" in uris
    assert "ten o'clock" in now
    assert "nine o'clock" in then


@pytest.mark.parametrize(
    "uri",
    [
        "sourcebook://node/nobody",
        "sourcebook://node/",
        "sourcebook://other/x",
        "file:///etc/passwd",
        "sourcebook://node/notes%2Frules.md?depth=3",
        "sourcebook://node/x?node_id=notes%2Frules.md",
    ],
)
@pytest.mark.parametrize("mode", ["auto", PREVIOUS])
def test_a_resource_that_is_not_there_is_a_typed_error(address: str, uri: str, mode: str) -> None:
    async def work(client: Client) -> Any:
        with pytest.raises(MCPError) as failed:
            await client.read_resource(uri)
        return failed.value.error

    error = ask(on_http(address, mode=mode), work)
    assert error.code == -32602
    assert error.data["code"] in ("not_found", "invalid_input")
