"""Names of points in time in, revisions out: resolving, the log, baselines and publishing."""

from __future__ import annotations

from datetime import datetime

from sourcebook.errors import Conflict, InvalidInput, NotFound, RevisionDropped
from sourcebook.model import Baseline, ReadContext, Resolved, Revision
from sourcebook.names import check_name
from sourcebook.stores import moments
from sourcebook.stores.rows import to_baseline, to_revision
from sourcebook.stores.statements import Statements

_LONGEST_NAME = 100


def resolve(db: Statements, repository: int, context: ReadContext) -> Resolved:
    """The revision that a read context names. A repository that nothing was written to is at
    revision 0, which shows nothing."""
    if context.selector == "head":
        return Resolved("head", head(db, repository))
    if context.selector == "published":
        name = _published(db, repository)
        return Resolved("published", find(db, repository, name).revision, baseline_id=name)
    if context.selector == "default":
        return _default(db, repository)
    if not context.value:
        raise InvalidInput(f"{context.selector} needs a value", field="read_context")
    if context.selector == "baseline":
        baseline = find(db, repository, context.value)
        return Resolved("baseline", baseline.revision, baseline_id=baseline.id)
    if context.selector == "as_of":
        return _as_of(db, repository, context.value)
    if context.selector == "revision":
        return _numbered(db, repository, context.value)
    raise InvalidInput(
        f"unknown read context {context.selector!r}; it is head, published, baseline, as_of, "
        "revision or default",
        field="read_context",
    )


def _default(db: Statements, repository: int) -> Resolved:
    """Published where a baseline is, else head. Both are read at once, and a baseline never moves,
    so a publication at the same moment is seen whole or not at all."""
    row = db.run("head", {"repository": repository}).fetchone()
    number, name = row or (0, None)
    if name is None:
        return Resolved("head", int(number))
    return Resolved("published", find(db, repository, name).revision, baseline_id=name)


def _numbered(db: Statements, repository: int, value: str) -> Resolved:
    last = head(db, repository)
    known = value.isascii() and value.isdigit() and len(value) <= len(str(last))
    if not known or int(value) > last:
        raise NotFound(f"there is no revision {value[:20]}; the last one is {last}")
    require_kept(db, repository, int(value))
    return Resolved("revision", int(value))


def require_kept(db: Statements, repository: int, revision: int) -> None:
    """RevisionDropped if retention has dropped it. A revision is never taken back once dropped, so
    what was read before this call was read whole."""
    values = {"repository": repository, "revision": revision}
    row = db.run("dropped", values).fetchone()
    if row is not None:
        last, until = db.run("last_dropped", values).fetchone()
        near, at = db.run("nearest_kept", values).fetchone()
        raise RevisionDropped(
            f"revision {revision} ({row[0]}) was dropped by retention, which dropped revisions up "
            f"to {last} ({until}) except those that baselines name; the nearest one that is kept "
            f"is revision {near} ({at})",
            revision=revision,
        )


def head(db: Statements, repository: int) -> int:
    row = db.run("head", {"repository": repository}).fetchone()
    return int(row[0]) if row else 0


def _as_of(db: Statements, repository: int, value: str) -> Resolved:
    """The last revision at or before that time."""
    at = moments.parse(value)
    row = db.run("revision_as_of", {"repository": repository, "at": at}).fetchone()
    revision = int(row[0]) if row else 0
    require_kept(db, repository, revision)
    return Resolved("as_of", revision, as_of=at)


def _published(db: Statements, repository: int) -> str:
    row = db.run("head", {"repository": repository}).fetchone()
    if row is None or row[1] is None:
        raise NotFound(
            "no baseline is published in this repository; publish one with "
            "`sourcebook baseline publish NAME`"
        )
    return str(row[1])


def log(db: Statements, repository: int, limit: int | None) -> list[Revision]:
    """Newest first."""
    values = {"repository": repository, "limit": -1 if limit is None else max(limit, 0)}
    return [to_revision(row) for row in db.run("log", values).fetchall()]


def baselines(db: Statements, repository: int) -> list[Baseline]:
    rows = db.run("baselines", {"repository": repository}).fetchall()
    return [to_baseline(row) for row in rows]


def find(db: Statements, repository: int, name: str) -> Baseline:
    known = {baseline.id: baseline for baseline in baselines(db, repository)}
    if name not in known:
        names = ", ".join(sorted(known)) or "none yet"
        raise NotFound(f"there is no baseline {name!r}; known baselines: {names}")
    return known[name]


def create_baseline(
    db: Statements, repository: int, name: str, revision: int, moment: datetime
) -> Baseline:
    """Giving a name again to the revision it has is no change; to another one is a Conflict."""
    check_name(name, "baseline's name", "baseline_id", longest=_LONGEST_NAME)
    last = head(db, repository)
    if not 1 <= revision <= last:
        raise NotFound(f"there is no revision {revision}; the last one is {last}")
    require_kept(db, repository, revision)
    for known in baselines(db, repository):
        if known.id == name and known.revision != revision:
            raise Conflict(f"the baseline {name!r} names revision {known.revision} already")
        if known.id == name:
            return known
    values = {"repository": repository, "id": name, "revision": revision}
    db.run("add_baseline", {**values, "at": moments.stamp(moment)})
    return find(db, repository, name)


def publish(db: Statements, repository: int, name: str) -> Baseline:
    find(db, repository, name)
    db.run("publish", {"repository": repository, "id": name})
    return find(db, repository, name)
