"""Rows in, values out, and back: the only place that knows the order of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sourcebook.errors import Damaged, InvalidInput
from sourcebook.model import Baseline, Json, Link, Node, Passage, Revision, Space
from sourcebook.stores import checksums

Row = tuple[Any, ...]
NODE_WIDTH = 18
"""Columns of a node with which it can be checked: its own, content, labels, born, checksum."""
CONTENT = 14
"""Behind the columns of a node: the hash of the text that its offsets point into."""
_encoder = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
)

_decode = json.JSONDecoder().raw_decode
"""Of what to_json wrote, which has no white space around it to be looked for."""


def to_json(value: Json) -> str:
    """One spelling for equal values, so that rows can be compared as text."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"only plain JSON values can be stored: {error}") from error


def node_row(node: Node) -> Row:
    return (
        node.id,
        node.element_id,
        node.kind,
        node.version_id,
        node.content_hash,
        node.parent_id,
        node.position,
        node.title,
        node.source,
        node.start,
        node.end,
        to_json(list(node.section_path)),
        node.page,
        to_json(dict(node.metadata)),
    )


def to_node(row: Row) -> Node:
    """Of a checked row (NODE_WIDTH columns); Damaged where it is not as it was written."""
    *columns, checksum = row
    if not checksums.matches(checksum, checksums.of_columns(columns)):
        raise damaged("node", str(row[1]), str(row[0]))
    try:
        section_path, page, metadata = columns[CONTENT - 3 : CONTENT]
        rest: Row = (tuple(_decode(section_path)[0]), page, _decode(metadata)[0])
    except (TypeError, ValueError) as error:
        raise damaged("node", str(row[1]), str(row[0])) from error
    return Node(*columns[: CONTENT - 3], *rest)


def damaged(part: str, element_id: str, node_id: str | None = None) -> Damaged:
    """What to raise where a stored row is not as it was written."""
    of = f" ({node_id})" if node_id not in (None, element_id) else ""
    return Damaged(
        f"the stored {part} of {element_id!r}{of} does not match its checksum and is not shown; "
        "ingest its original file again, or restore the store from a backup"
    )


def link_row(link: Link) -> Row:
    return link.source_id, link.target_id, link.type, to_json(dict(link.metadata))


def to_link(row: Row) -> Link:
    source, target, kind, metadata = row
    return Link(source, target, kind, json.loads(metadata))


def to_passage(row: Row) -> Passage:
    """Without its facets: these are for filters, which do not read passages. Damaged where it is
    not as it was written."""
    node_id, element_id, resolution, body, context, title, heading, summary = row[:8]
    text_hash, digest, length, labels, born, tokens, checksum = row[8:]
    names = (node_id, element_id, resolution, text_hash, digest, title, heading)
    columns = (*names, context, body, summary, length, labels, born)
    found = checksums.of_columns(columns, bytes(tokens))
    if not checksums.matches(checksum, found) or not checksums.embeds(text_hash, context, body):
        raise damaged("passage", element_id, node_id)
    return Passage(node_id, element_id, resolution, body, context, title, heading, bool(summary))


def to_revision(row: Row) -> Revision:
    number, at, message, counts, dropped = row
    return Revision(number, at, message, json.loads(counts), bool(dropped))


def to_baseline(row: Row) -> Baseline:
    name, revision, created_at, published = row
    return Baseline(name, revision, created_at, bool(published))


def to_space(row: Row) -> Space:
    return Space(*row[1:])


def space_values(space: Space) -> Mapping[str, object]:
    return {
        "id": space.id,
        "provider": space.provider,
        "model": space.model,
        "dimensions": space.dimensions,
        "chunker": space.chunker,
        "state": space.state,
    }
