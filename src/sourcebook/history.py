"""USE CASE: names for points in time, how much of the past is kept, and citations replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sourcebook.errors import Damaged, InvalidInput, NotFound, RevisionDropped, SourcebookError
from sourcebook.hashing import text_hash
from sourcebook.model import Baseline, Citation, DroppedVersion, ReadContext, Retained, Scope, Shown
from sourcebook.ports import Store

_SELECTORS = ("head", "published", "default", "baseline:ID", "as-of:TIMESTAMP", "revision:NUMBER")
_PLAIN = {
    "head": ReadContext("head"),
    "published": ReadContext("published"),
    "default": ReadContext("default"),
}


def parse_read_context(text: str) -> ReadContext:
    """`head`, `published`, `default`, `baseline:ID`, `as-of:TIMESTAMP` or `revision:NUMBER`."""
    name, _, value = text.partition(":")
    if text in _PLAIN:
        return _PLAIN[text]
    if name == "baseline" and value:
        return ReadContext("baseline", value)
    if name in ("as-of", "as_of") and value:
        return ReadContext("as_of", value)
    if name == "revision" and value:
        return ReadContext("revision", value)
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


@contextmanager
def steady(store: Store, scope: Scope, revision: int) -> Iterator[None]:
    """What is read inside is all of one revision, or RevisionDropped says that retention dropped it
    while it was being read."""
    try:
        yield
    except SourcebookError:
        store.require_kept(scope, revision)
        raise
    store.require_kept(scope, revision)


# --- what is kept --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Keep:
    """How far back revisions are kept: exactly one of these."""

    days: int | None = None
    revisions: int | None = None
    """The last so many, head included."""
    before: str | None = None
    """A time; a date alone is its first moment."""

    def check(self) -> None:
        given = [bound for bound in (self.days, self.revisions, self.before) if bound is not None]
        if len(given) != 1:
            raise InvalidInput(
                "say how much to keep by one of --keep-days N, --keep-revisions N and --before TIME"
            )
        if (self.days or 0) < 0 or (self.revisions or 1) < 1 or self.revisions == 0:
            raise InvalidInput("days to keep are 0 or more, revisions 1 or more: head always stays")


def retain(
    store: Store, scope: Scope, keep: Keep, *, dry_run: bool = False, now: datetime | None = None
) -> Retained:
    """Drop what is older. What was head at the bound is kept: it answers for the time after it."""
    keep.check()
    return store.retain(
        scope, _bound(store, scope, keep, now or datetime.now(UTC)), dry_run=dry_run
    )


def _bound(store: Store, scope: Scope, keep: Keep, now: datetime) -> int:
    if keep.revisions is not None:
        return store.resolve(scope, ReadContext()).revision - keep.revisions + 1
    try:
        at = (
            _day_start(keep.before)
            if keep.before
            else (now - timedelta(keep.days or 0)).isoformat()
        )
    except OverflowError as error:
        raise InvalidInput(f"{keep.days} days lie before the first year") from error
    try:
        return store.resolve(scope, ReadContext("as_of", at)).revision
    except RevisionDropped as dropped:
        return dropped.revision


def _day_start(text: str) -> str:
    try:
        return f"{date.fromisoformat(text.strip())}T00:00:00Z"
    except ValueError:
        return text


# --- citations -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that a citation says and the store does not."""

    field: str
    cited: Any
    found: Any
    reason: str


@dataclass(frozen=True, slots=True)
class Replay:
    """Whether a citation still gives the cited words, and what differs if not."""

    valid: bool
    text: str | None
    reason: str | None = None
    differences: tuple[Mismatch, ...] = ()
    visible: tuple[tuple[int, int | None], ...] = ()
    """The revisions that show the version: from one, until before another or still."""
    state: str | None = None
    """At head: current, superseded (by another version) or ended; dropped where it is gone, damaged
    where what is stored does not match its checksum."""
    ended_at: int | None = None
    """The first revision that no longer shows it."""

    def to_dict(self) -> dict[str, Any]:
        differ = [{"field": d.field, "cited": d.cited, "found": d.found} for d in self.differences]
        return {
            "valid": self.valid,
            "reason": self.reason,
            "text": self.text,
            "differences": differ,
            "visible": [{"from": born, "until": died} for born, died in self.visible],
            "state": self.state,
            "ended_at": self.ended_at,
        }


