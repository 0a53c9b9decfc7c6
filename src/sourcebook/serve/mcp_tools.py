"""A tool's arguments in; its structured content and a text of it out.

A tool asks the door as its caller, under the names that every surface has, and gives the answer
within the bound. It runs in a thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from sourcebook.querying.fence import code_for, cut, fenced
from sourcebook.querying.quote import one_line
from sourcebook.serve import mcp_inputs, mcp_text
from sourcebook.serve.mcp_pages import (
    BOUND,
    ROOM,
    Place,
    cursor,
    fitting,
    piece_end,
    place,
    shortened,
    size,
)

Json = dict[str, Any]
SCHEME = "sourcebook://node/"
WHOLE = ("document", "conversation", "element")
"""Kinds of nodes that are not part of another one."""
_SNIPPET = 400
_TRIES = 8
_LEAST = 500


class Ask(Protocol):
    """An operation of the door, as the caller of the tool."""

    def __call__(self, name: str, given: Mapping[str, Any]) -> Json: ...


class Said(NamedTuple):
    content: Json
    text: str

    @property
    def size(self) -> int:
        return size(self.content) + size(self.text)


def semantic_search(ask: Ask, asked: mcp_inputs.SemanticSearch) -> Said:
    question = asked.model_dump(exclude={"cursor"})
    start = place(asked.cursor, question)
    given = {
        **asked.where(),
        "query": asked.query,
        "k": asked.top_k,
        "min_relevance": asked.min_score,
        "filters": asked.filters.to_wire(),
        **_pinned(start),
    }
    found = ask("search", given)
    at = found["read_context"]
    rest = [_result(hit, at) for hit in found["results"][start.skip :]]
    passages = [mcp_text.passage(hit) for hit in rest]
    costs = [size(hit) + size(said) + 200 for hit, said in zip(rest, passages, strict=True)]
    count = max(fitting(costs, BOUND - ROOM), min(len(rest), 1))
    left = len(rest) - count
    after = Place(start.skip + count, str(at["revision"]))
    content = {
        **_told(found),
        "query": shortened(found["query"], ROOM // 4),
        "results": rest[:count],
        "stats": found["stats"],
        "left_out": left,
        "next_cursor": cursor(after, question) if left else None,
    }
    return Said(content, mcp_text.search_text(content, passages[:count]))


def get_context(ask: Ask, asked: mcp_inputs.GetContext) -> Said:
    """Whole sources: where they are more than an answer holds, a smaller context is asked for."""
    given: Json = {
        **asked.where(),
        "query": asked.query,
        "include_relationships": asked.include_relationships,
        "filters": asked.filters.to_wire(),
    }
    tokens = asked.max_tokens
    for _ in range(_TRIES):
        found = ask("context", {**given, "max_tokens": tokens})
        said = _context(found, asked.max_tokens)
        if said.size <= BOUND:
            break
        given["read_context"] = {"revision": found["read_context"]["revision"]}
        tokens = max(1, int(min(found["tokens"], tokens) * 0.9 * BOUND / said.size))
    return said


def get_node(ask: Ask, asked: mcp_inputs.GetNode) -> Said:
    question = asked.model_dump(exclude={"cursor"})
    start = place(asked.cursor, question)
    given = {
        **asked.where(),
        "node_id": asked.node_id,
        "version_id": start.at or asked.version_id,
    }
    found = ask("node", given)
    text = found.pop("text")
    links = _links(ask, given, found) if asked.include_relationships else None
    shown = fitting([2 * size(link) for link in links or ()], BOUND // 4)
    head = shortened({**found, **_names(found)}, BOUND // 4)

    def say(begin: int, end: int) -> Said:
        left = len(text) - end
        content = {
            "notice": mcp_text.NOTICE,
            **head,
            "text": text[begin:end],
            "text_start": begin,
            "text_length": len(text),
            "left_out": left,
            "next_cursor": cursor(Place(end, found["version_id"]), question) if left else None,
            "relationships": None if links is None else links[:shown],
            "relationships_left_out": len(links or ()) - shown,
        }
        return Said(content, mcp_text.node_text(content))

    return _first_piece(text, start.skip, say)


def list_baselines(ask: Ask, asked: mcp_inputs.ListBaselines) -> Said:
    question = asked.model_dump(exclude={"cursor"})
    start = place(asked.cursor, question)
    found = ask("baselines", {"repository": asked.repository})["baselines"][start.skip :]
    count = fitting([2 * size(one) for one in found], BOUND - ROOM)
    left = len(found) - count
    after = cursor(Place(start.skip + count), question) if left else None
    content = {"baselines": found[:count], "left_out": left, "next_cursor": after}
    return Said(content, mcp_text.baselines_text(content))


def get_index_health(ask: Ask, asked: mcp_inputs.GetIndexHealth) -> Said:
    found = ask("health", {"repository": asked.repository})
    return Said(shortened(found, BOUND - ROOM), mcp_text.health_text(found))


def search(ask: Ask, asked: mcp_inputs.Search) -> Said:
    """One result a document, since `fetch` gives documents."""
    found = ask("search", {"query": asked.query, "k": 10, "per_document": 1})
    results = [
        {
            "id": hit["element_id"],
            "title": one_line(_names(hit)["element_name"]),
            "url": address(hit, hit["element_id"]),
            "text": _fenced(cut(hit["text"], _SNIPPET)),
            "score": hit["relevance"],
        }
        for hit in found["results"]
    ]
    kept = fitting([size(each) + size(json.dumps(each)) for each in results], BOUND - ROOM)
    return _as_json({"results": results[:kept], **_told(found)})


def fetch(ask: Ask, asked: mcp_inputs.Fetch) -> Said:
    found = ask("node", {"node_id": asked.id})
    text, names = found["text"], _names(found)
    told = ("citation", "version_id", "kind", "source", "page", "metadata", "read_context")
    metadata = shortened({**names, **{name: found[name] for name in told}}, ROOM)

    def say(begin: int, end: int) -> Said:
        left = len(text) - end
        rest = f"{left} more characters: getNode reads them piece by piece" if left else None
        content = {
            "id": asked.id,
            "title": one_line(names["element_name"]),
            "text": _fenced(text[begin:end]),
            "url": address(found, found["node_id"]),
            "metadata": {"notice": mcp_text.NOTICE, "left_out": rest, **metadata},
        }
        return _as_json(content)

    return _first_piece(text, 0, say)


def _first_piece(text: str, begin: int, say: Callable[[int, int], Said]) -> Said:
    """The longest piece of a text with which all that is said stays within the bound."""
    begin = min(begin, len(text))
    room = BOUND // 2
    while True:
        said = say(begin, piece_end(text, begin, room))
        over = said.size - BOUND
        if over <= 0 or room < _LEAST:
            return said
        room -= max(over // 2, _LEAST)


def _as_json(content: Json) -> Said:
    return Said(content, json.dumps(content, ensure_ascii=False))


def address(found: Mapping[str, Any], node_id: str) -> str:
    """Its own where it came from the web, else that of the resource."""
    source = str(found["source"])
    if source.startswith(("https://", "http://")):
        return source
    return f"{SCHEME}{quote(node_id, safe='')}"


def _told(found: Json) -> Json:
    said = {name: found[name] for name in ("status", "warning", "degraded", "read_context")}
    return {"notice": mcp_text.NOTICE, **said}


def _pinned(start: Place) -> Json:
    return {} if start.at is None else {"read_context": f"revision:{start.at}"}


def _names(found: Mapping[str, Any]) -> Json:
    known = found["metadata"]
    return {
        "element_name": _name(found),
        "element_type": _word(known.get("element_type") or known.get("document_type")),
        "layer": _word(known.get("layer")),
    }


def _name(found: Mapping[str, Any]) -> str:
    """Of the document, conversation or element; a part's own title is that of its section."""
    own = found["title"] if found["kind"] in WHOLE else None
    path = found["section_path"]
    name = own or found["metadata"].get("title") or (path[0] if path else found["title"])
    return str(name or found["element_id"])


