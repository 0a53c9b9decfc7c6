"""What is known of a document's standing in, the factors that change its passages' worth out, each
with a name: binding raises it, being superseded lowers it. Nothing is hidden by it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sourcebook.model import Adjustment, Factors, Metadata

KEYS = ("is_binding", "document_type", "superseded_by", "supersedes")
"""The metadata that adjustments come from."""


def adjustments(
    metadata: Metadata, factors: Factors, asked_type: str | None = None
) -> tuple[Adjustment, ...]:
    """The factors that apply to a passage with this metadata, in a fixed order."""
    kinds = types(metadata)
    newer = metadata.get("superseded_by")
    applies = (
        (metadata.get("is_binding") is True, Adjustment("binding", factors.binding)),
        (
            not kinds.isdisjoint(factors.primary_types),
            Adjustment("primary_source", factors.primary),
        ),
        (
            bool(newer),
            Adjustment("superseded", factors.superseded, "" if newer is True else f"by {newer}"),
        ),
        (asked_type in kinds, Adjustment("asked_type", factors.asked_type, f"{asked_type}")),
    )
    return tuple(change for holds, change in applies if holds)


def types(metadata: Metadata) -> frozenset[str]:
    """The types of a document: front matter may give one, or a list of them."""
    said = metadata.get("document_type")
    return frozenset(kind for kind in (said if isinstance(said, list) else [said])
                     if isinstance(kind, str) and kind.strip())  # fmt: skip


def product(found: Sequence[Adjustment]) -> float:
    return prod(each.factor for each in found)
