"""Quote the text of a document so that it can be part of an assembled context.

Programs and language models trust the marks of a context: `[SOURCE 3]`, `[RELATIONSHIPS]`, `---`. A
line of a document that resembles one, in whatever letters, brackets and invisible characters, gets
`> ` before it. Control characters are removed, and a code block that a passage leaves open is
closed. Nothing else changes. Citations refer to the source, which stays as it is.
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
_SOURCE = "".join(f"[{alike}\x80-\U0010ffff]" for alike in ("s5", "o0", "uv", "r", "c", "e3"))
"""The word `source`; any character outside ASCII may be a lookalike, such as the Cyrillic с."""
_MARK = re.compile(
    r"(?:[^\w\[]*+\[)++[^\w\]]*+"  # up to the last opening bracket before the first letter
    rf"(?:{_SOURCE}s?\W*+\d|relationships\b|\d++\W*+score\b)"  # [SOURCE 3], [3] score
    r"|\s*+-\s*+-\s*+-"  # ---
    r"|\W*+(?<=[</])(?:context|document|passage|question|relationships)-"  # <passage-0123456789ab>
)
"""Matches the skeleton of a line. Possessive, so that its time is linear in the line's length."""
_WITHOUT_GLYPH = "\u115f\u1160\u2800\u3164\uffa0\U0001d159\U00013441\U00013442"
"""Letters and symbols that show nothing, beside those that the Unicode categories tell."""
_LIKE_DASHES = {"⸺": "--", "⸻": "---"} | dict.fromkeys("─━−⁃˗⎯⏤➖ー", "-")
_LIKE_BRACKETS = dict.fromkeys("⎡⎢⎣", "[") | dict.fromkeys("⎤⎥⎦", "]")
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
    return _MARK.match(line.translate(_SKELETON)) is not None


class _Skeletons(dict[int, str]):
    """For each character the plain ones that it can be taken for, computed when first needed."""

    def __missing__(self, point: int) -> str:
        plain = "".join(map(_plain, unicodedata.normalize("NFKD", chr(point))))
        self[point] = "".join(map(_plain, unicodedata.normalize("NFKD", plain.casefold())))
        return self[point]


_SKELETON = _Skeletons()


def _plain(character: str) -> str:
    kind = unicodedata.category(character)
    if character.isspace() or character == "_":
        return " "
    if kind[0] in "CM" or character in _WITHOUT_GLYPH:
        return ""
    if kind == "Pd" or character in _LIKE_DASHES:
        return _LIKE_DASHES.get(character, "-")
    if kind == "Ps" and character not in "({":
        return "["
    if kind == "Pe" and character not in ")}":
        return "]"
    # A modifier letter is a small sign such as an apostrophe: no word begins with it.
    return _LIKE_BRACKETS.get(character, " " if kind == "Lm" else character)


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
