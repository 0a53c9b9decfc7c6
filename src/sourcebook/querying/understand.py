"""A question in, what kind of question it is out: which lists to trust more, which type it names.

Rules on word boundaries, in English. A detected document type raises documents of that type a
little and hides nothing; only a filter that was given filters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

QueryType = Literal["general", "terminology", "definition", "location"]

WEIGHTS: Mapping[QueryType, tuple[float, float]] = {
    "general": (0.7, 0.3),
    "terminology": (0.5, 0.5),
    "definition": (0.8, 0.2),
    "location": (0.4, 0.6),
}
"""Shares of dense and full-text search in a weighted sum."""

_DEFINITION = re.compile(
    r"\bwhat (?:does|do|did) .+ mean\b|\bwhat is meant by\b|\bmeaning of\b"
    r"|\bdefin(?:e|es|ed|ition)\b",
    re.IGNORECASE,
)
_LOCATION = re.compile(
    r"\bwhere (?:is|are|was|were|does|do|did|can) .*\b(?:mention|say|state|describ|define|cover"
    r"|find|found|discuss|set out|written|listed)\w*|\b(?:which|what) (?:section|article|clause"
    r"|page|chapter|document|file|paragraph|exhibit|conversation|message|view)s?\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\?|^\s*(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|may"
    r"|might|must|shall|should|will|would|has|have|had)\b",
    re.IGNORECASE,
)
_EXACT = re.compile(
    r'["“„][^"“”„]+["“”]|\b\d+(?:\.\d+)+\b|\b[A-Za-z]+[-_]\d+\b|\b\d+\s?(?:mm|cm|m|km|in|inch(?:es)?|ft|feet|foot'
    r"|kg|g|lb|lbs|mg|ml|l|kw|v|hz|%|percent|days?|hours?|minutes?|years?)(?!\w)",
    re.IGNORECASE,
)
_TERM_WORDS = 4

TYPES: Mapping[str, str] = {
    "design_guidelines": r"(?:design )?guidelines?|design standards?",
    "ccr": r"cc&rs?|ccrs?|covenants?|declaration",
    "bylaws": r"by-?laws?",
    "rules": r"(?:house )?rules|rules? and regulations?",
    "response_letter": r"precedents?|previous(?:ly)? (?:approvals?|approved|decisions?)"
    r"|response letters?",
    "application_form": r"application (?:form|process)|application forms?",
    "minutes": r"(?:meeting )?minutes of|meeting minutes",
    "policy": r"polic(?:y|ies)",
}
"""How questions name types that documents often have."""


def query_type(text: str) -> QueryType:
    if _LOCATION.search(text):
        return "location"
    if _DEFINITION.search(text):
        return "definition"
    if _EXACT.search(text) or (len(text.split()) <= _TERM_WORDS and not _QUESTION.search(text)):
        return "terminology"
    return "general"


def document_type(text: str, known: Iterable[str]) -> str | None:
    """The type that the question names in most words, of those that the repository knows."""
    named: list[tuple[int, str]] = []
    for name in sorted(known):
        words = re.split(r"[\s_-]+", name.strip())
        usual = r"[\s_-]+".join(map(re.escape, words)) + "s?"
        pattern = TYPES.get("_".join(words).lower(), usual)
        if found := re.search(rf"(?<![\w&])(?:{pattern})(?![\w&])", text, re.IGNORECASE):
            named.append((-len(found[0]), name))
    return min(named)[1] if named else None
