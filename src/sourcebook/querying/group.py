"""A fused list in, a fused list out, so that one document does not fill it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sourcebook.model import Fused


def group(found: Sequence[Fused], per_document: int | None) -> Sequence[Fused]:
    """At most `per_document` of each document, in their order; None keeps them all."""
    if per_document is None:
        return found
    seen: Counter[str] = Counter()
    kept = []
    for each in found:
        seen[each.element_id] += 1
        if seen[each.element_id] <= per_document:
            kept.append(each)
    return kept
