"""Hits in; those that are good enough out, and why each of the others is not.

A short passage is judged by what it says together with its surroundings, not alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sourcebook.model import Hit, Rejected


@dataclass(frozen=True, slots=True)
class Gate:
    min_quality: float = 0.4
    min_words: int = 30
    exclude_stubs: tuple[str, ...] = ("breadcrumb",)
    unscored: bool = True
    """Whether a node that was not scored yet passes."""
    min_relevance: float = 0.0


def gate(
    hits: Sequence[Hit], rules: Gate, expand: Callable[[Hit], str], wanted: int
) -> tuple[list[Hit], list[Rejected]]:
    """At most `wanted` hits, and what was refused on the way."""
    kept: list[Hit] = []
    refused: list[Rejected] = []
    for hit in hits:
        if len(kept) == wanted:
            break
        judged = _expanded(hit, rules, expand)
        reason = _reason(judged, rules)
        if reason is None:
            kept.append(judged)
        else:
            refused.append(Rejected(hit.node.id, hit.node.element_id, reason, hit.relevance))
    return kept, refused


def counted(refused: Sequence[Rejected]) -> dict[str, int]:
    return dict(sorted(Counter(r.reason for r in refused).items()))


def _expanded(hit: Hit, rules: Gate, expand: Callable[[Hit], str]) -> Hit:
    if words(hit.text) >= rules.min_words:
        return hit
    around = expand(hit)
    return replace(hit, expanded=around) if around != hit.text else hit


def _reason(hit: Hit, rules: Gate) -> str | None:
    quality = hit.quality
    if hit.relevance is not None and hit.relevance < rules.min_relevance:
        return "relevance-too-low"
    if quality is None:
        if not rules.unscored:
            return "not-scored"
    elif quality["stub_type"] in rules.exclude_stubs:
        return f"stub-{quality['stub_type']}"
    elif quality["overall"] < rules.min_quality:
        return "quality-too-low"
    if words(hit.expanded or hit.text) < rules.min_words:
        return "word-count-too-low"
    return None


def words(text: str) -> int:
    return len(text.split())
