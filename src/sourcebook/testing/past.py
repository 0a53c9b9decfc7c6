"""A world and a read context in, the words out that may be told there: those of the documents that
were there at that moment, neither older nor newer ones."""

from __future__ import annotations

from collections.abc import Sequence

from sourcebook.model import Document, Scope
from sourcebook.testing.surface import Request
from sourcebook.testing.worlds import CANARY, Event, Name, Step

_AT_ONE_REVISION = frozenset(("search", "agent", "context", "similar", "list", "links", "get"))


class Past:
    """What one repository shows at each of its revisions. `events` are all that happened so far;
    a reader who may write may have published something itself."""

    def __init__(self, events: Sequence[Event], place: Scope, *, may_publish: bool = False) -> None:
        self._may_publish = may_publish
        self._shown: list[frozenset[str]] = [frozenset()]
        self._names: dict[str, int] = {}
        self._published: int | None = None
        live: dict[str, Document] = {}
        for event in events:
            if event.place == place and isinstance(event, Step):
                live = {name: d for name, d in live.items() if name not in event.ends}
                live |= {document.element_id: document for document in event.puts}
                self._shown.append(_canaries(list(live.values())))
            elif event.place == place and isinstance(event, Name):
                self._names[event.baseline] = len(self._shown) - 1
                if event.publish:
                    self._published = self._names[event.baseline]

    def words(self, request: Request) -> frozenset[str] | None:
        """The canaries that may be told; None where the answer is not of one revision."""
        if request.action not in _AT_ONE_REVISION or "version" in request.arguments:
            return None
        revision = self._revision(str(request.arguments.get("read_context", "head")))
        if revision is None or not 0 <= revision < len(self._shown):
            return None
        return self._shown[revision] | _canaries(list(self._names))

    def _revision(self, read_context: str) -> int | None:
        kind, _, value = read_context.partition(":")
        head = len(self._shown) - 1
        if kind == "head":
            return head
        if kind in ("published", "default"):
            if self._may_publish:
                return None
            return head if self._published is None else self._published
        if kind == "baseline":
            return self._names.get(value)
        digits = "".join(filter(str.isdigit, value))
        if kind == "revision" or value.startswith("{revision"):
            return min(int(digits), head)
        return None


def _canaries(value: object) -> frozenset[str]:
    return frozenset(CANARY.findall(repr(value)))
