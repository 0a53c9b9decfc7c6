"""Text for people: the console, and pieces that every command's output is made of.

Documents are not trusted. Whatever comes from one passes through `safe`, so that no text can move
the cursor, change the terminal's title or turn its reading direction.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sourcebook.model import Resolved

INDENT = "   "
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
"""Characters without a picture that join, hide or turn round what stands beside them."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_PICTURES = 0x2400
"""Unicode's pictures of control characters: ␀ is 2400, ␛ is 241B."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the caller, who ends quietly."""
        raise BrokenPipeError


def console() -> Console:
    """No markup and no highlighting: the text of a document is text, never an instruction."""
    return _Console(file=sys.stdout, markup=False, emoji=False, highlight=False)


def error_console() -> Console:
    return _Console(file=sys.stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def safe(text: str) -> str:
    """The text with every control character made visible, or replaced where it has no picture.
    Line ends of all systems become one; half a character becomes a question mark."""
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    text = _CONTROL.sub(lambda found: _picture(found[0]), _INVISIBLE.sub("", text))
    return text.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str) -> str:
    """A title or a path: safe, and without line ends."""
    return " ".join(safe(text).split())


def _picture(character: str) -> str:
    if ord(character) < 0x20:
        return chr(_PICTURES + ord(character))
    if character == "\x7f":
        return "\u2421"
    return "\n" if character in "\u2028\u2029" else "\ufffd"


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 document`, `2,000 documents`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def fields(out: Console, rows: Iterable[tuple[str, Any]]) -> None:
    """Names and values, a line each; values may be long and are wrapped beside their names."""
    known = [(name, Text(one_line(str(value)))) for name, value in rows]
    column = max((len(name) for name, _ in known), default=0) + 2
    for name, value in known:
        for number, line in enumerate(value.wrap(out, max(20, out.width - column)) or [Text()]):
            line.rstrip()
            before = Text("" if number else name, style="dim")
            before.pad_right(column - before.cell_len)
            out.print(Text().append_text(before).append_text(line), soft_wrap=True)


def indented(out: Console, text: Text, width: int | None = None) -> None:
    """Wrapped lines, set in a little; without the blanks at their ends that boxes would leave."""
    for line in text.wrap(out, max(20, (width or out.width) - len(INDENT))):
        line.rstrip()
        out.print(Text(INDENT).append_text(line), soft_wrap=True)


def table(
    out: Console, columns: Sequence[str], rows: Iterable[Sequence[Any]], whole: Sequence[str] = ()
) -> None:
    """Plain columns; those of numbers stand to the right, and those in `whole` are never broken."""
    cells = [[_cell(value) for value in row] for row in rows]
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for place, name in enumerate(columns):
        numeric = all(_is_number(row[place].plain) for row in cells) and bool(cells)
        grid.add_column(
            name,
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=name in whole,
        )
    for row in cells:
        grid.add_row(*row)
    out.print(grid)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("–", style="dim")
    if isinstance(value, float):
        return Text(f"{value:.4f}")
    return Text(one_line(str(value)))


def _is_number(text: str) -> bool:
    return text == "–" or text.replace(",", "").replace(".", "").lstrip("-").isdigit()


def metadata_line(metadata: Mapping[str, Any]) -> str:
    return one_line(" · ".join(f"{key}={_plain(value)}" for key, value in metadata.items()))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def read_context_line(out: Console, context: Resolved) -> None:
    """Says which state was read, where it is not the newest."""
    if context.selector == "head":
        return
    name = context.baseline_id or context.as_of
    at = f"{context.selector} {name}" if name else context.selector
    out.print(Text(f"read at {one_line(at)} (revision {context.revision})", style="dim"))


def note(out: Console, kind: str, message: str) -> None:
    """`warning: …` and `degraded: …`, so that nobody takes a lesser answer for a full one. Never
    broken into lines, since it may hold a command to copy."""
    line = Text(f"{kind}: ", style="bold yellow")
    out.print(line.append(one_line(message), style="yellow"), soft_wrap=True)


def places(source: str, start: int, end: int, page: int | None) -> str:
    """Where a text stands: `docs/guide.md:120-480`, with its page where it has one."""
    where = f"{one_line(source)}:{start}-{end}"
    return f"{where} (page {page})" if page is not None else where