def replay(store: Store, scope: Scope, citation: Citation) -> Replay:
    for name in ("start", "end"):
        if getattr(citation, name) < 0:
            raise InvalidInput(f"the citation's {name} must be 0 or more", field=name)
    if citation.repository_id != scope.repository:
        ours = scope.repository
        told = f"it cites the repository {citation.repository_id}, and this is {ours}"
        return _refused("repository_id", citation.repository_id, ours, told)
    try:
        return _replayed(store, scope, citation)
    except Damaged as error:
        return _refused("text_hash", citation.text_hash, None, str(error), "damaged")


def _replayed(store: Store, scope: Scope, citation: Citation) -> Replay:
    rows = store.shown(scope, citation.version_id)
    dropped = store.dropped_version(scope, citation.version_id)
    if not rows:
        return _gone(citation.version_id, dropped)
    here = [row for row in rows if (row.node.start, row.node.end) == (citation.start, citation.end)]
    row = (here or rows)[0]
    text = store.text(scope, row.node)
    differ = [*_other_place(citation, here, rows, dropped), *_other_words(citation, row, text)]
    state, ended_at = _at_head(store, scope, rows)
    reason = "; ".join(d.reason for d in differ) or None
    visible = _spans(here or rows)
    return Replay(not differ, text, reason, tuple(differ), visible, state, ended_at)


def _refused(field: str, cited: Any, found: Any, reason: str, state: str | None = None) -> Replay:
    return Replay(False, None, reason, (Mismatch(field, cited, found, reason),), state=state)


def _gone(version: str, dropped: Sequence[DroppedVersion]) -> Replay:
    if not dropped:
        reason = f"there is no version {version} in this repository, and there never was"
        return _refused("version_id", version, None, reason)
    return _refused("version_id", version, None, told_dropped(version, dropped), "dropped")


def told_dropped(version: str, dropped: Sequence[DroppedVersion]) -> str:
    born, died = min(d.born for d in dropped), max(d.died for d in dropped)
    last = f" to {died - 1}" if died - 1 > born else ""
    return f"version {version} was dropped by retention; it was shown by revisions {born}{last}"


def _other_place(
    citation: Citation,
    here: Sequence[Shown],
    rows: Sequence[Shown],
    dropped: Sequence[DroppedVersion],
) -> Iterator[Mismatch]:
    if here:
        return
    cited = (citation.start, citation.end)
    found = list(dict.fromkeys((row.node.start, row.node.end) for row in rows))
    places = ", ".join(f"{start}-{end}" for start, end in found)
    reason = f"the version is there, but not at the cited offsets {cited[0]}-{cited[1]}: "
    if any((d.start, d.end) == cited for d in dropped):
        reason += f"retention dropped it there, it is kept at {places}"
    else:
        reason += f"it stands at {places}"
    yield Mismatch("offsets", list(cited), [list(place) for place in found], reason)


def _other_words(citation: Citation, row: Shown, text: str) -> Iterator[Mismatch]:
    element, found = row.node.element_id, text_hash(text)
    if element != citation.element_id:
        reason = f"the version belongs to {element}, not to {citation.element_id}"
        yield Mismatch("element_id", citation.element_id, element, reason)
    if found != citation.text_hash:
        reason = f"the version is there, but its text has another hash: {found}"
        yield Mismatch("text_hash", citation.text_hash, found, reason)


def _at_head(store: Store, scope: Scope, rows: Sequence[Shown]) -> tuple[str, int | None]:
    """What head shows in its place, and since when it does not show it."""
    ends = [row.died for row in rows if row.died is not None]
    if len(ends) < len(rows):
        return "current", None
    head = store.resolve(scope, ReadContext()).revision
    now = store.node(scope, rows[0].node.id, head)
    return ("ended" if now is None else "superseded"), max(ends)


def _spans(rows: Sequence[Shown]) -> tuple[tuple[int, int | None], ...]:
    """Oldest first; a row that begins where another one ends goes on with it."""
    spans: list[tuple[int, int | None]] = []
    for row in sorted(rows, key=lambda row: row.born):
        if spans and spans[-1][1] == row.born:
            spans[-1] = (spans[-1][0], row.died)
        else:
            spans.append((row.born, row.died))
    return tuple(spans)


def missing(store: Store, scope: Scope, node_id: str, version: str) -> NotFound:
    """Why a version of a node cannot be had."""
    dropped = store.dropped_version(scope, version)
    if dropped:
        return NotFound(told_dropped(version, dropped))
    return NotFound(
        f"there is no node {node_id!r} at version {version}; `sourcebook list` shows the ids"
    )
