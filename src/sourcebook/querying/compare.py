"""A question that compares things in, one lookup for each thing out; nothing for other questions.

"What is the difference between regular and special assessments?" is answered by two passages, one
on each. A word that both share ("assessments", "the duties of") is given to both.
"""

from __future__ import annotations

import re

_PATTERNS = (
    r"(?:please )?(?:compare and contrast|compare|contrast) (?P<things>.+)",
    r"(?:(?:what|explain|describe|tell me|show me|list|is there|are there|can you|could you)\b"
    r"[^,;?]{0,40}?)?\b(?:differences?|distinctions?|similarity|similarities|comparison)"
    r"(?: in (?P<aspect>[^,;?]{3,60}?))? between (?P<things>.+)",
    r"how (?:do|does|did) (?P<one>.+?) (?:differ from|compare (?:to|with)) (?P<other>.+)",
    r"how (?:is|are|was|were) (?P<one>.+?) different from (?P<other>.+)",
    r"how (?:do|did) (?P<things>.+? and .+?) (?:differ|compare)",
    r"how are (?P<things>.+? and .+?) different",
    r"(?P<one>(?:\S+ ){0,3}\S+) (?:vs\.?|versus) (?P<other>(?:\S+ ){0,3}\S+)",
)
_BETWEEN = (r"versus|vs\.?|against|with", r"and", r"to")
"""Words between the things, the clearest first."""
_PREPOSITION = re.compile(r"\b(?:about|at|by|for|from|in|of|on|to|under|with)\s+", re.IGNORECASE)
_DETERMINER = re.compile(r"(?:the|a|an|my|our|your)\b", re.IGNORECASE)
_ADJECTIVE = re.compile(
    r"(?:\w+(?:able|al|ant|ar|ary|ed|ent|ian|ible|ic|ing|ive|less|ory|ous|ly)|big|closed|cold"
    r"|early|first|gross|high|hot|large|late|long|low|net|new|old|open|private|public|second|short"
    r"|small|soft|hard)",
)
_UNCLEAR = re.compile(
    r"\b(?:each other|it|them|they|that|this|these|those|other|others|similar|same|two|both)\b",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"\b(?:terms and conditions|rules and regulations|search and rescue|trial and error"
    r"|health and safety|profit and loss|research and development|pros and cons|wear and tear"
    r"|supply and demand|cause and effect|covenants, conditions,? and restrictions)\b",
    re.IGNORECASE,
)
MOST = 4


def compare(question: str, masked: str) -> tuple[str, ...]:
    """`masked` is the question with everything quoted made unreadable, letter for letter."""
    end = len(masked.rstrip(" ?.!"))
    hidden = _FIXED.sub(lambda match: "_" * len(match[0]), masked[:end])
    for pattern in _PATTERNS:
        if match := re.fullmatch(pattern, hidden, re.IGNORECASE):
            groups = match.re.groupindex
            spans = (
                _things(match) if "things" in groups else [match.span("one"), match.span("other")]
            )
            things = _shared([question[start:stop].strip() for start, stop in spans])
            aspect = match["aspect"] if "aspect" in groups else None
            if aspect:
                things = [f"{question[slice(*match.span('aspect'))]} of {each}" for each in things]
            return tuple(things) if _clear(things) else ()
    return ()


def _things(match: re.Match[str]) -> list[tuple[int, int]]:
    """Where the things stand; nothing where it is not clear which words are between them."""
    start, stop = match.span("things")
    for words in _BETWEEN:
        found = list(re.finditer(rf",?\s+(?:{words})\s+", match.string[start:stop], re.IGNORECASE))
        if len(found) > 1:
            return []
        if found:
            first, last = found[0].span()
            commas = list(re.finditer(r",\s+", match.string[start : start + first]))
            edges = [0, *(edge for comma in commas for edge in comma.span()), first, last]
            edges.append(stop - start)
            return [(start + a, start + b) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return []


def _clear(things: list[str]) -> bool:
    return (
        2 <= len(things) <= MOST
        and all(re.search(r"[^\W\d_]{2}", thing) for thing in things)
        and not any(_UNCLEAR.search(thing) for thing in things)
        and len({thing.casefold() for thing in things}) == len(things)
    )


def _shared(things: list[str]) -> list[str]:
    """Each thing with what it leaves out since another one says it."""
    if len(things) != 2:
        return things
    one, other = things
    return [_with_noun_of(other, one), _with_start_of(one, other)]


def _with_noun_of(other: str, one: str) -> str:
    """ "regular" beside "special assessments" is "regular assessments"."""
    words = other.split()
    if len(words) > 1 and _ADJECTIVE.fullmatch(one) and _ADJECTIVE.fullmatch(words[0]):
        return f"{one} {' '.join(words[1:])}"
    return one


def _with_start_of(one: str, other: str) -> str:
    """ "tenants" beside "the fees for owners" is "the fees for tenants"."""
    start, _, last = one.rpartition(" ")
    if start and _numeric(last) and _numeric(other):
        return f"{start} {other}"
    prepositions = list(_PREPOSITION.finditer(one))
    if not prepositions or _PREPOSITION.search(other):
        return other
    end = prepositions[-1].end()
    return one[:end] + other if _alike(one, one[end:], other) else other


def _numeric(text: str) -> bool:
    return re.fullmatch(r"v?\d[\w.]*", text) is not None


def _alike(whole: str, inside: str, other: str) -> bool:
    mine, yours = _DETERMINER.match(inside), _DETERMINER.match(other)
    if mine and yours:
        return mine[0].lower() == yours[0].lower()
    plural = inside.endswith("s") and other.endswith("s")
    named = inside[:1].isupper() and other[:1].isupper()
    return not mine and not yours and bool(_DETERMINER.match(whole)) and (plural or named)
