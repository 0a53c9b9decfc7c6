"""A reading in; its authenticity and the evidence for it out.

Every signal counts its hits in 100 words, up to the rate at which it is full; the weighted sum,
less what ordinary prose reaches, goes through the logistic function. So one signal cannot decide,
ordinary prose is near 0.5, and a language of which the lexicon knows nothing is near it as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import exp

from sourcebook.quality.evidence import Evidence
from sourcebook.quality.lexicon import MONTHS, REFERENCE_WORDS, SIGNALS, UNITS
from sourcebook.quality.reading import Reading
from sourcebook.quality.words import Word

Hit = tuple[str, int, int]
"""A signal, the numbers of its first word and of the one after its last."""

USUAL = 0.55
"""The sum of ordinary English prose, measured on six collections."""
USUAL_ELSEWHERE = 0.20
"""The same where only figures and identifiers are understood: other languages, code."""
USUAL_WORDS = 50
"""From this length on; a few words are not expected to show as much."""
FEWEST = 25
"""A shorter text counts as this long: one figure in five words is not four times the evidence of
one in twenty."""
_NEAR = 6  # words between two hedges that make a stack
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{8,400})[\"”]|«([^«»\n]{8,400})»")
_INDENT = 24  # characters before a figure that begins a line
_CURRENCY = "$€£¥"


def authenticity(reading: Reading) -> tuple[float, tuple[Evidence, ...]]:
    evidence = tuple(_evidence(reading))
    counts = Counter(found.signal for found in evidence)
    weighted = total(counts, len(reading.words))
    return squash(weighted - usual(len(reading.words), reading.english)), evidence


def total(counts: Counter[str], words: int) -> float:
    """The weighted sum: each signal by its hits in 100 words, up to the rate where it is full."""
    scale = 100 / max(words, FEWEST)
    return sum(
        SIGNALS[name].weight * min(1.0, count * scale / SIGNALS[name].full)
        for name, count in sorted(counts.items())
    )


def usual(words: int, english: bool) -> float:
    """The sum that ordinary prose of this length reaches."""
    return (USUAL if english else USUAL_ELSEWHERE) * min(1.0, words / USUAL_WORDS)


def squash(difference: float) -> float:
    return 1 / (1 + exp(-difference))


def is_figure(reading: Reading, number: int) -> bool:
    """Whether the word is a figure that tells something: not the number of a section, of a list
    item or of a reference."""
    words = reading.words
    if not words[number].digits or words[number].identifier:
        return False
    if number and words[number - 1].lower in REFERENCE_WORDS:
        return False
    start, end = reading.span(number, number + 1)
    if start > 1 and reading.text[start - 1] == " " and reading.text[start - 2].isalnum():
        return True  # most figures: a word and a space stand before them
    before = reading.text[max(0, start - _INDENT) : start]
    on_line = before.rpartition("\n")[2]
    begins = (start <= _INDENT or "\n" in before) and not on_line.strip(" \t-*•#(>")
    return not begins or _continues(reading, number, end)


def _continues(reading: Reading, number: int, end: int) -> bool:
    """A line may begin with a figure that counts: "30 days after", not "5.2 Fees" or "1. Fees"."""
    if reading.text[end : end + 1] in {".", ")", "\t", ""} or "." in reading.words[number].lower:
        return False
    follows = reading.words[number + 1] if number + 1 < len(reading.words) else None
    return follows is not None and not follows.capital


def _evidence(reading: Reading) -> Iterator[Evidence]:
    text = reading.text
    for name, first, after in _hits(reading):
        start, end = reading.span(first, after)
        yield Evidence(name, SIGNALS[name].weight, text[start:end], start, end)
    if '"' in text or "“" in text or "«" in text:
        for found in _QUOTED.finditer(text):
            if " " in found[0].strip('"“”«» ') and not reading.code:
                weight = SIGNALS["quotation"].weight
                yield Evidence("quotation", weight, found[0], *found.span())


def _hits(reading: Reading) -> Iterator[Hit]:
    words = reading.words
    starts = {first for first, _ in reading.sentences}
    hedge = -_NEAR - 1
    past = 0
    for number, word in enumerate(words):
        if not word.notable:
            continue
        if number >= past and (word.signal or word.phrases):
            name, after = _phrase(words, number, word)
            if name:
                yield name, number, after
                past = after
        if word.hedge:
            if number - hedge <= _NEAR:
                yield "hedges", hedge, number + 1
            hedge = number
        if word.digits or word.identifier or word.date:
            yield from _exact(reading, number, word)
        elif word.capital and number >= past and number not in starts and reading.english:
            previous = words[number - 1]
            if not previous.capital:
                yield "name", number, number + 1


def _phrase(words: Sequence[Word], number: int, word: Word) -> tuple[str, int]:
    """The signal of the longest phrase that begins with this word, and the word after it."""
    if word.phrases and number + 1 < len(words):
        for rest, name in word.phrases.get(words[number + 1].lower, ()):
            after = number + 2 + len(rest)
            if rest == tuple([follows.lower for follows in words[number + 2 : after]]):
                return name, after
    return word.signal, number + 1


def _exact(reading: Reading, number: int, word: Word) -> Iterator[Hit]:
    """What is exact by its form: identifiers, dates, figures and figures with a unit."""
    words = reading.words
    before = words[number - 1].lower if number else ""
    after = words[number + 1].lower if number + 1 < len(words) else ""
    if word.identifier:
        yield "identifier", number, number + 1
    elif word.date or (word.digits and (before in MONTHS or after in MONTHS)):
        yield "date", number, number + 1
    elif is_figure(reading, number):
        yield "number", number, number + 1
        start, end = reading.span(number, number + 1)
        text = reading.text
        if after in UNITS:
            yield "unit", number, number + 2
        elif text[end : end + 1] in {"%", "°"} or text[max(0, start - 1) : start] in {*_CURRENCY}:
            yield "unit", number, number + 1
