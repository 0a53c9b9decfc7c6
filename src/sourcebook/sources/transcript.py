"""Plain text in; the turns of a conversation out, where the text clearly is one.

A turn begins on a line such as `User: …`, `[user]: …`, `**Anna:** …` or, with the time it was said,
`[2024-05-01 10:22] Anna: …`; it ends before the next one. The text stays as it is: a turn's block
begins behind the speaker's name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from sourcebook.errors import UnreadableSource
from sourcebook.model import Block, Document, Skipped, Turn
from sourcebook.sources import text as plain
from sourcebook.sources.conversation import when
from sourcebook.sources.raw import Raw

_LINE = re.compile(r"[^\r\n]+")
_DATE = r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,6})?)?(?:\s?[AaPp]\.?[Mm]\.?)?(?:Z|\s?[+-]\d\d:?\d\d)?"
_STAMP = rf"(?:(?:{_DATE})(?:,?\s|T))?(?:{_CLOCK})"
_NAME = r"[^\W\d_](?:[\w.'’-]|\x20(?=[\w(])|\([\w\x20.'’-]{1,30}\)){0,40}"
_TURN = re.compile(
    rf"[^\S\r\n]*(?:[\[(](?P<boxed>{_STAMP})[\])]|(?P<bare>{_STAMP}))?[^\S\r\n]*(?:[-–][^\S\r\n]+)?"
    rf"(?:\[(?P<square>{_NAME})\]:?|\*\*(?P<bold>{_NAME})(?::\*\*|\*\*:)|(?P<name>{_NAME}):)"
    r"(?=\s|$)[^\S\r\n]*"
)
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d.")
_ROLES = {
    **dict.fromkeys(["user", "human", "you", "me", "you said"], "user"),
    **dict.fromkeys(["assistant", "ai", "bot", "chatbot", "model"], "assistant"),
    **dict.fromkeys(["chatgpt", "gpt", "claude", "gemini", "copilot", "llm"], "assistant"),
    **dict.fromkeys(["chatgpt said", "claude responded", "claude said"], "assistant"),
    **dict.fromkeys(["system"], "system"),
    **dict.fromkeys(["tool"], "tool"),
}
_LABELS = frozenset(
    """note notes example examples warning tip todo hint important summary result results answer
    question step date time name title subject from to cc re author version status see also usage
    input output error info debug http https""".split()
)
"""Words before a colon that name no speaker."""
_FILES = frozenset(["", ".txt", ".text", ".chat", ".transcript"])
_LEAST_TURNS = 4
_MOST = 0.5
_MOST_WITH_ROLES = 0.2
"""Answers of an assistant often have several paragraphs."""
_ENDS_OF_SPEECH = tuple(".?!…\"'”’)*:")


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a turn may begin: its line, and behind the name its words."""

    line: int
    words: int
    name: str
    stamp: str

    @property
    def key(self) -> str:
        return self.name.lower()


def turns(text: str) -> list[Block] | None:
    """The blocks of a text that clearly is a transcript: its turns, and before the first one
    paragraphs of prose if there are any. None for every other text."""
    found = _speaking(_starts(text))
    return _blocks(text, found) if _is_clear(text, found) else None


def conversation(document: Document) -> Document:
    """A plain text that clearly is a transcript as a conversation; any other as it is."""
    if PurePosixPath(document.source).suffix.lower() not in _FILES:
        return document
    blocks = turns(document.text)
    return document if blocks is None else _as_conversation(document, blocks)


def read_if_clear(raw: Raw) -> Iterator[Document | Skipped]:
    """For plain text: a conversation where it clearly is one."""
    for item in plain.read(raw):
        yield conversation(item) if isinstance(item, Document) else item


def read(raw: Raw) -> Iterator[Document | Skipped]:
    """For a file that its owner calls a transcript: few turns are enough."""
    for item in plain.read(raw):
        yield _told_to_be_one(item) if isinstance(item, Document) else item


def _told_to_be_one(document: Document) -> Document:
    starts = _starts(document.text)
    blocks = _blocks(document.text, _speaking(starts) or starts)
    if not any(block.turn for block in blocks):
        raise UnreadableSource("no line begins with a name and a colon; read it as text")
    return _as_conversation(document, blocks)


