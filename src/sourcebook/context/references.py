"""A document's text, sections and nodes in; links from words such as "see Section 4.2" to the
section that they name out.

Only what is certain becomes a link: the number stands in exactly one heading of the document, the
words do not name another document ("Section 5 of the Bylaws"), and do not stand in that section.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from sourcebook.model import Link, Node, Section

_KINDS = {
    "section": "section",
    "sections": "section",
    "sec": "section",
    "clause": "section",
    "clauses": "section",
    "paragraph": "section",
    "paragraphs": "section",
    "§": "section",
    "§§": "section",
    "article": "article",
    "articles": "article",
    "chapter": "chapter",
    "chapters": "chapter",
    "part": "part",
    "parts": "part",
    "exhibit": "exhibit",
    "exhibits": "exhibit",
    "appendix": "appendix",
    "appendices": "appendix",
    "annex": "annex",
    "annexes": "annex",
    "schedule": "schedule",
    "schedules": "schedule",
    "attachment": "attachment",
    "attachments": "attachment",
}
_WORD = "|".join(sorted((word for word in _KINDS if word[0] != "§"), key=len, reverse=True))
_NUMBER = r"(?:\d{1,5}(?:[.-]\d{1,5}){0,7}|[IVXLC]{1,8}(?![\w])|[A-Z](?![\w'’]))"
_ITEM = rf"{_NUMBER}(?:\s?\([a-zA-Z0-9]{{1,4}}\)){{0,4}}"
_SPACE = r"[ \t\u00a0]*(?:\r?\n)?[ \t\u00a0]*"
"""At most the end of a line: a blank line ends what belongs together."""
_REFERENCE = re.compile(
    rf"(?:\b(?P<word>(?i:{_WORD}))\b\.?|(?P<sign>§§?)){_SPACE}(?P<list>{_ITEM}"
    rf"(?:{_SPACE}(?:,{_SPACE}(?:and\b|or\b)?|and\b|or\b|&|through\b|to\b|–|-){_SPACE}"
    rf"(?:(?i:section|sec\.|article|exhibit)\s)?{_ITEM}){{0,20}})"
)
_ELSEWHERE = re.compile(
    r"\s*,?\s+(?:of|in|to|under)\s+(?:the\s+|its\s+|Title\s+)?(?!this\b)[A-Z\d]"
)
_HEADING = re.compile(
    rf"(?:(?P<word>(?i:{_WORD}))\b\.?|(?P<sign>§§?))?\s*(?P<number>{_NUMBER})(?=[\s.:)–—-]|$)"
)
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def references(text: str, sections: Sequence[Section], nodes: Sequence[Node]) -> list[Link]:
    """`sections` and `nodes` are of the document whose text this is. The source of a link is the
    chunk, or else the innermost section, that holds the words; two nodes are linked once."""
    by_place = {(node.start, node.end): node.id for node in nodes if node.kind == "section"}
    targets = _targets(sections)
    holders = _Holders(nodes)
    links: dict[tuple[str, str], Link] = {}
    for start, end, kind, number in _found(text) if targets else ():
        section = _resolved(targets, kind, number)
        if section is None or section.start <= start < section.end:
            continue
        source = holders.at(start, end)
        target = by_place.get((section.start, section.end))
        if source and target and source != target:
            link = Link(source, target, "references", {"text": " ".join(text[start:end].split())})
            links.setdefault((source, target), link)
    return list(links.values())


def _found(text: str) -> Iterator[tuple[int, int, str, str]]:
    """(start, end, kind, number) of each reference; those of a list share the words."""
    for match in _REFERENCE.finditer(text):
        if _ELSEWHERE.match(text, match.end()):
            continue
        word = (match["word"] or match["sign"]).lower()
        kind = _KINDS[word]
        for item in re.finditer(rf"\b{_NUMBER}(?=\W|$)", match["list"]):
            if not _is_in_brackets(match["list"], item.start()):
                yield match.start(), match.end(), kind, _plain(item[0], kind)


def _is_in_brackets(words: str, at: int) -> bool:
    return at > 0 and words[at - 1] == "("


def _targets(sections: Sequence[Section]) -> dict[tuple[str, str], list[Section]]:
    targets: dict[tuple[str, str], list[Section]] = defaultdict(list)
    for section in sections:
        heading = _HEADING.match(section.title.strip())
        if heading is None:
            continue
        word = (heading["word"] or heading["sign"] or "").lower()
        if not word and not heading["number"][0].isdigit():  # "A Better Way", "I Have a Dream"
            continue
        kind = _KINDS.get(word, "plain")
        targets[kind, _plain(heading["number"], kind)].append(section)
    return targets


def _resolved(
    targets: dict[tuple[str, str], list[Section]], kind: str, number: str
) -> Section | None:
    """The only section of that kind and number; a heading with a number alone may be called
    section, article, chapter or part."""
    options = targets.get((kind, number), [])
    if not options and kind in ("section", "article", "chapter", "part"):
        options = targets.get(("plain", number), [])
    return options[0] if len(options) == 1 else None


def _plain(number: str, kind: str) -> str:
    """A number as both a heading and a reference write it: Roman ones in digits."""
    is_letter = len(number) == 1 and kind in (
        "exhibit",
        "appendix",
        "annex",
        "schedule",
        "attachment",
    )
    if number[0].isdigit() or is_letter:
        return number.replace("-", ".")
    values = [_ROMAN.get(letter, 0) for letter in number]
    if 0 in values:
        return number
    after = [*values[1:], 0]
    return str(sum(-v if v < a else v for v, a in zip(values, after, strict=True)))


class _Holders:
    """Finds the node that holds a place: the last chunk that does, or the shortest section."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._chunks = sorted((n for n in nodes if n.kind == "chunk"), key=lambda n: n.start)
        self._starts = [node.start for node in self._chunks]
        self._sections = sorted((n for n in nodes if n.kind == "section"), key=lambda n: n.start)
        self._section_starts = [node.start for node in self._sections]

    def at(self, start: int, end: int) -> str | None:
        place = bisect_right(self._starts, start)
        for node in reversed(self._chunks[max(0, place - 3) : place]):
            if end <= node.end:
                return node.id
        place = bisect_right(self._section_starts, start)
        inside = [n for n in self._sections[max(0, place - 50) : place] if start < n.end]
        return min(inside, key=lambda n: n.end - n.start).id if inside else None
