"""USE CASE: fill the vectors and the quality scores that are missing.

A passage without a vector and a node without a score are the work to do, so there is no queue to
lose: stop it at any moment, start it again, and it goes on.
"""

from __future__ import annotations

from collections.abc import Callable

from sourcebook.model import Scope, Space
from sourcebook.ports import Embedder, Store
from sourcebook.quality import QUALITY_VERSION, score

Progress = Callable[[int, int], None]
"""Called with what is done and what there is in all."""
_CLAIM = 8192
"""Texts read at a time: finding them takes a look at every passage."""
_RATED = 2000
"""Nodes scored and stored at a time."""
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
            texts = [p.text for p in batch]
            vectors, tokens = (
                embedder.embed_late(texts) if embedder.late else (embedder.embed(texts), None)
            )
            store.put_vectors(scope, space, [p.text_hash for p in batch], vectors, tokens)
            done += len(batch)
            if progress:
                progress(done, max(done, total))
    return done


def rate(store: Store, scope: Scope, since: int = 0) -> int:
    """Score every node version since a revision that today's analyzer has not seen; returns how
    many there were."""
    done = 0
    while nodes := store.unscored(scope, QUALITY_VERSION, _RATED, since):
        texts = ((node, store.text(scope, node)) for node in nodes)
        scores = {
            node.version_id: score(text, kind=node.kind, title=node.title).to_dict()
            for node, text in texts
        }
        store.put_quality(scope, QUALITY_VERSION, scores)
        done += len(nodes)
    return done
