"""Two texts in, a unified diff out, bounded in time and length, and whether it was cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_CONTEXT = 3
"""Equal lines around what differs."""
_COMPARED = 2000
"""Lines of each text, from the first that differs: comparing costs more than the lines alone."""
_LINES, _CHARACTERS = 400, 40_000
"""Of one text's diff."""


def text_diff(old: str, new: str) -> tuple[str, bool]:
    """A unified diff, and whether it was cut."""
    a, b = old.splitlines(), new.splitlines()
    start = max(_equal(a, b) - _CONTEXT, 0)
    a, b = a[start:], b[start:]
    end = max(_equal(a[::-1], b[::-1]) - _CONTEXT, 0)
    a, b = a[: len(a) - end], b[: len(b) - end]
    cut = max(len(a), len(b)) > _COMPARED
    if cut:
        a, b = _whole(a[:_COMPARED], b[:_COMPARED])
    return _bounded(_hunks(a, b, start), cut)


def _equal(a: Sequence[str], b: Sequence[str]) -> int:
    """How many lines at the start are the same."""
    pairs = zip(a, b, strict=False)
    return next((n for n, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))


def _whole(a: list[str], b: list[str]) -> tuple[list[str], list[str]]:
    """Up to where both were the same again: what comes behind was not compared to its end."""
    blocks = SequenceMatcher(None, a, b).get_matching_blocks()[:-1]
    last = blocks[-1] if blocks else None
    return (a[: last.a + last.size], b[: last.b + last.size]) if last else ([], [])


def _hunks(a: list[str], b: list[str], start: int) -> Iterator[str]:
    signs = {"equal": " ", "delete": "-", "insert": "+"}
    for group in SequenceMatcher(None, a, b).get_grouped_opcodes(_CONTEXT):
        (_, a1, _, b1, _), (_, _, a2, _, b2) = group[0], group[-1]
        yield f"@@ -{_range(a1, a2, start)} +{_range(b1, b2, start)} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag in ("equal", "delete"):
                yield from (signs[tag] + line for line in a[i1:i2])
            elif tag == "insert":
                yield from ("+" + line for line in b[j1:j2])
            else:
                yield from ("-" + line for line in a[i1:i2])
                yield from ("+" + line for line in b[j1:j2])


def _range(first: int, last: int, start: int) -> str:
    """As `diff -u` counts: from 1, and the line before where there is none."""
    size = last - first
    begins = start + first + (1 if size else 0)
    return f"{begins}" if size == 1 else f"{begins},{size}"


def _bounded(lines: Iterator[str], cut: bool) -> tuple[str, bool]:
    kept: list[str] = []
    room = _CHARACTERS
    for line in lines:
        if len(kept) == _LINES:
            return "\n".join(kept), True
        if len(line) > room:
            return "\n".join([*kept, line[:room]]), True
        kept.append(line)
        room = max(room - len(line) - 1, 0)
    return "\n".join(kept), cut
