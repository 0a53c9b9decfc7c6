"""Relevance in, relevance changed by what is known of a document's standing out, with every factor
named: binding raises it, being superseded lowers it. Nothing is hidden by it."""

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
    kind = metadata.get("document_type")
    applies: Mapping[str, tuple[bool, float]] = {
        "binding": (metadata.get("is_binding") is True, factors.binding),
        "primary_source": (kind in factors.primary_types, factors.primary),
        "superseded": (bool(metadata.get("superseded_by")), factors.superseded),
        "asked_type": (asked_type is not None and kind == asked_type, factors.asked_type),
    }
    return tuple(Adjustment(name, factor) for name, (holds, factor) in applies.items() if holds)


def product(found: Sequence[Adjustment]) -> float:
    return prod(each.factor for each in found)
