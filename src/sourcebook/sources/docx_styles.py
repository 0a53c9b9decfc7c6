"""A Word file's styles and numbering in; out, of each paragraph, whether it is a heading and which
number Word shows before it.

Word stores no numbers: it counts them when it shows the text. Here they are counted again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from sourcebook.sources.docx_package import W

_HEADING = re.compile(r"heading ([1-9])")
_DEEPEST = 9
_PLACE = re.compile(r"%([1-9])")
_LONGEST_CHAIN = 12
"""Word itself goes no further than eleven."""
_MAX_STYLES = 5_000
"""Word takes some four thousand."""


def value(element: etree._Element | None, path: str, default: str = "") -> str:
    """The `w:val` of a child, as in `value(style, "name")`."""
    child = element.find(f"{W}{path.replace('/', f'/{W}')}") if element is not None else None
    return default if child is None else child.get(f"{W}val", default)


def whole(text: str, default: int = -1) -> int:
    return int(text) if re.fullmatch(r"\d{1,6}", text) else default


@dataclass(frozen=True, slots=True)
class Style:
    id: str
    name: str
    level: int
    """Of a heading, else 0."""
    num_id: str
    num_level: int
    """-1 where only the numbering says it."""
    outlined: bool = False


class Styles:
    """Paragraph styles with what they take over from those that they are based on."""

    def __init__(self, root: etree._Element | None) -> None:
        found = root.iterfind(f"{W}style") if root is not None else iter(())
        some = itertools.islice(found, _MAX_STYLES)
        self._elements = {style.get(f"{W}styleId", ""): style for style in some}
        self._known: dict[str, Style] = {}

    def get(self, style_id: str) -> Style:
        if style_id not in self._known:
            self._known[style_id] = self._made(style_id)
        return self._known[style_id]

    def _made(self, style_id: str) -> Style:
        name, level, num_id, num_level = "", -1, "", -1
        for element in self._chain(style_id):
            own = value(element, "name").lower()
            name = name or own
            heading = _HEADING.fullmatch(own)
            outline = whole(value(element, "pPr/outlineLvl"))
            if level < 0 and (heading or own == "title" or outline >= 0):
                level = outline + 1 if outline >= 0 else int(heading[1]) if heading else 1
            if not num_id:
                num_id = value(element, "pPr/numPr/numId")
                num_level = whole(value(element, "pPr/numPr/ilvl"))
        level = level if 0 < level <= _DEEPEST else 0
        return Style(style_id, name, level, num_id, num_level)

    def _chain(self, style_id: str) -> Iterator[etree._Element]:
        for _ in range(_LONGEST_CHAIN):
            element = self._elements.get(style_id)
            if element is None:
                return
            yield element
            style_id = value(element, "basedOn")


@dataclass(frozen=True, slots=True)
class _Level:
    format: str
    text: str
    start: int
    style: str
    legal: bool


@dataclass(frozen=True, slots=True)
class Number:
    text: str
    """As it is shown, "4.2" or "(a)"; a bullet has none."""
    is_outline: bool
    """It belongs to a system of several levels or has a word, as sections do; else to a list."""


@dataclass(slots=True)
class _List:
    levels: dict[int, _Level]
    counts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """Counts paragraphs as Word does, in the order of the text."""

    def __init__(self, root: etree._Element | None) -> None:
        self._lists: dict[str, _List] = {}
        self._by_number: dict[str, str] = {}
        self._overrides: dict[str, dict[int, int]] = {}
        if root is None:
            return
        for element in root.iterfind(f"{W}abstractNum"):
            levels = {whole(e.get(f"{W}ilvl", "")): e for e in element.iterfind(f"{W}lvl")}
            self._lists[element.get(f"{W}abstractNumId", "")] = _List(
                {at: _level(one) for at, one in levels.items() if 0 <= at < _DEEPEST}
            )
        for element in root.iterfind(f"{W}num"):
            number = element.get(f"{W}numId", "")
            self._by_number[number] = value(element, "abstractNumId")
            overrides = {}
            for override in element.iterfind(f"{W}lvlOverride"):
                start = whole(value(override, "startOverride"))
                if start >= 0:
                    overrides[whole(override.get(f"{W}ilvl", ""))] = start
            self._overrides[number] = overrides

    def next(self, num_id: str, level: int, style_id: str) -> Number | None:
        """The number of the next paragraph of a list; None where it has none."""
        found = self._lists.get(self._by_number.get(num_id, ""))
        if found is None:
            return None
        if level < 0:
            level = next((n for n, one in found.levels.items() if one.style == style_id), 0)
        if level not in found.levels:
            return None
        override = self._overrides.get(num_id, {}).pop(level, None)  # once, at its first use
        before = found.counts.get(level)
        start = found.levels[level].start
        found.counts[level] = (
            override if override is not None else start if before is None else before + 1
        )
        for deeper in [n for n in found.counts if n > level]:
            del found.counts[deeper]
        return _number(found, level)


def _level(element: etree._Element) -> _Level:
    is_legal = element.find(f"{W}isLgl") is not None
    return _Level(
        value(element, "numFmt", "decimal"),
        value(element, "lvlText")[:100],
        whole(value(element, "start"), 1),
        value(element, "pStyle"),
        is_legal,
    )


def _number(found: _List, level: int) -> Number:
    shown = found.levels[level]
    if shown.format in ("bullet", "none"):
        return Number("", False)

    def place(match: re.Match[str]) -> str:
        at = int(match[1]) - 1
        one = found.levels.get(at)
        if one is None:
            return ""
        count = found.counts.setdefault(at, one.start)
        return spelled(count, "decimal" if shown.legal else one.format)

    text = _PLACE.sub(place, shown.text).strip()
    texts = [one.text for one in found.levels.values() if one.format != "bullet"]
    counted = [text for text in texts if len(_PLACE.findall(text)) > 1]
    return Number(text, bool(counted) or bool(re.search(r"[A-Za-z§]{2}|§", shown.text)))


def spelled(count: int, format: str) -> str:
    """A count as its format shows it."""
    if format in ("upperRoman", "lowerRoman") and 0 < count < 4000:
        roman = _roman(count)
        return roman if format == "upperRoman" else roman.lower()
    if format in ("upperLetter", "lowerLetter") and 0 < count < 1000:
        letter = chr(65 + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letter if format == "upperLetter" else letter.lower()
    return f"{count:02d}" if format == "decimalZero" else str(count)


def _roman(count: int) -> str:
    values = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
    signs = ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I")
    spelled = ""
    for worth, sign in zip(values, signs, strict=True):
        times, count = divmod(count, worth)
        spelled += sign * times
    return spelled
