"""The sizes of texts in, the batches that they are sent in out."""

from __future__ import annotations

from collections.abc import Sequence


def batches(sizes: Sequence[int], most_texts: int, most_tokens: int) -> list[range]:
    """The places of the texts, in order. No batch has more texts, nor more tokens, unless it is one
    text alone that has."""
    made: list[range] = []
    start = tokens = 0
    for place, size in enumerate(sizes):
        if place > start and (place - start == most_texts or tokens + size > most_tokens):
            made.append(range(start, place))
            start, tokens = place, 0
        tokens += size
    return [*made, range(start, len(sizes))] if len(sizes) > start else made
