"""Every field of the JSON is in the messages, and every field of the messages comes from it.

The answers are read by protobuf's own JSON, not by the code that is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.errors import TextRefused
from sourcebook.ingest import Request
from sourcebook.model import Block, Document, Link
from sourcebook.ports import Vectors
from sourcebook.serve import wire
from sourcebook.serve.grpc_messages import fill, read, to_dict
from sourcebook.serve.grpc_server import ASKS, SERVICE
from sourcebook.serve.operations import OPERATIONS
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb
from tests import town

from .grpc_client import METHODS, Client, requests, serving

RULES = """---
title: Rules of the harbour
document_type: policy
is_binding: true
department: harbour
berths: 42
depth: 3.5
open: true
tags: [boats, ropes]
visited: 9007199254740993
---
# Rules

## Ropes

Ropes along the rear line of the harbour are no thicker than six fingers. – „naïve“ 🚤

## Oars

"""
RULES += "Oars rest on the wall behind the shed and are counted every Sunday. " * 100
OLD = """---
title: Old rules
---
Ropes along the rear line were of hemp.
"""
NEW = """---
title: New rules
supersedes: old.md
---
Ropes along the rear line are of nylon.
"""


class Choosy(town.WordEmbedder):
    """Refuses one text."""

    def embed(self, texts: Any) -> Vectors:
        if any("hemp" in text for text in texts):
            raise TextRefused("no hemp")
        return super().embed(texts)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Two repositories, with governed and superseded documents, linked elements and a text that
    has no vector. No cache: an answer must not depend on who asked first."""
    folder = tmp_path_factory.mktemp("fields")
    more = {"rules.md": RULES, "old.md": OLD, "new.md": NEW}
    engine = town.quick(folder, town.TOWN, search={"cache": False})
    engine.embedder = Choosy()
    engine.ingest(town.write(folder / "files", more))
    serves = Link("hub", "portal", "serving", {"weight": 2})
    hub = element("hub", "The hub counts visits.", serves)
    engine.take_in(Request([hub, element("portal", "The portal shows visits.")]))
    engine.create_baseline("spring")
    engine.publish("spring")
    engine.in_repository("other").ingest(folder / "files" / "fences.md")
    with serving(engine) as made:
        yield made
    engine.close()


def element(name: str, text: str, *links: Link) -> Document:
    block = (Block("prose", 0, len(text)),)
    return Document(name, name, text, "m.xml", "text", block, {}, "element", "", links)


# --- requests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_request_has_the_fields_of_the_wire_and_no_others(method: str) -> None:
    known = OPERATIONS[ASKS[method]].request.model_fields
    assert {field.name for field in requests(method).DESCRIPTOR.fields} == set(known)
    assert {field.name for field in pb.ReadContext.DESCRIPTOR.fields} == set(wire.At.model_fields)


READ = pb.ReadContext(selector="as_of", as_of="2026-01-31", revision=0, baseline_id="")
FULL: list[tuple[Message, dict[str, Any]]] = [
    (
        pb.SearchRequest(
            query="",
            k=0,
            mode="",
            fusion="rrf",
            rerank="none",
            filters={"a": pb.Values(values=["x", ""]), "": pb.Values()},
            min_relevance=0,
            per_document=0,
            read_context=READ,
            repository="r",
            repositories=pb.Repositories(names=["*"]),
        ),
        {
            "query": "",
            "k": 0,
            "mode": "",
            "fusion": "rrf",
            "rerank": "none",
            "filters": {"a": ["x", ""], "": []},
            "min_relevance": 0,
            "per_document": 0,
            "read_context": {
                "selector": "as_of",
                "as_of": "2026-01-31",
                "revision": 0,
                "baseline_id": "",
            },
            "repository": "r",
            "repositories": ["*"],
        },
    ),
    (
        pb.GetContextRequest(
            query="q",
            max_tokens=0,
            max_sources=0,
            hops=0,
            neighbours=0,
            filters={"a": pb.Values(values=["x"])},
            read_context=pb.ReadContext(selector="head"),
            repository="",
            include_relationships=False,
        ),
        {
            "query": "q",
            "max_tokens": 0,
            "max_sources": 0,
            "hops": 0,
            "neighbours": 0,
            "filters": {"a": ["x"]},
            "read_context": {
                "selector": "head",
                "as_of": None,
                "revision": None,
                "baseline_id": None,
            },
            "repository": "",
            "include_relationships": False,
        },
    ),
    (
        pb.ReindexRequest(space="", failed=False, repository="r"),
        {"space": "", "failed": False, "repository": "r"},
    ),
    (pb.GetIndexHealthRequest(repository="r"), {"repository": "r"}),
]


@pytest.mark.parametrize(("message", "expected"), FULL, ids=lambda each: type(each).__name__)
def test_every_field_of_a_request_arrives_even_where_it_is_zero(
    message: Message, expected: dict[str, Any]
) -> None:
    assert set(expected) == {field.name for field in message.DESCRIPTOR.fields}
    assert read(type(message), message.SerializeToString()) == expected


