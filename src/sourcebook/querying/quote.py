"""Words of a document in, the same words as they may stand in a context out.

A context is read by programs and language models that trust its marks. So no line of a document may
look like a mark, in whatever letters and brackets, nothing may be there that cannot be seen, and a
code block that a passage leaves open is closed before the next mark.
"""

from __future__ import annotations

import re
import unicodedata

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
"""Control characters, marks that turn the reading direction, and letters without a picture."""
_FENCE = re.compile(r"\s*(?:> )*(`{3,}|~{3,})(.*)")
_MARK = re.compile(
    r"\W*\[\W*(?:[^\W\d][^\[\]]{0,30}?\d|relationships)\W*\]"  # [SOURCE 3]
    r"|\s*-(?:\s*-){2,}"  # ---
)
_LOOKED_AT = 200
"""Characters of a line that can make it look like a mark."""
_LONGEST_ROW = 300


def quoted(text: str) -> str:
    """The text, with a `> ` before every line that looks like a mark."""
    lines = _visible(text).split("\n")
    return _closed([f"> {line}" if _is_mark(line) else line for line in lines])


def one_line(value: object) -> str:
    """A title or a value: without line ends, and not without end."""
    return " ".join(_visible(str(value)).split())[:_LONGEST_ROW]


def _visible(text: str) -> str:
    return _UNSEEN.sub("", _LINE_ENDS.sub("\n", text))


def _is_mark(line: str) -> bool:
    """Whether it would pass for one: wide letters, odd brackets, hidden joints do not help it."""
    start = unicodedata.normalize("NFKC", line[:_LOOKED_AT])
    return _MARK.match("".join(_skeleton(c) for c in start).casefold()) is not None


def _skeleton(character: str) -> str:
    kind = unicodedata.category(character)
    if kind in ("Cf", "Cc", "Mn", "Me"):
        return "" if character != "\t" else " "
    if kind == "Pd" or character in "─━−":
        return "-"
    if kind == "Ps" and character not in "({":
        return "["
    if kind == "Pe" and character not in ")}":
        return "]"
    return character


def _closed(lines: list[str]) -> str:
    """With the end of a code block where the last one has none."""
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if found is None:
            continue
        if not fence:
            fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return "\n".join([*lines, fence] if fence else lines)
