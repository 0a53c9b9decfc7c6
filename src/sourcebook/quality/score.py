"""A text in; its quality out: how authentic it is, how necessary, whether it is a stub, and why.

The same text gives the same numbers, for ever: nothing is asked but the text and the lexicon, and
QUALITY_VERSION changes when either formula or lexicon does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sourcebook.model import Json
from sourcebook.quality import stubs
from sourcebook.quality.chekhov import necessity
from sourcebook.quality.evidence import Evidence, specifics
from sourcebook.quality.reading import Reading, read
from sourcebook.quality.sic import authenticity
from sourcebook.quality.stubs import StubType

QUALITY_VERSION = "1"
STUB_CEILING = 0.35
ENOUGH_WORDS = 12
"""Different informative words that make a text substantial whatever it says."""
NAME = 3
"""The same for an element of a model: its name is complete."""
ENOUGH_SPECIFICS = 2
_LEAST = 0.6  # of the score that a text keeps however little substance it has


@dataclass(frozen=True, slots=True)
class Quality:
    """The scores of one text, each 0 to 1, four decimals."""

    overall: float
    authenticity: float
    necessity: float
    stub_type: StubType | None
    words: int
    """In the part that was read: the first 20,000 characters."""
    analyzer: str
    evidence: tuple[Evidence, ...] = ()

    def to_dict(self, evidence: bool = False) -> dict[str, Json]:
        plain: dict[str, Json] = {
            "overall": self.overall,
            "authenticity": self.authenticity,
            "necessity": self.necessity,
            "stub_type": self.stub_type,
            "words": self.words,
            "analyzer": self.analyzer,
        }
        return plain | {"evidence": [e.to_dict() for e in self.evidence]} if evidence else plain


def score(text: str, *, kind: str = "chunk", title: str = "", has_media: bool = False) -> Quality:
    """`kind` is the node's kind, `title` the heading that stands over it, `has_media` whether
    images or files that are not in the text belong to it."""
    reading = read(text)
    authentic, signals = authenticity(reading)
    element = kind == "element"
    needed = necessity(reading, signals, listed=element)
    stub, shown = stubs.find(reading, needed, signals, kind=kind, title=title, has_media=has_media)
    overall = combine(
        authentic,
        needed.overall,
        substance(reading, signals, NAME if element else ENOUGH_WORDS),
        stub is not None,
    )
    return Quality(
        overall=round(overall, 4),
        authenticity=round(authentic, 4),
        necessity=round(needed.overall, 4),
        stub_type=stub,
        words=len(reading.words),
        analyzer=QUALITY_VERSION,
        evidence=(*shown, *signals, *needed.repeated),
    )


def combine(authentic: float, necessary: float, substantial: float, stub: bool) -> float:
    """The mean of the two, less for little substance, under the ceiling for stubs."""
    overall = (authentic + necessary) / 2 * (_LEAST + (1 - _LEAST) * substantial)
    return STUB_CEILING * overall if stub else overall


def substance(reading: Reading, evidence: Sequence[Evidence], enough: int = ENOUGH_WORDS) -> float:
    """1 from twelve informative words or two specifics on: a short text is full if it is exact."""
    words = stubs.informative(reading) / enough
    return min(1.0, words + specifics(evidence) / ENOUGH_SPECIFICS)
