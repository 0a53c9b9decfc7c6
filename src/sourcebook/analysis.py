"""Text in, index terms out: the one analysis that passages and queries share.

A word becomes its lower-case, accent-free English stem. A compound such as `ERR_CONN-42`,
`getUserById` or `4.2.1` gives its parts, which keep their positions for phrases, and itself as a
whole, so that an exact identifier can be told from its pieces. Scripts without spaces give
characters as parts and pairs of neighbours as wholes.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import Stemmer

ANALYZER_VERSION = "3"

_COMPOUND = re.compile(r"\w+(?:[-_./:@#+&'’]\w+)*")
_PART = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
_RUN = re.compile(f"{_UNSPACED.pattern}|[^{_UNSPACED.pattern[1:-2]}]+")
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
        parts, wholes = _word_terms(word)
        terms.extend(parts)
        compounds.extend(wholes)
    return Analyzed(terms, compounds)


@lru_cache(maxsize=1 << 18)
def _word_terms(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parts of one word, and the wholes that they make."""
    word = _CONTRACTION.sub("", word)
    if _UNSPACED.search(word):
        return _unspaced(word)
    parts = [p for piece in _CAMEL.split(word) for p in _PART.findall(piece)]
    terms = tuple(_stem(_fold(p)) for p in parts)
    return terms, ((_fold(word),) if len(parts) > 1 else ())


def _unspaced(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Scripts without spaces: every character is a part, every pair of neighbours a whole; words
    of other scripts between them stay words."""
    terms: list[str] = []
    wholes: list[str] = []
    for run in _RUN.findall(word):
        if _UNSPACED.match(run):
            terms.extend(run)
            wholes.extend(a + b for a, b in pairwise(run))
        else:
            more, whole = _word_terms(run)
            terms.extend(more)
            wholes.extend(whole)
    return tuple(terms), tuple(wholes)


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c)) or word


def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


STOP_TERMS = frozenset(_stem(w) for w in STOP_WORDS)
