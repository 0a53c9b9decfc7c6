"""A part of a question and the part before it in; the part made to stand alone out, or None.

"How is it counted?" says nothing without the question before it. Where that question has one clear
subject ("What is the quorum"), the subject takes the place of the pronoun. The patterns are few and
narrow: where none fits, nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_BE = r"(is|are|was|were)"
_HOW = r"(?:what|who|where|when|why|how(?: \w+)?)"
_NOUN = r"(?P<noun>(?:the|a|an|my|our|your) .+?|(?-i:[A-Z]).*?)"
_PARTICIPLE = r"(?:\w+(?:ed|en)|built|due|found|held|kept|made|open|paid|sent|set|sold)"
_MODAL = r"(can|could|may|must|shall|should|will)"

_SINGULAR = ("it", "its", "he", "she", "him", "his", "her")
_PLURAL = ("they", "them", "their")
_THING = ("it", "its", *_PLURAL)
_PERSON = ("he", "she", "him", "his", "her")
_POSSESSIVE = ("its", "his", "her", "their")

_BY_NUMBER = (
    rf"{_HOW} {_BE} {_NOUN} {_PARTICIPLE}",
    rf"{_HOW} {_BE} {_NOUN}",
    r"(?:what|when|where|why|how) (does|do) (?P<noun>(?:the|a|an) \w+) \w+",
)
"""Whole questions whose verb tells whether their subject is one or many."""
_OBJECTS = (
    rf"{_HOW} {_MODAL} {_NOUN} be \w+",
    r"who (?:may|can|must|should|will) \w+ (?P<noun>(?:the|a|an) .+)",
    r"who (?!may\b|can\b|must\b|should\b|will\b)\w+ (?P<noun>(?:the|a|an) .+)",
)
_NAME = r"(?-i:[A-Z][\w'’.-]*)"
_NAMED = (
    r".*?\b(?:is|was|does|did|has|had|will|would|can) "
    rf"(?P<noun>{_NAME}(?: {_NAME})*)\b(?! and\b).*"
)

_NO_NOUN = re.compile(
    r"\b(?:and|are|be|been|being|by|did|do|does|has|have|how|if|is|or|that|to|was|were|what|when"
    r"|where|which|who|will|would)\b|(?<!\bthe )(?<!\ba )(?<!\ban )\b\w+ed\b",
    re.IGNORECASE,
)
_LONGEST = 10
"""Words of a subject."""

_EMPTY_IT = re.compile(
    r"\b(?:is|was|will|would|does|did|can) it (?:be )?"
    r"(?:allowed|cost|legal|necessary|permitted|possible|required|take)\b(?=.* to\b)",
    re.IGNORECASE,
)
_GENERIC = re.compile(r"\b(?:a|an|any|each|every) \w+.*?\b(?:its|his|her|their)\b", re.IGNORECASE)
_DEPENDS = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|themselves|he|she|him|his|her|hers|this|these|those"
    r"|latter|former|same|such(?! as))\b"
    r"|\b(?:about|at|by|did|do|does|for|in|is|of|to|was|will|with|would) that\b"
    r"|\b(?:each|both|one|ones|either|neither|others?|so)$|\beach other\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )\bthere\b"
    r"|^(?:what|how) about\b|\bwhich (?:is|are|was|were|one)\b",
    re.IGNORECASE,
)


def complete(part: str, masked: str, before: Sequence[str]) -> str | None:
    """`part`, or `part` with the subject of one of the parts before it, the nearest that fits;
    None if it still would not stand alone. `masked` is `part` without what is quoted in it."""
    if stands_alone(masked):
        return part
    for earlier in reversed(before):
        for noun, pronouns in _subjects(earlier):
            places = list(re.finditer(rf"\b(?:{'|'.join(pronouns)})\b", masked, re.IGNORECASE))
            if places and stands_alone(_replaced(masked, places, "_")):
                return _replaced(part, places, noun)
    return None


def stands_alone(part: str) -> bool:
    plain = _EMPTY_IT.sub("", part.rstrip(" ?.!"))
    return not _DEPENDS.search(_GENERIC.sub("", plain))


def _subjects(before: str) -> list[tuple[str, tuple[str, ...]]]:
    """What a pronoun could stand for, and the pronouns that could stand for it."""
    text = before.strip(" ?.!,")
    found: list[tuple[str, tuple[str, ...]]] = []
    for pattern in _BY_NUMBER:
        if match := re.fullmatch(pattern, text, re.IGNORECASE):
            many = match[1].lower() in ("are", "were", "do")
            found.append((match["noun"], _PLURAL if many else _SINGULAR))
    for pattern, pronouns in (*((p, _THING) for p in _OBJECTS), (_NAMED, _PERSON)):
        if match := re.fullmatch(pattern, text, re.IGNORECASE):
            found.append((match["noun"], pronouns))
    return [(noun, pronouns) for noun, pronouns in found if _is_noun(noun)]


def _is_noun(text: str) -> bool:
    return len(text.split()) <= _LONGEST and not _NO_NOUN.search(text)


def _replaced(part: str, places: Sequence[re.Match[str]], noun: str) -> str:
    told, done = "", 0
    for place in places:
        owner = place[0].lower() in _POSSESSIVE and re.match(r" \w", part[place.end() :])
        told += part[done : place.start()] + (f"{noun}'s" if owner else noun)
        done = place.end()
    return told + part[done:]
