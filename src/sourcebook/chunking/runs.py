"""Units with what is known of them, and the runs of units that become chunks.

A stretch is what cuts are planned on: units that all fit into a chunk, their token counts, the
tokens of markup between them, and the topic boundaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sourcebook.chunking.strategy import CHARACTERS, Counter
from sourcebook.chunking.units import Unit, fragments
from sourcebook.model import BoundaryType, ChunkOptions

PLAIN = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Units of one stretch with what is known of them. `gaps[i]` and `topics[i]` are of the seam
    before unit i: tokens of markup in it, and its distance if it is a topic boundary, else 0."""

    units: Sequence[Unit]
    tokens: Sequence[int]
    gaps: Sequence[int]
    topics: Sequence[float]


@dataclass(slots=True)
class Run:
    """Units first to last (exclusive) of a stretch: a chunk in the making."""

    stretch: Stretch
    first: int
    last: int
    tokens: int = 0
    start: int = 0

    @property
    def begin(self) -> int:
        return self.stretch.units[self.first].start

    @property
    def end(self) -> int:
        return self.stretch.units[self.last - 1].end

    @property
    def planned(self) -> int:
        """The sum of what it is made of."""
        tokens = sum(self.stretch.tokens[self.first : self.last])
        return tokens + sum(self.stretch.gaps[self.first + 1 : self.last])

    @property
    def final(self) -> bool:
        return self.last == len(self.stretch.units)

    @property
    def forced(self) -> bool:
        """Whether this run ends only because of its size."""
        return not self.final and not self.stretch.topics[self.last]

    @property
    def boundary(self) -> BoundaryType:
        """Why this run ends."""
        if self.final:
            return "structural"
        return "size-limit" if self.forced else "semantic"


def taken(
    text: str,
    units: Sequence[Unit],
    tokens: Sequence[int],
    topics: Sequence[float],
    options: ChunkOptions,
    count: Counter,
) -> Stretch:
    """A stretch whose units all fit: those above the maximum are taken apart, without topics."""
    rows: list[tuple[Unit, int, float]] = []
    for unit, size, topic in zip(units, tokens, topics, strict=True):
        if size <= options.max_tokens:
            rows.append((unit, size, topic))
            continue
        pieces = fragments(text, unit, options.max_tokens, count)
        rows += [(piece, n, 0.0 if i else topic) for i, (piece, n) in enumerate(pieces)]
    fitting = [row[0] for row in rows]
    gaps = _gaps(text, fitting, count)
    return Stretch(fitting, [row[1] for row in rows], gaps, [row[2] for row in rows])


def _gaps(text: str, units: Sequence[Unit], count: Counter) -> list[int]:
    """Tokens between the units: markup that is no content but would be in a chunk's text."""
    gaps = [0] * len(units)
    between = [text[a.end : b.start] for a, b in pairwise(units)]
    marked = [i for i, gap in enumerate(between) if gap and not gap.isspace()]
    for i, size in zip(marked, count([between[i] for i in marked]) if marked else (), strict=True):
        gaps[i + 1] = size
    return gaps


def adds_up(text: str, run: Run) -> bool:
    """Whether a tokenizer that splits at white space must see the sum of the units in the run.

    So it is if plain white space lies between all of them, and every size is a number of tokens.
    """
    units = run.stretch.units[run.first : run.last]
    tokens = run.stretch.tokens[run.first : run.last]
    return all(
        text[left.end : right.start].strip(PLAIN) == "" and left.end < right.start
        for left, right in pairwise(units)
    ) and not any(
        size == (unit.end - unit.start) // CHARACTERS
        for unit, size in zip(units, tokens, strict=True)
    )
