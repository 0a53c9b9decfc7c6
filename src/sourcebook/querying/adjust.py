"""What is known of a document's standing in, the factors that change its passages' worth out, each
with a name: binding raises it, being superseded lowers it. Nothing is hidden by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from sourcebook.model import Adjustment, Factors, Metadata

KEYS = ("is_binding", "document_type", "superseded_by", "supersedes")
"""The metadata that adjustments come from."""


def adjustments(
    metadata: Metadata, factors: Factors, asked_type: str | None = None
) -> tuple[Adjustment, ...]:
    """The factors that apply to a passage with this metadata, in a fixed order."""
    kinds = types(metadata)
    applies: Mapping[str, tuple[bool, float]] = {
        "binding": (metadata.get("is_binding") is True, factors.binding),
        "primary_source": (not kinds.isdisjoint(factors.primary_types), factors.primary),
        "superseded": (bool(metadata.get("superseded_by")), factors.superseded),
        "asked_type": (asked_type in kinds, factors.asked_type),
    }
    return tuple(Adjustment(name, factor) for name, (holds, factor) in applies.items() if holds)


def types(metadata: Metadata) -> frozenset[str]:
    """The types of a document: front matter may give one, or a list of them."""
    said = metadata.get("document_type")
    return frozenset(kind for kind in (said if isinstance(said, list) else [said])
                     if isinstance(kind, str) and kind.strip())  # fmt: skip


def product(found: Sequence[Adjustment]) -> float:
    return prod(each.factor for each in found)
