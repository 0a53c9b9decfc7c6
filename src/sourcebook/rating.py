"""USE CASE: nodes that have no quality yet in, their scores into the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sourcebook import asker
from sourcebook.model import Node, Scope
from sourcebook.ports import Store
from sourcebook.quality import QUALITY_VERSION, score

_RATED = 10_000
"""Nodes scored and stored at a time."""
_READ = 200
_READ_CHARACTERS = 1_000_000
"""Of these, read at a time: so many, or so many characters and one more."""


def rate(store: Store, scope: Scope, since: int = 0) -> int:
    """Score every node version since a revision that today's analyzer has not seen; returns how
    many there were."""
    done = after = 0
    while nodes := store.unscored(scope, QUALITY_VERSION, _RATED, since, after):
        scores = {}
        for piece in _readable(nodes.values()):
            asker.still_waits()
            for node, text in zip(piece, store.texts(scope, piece), strict=True):
                if text is not None:  # retention may drop it meanwhile
                    rated = score(text, kind=node.kind, title=node.title)
                    scores[node.version_id] = rated.to_dict()
        store.put_quality(scope, QUALITY_VERSION, scores)
        done += len(scores)
        after = max(nodes)
    return done


def _readable(nodes: Iterable[Node]) -> Iterator[list[Node]]:
    """Pieces whose texts are read at a time."""
    piece: list[Node] = []
    size = 0
    for node in nodes:
        piece.append(node)
        size += node.end - node.start
        if len(piece) == _READ or size >= _READ_CHARACTERS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
