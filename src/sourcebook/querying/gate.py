"""Hits in; those that are good enough out, and why each of the others is not.

A short passage is judged by what it says together with its surroundings, not alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sourcebook.errors import InvalidInput
from sourcebook.model import Hit, Rejected

STUBS = ("breadcrumb",)
Expand = Callable[[Hit], str]


@dataclass(frozen=True, slots=True)
class Gate:
    min_quality: float = 0.4
    min_words: int = 30
    exclude_stubs: tuple[str, ...] = STUBS
    unscored: bool = True
    """Whether a node that was not scored yet passes."""

    def check(self) -> None:
        if not 0 <= self.min_quality <= 1:
            raise InvalidInput(
                f"min_quality must be from 0 to 1, not {self.min_quality}", field="min_quality"
            )
        if self.min_words < 0:
            raise InvalidInput("min_words must be 0 or more", field="min_words")


def gate(
    hits: Sequence[Hit], least: float, rules: Gate | None, expand: Expand, wanted: int
) -> tuple[list[Hit], list[Rejected]]:
    """At most `wanted` hits that are relevant enough and keep the rules, and what was refused on
    the way to them. A hit whose relevance is not known passes only where none is asked for."""
    kept: list[Hit] = []
    refused: list[Rejected] = []
    for hit in hits:
        if len(kept) == wanted:
            break
        if least > 0 and (hit.relevance is None or hit.relevance < least):
            refused.append(_refused(hit, "relevance-too-low"))
            continue
        judged = _expanded(hit, rules, expand) if rules else hit
        reason = _reason(judged, rules) if rules else None
        if reason is None:
            kept.append(judged)
        else:
            refused.append(_refused(hit, reason))
    return kept, refused


def _refused(hit: Hit, reason: str) -> Rejected:
    return Rejected(hit.node.id, hit.node.element_id, reason, hit.relevance)


def _expanded(hit: Hit, rules: Gate, expand: Expand) -> Hit:
    if words(hit.text) >= rules.min_words:
        return hit
    around = expand(hit)
    return replace(hit, expanded=around) if around != hit.text else hit


def _reason(hit: Hit, rules: Gate) -> str | None:
    quality = hit.quality
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
