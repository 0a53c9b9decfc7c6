"""Words in, what is known of each by itself out; and the pattern that finds words in any script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from sourcebook.analysis import STOP_TERMS, STOP_WORDS, analyze
from sourcebook.quality import lexicon

Phrases = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
"""By the word that follows a first word: what comes after both, the longest first, each with the
name of its signal."""

_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f"
)
_MARKS += (
    "\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83"
)
_MARKS += "\u0abc-\u0acd\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c4d\u0c81-\u0c83\u0cbc-\u0ccd"
_MARKS += "\u0d00-\u0d03\u0d3b-\u0d4d\u200c\u200d"
_LETTER = rf"[^\W{_UNSPACED}]"
WORD = re.compile(
    rf"{_LETTER}+(?:(?:[{_MARKS}]+|[-./:@'’&+#]|(?<=\d),(?=\d)){_LETTER}+)*[{_MARKS}]*"
    rf"|[{_UNSPACED}]{{1,2}}"
)
"""A script without spaces counts a word for two characters."""
_ASCII_WORD = re.compile(r"\w+(?:(?:[-./:@'&+#]|(?<=\d),(?=\d))\w+)*", re.ASCII)
"""The same for texts of ASCII alone, a third faster."""

LONGEST = 64  # characters of a word that are looked at
_IDENTIFIER = re.compile(
    r"[a-z0-9]+(?:_[A-Za-z0-9]+)+|[a-z][a-z0-9]*[A-Z]\w*|[A-Z]+(?:_[A-Z0-9]+)+"
    r"|(?:[A-Z][a-z0-9]+){2,}|\w+::\w+|\w+@\w+|[a-z]\w+\.[a-z_]\w+(?:\.\w+)*|[A-Z]+[-_]?\d+"
)
_CONTRACTED = re.compile(
    r"(?:i|you|he|she|it|we|they|that|there|what|who|let|\w{2,6}n)'(?:\w{1,2})"
)
_DATE = re.compile(
    r"(?:1[5-9]|20)\d\d(?:-\d\d?(?:-\d\d?)?|s)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d\d?:\d\d"
)


class Word(NamedTuple):
    """What a word is, wherever it stands."""

    lower: str
    term: str
    """Its stem; empty for a stop word."""
    english: bool
    verb: bool
    informative: bool
    """Neither a stop word nor a word that says nothing on its own."""
    notable: bool
    """Any of what follows."""
    digits: bool = False
    capital: bool = False
    identifier: bool = False
    date: bool = False
    hedge: bool = False
    signal: str = ""
    """That the word shows alone."""
    phrases: Phrases | None = None
    """That begin with it."""


def _read_lexicon() -> tuple[dict[str, str], dict[str, Phrases]]:
    alone: dict[str, str] = {}
    found: dict[str, dict[str, list[tuple[tuple[str, ...], str]]]] = {}
    for signal in lexicon.SPECIFIC + lexicon.EMPTY:
        for phrase in filter(None, map(str.split, signal.phrases.splitlines())):
            if len(phrase) == 1:
                alone[phrase[0]] = signal.name
            else:
                seconds = found.setdefault(phrase[0], {})
                seconds.setdefault(phrase[1], []).append((tuple(phrase[2:]), signal.name))
    phrases: dict[str, Phrases] = {
        first: {
            second: tuple(sorted(rests, key=lambda rest: (-len(rest[0]), rest)))
            for second, rests in seconds.items()
        }
        for first, seconds in found.items()
    }
    return alone, phrases


_ALONE, _PHRASES = _read_lexicon()


def find(text: str) -> list[str]:
    """The words of a text, in order."""
    return (_ASCII_WORD if text.isascii() else WORD).findall(text)


def know(words: Sequence[str]) -> list[Word]:
    if max(map(len, words), default=0) > LONGEST:
        words = [word[:LONGEST] for word in words]
    return list(map(_know, words))


@lru_cache(maxsize=1 << 16)
def _know(word: str) -> Word:
    """Kept for the next time: most words of a text are met again."""
    lower = word.lower().replace("’", "'")
    term = _term(word, lower)
    common = Word(
        lower=lower,
        term=term,
        english=lower in lexicon.ENGLISH,
        verb=lower in lexicon.VERBS,
        informative=bool(term) and lower not in lexicon.GENERIC,
        notable=lower in _ALONE or lower in _PHRASES or lower in lexicon.HEDGES,
        hedge=lower in lexicon.HEDGES,
        signal=_ALONE.get(lower, ""),
        phrases=_PHRASES.get(lower),
    )
    return common if word.isalpha() and word == lower else _by_form(word, common)


def _by_form(word: str, common: Word) -> Word:
    """What only a word with figures, capitals or signs in it can be."""
    return common._replace(
        notable=True,
        digits=any(c.isdigit() for c in word),
        capital=word[0].isupper() and bool(common.term),
        identifier=bool(_IDENTIFIER.fullmatch(word)),
        date=bool(_DATE.fullmatch(word)) or common.lower in lexicon.WEEKDAYS,
    )


def _term(word: str, lower: str) -> str:
    """What makes two words the same: the stem of a word of letters, any other word itself."""
    if lower in STOP_WORDS:
        return ""
    if not word.isalpha():
        return "" if _CONTRACTED.fullmatch(lower) else lower
    return " ".join(term for term in analyze(word).terms if term not in STOP_TERMS)