@pytest.mark.parametrize("method", METHODS)
def test_what_was_not_given_is_not_in_the_request(method: str) -> None:
    found = read(requests(method), b"")
    assert found in ({}, {"filters": {}})


def test_all_repositories_are_a_star() -> None:
    asked = pb.SearchRequest(repositories=pb.Repositories(all=True))
    assert read(pb.SearchRequest, asked.SerializeToString())["repositories"] == "*"
    none = pb.SearchRequest(repositories=pb.Repositories())
    assert read(pb.SearchRequest, none.SerializeToString())["repositories"] == []


# --- answers -------------------------------------------------------------------------------------

Q = "How thick may ropes along the rear line be, and who counts visits?"
HEMP = "ropes of hemp, or ropes of nylon"
SAME: list[tuple[str, Message, dict[str, Any]]] = [
    ("Search", pb.SearchRequest(query=Q), {"query": Q}),
    (
        "Search",
        pb.SearchRequest(query=Q, k=2, mode="sparse"),
        {"query": Q, "k": 2, "mode": "sparse"},
    ),
    (
        "Search",
        pb.SearchRequest(
            query=Q, filters={"department": pb.Values(values=["harbour", "x"])}, rerank="none"
        ),
        {"query": Q, "filters": {"department": ["harbour", "x"]}, "rerank": "none"},
    ),
    (
        "Search",
        pb.SearchRequest(query=Q, filters={"berths": pb.Values(values=["42"])}),
        {"query": Q, "filters": {"berths": 42}},
    ),
    ("Search", pb.SearchRequest(query=Q, min_relevance=0.9), {"query": Q, "min_relevance": 0.9}),
    (
        "Search",
        pb.SearchRequest(query=Q, repositories=pb.Repositories(all=True), min_relevance=0.01),
        {"query": Q, "repositories": "*", "min_relevance": 0.01},
    ),
    (
        "Search",
        pb.SearchRequest(query=Q, repositories=pb.Repositories(names=["other"]), per_document=1),
        {"query": Q, "repositories": ["other"], "per_document": 1},
    ),
    (
        "Search",
        pb.SearchRequest(query=Q, read_context=pb.ReadContext(revision=1), fusion="weighted"),
        {"query": Q, "read_context": "revision:1", "fusion": "weighted"},
    ),
    ("Search", pb.SearchRequest(query="?", mode="dense"), {"query": "?", "mode": "dense"}),
    ("Search", pb.SearchRequest(query=Q, repository="other"), {"query": Q, "repository": "other"}),
    ("GetContext", pb.GetContextRequest(query=Q), {"query": Q}),
    ("GetContext", pb.GetContextRequest(query=HEMP), {"query": HEMP}),
    (
        "GetContext",
        pb.GetContextRequest(query=Q, max_tokens=60, max_sources=3, hops=0, neighbours=0),
        {"query": Q, "max_tokens": 60, "max_sources": 3, "hops": 0, "neighbours": 0},
    ),
    (
        "GetContext",
        pb.GetContextRequest(query=Q, include_relationships=False),
        {"query": Q, "include_relationships": False},
    ),
    ("GetIndexHealth", pb.GetIndexHealthRequest(), {}),
    ("GetIndexHealth", pb.GetIndexHealthRequest(repository="other"), {"repository": "other"}),
    ("Reindex", pb.ReindexRequest(failed=True), {"failed": True}),
]


@pytest.mark.parametrize(("method", "message", "asked"), SAME)
def test_an_answer_is_the_doors_field_by_field(
    client: Client, method: str, message: Message, asked: dict[str, Any]
) -> None:
    if method == "Reindex":
        client.ask(method, message)  # what failed is then the same twice
    expected = client.door.call(ASKS[method], asked, key=None, otherwise="default")
    found = client.ask(method, message)
    differ = list(differences(expected, shown(found), found.DESCRIPTOR.name))
    assert differ == []


def test_the_questions_above_show_what_they_are_meant_to(client: Client) -> None:
    """So that the comparison is not one of nothing with nothing."""
    found = client.ask("Search", pb.SearchRequest(query=Q))
    by_id = {hit.element_id: hit for hit in found.results}
    rules = by_id["files/rules.md"]
    assert dict(rules.metadata)["visited"] == "9007199254740993"
    assert (rules.metadata["berths"], rules.metadata["open"]) == (42, True)
    assert rules.adjustments[0].name == "binding"
    assert rules.section_path
    assert rules.HasField("quality")
    assert not rules.HasField("page")
    assert (found.read_context.selector, found.read_context.baseline_id) == ("published", "spring")
    across = client.ask("Search", SAME[5][1])
    assert {each.repository_id for each in across.repositories} == {"default", "other"}
    assert not across.read_context.HasField("revision")
    assert across.results[0].HasField("read_context")
    assert across.rejected[0].HasField("repository_id")
    context = client.ask("GetContext", pb.GetContextRequest(query=Q))
    assert {link.type for link in context.relationships} >= {"serving"}
    assert any(link.metadata["weight"] == 2 for link in context.relationships)
    replaced = client.ask("GetContext", pb.GetContextRequest(query=HEMP)).sources
    assert [s.superseded_by for s in replaced if s.HasField("superseded_by")] == ["New rules"]
    health = client.ask("GetIndexHealth")
    assert [failure.error for failure in health.index.failures] == ["no hemp"]


