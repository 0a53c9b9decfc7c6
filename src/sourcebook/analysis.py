"""Text in, index terms out: the one analysis that passages and queries share.

A word becomes its lower-case, accent-free English stem. A compound such as `ERR_CONN-42`,
`getUserById` or `4.2.1` gives its parts, which keep their positions for phrases, and itself as a
whole, so that an exact identifier can be told from its pieces. Scripts without spaces give
overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import Stemmer

ANALYZER_VERSION = "1"

_COMPOUND = re.compile(r"\w+(?:[-_./:@#+&'’]\w+)*")
_PART = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(r"[぀-ヿ㐀-鿿豈-﫿฀-๿]+")
_CONTRACTION = re.compile(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)
_stemmer = Stemmer.Stemmer("english", 0)

STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being between both but
    by can could did do does doing down during each few for from further had has have having he
    her here hers him his how i if in into is it its just me more most my no nor not of off on
    once only or other our out over own same she should so some such than that the their them
    then there these they this those through to too under until up very was we were what when
    where which while who whom whose why will with would you your""".split()
)


@dataclass(frozen=True, slots=True)
class Analyzed:
    """Terms of a text in order, and the compounds in it as whole terms."""

    terms: list[str]
    compounds: list[str]


def analyze(text: str) -> Analyzed:
    terms: list[str] = []
    compounds: list[str] = []
    for word in _COMPOUND.findall(unicodedata.normalize("NFKC", text)):
        parts, whole = _word_terms(word)
        terms.extend(parts)
        if whole:
            compounds.append(whole)
    return Analyzed(terms, compounds)


@lru_cache(maxsize=1 << 18)
def _word_terms(word: str) -> tuple[tuple[str, ...], str | None]:
    """The parts of one word, and the whole of it where it is more than its one part."""
    word = _CONTRACTION.sub("", word)
    if _UNSPACED.search(word):
        return _pairs(_fold(word)), None
    parts = [p for piece in _CAMEL.split(word) for p in _PART.findall(piece)]
    terms = tuple(_stem(_fold(p)) for p in parts)
    return terms, (_fold(word) if len(parts) > 1 else None)


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c)) or word


def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def _pairs(word: str) -> tuple[str, ...]:
    return tuple(a + b for a, b in pairwise(word)) if len(word) > 1 else (word,)


STOP_TERMS = frozenset(_stem(w) for w in STOP_WORDS)
