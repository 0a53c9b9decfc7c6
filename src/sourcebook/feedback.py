"""USE CASE: a judgment on a result in, kept with its question, version and read context out; and
judgments out again as golden questions.

Nothing else reads them: no answer depends on what people said, until somebody changes something on
account of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import get_args

from sourcebook.errors import InvalidInput, NotFound, SourcebookError
from sourcebook.hashing import digest
from sourcebook.history import parse_read_context, replay
from sourcebook.model import (
    Citation,
    Feedback,
    Json,
    Judgment,
    Node,
    Opinion,
    ReadContext,
    Scope,
)
from sourcebook.ports import Store

LONGEST_NOTE = 10_000
LONGEST_QUERY = 10_000
LONGEST_ID = 200


def judge(store: Store, scope: Scope, given: Judgment, now: datetime | None = None) -> Feedback:
    """InvalidInput where the read context does not show what is cited, word for word."""
    _check(given)
    if given.request_id is not None:
        known = store.feedback_of_request(scope, given.key_id, given.request_id)
        if known is not None:
            return known
    at = (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="microseconds")
    context = store.resolve(scope, given.read_context)
    node = _cited(store, scope, given.citation, context.revision)
    made = Feedback(
        at, given.query, node.id, given.citation, context, given.opinion, given.note, given.key_id
    )
    return store.add_feedback(scope, made, given.request_id)


def feedback_to_dict(given: Feedback) -> dict[str, Json]:
    return {
        "at": given.at,
        "query": given.query,
        "judgment": given.opinion,
        "note": given.note,
        "node_id": given.node_id,
        "citation": asdict(given.citation),
        "read_context": asdict(given.read_context),
        "key_id": given.key_id,
    }


def _check(given: Judgment) -> None:
    if given.opinion not in get_args(Opinion):
        raise InvalidInput(
            f"a judgment is helpful, not_helpful or clicked, not {given.opinion!r}",
            field="judgment",
        )
    if not given.query.strip():
        raise InvalidInput("say which question the result was for", field="query")
    lengths = (
        ("query", given.query, LONGEST_QUERY),
        ("note", given.note, LONGEST_NOTE),
        ("request_id", given.request_id or "", LONGEST_ID),
    )
    for name, text, most in lengths:
        if len(text) > most:
            raise InvalidInput(
                f"the {name} has {len(text):,} characters; {most:,} are possible, so shorten it",
                field=name,
            )


def _cited(store: Store, scope: Scope, citation: Citation, revision: int) -> Node:
    """The node that shows the citation at that revision."""
    found = replay(store, scope, citation)
    if not found.valid:
        raise InvalidInput(f"the citation does not hold: {found.reason}", field="citation")
    for name in dict.fromkeys(node.id for node in store.versions(scope, citation.version_id)):
        node = store.node(scope, name, revision)
        if node is not None and _shows(node, citation):
            return node
    raise InvalidInput(
        f"the cited version is not what revision {revision} shows; give the --read-context that "
        "the question was asked at",
        field="read_context",
    )


def _shows(node: Node, citation: Citation) -> bool:
    cited = (citation.version_id, citation.start, citation.end)
    return (node.version_id, node.start, node.end) == cited


# --- golden questions ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Golden:
    """Rows of a golden file, and how many judgments no row could be made of."""

    rows: tuple[Mapping[str, Json], ...]
    left_out: int


def golden(
    store: Store,
    scope: Scope,
    *,
    with_clicks: bool = False,
    read_context: str | None = None,
) -> Golden:
    """One row a question and read context. Without one given, each is pinned to the revision that
    it was judged at, so that the file means the same for ever. A judgment whose version the read
    context does not show is left out."""
    if read_context is not None:
        store.resolve(scope, parse_read_context(read_context))
    asked: defaultdict[tuple[str, str], list[Feedback]] = defaultdict(list)
    newest = store.feedback(scope)
    shown = _Shown(store, scope)
    left_out = 0
    for each in reversed(newest):
        where = read_context or _pinned(each)
        if not shown.at(where, each):
            left_out += 1
        else:
            asked[each.query, where].append(each)
    made = [_row(query, where, given, with_clicks) for (query, where), given in asked.items()]
    rows = tuple(row for row in made if row["must_include"] or row["must_not_include"])
    if not rows:
        raise NotFound(
            "there is no judgment to make a question of; `sourcebook feedback add` keeps one"
        )
    return Golden(rows, left_out)


def _row(query: str, where: str, given: Sequence[Feedback], clicks: bool) -> dict[str, Json]:
    """`given` oldest first: the newest opinion of a version counts, and a click is none."""
    opinions = {g.citation.version_id: g for g in given if g.opinion != "clicked"}
    clicked = {g.citation.version_id: g for g in given if g.opinion == "clicked"} if clicks else {}
    judged = {**clicked, **opinions}.values()
    wanted = [g for g in judged if g.opinion != "not_helpful"]
    # A document that holds something wanted cannot be what must not be found.
    holding = {g.citation.element_id for g in wanted}
    unwanted = [g for g in judged if g.opinion == "not_helpful" and g.node_id not in holding]
    return {
        "id": f"feedback-{digest(query, where)[:12]}",
        "query": query,
        "must_include": _names(wanted),
        "must_not_include": _names(unwanted),
        "read_context": where,
        "answerable": True,
    }


def _names(given: Iterable[Feedback]) -> list[str]:
    return sorted({each.node_id for each in given})


def _pinned(given: Feedback) -> str:
    """A read context that means the same revision for ever."""
    context = given.read_context
    named = context.baseline_id is not None
    return f"baseline:{context.baseline_id}" if named else f"revision:{context.revision}"


class _Shown:
    """Which versions a read context shows, by the words that a golden file has for it."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store, self._scope = store, scope
        self._revisions: dict[str, int | None] = {}

    def at(self, where: str, given: Feedback) -> bool:
        if where not in self._revisions:
            self._revisions[where] = self._resolved(parse_read_context(where))
        revision = self._revisions[where]
        if revision is None:
            return False
        node = self._store.node(self._scope, given.node_id, revision)
        return node is not None and node.version_id == given.citation.version_id

    def _resolved(self, context: ReadContext) -> int | None:
        """None for one that retention has dropped."""
        try:
            return self._store.resolve(self._scope, context).revision
        except SourcebookError:
            return None
