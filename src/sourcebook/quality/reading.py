"""A text in; its words, sentences and links with exact offsets out, in one pass over its beginning.

Everything later works on this reading. Only the first LIMIT characters are read: enough to judge
any passage, and a bound on time whatever comes in.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from sourcebook.quality.words import WORD, Word, know

Span = tuple[int, int]

LIMIT = 20_000
ENGLISH_SHARE = 0.12  # of function words: prose in English has 0.3, other languages 0.03
CODE_SHARE = 0.035  # of the characters that only code is full of: prose has less than 0.01

_IMAGE_LINK = r"\[!\[[^\[\]\n]{0,300}\]\([^()\s]{0,500}\)\]\([^()\s]{0,500}\)"
_IMAGE = r"!\[[^\[\]\n]{0,300}\]\([^()\n]{0,500}\)"
_TAG = r"<(?:img|video|audio|picture|figure|iframe|svg)\b[^<>]{0,1000}/?>"
_HOLDER = (
    r"\[(?i:image|img|photo|picture|figure|video|audio|gif|sticker|attachment|media|screenshot)\b"
    r"[^\[\]\n]{0,300}\]|<(?i:image|media|video|photo|attachment)\b[^<>\n]{0,60}>"
    r"|(?<![\w/.-])[\w-]{1,100}\.(?i:png|jpe?g|gif|svg|webp|mp4|mp3|mov|wav|heic|bmp|tiff?)\b(?![\w/])"
)
_LINK = r"\[[^\[\]\n]{1,300}\]\([^()\n]{0,500}\)|\[\[[^\[\]\n]{1,200}\]\]"
_URL = r"<?(?:https?|ftp|file)://[^\s<>]{1,2000}>?|\bwww\.[^\s<>]{1,2000}"
_MARKUP = re.compile(
    f"(?P<media>{_IMAGE_LINK}|{_IMAGE}|{_TAG}|{_HOLDER})|(?P<link>{_LINK})|(?P<url>{_URL})"
)
_SIGNS = ("[", "<", "://", "www.")
_FILE_NAMES = 400  # characters: in a longer text the name of a file is not what it is about
_STOP = re.compile(  # the common first character is what makes the search fast
    r"[.!?…。！？｡؟।॥\n](?:(?<=[.!?…])(?=[\"'”’»)\]]{0,3}(?:\s|$))|(?<=[。！？｡؟।॥])"
    r"|(?<=\n)(?:[^\S\n]*\n\s*|(?=[^\S\n]{0,20}(?:[-*•#]|\d{1,4}[.)])[^\S\n])))"
)
_SHORTENED = frozenset(
    "mr mrs ms dr st no vs fig figs sec eq al cf approx inc ltd co e.g i.e".split()
)
_CODE = "{};=_"


@dataclass(frozen=True, slots=True)
class Reading:
    """A text and what was found in it. Spans point into `text`."""

    text: str
    words: Sequence[Word]
    spans: Sequence[Span]
    sentences: Sequence[Span]
    """Each as the numbers of its first word and of the one after its last; none is empty."""
    media: Sequence[Span]
    links: Sequence[Span]
    urls: Sequence[Span]
    english: bool
    code: bool


def read(text: str) -> Reading:
    text = text[:LIMIT]
    media, links, urls = _markup(text)
    plain = _without_addresses(text, media, links, urls)
    found = WORD.findall(plain)
    words = know(found)
    spans = _places(plain, found)
    return Reading(
        text=text,
        words=words,
        spans=spans,
        sentences=_sentences(plain, words, spans),
        media=media,
        links=links,
        urls=urls,
        english=sum(map(attrgetter("english"), words)) >= max(1, ENGLISH_SHARE * len(words)),
        code=sum(map(plain.count, _CODE)) > CODE_SHARE * len(plain.strip()),
    )


def _places(text: str, words: Sequence[str]) -> list[Span]:
    """Where the words stand. Between two of them no letter is left over, so the next occurrence
    of a word is the word itself; this takes a third of the time that match objects take."""
    spans: list[Span] = []
    end = 0
    for word in words:
        start = text.find(word, end)
        end = start + len(word)
        spans.append((start, end))
    return spans


def _markup(text: str) -> tuple[list[Span], list[Span], list[Span]]:
    media: list[Span] = []
    links: list[Span] = []
    urls: list[Span] = []
    if len(text) <= _FILE_NAMES or any(sign in text for sign in _SIGNS):
        places = {"media": media, "link": links, "url": urls}
        for found in _MARKUP.finditer(text):
            places[found.lastgroup or "url"].append(found.span())
    return media, links, urls


def _without_addresses(text: str, media: list[Span], links: list[Span], urls: list[Span]) -> str:
    """The text of the same length in which media and addresses are blank; links keep words."""
    if not (media or links or urls):
        return text
    blank = [*media, *urls]
    for start, end in links:
        address = text.find("](", start, end)
        if address >= 0:
            blank.append((address, end))
    pieces: list[str] = []
    low = 0
    for start, end in sorted(blank):
        pieces += (text[low:start], " " * (end - start))
        low = end
    return "".join((*pieces, text[low:]))


def _sentences(text: str, words: Sequence[Word], spans: Sequence[Span]) -> list[Span]:
    starts = [start for start, _ in spans]
    cuts = [0]
    for stop in _STOP.finditer(text):
        number = bisect_right(starts, stop.start())
        if number > cuts[-1] and not _is_shortened(text, stop.start(), words, spans, number - 1):
            cuts.append(number)
    if cuts[-1] < len(words):
        cuts.append(len(words))
    return list(pairwise(cuts))


def _is_shortened(
    text: str, at: int, words: Sequence[Word], spans: Sequence[Span], number: int
) -> bool:
    """Whether the full stop belongs to a word such as "Dr.", an initial or an item's number."""
    if text[at] != "." or spans[number][1] != at:
        return False
    lower = words[number].lower
    if lower[0].isdigit():
        return len(lower) < 3 or "." in lower
    return lower in _SHORTENED or (len(lower) == 1 and lower != "i")
