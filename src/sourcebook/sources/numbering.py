"""One line of text in; the numbered heading that it may be out, or nothing.

Known are `ARTICLE VII – TITLE`, `Section 4.2 Title`, `4.2.1 Title`, `§ 12 Title`, `EXHIBIT A` and
run-in headings, `4.2 Title. The text goes on`. Whether a line is a heading is for the whole text
to say: see `headings`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PART, CHAPTER, ARTICLE, SECTION, APPENDIX = range(5)
"""What a heading divides, from high to low; an appendix stands beside the highest."""
_KINDS = {
    "part": PART,
    "chapter": CHAPTER,
    "article": ARTICLE,
    "section": SECTION,
    "sec": SECTION,
    "§": SECTION,
    "exhibit": APPENDIX,
    "appendix": APPENDIX,
    "annex": APPENDIX,
    "schedule": APPENDIX,
    "attachment": APPENDIX,
}
_WORDS = "|".join(form for word in _KINDS for form in {word, word.upper(), word.capitalize()})
_DECIMAL = r"\d{1,5}(?:[.-]\d{1,5}){0,7}"
_NUMBERED = re.compile(
    rf"(?:(?P<word>{_WORDS})(?:(?<=§)|\.?[ \t\u00a0])[ \t\u00a0]*"
    rf"(?P<name>{_DECIMAL}|[IVXLC]{{1,8}}(?![A-Za-z])|[A-Z](?![A-Za-z]))"
    rf"|(?P<plain>{_DECIMAL}))"
    r"(?P<mark>\.(?=\s|$)|\)|:)?(?P<gap>[ \t\u00a0]*(?:[-–—:][ \t\u00a0]+)?)"
)
LOOKS_NUMBERED = re.compile(rf"(?m)^[ \t\u00a0]*(?:{_DECIMAL}|(?:{_WORDS})\b)")
_RUN_IN = re.compile(r"(?P<title>[^.:–—]{2,80}?)(?:[.:]\s*[–—]?|\s[–—])\s+(?=[\"“‘'(\[]?[A-Z0-9])")
_SMALL = frozenset(
    "a an and as at by for from if in into not of off on or the their to upon with without".split()
)
_LINE = 400
_TITLE = 120


@dataclass(frozen=True, slots=True)
class Numbered:
    """A heading as it may stand in a line: `line[:end]` are its words."""

    kind: int
    number: tuple[int, ...]
    label: str
    """The number as it is written: "Section 4.2", "4.2", "ARTICLE VII"."""
    title: str
    end: int
    plain: bool
    """No word before the number."""
    mark: str
    """The punctuation after the number."""
    run_in: bool = False
    """Prose follows in the same line."""


def numbered(line: str) -> Numbered | None:
    """The heading in a line that begins with a number, or with a word and a number."""
    line = line[:_LINE]
    found = _NUMBERED.match(line)
    if found is None:
        return None
    plain = found["plain"] is not None
    name = found["plain"] or found["name"]
    rest = line[found.end() :]
    if rest and not (found["mark"] or found["gap"]):  # "4.2(a)", "3rd", "12%"
        return None
    kind = SECTION if plain else _KINDS[found["word"].lower()]
    number = _number(name, kind)
    label = line[: found.end("mark") if found["mark"] == "." and plain else _name_end(found)]
    whole = Numbered(
        kind, number, label.strip(), "", len(label.rstrip()), plain, found["mark"] or ""
    )
    if not rest.strip():
        return whole if not plain or len(number) > 1 else None
    return _titled(whole, rest, found.end(), len(line) == _LINE)


def _name_end(found: re.Match[str]) -> int:
    return found.end("plain") if found["plain"] is not None else found.end("name")


def _titled(bare: Numbered, rest: str, at: int, is_cut: bool) -> Numbered | None:
    words = rest.rstrip()
    if not is_cut and is_title(words):
        return _with(bare, words, at + len(words), run_in=False)
    found = _RUN_IN.match(rest)
    if found and is_title(found["title"]) and share_of_capitals(found["title"]) >= 0.6:
        end = found.end("title")
        end += rest[end] in ".:"
        return _with(bare, found["title"], at + end, run_in=True)
    return None


def _with(bare: Numbered, title: str, end: int, *, run_in: bool) -> Numbered:
    title = title.rstrip(". ")
    return Numbered(
        bare.kind, bare.number, bare.label, title, end, bare.plain, bare.mark, run_in=run_in
    )


def is_title(words: str) -> bool:
    """Whether words read like a title: short, begun with a capital, no sentence. A full stop at the
    end is taken only where most words are capitals, as in `Owners' Use and Occupancy.`"""
    words = words.strip()
    bare = words.lstrip("\"“‘'([")
    if not bare or len(words) > _TITLE or not bare[0].isupper():
        return False
    if words[-1] in ",;:" or len(words.split()) > 16 or re.search(r"[a-z]{2}[.?!]\s", words):
        return False
    if words.rsplit(maxsplit=1)[-1] in _SMALL:  # a line that was broken in its middle
        return False
    return words[-1] not in ".!?" or share_of_capitals(words) >= 0.6


def share_of_capitals(words: str) -> float:
    """Of the words that a title writes with capitals, how many have one."""
    counted = [word for word in re.findall(r"[^\W\d_][\w'’-]*", words) if word not in _SMALL]
    return sum(word[0].isupper() for word in counted) / len(counted) if counted else 0.0


def _number(name: str, kind: int) -> tuple[int, ...]:
    if name[0].isdigit():
        return tuple(int(part) for part in re.split(r"[.-]", name))
    letter = ord(name[0]) - 64
    return (letter if kind == APPENDIX and len(name) == 1 else roman(name) or letter,)


def roman(name: str) -> int:
    """The value of a Roman number in its usual spelling, or 0."""
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
    total = 0
    for letter, after in zip(name, name[1:] + " ", strict=True):
        value = values.get(letter, 0)
        total += -value if value < values.get(after, 0) else value
    return total if _spelled(total) == name else 0


def _spelled(value: int) -> str:
    signs = (
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
    )
    spelled = ""
    for worth, sign in (*signs, (1, "I")):
        count, value = divmod(value, worth) if value > 0 else (0, 0)
        spelled += sign * min(count, 9)
    return spelled