def _as_conversation(document: Document, blocks: Sequence[Block]) -> Document:
    speakers = list(dict.fromkeys(block.turn.speaker for block in blocks if block.turn))
    times = sorted(block.turn.at for block in blocks if block.turn and block.turn.at)
    own = {"speakers": speakers, **({"date": times[0][:10]} if times else {})}
    return replace(
        document,
        kind="conversation",
        format="transcript",
        blocks=tuple(blocks),
        metadata={**own, **document.metadata},
    )


# --- where turns begin ---------------------------------------------------------------------------


def _starts(text: str) -> list[_Start]:
    """Every line that may begin a turn, but none inside fenced code."""
    starts = []
    fence = ""
    for line in _LINE.finditer(text):
        marked = _FENCE.match(text, line.start(), line.end())
        if marked and fence in ("", marked[1]):
            fence = "" if fence else marked[1]
        found = None if fence else _TURN.match(text, line.start(), line.end())
        if found:
            name = found["square"] or found["bold"] or found["name"]
            stamp = found["boxed"] or found["bare"] or ""
            starts.append(_Start(line.start(), found.end(), name.strip(), stamp))
    return starts


def _speaking(starts: Sequence[_Start]) -> list[_Start]:
    """Those of the lines that are spoken: with a time where most have one, by a known role where
    two of them speak, else by a name that comes again."""
    stamped = [start for start in starts if start.stamp]
    if len(stamped) >= _LEAST_TURNS and len(stamped) * 2 > len(starts):
        return stamped
    known = [start for start in starts if start.key in _ROLES]
    if len({_ROLES[start.key] for start in known}) >= 2:
        return known
    times = Counter(start.key for start in starts)
    return [s for s in starts if times[s.key] >= 2 and s.key not in _LABELS and s.name[0].isupper()]


def _is_clear(text: str, starts: Sequence[_Start]) -> bool:
    times = Counter(start.key for start in starts)
    if len(starts) < _LEAST_TURNS or sum(count >= 2 for count in times.values()) < 2:
        return False
    share = _share(text, starts)
    if all(start.key in _ROLES for start in starts):
        return share >= _MOST_WITH_ROLES
    return share > _MOST and (all(s.stamp for s in starts) or _sounds_spoken(text, starts))


def _share(text: str, starts: Sequence[_Start]) -> float:
    """How many of the paragraphs, or else of the lines, begin a turn."""
    lines = [start.line for start in starts]
    paragraphs = plain.paragraphs(text)
    opened = 0
    for block in paragraphs:
        before = bisect_right(lines, block.start) - 1
        opened += before >= 0 and block.start <= starts[before].words
    written = sum(not line[0].isspace() for line in _LINE.finditer(text))
    return max(opened / max(1, len(paragraphs)), len(lines) / max(1, written))


def _sounds_spoken(text: str, starts: Sequence[_Start]) -> bool:
    """Most turns end as sentences do; the values of a form or a settings file do not."""
    ends = (*(start.line for start in starts[1:]), len(text))
    said = [text[start.words : end].rstrip() for start, end in zip(starts, ends, strict=True)]
    return 2 * sum(words.endswith(_ENDS_OF_SPEECH) for words in said) > len(said)


# --- blocks --------------------------------------------------------------------------------------


def _blocks(text: str, starts: Sequence[_Start]) -> list[Block]:
    """One block a turn that has words; a turn without any answers nothing and is no turn."""
    if not starts:
        return []
    blocks = plain.paragraphs(text[: starts[0].line])
    ends = (*(start.line for start in starts[1:]), len(text))
    before: str | None = None
    for start, end in zip(starts, ends, strict=True):
        block = plain.trimmed(text, start.words, end, "turn")
        if block.end > block.start:
            turn = _turn(start, 1 if before is None else int(before[1:]) + 1, before)
            blocks.append(replace(block, turn=turn))
            before = turn.id
    return blocks


def _turn(start: _Start, number: int, before: str | None) -> Turn:
    role = _ROLES.get(start.key)
    metadata = {"name": start.name} if role and role != start.key else {}
    if start.stamp:
        metadata["time"] = start.stamp
    at = when(start.stamp) if _ISO_DATE.match(start.stamp) else None
    return Turn(f"t{number}", role or start.name, at, before, metadata)
