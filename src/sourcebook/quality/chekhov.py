"""A reading in; its necessity out: how much of what is said is needed.

A sentence is needed by the content words that it brings and that were not there before. What is
introduced should be used again by a later sentence that brings something of its own; stop words
and filler carry nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sourcebook.quality.evidence import Evidence
from sourcebook.quality.reading import Reading, Span

ENOUGH_NEW = 0.35
"""A sentence of which this share of content words is new is wholly new: later sentences of a text
about one thing use its words again."""
SPARSE, DENSE = 0.25, 0.55
"""Shares of content words: nothing but grammar, and ordinary prose."""
UNKNOWN = 0.7
"""Density where the grammar words of the language are not known."""
FILLED = 0.20
"""A text of which this share of words is filler carries nothing."""
_FILLER = frozenset({"filler", "machine phrase", "vague", "boilerplate", "marketing"})


@dataclass(frozen=True, slots=True)
class Necessity:
    """The parts of the necessity, each 0 to 1, and the whole."""

    novelty: float
    density: float
    used_again: float
    """The share of later sentences that take something up, as if one more did and one did not: a
    text of one sentence is at 0.5, since nothing can be said."""
    plain: float
    """1 without filler."""
    repeated: tuple[Evidence, ...]
    """The sentences that bring nothing."""

    @property
    def overall(self) -> float:
        return self.novelty * (0.45 * self.density + 0.25 * self.used_again + 0.30 * self.plain)


def necessity(reading: Reading, evidence: Sequence[Evidence], *, listed: bool = False) -> Necessity:
    """With `listed`, a sentence is new unless the same words stood there: in a list of relations
    each one joins names that were there before."""
    if not any(word.term for word in reading.words):
        return Necessity(0.0, 0.0, 0.0, 0.0, ())
    seen: set[str] = set()
    gained = weight = linked = followers = 0.0
    repeated: list[Evidence] = []
    wholes: set[tuple[str, ...]] = set()
    for first, after in reading.sentences:
        terms = [word.term for word in reading.words[first:after] if word.term]
        if not terms:
            continue
        new = set(terms) - seen
        share = min(1.0, len(new) / (ENOUGH_NEW * len(terms)))
        if listed:
            share = float(tuple(terms) not in wholes)
            wholes.add(tuple(terms))
        gained += share * len(terms)
        weight += len(terms)
        if not new:
            repeated.append(_repeated(reading, (first, after)))
        elif seen:
            followers += 1
            linked += not seen.isdisjoint(terms)
        seen |= new
    return Necessity(
        novelty=gained / weight,
        density=_density(reading, weight),
        used_again=(linked + 1) / (followers + 2),
        plain=1 - min(1.0, filler_share(reading, evidence) / FILLED),
        repeated=tuple(repeated),
    )


def filler_share(reading: Reading, evidence: Sequence[Evidence]) -> float:
    """The share of words that belong to phrases that say nothing."""
    covered = sum(found.words.count(" ") + 1 for found in evidence if found.signal in _FILLER)
    return covered / max(1, len(reading.words))


def _density(reading: Reading, content: float) -> float:
    if not reading.english:
        return UNKNOWN
    share = content / len(reading.words)
    return min(1.0, max(0.0, (share - SPARSE) / (DENSE - SPARSE)))


def _repeated(reading: Reading, sentence: Span) -> Evidence:
    start, end = reading.span(*sentence)
    return Evidence("repeated", 0.0, reading.text[start:end], start, end)