def _word(value: Any) -> str | None:
    return None if value is None else str(value)


def _result(hit: Json, at: Json) -> Json:
    return shortened({**hit, **_names(hit), "score": hit["relevance"], "read_context": at})


def _fenced(text: str) -> str:
    return fenced("document", code_for(text), text)


def _links(ask: Ask, given: Json, found: Json) -> list[Json]:
    at = {"revision": found["read_context"]["revision"]}
    wanted = {"repository": given["repository"], "node_id": given["node_id"], "read_context": at}
    links: list[Json] = ask("links", wanted)["links"]
    return links


def _context(found: Json, wanted: int) -> Said:
    sources = [_source(each, found["read_context"]) for each in found["sources"]]
    text = found["text"]
    content = {
        **_told(found),
        "query": shortened(found["query"], ROOM // 4),
        "context": fenced("context", code_for(text), text) if text else "",
        "tokens": found["tokens"],
        "max_tokens": wanted,
        "sources": sources,
        "left_out": found["left_out"],
        "relationships": found["relationships"],
        "stats": found["stats"],
    }
    if found["max_tokens"] < wanted:
        said = (
            f"an answer holds about {found['max_tokens']} tokens of these texts; ask for parts of "
            "the question, or read the sources with getNode"
        )
        content["warning"] = f"{content['warning']}; {said}" if content["warning"] else said
    return Said(content, mcp_text.context_text(content))


def _source(source: Json, at: Json) -> Json:
    """Without its text, which stands in the context."""
    told = {name: value for name, value in source.items() if name != "text"}
    return shortened({**told, **_names(source), "read_context": at}, 4000)
