"""What whoever runs a Sourcebook does: names for revisions, retention, keys, feedback, health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from sourcebook import access, feedback, history, monitor
from sourcebook.engine.core import HEAD
from sourcebook.engine.reading import Reading
from sourcebook.engine.writing import Writing
from sourcebook.feedback import Golden
from sourcebook.model import (
    ApiKey,
    Baseline,
    Feedback,
    Json,
    Judgment,
    ReadContext,
    Retained,
)

_QUERIES_SUMMED_UP = 10_000
"""The newest questions, by which `status` judges."""


class Keeping(Writing, Reading):
    def create_baseline(self, name: str, read_context: ReadContext = HEAD) -> Baseline:
        access.require(self.caller, "write")
        return history.create_baseline(self.store, self.scope, name, read_context)

    def publish(self, name: str) -> Baseline:
        access.require(self.caller, "write")
        return self.store.publish(self.scope, name)

    def retain(
        self,
        *,
        keep_days: int | None = None,
        keep_revisions: int | None = None,
        before: str | None = None,
        dry_run: bool = False,
    ) -> Retained:
        """Drop older revisions, but never head nor one that a baseline names; `vacuum` then gives
        their room back. Exactly one bound is given."""
        access.require(self.caller, "admin")
        keep = history.Keep(keep_days, keep_revisions, before)
        return history.retain(self.store, self.scope, keep, dry_run=dry_run)

    def vacuum(self) -> None:
        """Give the room of what was dropped back to the file system. All tenants are in the
        file, so no key allows it."""
        access.require_owner(self.caller)
        self.store.vacuum()

    def give_feedback(self, judgment: Judgment) -> Feedback:
        """Keep what somebody says of a result. Whoever may read may do so: it changes no answer."""
        key_id = self.caller.key_id if self.caller else judgment.key_id
        return feedback.judge(self.store, self.scope, replace(judgment, key_id=key_id))

    def judgments(self, limit: int | None = None) -> Sequence[Feedback]:
        """Newest first. It tells what others asked, so a key needs all rights."""
        access.require(self.caller, "admin")
        return self.store.feedback(self.scope, limit)

    def golden(self, *, with_clicks: bool = False, read_context: str | None = None) -> Golden:
        """Judgments as the rows of a file that `eval` accepts."""
        access.require(self.caller, "admin")
        wanted: dict[str, Any] = {"with_clicks": with_clicks, "read_context": read_context}
        return feedback.golden(self.store, self.scope, **wanted)

    def create_key(self, grant: access.Grant) -> tuple[ApiKey, str]:
        """What was kept of a key of this tenant and organization, and the key itself."""
        access.require_all(self.caller)
        return access.create_key(self.store, self.scope, grant)

    def keys(self) -> Sequence[ApiKey]:
        """Of this tenant, oldest first; a caller sees those of its organization."""
        access.require_all(self.caller)
        return access.keys_seen(self.store, self.scope, self.caller)

    def revoke_key(self, key_id: str) -> ApiKey:
        access.require_all(self.caller)
        return access.revoke_key(self.store, self.scope, self.caller, key_id)

    def status(self) -> dict[str, Json]:
        head = self.resolve().revision
        published = [b.id for b in self.baselines() if b.published]
        spaces = self.store.spaces(self.scope)
        return {
            "revision": head,
            "published": published[0] if published else None,
            "counts": dict(self.store.counts(self.scope, head)),
            "index": self._index(),
            "spaces": [
                {
                    "id": s.id,
                    "provider": s.provider,
                    "model": s.model,
                    "dimensions": s.dimensions,
                    "chunker": s.chunker,
                    "state": s.state,
                }
                for s in spaces
            ],
            "queries": self._queries(),
        }

    def _index(self) -> dict[str, Json]:
        """How far the vectors are behind, and the texts that could not be embedded."""
        failures = [asdict(each) for each in self.failures()]
        return asdict(self.index_health()) | {"failures": failures}

    def _queries(self) -> dict[str, Json]:
        """What others asked is not for every key."""
        state: dict[str, Json] = {"logged": self.settings.monitoring.log}
        if self.caller is None:
            state["dropped"] = self.store.queries_dropped
        elif not self.caller.may("admin"):
            return state
        rows = self.store.query_log(self.scope, since=None, limit=_QUERIES_SUMMED_UP)
        return state | monitor.summarise(rows)
