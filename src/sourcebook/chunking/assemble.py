"""Measured units in, chunks out: where to cut, how far to overlap, and every size checked.

The cuts of a stretch are the cheapest path over its units: a chunk costs the square of its distance
from the target, a cut costs by its seam, and a topic boundary pays for itself. The path looks back
no further than the maximum, so the cost is linear, and it finds back to the same cuts soon after an
edit. Sums of unit counts plan the cuts; the chunks' own texts are counted afterwards, because a
tokenizer may see more or fewer tokens in the whole than in its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from sourcebook.chunking.overlap import overlap
from sourcebook.chunking.runs import Run, Stretch, adds_up
from sourcebook.chunking.strategy import CHARACTERS, Counter, bounded
from sourcebook.model import Chunk, ChunkOptions

SIZE = 1.0  # price of a chunk of twice the target, or of no size at all
TOPIC = 1.0  # what a topic boundary pays, before its distance
CUT = (0.2, 0.25, 0.35, 0.45, 0.6, 2.0)  # price of a cut by its seam, where the topic goes on
SMALL = 1000.0  # price of a chunk under the minimum: only what cannot be joined pays it
CROWDED = 2.0  # price of a chunk that leaves no room for the overlap it begins with
NEVER = float("inf")


def assemble(
    text: str,
    parts: Sequence[Stretch],
    options: ChunkOptions,
    count: Counter,
    *,
    additive: bool = False,
) -> list[Chunk]:
    """The chunks of a document, every one within the maximum and with its own count.

    `additive` says that counts add up over white space, so that most need no second look.
    """
    exact, count = count, bounded(count)
    runs = [Run(part, first, last) for part in parts for first, last in plan(part, options)]
    _count(text, runs, count, additive=additive)
    runs = _split_large(text, runs, options, count)
    runs = _join_small(text, runs, options, count)
    overlap(text, runs, options, count)
    _recount(text, runs, exact)
    return [
        Chunk(run.start, run.end, index, run.boundary, run.tokens) for index, run in enumerate(runs)
    ]


def _recount(text: str, runs: Sequence[Run], exact: Counter) -> None:
    """Sizes are tokens, except where a long text has few of them: those are counted at last."""
    long = [run for run in runs if run.tokens == (run.end - run.start) // CHARACTERS]
    sizes = exact([text[run.start : run.end] for run in long]) if long else []
    for run, size in zip(long, sizes, strict=True):
        run.tokens = size


# --- planning ------------------------------------------------------------------------------------


def plan(part: Stretch, options: ChunkOptions) -> list[tuple[int, int]]:
    """The cheapest ranges of units by the sums of their counts."""
    total = len(part.units)
    ends = [0, *accumulate(t + g for t, g in zip(part.tokens, part.gaps, strict=True))]
    begins = [ends[i] + part.gaps[i] for i in range(total)]
    entries = _entries(part, options)
    rooms = _rooms(part, options)
    sizes = _sizes(options)
    best = [0.0] + [NEVER] * total
    back = [0] * (total + 1)
    for last in range(1, total + 1):
        if last < total and entries[last] == NEVER:
            continue
        first = back[last] = last - 1
        size = ends[last] - begins[first]
        cheapest = NEVER
        while size <= options.max_tokens:
            price = best[first] + entries[first] + sizes[size]
            if size > rooms[first]:
                price += CROWDED
            if price < cheapest:
                cheapest, back[last] = price, first
            if first == 0:
                break
            first -= 1
            size = ends[last] - begins[first]
        best[last] = cheapest if cheapest < NEVER else best[last - 1]
    return _path(back)


def _path(back: list[int]) -> list[tuple[int, int]]:
    ranges = []
    last = len(back) - 1
    while last > 0:
        ranges.append((back[last], last))
        last = back[last]
    return ranges[::-1]


def _entries(part: Stretch, options: ChunkOptions) -> list[float]:
    """The price of beginning a chunk at each unit. Behind a heading none begins, unless the
    heading and what follows it are too large together."""
    prices = [0.0]
    for i in range(1, len(part.units)):
        before, here = part.units[i - 1], part.units[i]
        pair = part.tokens[i - 1] + part.gaps[i] + part.tokens[i]
        if before.kind == "heading" and here.kind != "heading" and pair <= options.max_tokens:
            prices.append(NEVER)
        elif part.topics[i]:
            prices.append(-TOPIC - part.topics[i])
        else:
            prices.append(CUT[here.seam])
    return prices


def _rooms(part: Stretch, options: ChunkOptions) -> list[int]:
    """How large a chunk that begins at each unit may be: a forced cut wants room for overlap."""
    most, reduced = options.max_tokens, options.max_tokens - options.overlap_tokens
    return [most if i == 0 or topic else reduced for i, topic in enumerate(part.topics)]


@lru_cache(maxsize=8)
def _sizes(options: ChunkOptions) -> list[float]:
    """The price of every size up to the maximum."""
    target = options.target_tokens
    prices = [SIZE * ((size - target) / target) ** 2 for size in range(options.max_tokens + 1)]
    for size in range(options.min_tokens):
        prices[size] += SMALL * (1.0 + (options.min_tokens - size) / options.min_tokens)
    return prices


# --- checking ------------------------------------------------------------------------------------


def _count(text: str, runs: Sequence[Run], count: Counter, *, additive: bool = False) -> None:
    """Give every run its tokens: those of its units if they are sure to add up, else counted."""
    unsure = []
    for run in runs:
        run.start, run.tokens = run.begin, run.planned
        if run.last - run.first > 1 and not (additive and adds_up(text, run)):
            unsure.append(run)
    sizes = count([text[run.begin : run.end] for run in unsure])
    for run, size in zip(unsure, sizes, strict=True):
        run.tokens = size


def _split_large(text: str, runs: list[Run], options: ChunkOptions, count: Counter) -> list[Run]:
    """A run whose text has more tokens than its units is cut at its middle until all fit."""
    while True:
        halves: list[Run] = []
        result: list[Run] = []
        for run in runs:
            if run.tokens <= options.max_tokens or run.last - run.first == 1:
                result.append(run)
                continue
            middle = _middle(run)
            pair = [
                Run(run.stretch, run.first, middle),
                Run(run.stretch, middle, run.last),
            ]
            halves += pair
            result += pair
        if not halves:
            return result
        _count(text, halves, count)
        runs = result


def _middle(run: Run) -> int:
    half = sum(run.stretch.tokens[run.first : run.last]) / 2
    sums = accumulate(run.stretch.tokens[run.first : run.last - 1])
    return run.first + 1 + min(enumerate(sums), key=lambda pair: abs(pair[1] - half))[0]


def _join_small(text: str, runs: list[Run], options: ChunkOptions, count: Counter) -> list[Run]:
    """Join what is still under the minimum with a neighbour, wherever both fit together."""
    refused: set[tuple[int, int]] = set()
    while True:
        pairs = _pairs(runs, options, refused)
        joined = [Run(runs[i].stretch, runs[i].first, runs[i + 1].last) for i in pairs]
        if not joined:
            return runs
        _count(text, joined, count)
        for i, both in sorted(zip(pairs, joined, strict=True), reverse=True, key=lambda p: p[0]):
            if both.tokens <= options.max_tokens:
                runs[i : i + 2] = [both]
            else:
                refused.add((both.begin, both.end))


def _pairs(runs: Sequence[Run], options: ChunkOptions, refused: set[tuple[int, int]]) -> list[int]:
    """Positions of neighbours to try, no run in two of them: a small run and the smaller of its
    neighbours in the same stretch that has not been refused."""
    taken: set[int] = set()
    pairs: list[int] = []
    for i, run in enumerate(runs):
        if run.tokens >= options.min_tokens:
            continue
        options_ = [
            j
            for j in (i - 1, i)
            if 0 <= j < len(runs) - 1
            and runs[j].stretch is runs[j + 1].stretch
            and not taken & {j, j + 1}
            and (runs[j].begin, runs[j + 1].end) not in refused
        ]
        if options_:
            best = min(options_, key=lambda j: runs[j].tokens + runs[j + 1].tokens)
            taken |= {best, best + 1}
            pairs.append(best)
    return pairs
