"""USE CASE: fill the vectors that are missing. A passage without a vector is the work to do, so
there is no queue to lose: stop it at any moment, start it again, and it goes on."""

from __future__ import annotations

from collections.abc import Callable

from sourcebook.model import Scope, Space
from sourcebook.ports import Embedder, Store

Progress = Callable[[int, int], None]
"""Called with what is done and what there is in all."""
_CLAIM = 8192
"""Texts read at a time: finding them takes a look at every passage."""
_BATCH = 256
"""Texts embedded and stored at a time: what a crash can cost."""


def fill(
    store: Store, embedder: Embedder, scope: Scope, space: Space, progress: Progress | None = None
) -> int:
    """Embed every text that has no vector in the space; returns how many there were."""
    total, done = store.count_pending(scope, space), 0
    while found := store.pending(scope, space, limit=_CLAIM):
        for start in range(0, len(found), _BATCH):
            batch = found[start : start + _BATCH]
            vectors = embedder.embed([p.text for p in batch])
            store.put_vectors(scope, space, [p.text_hash for p in batch], vectors)
            done += len(batch)
            if progress:
                progress(done, max(done, total))
    return done
