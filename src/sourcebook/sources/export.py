"""A chat export in, as JSON or as the zip file that users download; its conversations out.

Each conversation is read and given on before the next one. Which program wrote it is told by its
keys: `mapping` is ChatGPT's, `chat_messages` is Claude's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import BinaryIO

from sourcebook.errors import UnreadableSource
from sourcebook.model import Document, Json, Skipped
from sourcebook.sources import chatgpt, claude
from sourcebook.sources.archive import Archive, open_archive
from sourcebook.sources.conversation import BadRecord, many
from sourcebook.sources.jsonstream import items
from sourcebook.sources.raw import Raw

Convert = Callable[[Raw, dict[str, Json], int], tuple[Document, list[str]]]
_APPS: Mapping[str, Convert] = MappingProxyType(
    {"mapping": chatgpt.conversation, "chat_messages": claude.conversation}
)
_MEMBER = re.compile(r"(?:.*/)?conversations(?:[-_](\d{1,9}))?\.json", re.IGNORECASE | re.DOTALL)
_UNKNOWN_AT_FIRST = 100
"""So many records that are no conversations, and the file is taken for something else."""
_MAX_REFUSED = 10_000
_SHOWN = 100
_UNDERSTOOD = (
    "not a chat export: of JSON the conversations.json of ChatGPT and Claude are understood; "
    "rows of your own belong in a .jsonl file"
)


def _read(raw: Raw, apps: Mapping[str, Convert]) -> Iterator[Document | Skipped]:
    head = raw.stream.read(4)
    raw.stream.seek(0)
    intake = _Intake(raw, apps)
    if head.startswith(b"PK") or (head and raw.source.lower().endswith(".zip")):
        yield from _zip(raw, intake)
    else:
        yield from intake.take(raw.stream)
    yield from intake.finish()


read = partial(_read, apps=_APPS)
read_chatgpt = partial(_read, apps={"mapping": chatgpt.conversation})
read_claude = partial(_read, apps={"chat_messages": claude.conversation})


def _zip(raw: Raw, intake: _Intake) -> Iterator[Document | Skipped]:
    archive = open_archive(raw.stream, _is_member)
    if not archive.names:
        raise UnreadableSource(
            "the zip file holds no conversations.json; of zip files the data exports of ChatGPT "
            "and Claude are understood: unpack others and give the files inside"
        )
    for name in sorted(archive.names, key=_place):
        with archive.open(name) as stream:
            yield from _part(raw, intake, name, stream, alone=len(archive.names) == 1)
    if archive.others:
        yield Skipped(raw.source, _left_out(archive), taken=True)


def _part(
    raw: Raw, intake: _Intake, name: str, stream: BinaryIO, alone: bool
) -> Iterator[Document | Skipped]:
    """One file of several: damage in it does not keep the others from being read."""
    try:
        yield from intake.take(stream)
    except UnreadableSource as error:
        if alone:
            raise
        intake.damaged = True
        yield Skipped(raw.source, f"{name}: {error}")


def _is_member(name: str) -> bool:
    return _MEMBER.fullmatch(name) is not None and not name.startswith("__MACOSX/")


def _place(name: str) -> tuple[str, int, str]:
    found = _MEMBER.fullmatch(name)
    return name.rpartition("/")[0], int(found[1] or -1) if found else -1, name


def _left_out(archive: Archive) -> str:
    kinds = ", ".join(
        f"{n} {ending or 'without ending'}" for ending, n in archive.others.most_common(8)
    )
    total = archive.others.total()
    return f"{many(total, 'file')} beside the conversations not read ({kinds})"


class _Intake:
    """Goes through records and knows what it has met: ids, and how many were of no use."""

    def __init__(self, raw: Raw, apps: Mapping[str, Convert]) -> None:
        self._raw = raw
        self._apps = apps
        self._seen: set[str] = set()
        self._number = 0
        self._refused = 0
        self._recognised = False
        self._held: list[Skipped] = []
        self.damaged = False
        """Whether a file of several could not be read to its end."""

    def take(self, stream: BinaryIO) -> Iterator[Document | Skipped]:
        for item in items(stream):
            for record in _unwrapped(item):
                self._number += 1
                yield from self._record(record)

    def finish(self) -> Iterator[Skipped]:
        """At the end: what was held back, or a refusal if this was no export at all."""
        if not self._recognised and not self.damaged:
            raise UnreadableSource(_UNDERSTOOD if self._number else "there are no conversations")
        yield from self._held

    def _record(self, record: Json) -> Iterator[Document | Skipped]:
        convert = self._convert(record)
        if convert is None:
            yield from self._unknown(record)
            return
        self._recognised = True
        yield from self._held
        self._held.clear()
        try:
            document, notes = convert(self._raw, record, self._number)
            self._check_id(document.element_id)
        except BadRecord as bad:
            yield self._refuse(str(bad))
            return
        yield document
        if notes:
            yield Skipped(self._raw.source, self._named("; ".join(notes)), taken=True)

    def _convert(self, record: Json) -> Convert | None:
        if not isinstance(record, dict):
            return None
        return next((self._apps[key] for key in self._apps if key in record), None)

    def _unknown(self, record: Json) -> Iterator[Skipped]:
        """Told at once in an export; held back until it is clear that this is one."""
        missing = " or ".join(self._apps)
        wrong = f"there is no {missing} in it" if isinstance(record, dict) else "not an object"
        refused = self._refuse(wrong)
        if self._recognised:
            yield refused
            return
        self._held.append(refused)
        if len(self._held) > _UNKNOWN_AT_FIRST:
            raise UnreadableSource(_UNDERSTOOD)

    def _check_id(self, element_id: str) -> None:
        if element_id in self._seen:
            raise BadRecord(
                f"the id {element_id[:_SHOWN]!r} was used before; the first one was kept"
            )
        self._seen.add(element_id)

    def _refuse(self, reason: str) -> Skipped:
        self._refused += 1
        if self._refused > _MAX_REFUSED:
            raise UnreadableSource(
                f"more than {_MAX_REFUSED:,} records cannot be used; the rest was not read"
            )
        return Skipped(self._raw.source, self._named(reason))

    def _named(self, words: str) -> str:
        return f"conversation {self._number}: {words}"


def _unwrapped(item: Json) -> list[Json]:
    """Some programs put the list of conversations into an object."""
    if isinstance(item, dict) and isinstance(item.get("conversations"), list):
        wrapped: list[Json] = item["conversations"]
        return wrapped
    return [item]
