"""Candidates and their stored passages in, hits with canonical citations out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcebook.hashing import text_hash
from sourcebook.model import Candidate, Citation, Hit, Json
from sourcebook.ports import StoredPassage


def cite(
    repository_id: str,
    resolution: int,
    candidates: Sequence[Candidate],
    stored: Sequence[StoredPassage],
    quality: Mapping[str, Json],
) -> list[Hit]:
    """A hit for each candidate, in their order; `resolution` is the one that was searched."""
    by_row = {passage.row: passage for passage in stored}
    hits = []
    for rank, candidate in enumerate(candidates, start=1):
        found = by_row[candidate.passage]
        node = found.node
        citation = Citation(
            repository_id,
            node.element_id,
            node.version_id,
            node.start,
            node.end,
            text_hash(found.text),
        )
        hits.append(
            Hit(
                rank=rank,
                node=node,
                resolution=resolution,
                text=found.text,
                context=found.passage.context,
                scores=candidate.scores,
                citation=citation,
                quality=quality.get(node.version_id),
                summary=found.passage.summary,
            )
        )
    return hits
