"""Names in, nodes, links and history out: what is read without a question."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sourcebook import history
from sourcebook.difference import Diff, diff, side
from sourcebook.engine.core import HEAD, Core
from sourcebook.errors import InvalidInput, NotFound
from sourcebook.model import (
    Baseline,
    Citation,
    Filter,
    Json,
    Link,
    Node,
    ReadContext,
    Revision,
)
from sourcebook.quality import QUALITY_VERSION, score


class Reading(Core):
    def get(
        self, node_id: str, *, version: str | None = None, read_context: ReadContext = HEAD
    ) -> tuple[Node, str]:
        """A node and its text."""
        if version is not None:
            rows = [n for n in self.store.versions(self.scope, version) if n.id == node_id]
            if not rows:
                raise history.missing(self.store, self.scope, node_id, version)
            return rows[0], self.store.text(self.scope, rows[0])
        revision = self.resolve(read_context).revision
        with history.steady(self.store, self.scope, revision):
            node = self.store.node(self.scope, node_id, revision)
            if node is None:
                at = f"revision {revision}"
                raise NotFound(
                    f"there is no node {node_id!r} at {at}; `sourcebook list` shows the ids"
                )
            return node, self.store.text(self.scope, node)

    def quality(self, node: Node, text: str, *, evidence: bool = False) -> Json:
        """What was stored of a node's quality, None if nothing; with evidence it is worked out."""
        if evidence:
            return score(text, kind=node.kind, title=node.title).to_dict(evidence=True)
        began = time.monotonic()
        found = self.store.quality(self.scope, QUALITY_VERSION, [node.version_id])
        if node.version_id not in found and self.store.damage(self.scope, 0, began):
            return score(text, kind=node.kind, title=node.title).to_dict()
        return found.get(node.version_id)

    def list(
        self,
        *,
        kind: str | None = None,
        filters: tuple[Filter, ...] = (),
        limit: int = 100,
        after: str = "",
        read_context: ReadContext = HEAD,
    ) -> Sequence[Node]:
        if limit < 1:
            raise InvalidInput(f"limit must be 1 or more, not {limit}", field="limit")
        revision = self.resolve(read_context).revision
        return self.store.nodes(
            self.scope, revision, kind=kind, filters=filters, limit=limit, after=after
        )

    def links(self, node_id: str, read_context: ReadContext = HEAD) -> Sequence[Link]:
        context = self.resolve(read_context)
        node, _ = self.get(node_id, read_context=context.pinned)
        found = self.store.links(self.scope, node.id, context.revision)
        # Both ends of "supersedes" may say it.
        return list(
            {(x.source_id, x.target_id, x.type, str(x.metadata)): x for x in found}.values()
        )

    def log(self, limit: int | None = None) -> Sequence[Revision]:
        return self.store.log(self.scope, limit)

    def baselines(self) -> Sequence[Baseline]:
        return self.store.baselines(self.scope)

    def diff(
        self,
        old: str | ReadContext,
        new: str | ReadContext,
        *,
        kind: str | None = None,
        text: bool = True,
        limit: int | None = None,
    ) -> Diff:
        """What changed from one to the other: names of baselines, numbers of revisions or read
        contexts. `limit` is of each list."""
        ends = [
            self.resolve(end if isinstance(end, ReadContext) else side(self.store, self.scope, end))
            for end in (old, new)
        ]
        return diff(self.store, self.scope, *ends, kind=kind, text=text, limit=limit)

    def verify(self, citation: Citation) -> history.Replay:
        return history.replay(self.store, self.scope, citation)
