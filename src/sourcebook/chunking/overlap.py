"""Runs of units in; those behind a forced cut then begin with the end of the run before.

A cut that only the size forced may separate a sentence from what it speaks of, so the next chunk
repeats what was said just before. Topic boundaries and headings need no overlap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

from sourcebook.chunking.runs import Run
from sourcebook.chunking.strategy import Counter
from sourcebook.chunking.units import Seam, Unit
from sourcebook.model import ChunkOptions

_WORD = re.compile(r"\S+")


def overlap(text: str, runs: Sequence[Run], options: ChunkOptions, count: Counter) -> None:
    """Let each run behind a forced cut begin earlier, as far as overlap and maximum allow."""
    waiting = []
    for before, run in pairwise(runs):
        if before.stretch is run.stretch and before.forced:
            room = min(options.overlap_tokens, options.max_tokens - run.tokens)
            starts = _starts(text, before, run, room, count)
            if starts:
                waiting.append((run, starts))
    while waiting:
        lead = count([text[starts[0] : run.begin] for run, starts in waiting])
        full = count([text[starts[0] : run.end] for run, starts in waiting])
        again = []
        for (run, starts), led, size in zip(waiting, lead, full, strict=True):
            if led <= options.overlap_tokens and size <= options.max_tokens:
                run.start, run.tokens = starts[0], size
            elif len(starts) > 1:
                again.append((run, starts[1:]))
        waiting = again


def _starts(text: str, before: Run, run: Run, room: int, count: Counter) -> list[int]:
    """Where the run could begin instead, the farthest first: at whole units, or at words of the
    last sentence if that alone is longer than the overlap."""
    units, tokens, gaps = run.stretch.units, run.stretch.tokens, run.stretch.gaps
    starts: list[int] = []
    used = 0
    for i in range(run.first - 1, before.first, -1):
        used += tokens[i] + gaps[i + 1]
        if used > room:
            break
        if units[i].seam <= Seam.CLAUSE:
            starts.append(units[i].start)
    if starts:
        return starts[::-1]
    last = units[run.first - 1]
    if last.kind != "prose" or room < 1:
        return []
    return _word_starts(text, last, room, count)


def _word_starts(text: str, unit: Unit, room: int, count: Counter) -> list[int]:
    """Starts of the last words that have at most `room` tokens, the unit's own start excluded."""
    low = max(unit.start, unit.end - room * 16)
    words = [w.start() for w in _WORD.finditer(text, low, unit.end)][1:][-room:]
    if not words:
        return []
    sizes = count([text[a:b] for a, b in zip(words, [*words[1:], unit.end], strict=True)])
    sums = list(accumulate(reversed(sizes)))
    return [start for start, used in zip(words, reversed(sums), strict=True) if used <= room]
