"""A reading in; the type of stub that it is out, or None: a text that only stands for content.

The tests go from what is plain by form to what needs judgement. A path of headings comes before
the sentence, since "Home > Docs > API" would pass as a short sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from sourcebook.quality.chekhov import Necessity, filler_share
from sourcebook.quality.evidence import Evidence, specifics
from sourcebook.quality.lines import Line, lines
from sourcebook.quality.reading import LIMIT, Reading, Span
from sourcebook.quality.words import Word
from sourcebook.quality.words import find as find_words

StubType = Literal["media", "reference", "sentence", "note", "breadcrumb", "over-elaborated"]

BESIDE_MEDIA = 10  # words
BESIDE_LINES = 0.25  # share of words that may stand beside navigation or references
SHORT = 15  # words of a sentence or two that must show their substance
HEADING = 5  # words of a heading that ends in a full stop
FRAGMENT = 10  # words without an end and without a verb
TASK = 25  # words of a note with a task in it
SUBSTANCE = 2  # informative words that make a short sentence worth reading
LONG = 60  # words that can be too many
OLD = 0.35  # novelty below which little is said
PARTLY_OLD = 0.8  # novelty below which runs of words are compared
REPEATED = 0.45  # share of five words in a row that stood there before
FILLER = 0.18  # share of words that belong to phrases that say nothing
_TASK = re.compile(
    r"\b(?:TODO|FIXME|TBD|TBA|WIP|XXX|TO DO|tbd|todo|fixme|T\.B\.D)\b|^\s*(?:[-*]\s*)?\[ \]"
)
_END = re.compile(r"(?<!\.)[.!?。！？؟।]['\"”’»)\]]*\s*$")
_TELLS = re.compile(r"[:=|]\s*\S")
_CODE = re.compile(r"\w\([^()\n]{0,200}\)\s*[:;{]|[;{}]\s*$|^\s*#include|=>|->", re.M)
_EMPTY_PAGE = re.compile(
    r"intentionally (?:left blank|omitted)|coming soon|under construction", re.I
)


def find(
    reading: Reading,
    necessity: Necessity,
    evidence: Sequence[Evidence],
    *,
    kind: str,
    title: str,
    has_media: bool,
) -> tuple[StubType | None, tuple[Evidence, ...]]:
    """The stub type, and the places that show it."""
    if not reading.words and not (reading.media or reading.links or reading.urls or has_media):
        return "note", ()
    if _is_media(reading, evidence, has_media):
        return "media", _marked("media", reading, reading.media)
    if kind == "element":
        return None, ()  # known by its name, said in lists of relations
    if _may_be_lines(reading):
        found = _by_lines(reading, title)
        if found[0]:
            return found
    if not reading.code and _is_note(reading, evidence, kind):
        return "note", _whole("note", reading)
    if not reading.code and _is_sentence(reading, evidence):
        return "sentence", _whole("sentence", reading)
    if _is_over_elaborated(reading, necessity, evidence):
        return "over-elaborated", ()
    return None, ()


def informative(reading: Reading) -> int:
    """How many different words say something on their own."""
    return len({word.term for word in reading.words if word.informative})


def _is_media(reading: Reading, evidence: Sequence[Evidence], has_media: bool) -> bool:
    if not (reading.media or has_media):
        return False
    return len(reading.words) <= BESIDE_MEDIA and not specifics(evidence)


def _may_be_lines(reading: Reading) -> bool:
    """Spares prose the look at its lines: whatever is mostly navigation or references has short
    lines, links or few words."""
    longest = max(map(len, reading.text.split("\n")), default=0)
    return longest < 400 or bool(reading.links or reading.urls)


def _by_lines(reading: Reading, title: str) -> tuple[StubType | None, tuple[Evidence, ...]]:
    found = list(lines(reading))
    words = sum(line.words for line in found)
    navigation = [line for line in found if line.kind == "navigation"]
    if _is_title(reading, title):
        return "breadcrumb", _whole("breadcrumb", reading)
    if _mostly(navigation, words) and not _tells(reading, found):
        return "breadcrumb", _marked("breadcrumb", reading, _spans(navigation))
    references = [line for line in found if line.kind == "reference"]
    linked = _linked_words(reading)
    if _mostly(references, words) or _is_links(reading, linked):
        spans = _spans(references) or [*reading.links, *reading.urls]
        return "reference", _marked("reference", reading, sorted(spans))
    return None, ()


def _spans(some: Sequence[Line]) -> list[Span]:
    return [(line.start, line.end) for line in some]


def _mostly(some: Sequence[Line], words: int) -> bool:
    return bool(some) and words - sum(line.words for line in some) <= BESIDE_LINES * words


def _tells(reading: Reading, found: Sequence[Line]) -> bool:
    """A heading over one full sentence is content even if the heading is the longer one."""
    return any(
        line.kind == "said" and line.words > 3 and _END.search(reading.text[line.start : line.end])
        for line in found
    )


def _is_title(reading: Reading, title: str) -> bool:
    heading = find_words(title[:LIMIT].lower())
    return bool(heading) and heading == find_words(reading.text.lower())


def _linked_words(reading: Reading) -> int:
    return sum(len(find_words(reading.text[a:b].partition("](")[0])) for a, b in reading.links)


def _is_links(reading: Reading, linked: int) -> bool:
    """Most of the words are those of links, or there is little beside addresses."""
    if not (reading.links or reading.urls):
        return False
    beside = len(reading.words) - linked
    pointers = linked + 4 * len(reading.urls)
    return beside <= 4 + BESIDE_LINES * pointers or (
        beside <= pointers and not _END.search(reading.text)
    )


def _is_note(reading: Reading, evidence: Sequence[Evidence], kind: str) -> bool:
    words = reading.words
    if len(words) <= TASK and _TASK.search(reading.text):
        return True
    if len(words) > FRAGMENT:
        return False
    if specifics(evidence) and (kind == "message" or _TELLS.search(reading.text)):
        return False
    if any(word.verb for word in words) or _CODE.search(reading.text):
        return False
    if _ends(reading):
        return kind != "message" and _is_heading(words)
    return reading.english or len(words) < 8


def _is_heading(words: Sequence[Word]) -> bool:
    """ "Turnover Meeting.": a few words of which all that carry something are capitalised."""
    carrying = [word for word in words if word.term]
    return len(words) <= HEADING and len(carrying) > 1 and all(word.capital for word in carrying)


def _ends(reading: Reading) -> bool:
    return bool(_END.search(reading.text[-40:])) and len(reading.words) > 1


def _is_sentence(reading: Reading, evidence: Sequence[Evidence]) -> bool:
    if len(reading.words) > SHORT or len(reading.sentences) > 3:
        return False
    if _EMPTY_PAGE.search(reading.text):
        return True
    if not reading.english and not _all_generic(reading):
        return False
    return not specifics(evidence) and informative(reading) < SUBSTANCE


def _all_generic(reading: Reading) -> bool:
    """Short words of courtesy have no grammar to tell the language by."""
    return not any(word.informative for word in reading.words)


def _is_over_elaborated(
    reading: Reading, necessity: Necessity, evidence: Sequence[Evidence]
) -> bool:
    if len(reading.words) < LONG or reading.code or _is_figures(reading):
        return False  # code and tables of figures repeat themselves for good reasons
    return (
        filler_share(reading, evidence) >= FILLER
        or necessity.novelty < OLD
        or (necessity.novelty < PARTLY_OLD and repeated_share(reading) >= REPEATED)
    )


def _is_figures(reading: Reading) -> bool:
    return 2 * sum(word.digits for word in reading.words) > len(reading.words)


def repeated_share(reading: Reading) -> float:
    """The share of runs of five words that stood in the text before."""
    lower = [word.lower for word in reading.words]
    runs = Counter(zip(lower, lower[1:], lower[2:], lower[3:], lower[4:], strict=False))
    total = len(lower) - 4
    return 1 - len(runs) / total if total > 0 else 0.0


def _whole(stub: str, reading: Reading) -> tuple[Evidence, ...]:
    text = reading.text.strip()
    start = reading.text.index(text)
    return _marked(stub, reading, [(start, start + len(text))]) if text else ()


def _marked(stub: str, reading: Reading, spans: Sequence[Span]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"stub: {stub}", 0.0, reading.text[start:end], start, end) for start, end in spans
    )
