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

from sourcebook.quality.words import Word, find, know

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
)
_FILE = (
    r"(?<![\w/.-])[\w-]{1,100}\.(?i:png|jpe?g|gif|svg|webp|mp[34]|mov|wav|heic|bmp|tiff?)\b"
    r"(?![\w/])"
)
_LINK = r"\[[^\[\]\n]{1,300}\]\([^()\n]{0,500}\)|\[\[[^\[\]\n]{1,200}\]\]"
_URL = r"<?(?:https?|ftp|file)://[^\s<>]{1,2000}>?|\bwww\.[^\s<>]{1,2000}"
_MEDIA = f"{_IMAGE_LINK}|{_IMAGE}|{_TAG}|{_HOLDER}"
_MARKUP = re.compile(f"(?P<media>{_MEDIA})|(?P<link>{_LINK})|(?P<url>{_URL})")
_SHORT_MARKUP = re.compile(f"(?P<media>{_MEDIA}|{_FILE})|(?P<link>{_LINK})|(?P<url>{_URL})")
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
    starts: Sequence[int]
    ends: Sequence[int]
    """Where each word begins and where it is over."""
    sentences: Sequence[Span]
    """Each as the numbers of its first word and of the one after its last; none is empty."""
    media: Sequence[Span]
    links: Sequence[Span]
    urls: Sequence[Span]
    english: bool
    code: bool

    def span(self, first: int, after: int) -> Span:
        """Where the words from `first` up to, without, `after` stand."""
        return self.starts[first], self.ends[after - 1]


def read(text: str) -> Reading:
    text = text[:LIMIT]
    media, links, urls = _markup(text)
    plain = _without_addresses(text, media, links, urls)
    found = find(plain)
    words = know(found)
    starts, ends = _places(plain, found)
    return Reading(
        text=text,
        words=words,
        starts=starts,
        ends=ends,
        sentences=_sentences(plain, words, starts, ends),
        media=media,
        links=links,
        urls=urls,
        english=sum(map(attrgetter("english"), words)) >= max(1, ENGLISH_SHARE * len(words)),
        code=sum(map(plain.count, _CODE)) > CODE_SHARE * len(plain.strip()),
    )


def _places(text: str, words: Sequence[str]) -> tuple[list[int], list[int]]:
    """Where the words begin and end. Between two of them no letter is left over, so the next
    occurrence of a word is the word itself; match objects would take three times as long."""
    starts: list[int] = []
    ends: list[int] = []
    end = 0
    for word in words:
        start = text.find(word, end)
        end = start + len(word)
        starts.append(start)
        ends.append(end)
    return starts, ends


def _markup(text: str) -> tuple[list[Span], list[Span], list[Span]]:
    media: list[Span] = []
    links: list[Span] = []
    urls: list[Span] = []
    short = len(text) <= _FILE_NAMES
    if short or any(sign in text for sign in _SIGNS):
        places = {"media": media, "link": links, "url": urls}
        for found in (_SHORT_MARKUP if short else _MARKUP).finditer(text):
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


def _sentences(
    text: str, words: Sequence[Word], starts: Sequence[int], ends: Sequence[int]
) -> list[Span]:
    cuts = [0]
    for stop in _STOP.finditer(text):
        at = stop.start()
        number = bisect_right(starts, at)
        if number > cuts[-1]:
            joined = text[at] == "." and ends[number - 1] == at
            if not (joined and _is_shortened(words[number - 1].lower)):
                cuts.append(number)
    if cuts[-1] < len(words):
        cuts.append(len(words))
    return list(pairwise(cuts))


def _is_shortened(word: str) -> bool:
    """Whether a full stop belongs to the word: "Dr.", an initial or the number of an item."""
    if word[0].isdigit():
        return len(word) < 3 or "." in word
    return word in _SHORTENED or (len(word) == 1 and word != "i")
