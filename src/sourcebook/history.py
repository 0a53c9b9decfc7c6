"""USE CASE: names for revisions, and citations that can be replayed."""

from __future__ import annotations

from dataclasses import dataclass

from sourcebook.errors import InvalidInput
from sourcebook.hashing import text_hash
from sourcebook.model import Baseline, Citation, ReadContext, Scope
from sourcebook.ports import Store

_SELECTORS = ("head", "published", "baseline:ID", "as-of:TIMESTAMP")


def parse_read_context(text: str) -> ReadContext:
    """`head`, `published`, `baseline:ID` or `as-of:TIMESTAMP`."""
    name, _, value = text.partition(":")
    if name in ("head", "published") and not value:
        return ReadContext("head" if name == "head" else "published")
    if name == "baseline" and value:
        return ReadContext("baseline", value)
    if name in ("as-of", "as_of") and value:
        return ReadContext("as_of", value)
    wanted = ", ".join(_SELECTORS)
    raise InvalidInput(
        f"the read context {text!r} is not one of {wanted}; for example as-of:2026-01-31T12:00:00Z",
        field="read_context",
    )


def create_baseline(store: Store, scope: Scope, name: str, context: ReadContext) -> Baseline:
    """Name the revision that the read context means now."""
    revision = store.resolve(scope, context).revision
    if revision == 0:
        raise InvalidInput("there is nothing to name yet; run `sourcebook ingest PATH` first")
    return store.create_baseline(scope, name, revision)


@dataclass(frozen=True, slots=True)
class Replay:
    """Whether a citation still gives the cited words, and what differs if not."""

    valid: bool
    text: str | None
    reason: str | None = None


def replay(store: Store, scope: Scope, citation: Citation) -> Replay:
    if citation.repository_id != scope.repository:
        return Replay(False, None, f"it cites the repository {citation.repository_id}")
    rows = store.versions(scope, citation.version_id)
    if not rows:
        return Replay(False, None, f"there is no version {citation.version_id} in this repository")
    same = [n for n in rows if (n.start, n.end) == (citation.start, citation.end)]
    text = store.text(scope, (same or rows)[0])
    if not same:
        return Replay(False, text, "the version is there, but not at the cited offsets")
    if rows[0].element_id != citation.element_id:
        return Replay(False, text, f"the version belongs to {rows[0].element_id}")
    if text_hash(text) != citation.text_hash:
        return Replay(False, text, "the version is there, but its text has another hash")
    return Replay(True, text)
