"""One store in, another one with the same repositories out: USE CASE copy.

Each repository is copied as of its head, with its whole history: every row with the revisions that
show it. Rows go in the order of the source, page by page; a copy that was stopped goes on behind
the last page that is there. In the end the target is read again, and what it gives must have the
digest of what was read from the source; only then do readers see it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sourcebook.errors import InvalidInput, StoreError
from sourcebook.model import ReadContext, Scope
from sourcebook.ports import Moved, Store

TABLES = {
    "label": ("",),
    "dropped_version": ("", -1, -1),
    "content": ("",),
    "node": (0,),
    "link": (0,),
    "term": ("",),
    "passage": (0,),
    "space": (0,),
    "vector": ("", ""),
    "usage": (0,),
    "quality": ("", ""),
    "generated": ("",),
    "feedback": (0,),
    "query_log": (0,),
    "request": ("",),
    "baseline": ("",),
    "revision": (-1,),
}
"""What is moved, in this order, and the key before the first row of each. Vectors are of a space,
the first part of their key."""
_PAGE = 500
Page = tuple[str, list[Moved]]
Progress = Callable[[Scope, str, int], None]


@dataclass(frozen=True, slots=True)
class Whole:
    """A repository as it is moved."""

    scope: Scope
    head: int
    published: str | None


@dataclass(slots=True)
class Came:
    """How far a copy has come."""

    head: int
    table: str = ""
    key: list[Any] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, state: Mapping[str, Any] | None, head: int) -> Came:
        return cls(head) if state is None else cls(**state)

    def add(self, table: str, page: list[Moved]) -> None:
        self.table, self.key = table, list(page[-1].key)
        self.rows[table] = self.rows.get(table, 0) + len(page)
        self.digests[table] = chained(self.digests.get(table, ""), page)

    def state(self) -> dict[str, Any]:
        return {
            "head": self.head,
            "table": self.table,
            "key": self.key,
            "digests": self.digests,
            "rows": self.rows,
        }


@dataclass(frozen=True, slots=True)
class Copied:
    scope: Scope
    revision: int
    rows: Mapping[str, int]
    digest: str
    """Of all of its rows."""
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """A repository that the target has from an earlier copy."""

    scope: Scope
    revision: int
    newest: int
    """The source's: what came after `revision` was not copied."""


def copy(source: Store, target: Store, progress: Progress | None = None) -> list[Copied]:
    """Every repository of the source, and its API keys. One that was copied before stays as it was
    then."""
    made = []
    for scope in source.repositories():
        if _was_copied(source, target, scope):
            continue
        state = target.copied(scope)
        whole = described(source, scope, None if state is None else int(str(state["head"])))
        came = Came.of(state, whole.head)
        made.append(take_in(target, whole, came, pages(source, whole, came), progress))
    for key in source.keys(None):
        target.take_in_key(key)
    return made


def kept(source: Store, target: Store, made: Sequence[Copied]) -> list[Kept]:
    """Those that a copy, which made these, has left as they were."""
    scopes = set(source.repositories()) - {each.scope for each in made}
    return [
        Kept(scope, there, _head(source, scope))
        for scope in sorted(scopes, key=lambda s: (s.tenant, s.organization, s.repository))
        if (there := _head(target, scope))  # else it is newer than the copy
    ]


def _was_copied(source: Store, target: Store, scope: Scope) -> bool:
    """Whether the target has the first revisions of the source, and no others."""
    there = {(r.number, r.at) for r in target.log(scope)}
    known = {(r.number, r.at) for r in source.log(scope)}
    return _head(target, scope) > 0 and there <= known


def described(source: Store, scope: Scope, head: int | None = None) -> Whole:
    """As of its head, or of an earlier revision that a copy was begun at."""
    head = _head(source, scope) if head is None else head
    baselines = source.baselines(scope)
    published = [b.id for b in baselines if b.published and b.revision <= head]
    return Whole(scope, head, published[0] if published else None)


def pages(source: Store, whole: Whole, came: Came | None = None) -> Iterator[Page]:
    """All rows, from where a copy has come to."""
    reached = came is None or not came.table
    spaces = [m.row[0] for m in source.export(whole.scope, "space", (0,), whole.head, 1000)]
    for table, first in TABLES.items():
        starts = [(space, "") for space in spaces] if table == "vector" else [first]
        for start in starts:
            if not reached and came is not None:
                if table != came.table or (table == "vector" and start[0] != came.key[0]):
                    continue
                reached, start = True, tuple(came.key)
            yield from _table(source, whole, table, start)


def _table(source: Store, whole: Whole, table: str, after: tuple[Any, ...]) -> Iterator[Page]:
    while page := source.export(whole.scope, table, after, whole.head, _PAGE):
        yield table, page
        after = page[-1].key


def take_in(
    target: Store,
    whole: Whole,
    came: Came,
    given: Iterable[Page],
    progress: Progress | None = None,
    expected: Callable[[], Mapping[str, str] | None] = lambda: None,
) -> Copied:
    """Pages into a repository that nobody sees before all of them are there and read again. Behind
    the last page it is asked which digests they must have, where that is known."""
    resumed = bool(came.table)
    for table, page in given:
        came.add(table, page)
        target.take_in(whole.scope, table, [moved.row for moved in page], came.state())
        if progress:
            progress(whole.scope, table, came.rows[table])
    if expected() not in (None, came.digests):
        raise InvalidInput(
            f"the archive is damaged: {whole.scope.repository!r} is not as it was written; load "
            "another one into an empty store"
        )
    verify(target, whole, came)
    target.finish_copy(whole.scope, whole.head, whole.published)
    return Copied(whole.scope, whole.head, came.rows, total(came.digests), resumed)


def verify(target: Store, whole: Whole, came: Came) -> None:
    again = Came(whole.head)
    for table, page in pages(target, whole):
        again.add(table, page)
    wrong = [t for t in TABLES if again.digests.get(t) != came.digests.get(t)]
    if wrong:
        raise StoreError(
            f"the copy of {whole.scope.repository!r} is not what was read: {', '.join(wrong)} "
            "differ; empty the target and copy again"
        )


def chained(before: str, page: Iterable[Moved]) -> str:
    """The digest of all rows so far: that of the one before, and the next row. Keys are of the
    store alone."""
    for moved in page:
        before = sha256(f"{before}{written(moved.row)}".encode()).hexdigest()
    return before


def written(value: Any) -> str:
    """One spelling for equal rows."""
    return json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    return {"base64": b64encode(bytes(value)).decode()}


def total(digests: Mapping[str, str]) -> str:
    return sha256(written([[t, digests[t]] for t in TABLES if t in digests]).encode()).hexdigest()


def _head(store: Store, scope: Scope) -> int:
    return store.resolve(scope, ReadContext()).revision
