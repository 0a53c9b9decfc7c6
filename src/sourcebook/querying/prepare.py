"""A question in, a prepared query out: what the model reads and what full-text looks for.

Any string is safe: the full-text side is a list of terms, never a query language. Quoted words are
a phrase; a word such as `ERR_CONN-42` is an exact identifier. Passages that hold these come first.
"""

from __future__ import annotations

import re
import unicodedata

from sourcebook.analysis import STOP_TERMS, STOP_WORDS, Analyzed, analyze
from sourcebook.errors import InvalidInput
from sourcebook.model import PreparedQuery

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'"})
_PHRASE = re.compile(r'"([^"]+)"')
_WORD = re.compile(r"[^\W_]+(?:[-_./:@#+&'][^\W_]+)*")
_REPEATED = re.compile(r"([!?.,;:])[!?.,;:]+")
_CONTRACTIONS = {
    r"\bcan't\b": "cannot",
    r"\bwon't\b": "will not",
    r"n't\b": " not",
    r"'re\b": " are",
    r"'ve\b": " have",
    r"'ll\b": " will",
    r"'m\b": " am",
    r"\b(what|who|where|when|how|that|there|it|he|she)'s\b": r"\1 is",
}


def prepare(text: str) -> PreparedQuery:
    if not text.strip():
        raise InvalidInput("the query is empty; ask a question or give some words", field="query")
    plain = _plain(text)
    analyzed = analyze(plain)
    quoted = [tuple(analyze(phrase).terms) for phrase in _PHRASE.findall(plain)]
    phrases = tuple(dict.fromkeys([*filter(None, quoted), *_identifiers(analyzed)]))
    return PreparedQuery(text, normalize(text), _terms(analyzed), phrases, _keywords(plain))


def _plain(text: str) -> str:
    """Unicode forms, quotes and white space made regular: what full-text analysis reads, since
    documents are read so too."""
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


def normalize(text: str) -> str:
    """What the model reads: repeated punctuation and contractions made regular as well; the case
    is kept, since models may read it."""
    text = _REPEATED.sub(r"\1", _plain(text))
    for pattern, full in _CONTRACTIONS.items() if "'" in text else ():
        text = re.sub(pattern, full, text, flags=re.IGNORECASE)
    return text


def _terms(analyzed: Analyzed) -> tuple[str, ...]:
    """Index terms without repeats; stop words only where there is nothing else."""
    terms = tuple(dict.fromkeys([*analyzed.terms, *analyzed.compounds]))
    return tuple(t for t in terms if t not in STOP_TERMS) or terms


def _identifiers(analyzed: Analyzed) -> list[tuple[str, ...]]:
    """Compounds of a question that asks for nothing else: then they must match as they stand.

    Inside a longer question a compound ("COVID-19") is one term among others, weighted by how rare
    it is, since such a question is about more than that one word."""
    parts = {t for whole in analyzed.compounds for t in analyze(whole).terms}
    content = [t for t in analyzed.terms if t not in STOP_TERMS]
    return [(c,) for c in analyzed.compounds] if set(content) <= parts else []


def _keywords(text: str) -> tuple[str, ...]:
    words = (w for w in _WORD.findall(text) if w.lower() not in STOP_WORDS)
    return tuple(dict.fromkeys(words))
