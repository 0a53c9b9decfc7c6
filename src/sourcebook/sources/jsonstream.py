"""Bytes of a JSON file in; the items of its outermost array out, one at a time.

Only one item is held, so memory grows with the largest item and not with the file. A file that
is one object is one item.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from sourcebook.errors import UnreadableSource
from sourcebook.model import Json
from sourcebook.sources.binary import refuse_binary
from sourcebook.sources.decode import mark_of

MAX_ITEM = 24 * 1024**2
"""Characters."""
MAX_CONTAINERS = 2_000_000
"""Arrays and objects in one long item: empty ones take thirty times the memory of their text."""
MAX_VALUES = 4_000_000
"""Commas in one long item."""
_LONG = 8 * 1024**2
_PIECE = 1024**2
_SNIFF = 4096
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def items(stream: BinaryIO) -> Iterator[Json]:
    """The items; raises UnreadableSource at the first place where the JSON is not valid."""
    window = _Window(stream)
    first = window.next_mark()
    if not first:
        raise UnreadableSource("the file is empty")
    if first == "[":
        yield from _array(window)
        _check_end(window)
    else:
        value = window.value()
        _check_end(window)
        yield value


def _array(window: _Window) -> Iterator[Json]:
    window.at += 1
    if window.next_mark() == "]":
        window.at += 1
        return
    while True:
        window.next_mark()
        yield window.value()
        mark = window.next_mark()
        if mark not in (",", "]") or not mark:
            raise window.invalid("a comma or a closing bracket is missing", window.at)
        window.at += 1
        if mark == "]":
            return


def _check_end(window: _Window) -> None:
    if window.next_mark():
        raise window.invalid(
            "more follows after the end", window.at, "rows of JSON belong in a .jsonl file"
        )


class _Window:
    """The part of the text that is being looked at, and where in the file it begins."""

    def __init__(self, stream: BinaryIO) -> None:
        head = stream.read(_SNIFF)
        mark, encoding = mark_of(head) or (b"", "utf-8")
        if encoding == "utf-8":
            refuse_binary(head[len(mark) :])
        self._stream = stream
        self._head = head[len(mark) :]
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._bytes = len(mark)
        self._line = 1
        self._column = 1
        self._ended = False
        self.text = ""
        self.at = 0

    def next_mark(self) -> str:
        """The next character that is not white space; nothing at the end."""
        while True:
            found = _SPACE.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text) or self._ended:
                return self.text[self.at : self.at + 1]
            self._more()

    def value(self) -> Json:
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if self._ended:  # before the end the value may only be cut off
                    raise self.invalid(error.msg, error.pos) from None
            except (ValueError, RecursionError):
                raise self.invalid(
                    "nested too deeply, or with a number too long", self.at
                ) from None
            else:
                if end < len(self.text) or self._ended:
                    self.at = end
                    return value
            self._more()

    def invalid(
        self, why: str, at: int, advice: str = "correct the file, or export it again"
    ) -> UnreadableSource:
        line, column = self._place(at)
        return UnreadableSource(f"not valid JSON at line {line} column {column}: {why}; {advice}")

    def _more(self) -> None:
        """At least as much again as is still looked at: a long value is tried few times."""
        rest = self.text[self.at :]
        if len(rest) > MAX_ITEM:
            raise self._too_large()
        self._line, self._column = self._place(self.at)
        wanted = min(max(_PIECE, len(rest)), max(4 * _PIECE, MAX_ITEM + 1 - len(rest)))
        data = self._head + self._stream.read(wanted)
        self._head = b""
        try:
            self.text = rest + self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            where = self._bytes + error.start
            raise UnreadableSource(
                f"not valid {self._encoding.upper()} near byte {where}; convert the file to UTF-8"
            ) from None
        self._bytes += len(data)
        self._ended = not data
        self.at = 0
        if len(self.text) > _LONG and self._has_too_many_parts():
            raise self._too_large()

    def _has_too_many_parts(self) -> bool:
        containers = self.text.count("[") + self.text.count("{")
        return containers > MAX_CONTAINERS or self.text.count(",") > MAX_VALUES

    def _too_large(self) -> UnreadableSource:
        line, column = self._place(self.at)
        return UnreadableSource(
            f"the record at line {line} column {column} is larger than "
            f"{MAX_ITEM // 1024**2} MB or has too many parts; give the records before and after "
            "it in files of their own"
        )

    def _place(self, at: int) -> tuple[int, int]:
        lines = self.text.count("\n", 0, at)
        if not lines:
            return self._line, self._column + at
        return self._line + lines, at - self.text.rfind("\n", 0, at)
