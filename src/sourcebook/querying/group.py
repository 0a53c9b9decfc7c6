"""Candidates in, candidates out, so that one document does not fill the list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sourcebook.model import Candidate


def group(candidates: Sequence[Candidate], per_document: int | None) -> list[Candidate]:
    """At most `per_document` of each document, in their order; None keeps them all."""
    if per_document is None:
        return list(candidates)
    seen: Counter[str] = Counter()
    kept = []
    for candidate in candidates:
        seen[candidate.element_id] += 1
        if seen[candidate.element_id] <= per_document:
            kept.append(candidate)
    return kept
