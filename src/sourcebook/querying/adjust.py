"""Relevance in, relevance changed by what is known of a document's standing out, with every factor
named: binding raises it, being superseded lowers it. Nothing is hidden by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sourcebook.model import Adjustment, Metadata


@dataclass(frozen=True, slots=True)
class Factors:
    binding: float = 1.1
    primary: float = 1.05
    superseded: float = 0.5
    asked_type: float = 1.1
    primary_types: tuple[str, ...] = ("design_guidelines",)


def adjustments(
    metadata: Metadata, factors: Factors, asked_type: str | None = None
) -> list[Adjustment]:
    """The factors that apply to a passage with this metadata, in a fixed order."""
    kind = metadata.get("document_type")
    applies: Mapping[str, tuple[bool, float]] = {
        "binding": (metadata.get("is_binding") is True, factors.binding),
        "primary_source": (kind in factors.primary_types, factors.primary),
        "superseded": (bool(metadata.get("superseded_by")), factors.superseded),
        "asked_type": (asked_type is not None and kind == asked_type, factors.asked_type),
    }
    return [Adjustment(name, factor) for name, (holds, factor) in applies.items() if holds]


def adjusted(relevance: float, found: list[Adjustment]) -> float:
    """Not capped: two passages that both reach 1 still have an order."""
    for adjustment in found:
        relevance *= adjustment.factor
    return relevance
