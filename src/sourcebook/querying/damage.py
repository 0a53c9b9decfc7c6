"""What the store found damaged while a question was answered, as reasons for a degraded answer."""

from __future__ import annotations

from sourcebook.model import Degraded, Scope
from sourcebook.ports import Store

_NAMED = 20
"""Parts that an answer names one by one."""


def noticed(store: Store, scope: Scope, revision: int, since: float) -> tuple[Degraded, ...]:
    """`since` is the time.monotonic() at which the question came."""
    found = store.damage(scope, revision, since)
    reasons = [
        f"the stored {each.part} of {each.element_id!r} does not match its checksum and was left "
        "out; ingest its original file again, or restore the store from a backup"
        for each in found[:_NAMED]
    ]
    if len(found) > _NAMED:
        more = len(found) - _NAMED
        reasons.append(f"{more} more parts are damaged; run `sourcebook doctor --deep`")
    return tuple(Degraded("integrity", reason) for reason in reasons)