@pytest.mark.parametrize("query", [Q, town.FENCE, town.OFF_TOPIC, "?"])
def test_a_stream_is_the_same_answer_in_parts(client: Client, query: str) -> None:
    asked = pb.SearchRequest(query=query, k=7, repositories=pb.Repositories(all=True))
    whole = client.ask("Search", asked)
    first, *hits, last = client.ask("SearchStream", asked)
    assert [part.WhichOneof("part") for part in hits] == ["hit"] * len(whole.results)
    assert [part.hit.rank for part in hits] == list(range(1, len(hits) + 1))
    together = pb.SearchResponse(results=[part.hit for part in hits])
    for part in (first.header, last.trailer):
        together.MergeFromString(in_terms_of(pb.SearchResponse, part))
    for each in (whole, together):
        assert each.stats.timings_ms.keys() >= {"total"}
        each.stats.timings_ms.clear()
    assert together == whole


def in_terms_of(kind: type[Message], part: Message) -> bytes:
    """The same fields, by name, of another message."""
    made = kind()
    for field, value in part.ListFields():
        target = getattr(made, field.name)
        if field.is_repeated:
            target.extend(value)
        elif field.message_type is not None:
            target.CopyFrom(value)
        else:
            setattr(made, field.name, value)
    data: bytes = made.SerializeToString()
    return data


def test_header_hits_and_trailer_have_every_field_of_an_answer() -> None:
    names = [field.name for part in ("Header", "Trailer") for field in of(f"Search{part}").fields]
    assert sorted([*names, "results"]) == sorted(
        field.name for field in of("SearchResponse").fields
    )


def of(name: str) -> Any:
    return getattr(pb, name).DESCRIPTOR


def test_every_method_has_an_operation() -> None:
    assert set(ASKS) == set(METHODS)
    assert SERVICE.full_name == "sourcebook.v1.SemanticQueryService"
    assert set(METHODS) == {"Search", "SearchStream", "GetContext", "Reindex", "GetIndexHealth"}


# --- odd values ----------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters()), JSON, max_size=5))
def test_any_metadata_survives_or_becomes_text(metadata: dict[str, Any]) -> None:
    hit = pb.Hit()
    fill(hit, {"metadata": metadata})
    back = pb.Hit.FromString(hit.SerializeToString())
    assert to_dict(back)["metadata"] == exact(metadata)


def exact(value: Any) -> Any:
    """Integers that no double holds as digits, halves of characters as escapes."""
    if isinstance(value, dict):
        return {exact(key): exact(each) for key, each in value.items()}
    if isinstance(value, list):
        return [exact(each) for each in value]
    if isinstance(value, str):
        return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    return value


def test_a_file_name_that_is_no_text_does_not_break_an_answer() -> None:
    fill(hit := pb.Hit(), {"element_id": "odd\udcff", "section_path": ["odd\udcff.md"]})
    assert (hit.element_id, list(hit.section_path)) == ("odd\\udcff", ["odd\\udcff.md"])
    fill(query := pb.Query(), {"weights": {"odd\udcff": 1}})
    assert query.weights == {"odd\\udcff": 1.0}


def test_a_field_that_the_schema_lacks_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    fill(hit := pb.Hit(), {"rank": 3, "colour": "blue"})
    assert hit == pb.Hit(rank=3)
    assert "Hit has no field colour" in caplog.text


# --- how answers are compared --------------------------------------------------------------------

VARIES = ("timings_ms", "vectors_per_s", "seconds", "oldest_pending_s")


def shown(message: Message) -> dict[str, Any]:
    return MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def differences(expected: Any, found: Any, where: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in expected.keys() | found.keys():
            place = f"{where}.{name}"
            if name in VARIES:
                continue
            if name not in expected:
                if found[name] not in (None, [], {}):
                    yield f"{place} is not in the JSON: {found[name]!r}"
            else:
                yield from differences(expected[name], found.get(name), place)
    elif isinstance(expected, list | tuple) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{where} has {len(found)} items, not {len(expected)}"
        for number, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(one, other, f"{where}[{number}]")
    elif not equal(expected, found):
        yield f"{where} is {found!r}, not {expected!r}"


def equal(expected: Any, found: Any) -> bool:
    """An int64 is a text in protobuf's JSON, as are the digits of a great integer."""
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int):
        return found == expected or found == str(expected)
    return bool(expected == found)


def test_the_comparison_sees_what_differs() -> None:
    told = shown(pb.Hit(rank=1, page=0, scores=pb.Scores(exact=0), metadata=Struct()))
    right = told | {"rank": 1, "page": 0}
    assert list(differences(right, told, "hit")) == []
    for change in ({"page": None}, {"rank": 2}, {"colour": "blue"}, {"summary": 0}, {"text": "x"}):
        assert len(list(differences(right | change, told, "hit"))) == 1
    assert list(differences({"rank": 1}, {"rank": "1", "page": "0"}, "hit"))
