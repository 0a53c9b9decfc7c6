"""Ids of documents in, what is live of them out, as a commit sees it that asks again and again.

A planner that has not heard of a repository yet goes through all that a large commit has written,
each time that it is asked. So where few documents were live before, a commit of many reads these
once, and asks the database only of what it has touched itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcebook.stores.statements import Statements

_MANY = 1000
"""Documents of a commit."""
_FEW = 5000
"""Documents that were live before."""

State = tuple[str, str, str]
"""Content hash, recipe and source."""


class LiveDocuments:
    def __init__(self, db: Statements, repository: int, head: int) -> None:
        self._db = db
        self._repository = repository
        self._head = head
        self._touched: set[str] = set()
        self._before: Mapping[str, State] | None = None
        """All that were live before, once they were looked for and if they are few."""
        self._looked = False

    def touch(self, element_id: str) -> None:
        """This commit writes or ends it."""
        if self._before is not None or not self._looked:
            self._touched.add(element_id)

    def to_ask(self, element_ids: Sequence[str]) -> list[str]:
        """Those of which only the database knows."""
        if not self._looked and len(self._touched) >= _MANY:
            self._looked = True
            found = self._found("live_before", revision=self._head, limit=_FEW + 1)
            self._before = found if len(found) <= _FEW else None
        return [e for e in element_ids if self._before is None or e in self._touched]

    def live(self, element_ids: Sequence[str], asked: Sequence[str]) -> Mapping[str, State]:
        """Those that are; `asked` is what `to_ask` gave, and written by now."""
        found = self._found("current", elements=list(asked)) if asked else {}
        if self._before is not None:
            untouched = (e for e in element_ids if e not in self._touched)
            found |= {e: self._before[e] for e in untouched if e in self._before}
        return {e: found[e] for e in element_ids if e in found}

    def _found(self, name: str, **values: object) -> dict[str, State]:
        rows = self._db.run(name, {"repository": self._repository, **values}).fetchall()
        return {element: (content, recipe, source) for element, content, recipe, source in rows}
