"""A document in, the same with what is known of its standing out: type, binding, dates, successor.

What a document or a command line says of itself stands; the rules of the configuration fill in the
rest. `superseded_by` and `supersedes` name other files as a person writes them, relative to the
document's folder or to one above it, and become links where such a file is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from os.path import isfile
from pathlib import Path, PurePosixPath

from sourcebook.model import Document, Json, Link, Metadata

Rules = Sequence[tuple[str, Metadata]]
"""Patterns of source names and what holds for the documents there; a later rule wins."""


def governed(document: Document, rules: Rules, root: Path) -> Document:
    known: dict[str, Json] = {}
    for pattern, values in rules:
        if fnmatchcase(document.source, pattern):
            known.update(values)
    known.update(document.metadata)
    links = list(document.links)
    for key in ("superseded_by", "supersedes"):
        if isinstance(known.get(key), str):
            other = known[key] = _named(known[key], document.source, root)
            ends = (other, document.element_id)
            source, target = ends if key == "superseded_by" else ends[::-1]
            links.append(Link(source, target, "supersedes"))
    return replace(document, metadata=known, links=tuple(links))


def _named(name: str, source: str, root: Path) -> str:
    """The source that is meant, looked for from the document's folder upward; else the name."""
    for folder in PurePosixPath(source).parents:
        path = root / folder / name
        if isfile(path) and path.resolve().is_relative_to(root):
            return path.resolve().relative_to(root).as_posix()
    return name
