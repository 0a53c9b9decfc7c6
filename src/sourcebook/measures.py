"""Rankings, judgments and confidences in, measures out.

nDCG, recall and reciprocal rank are as trec_eval has them: nDCG uses linear gains, DCG = sum of
gain / log2(rank + 1) (Järvelin and Kekäläinen 2002), over the ideal order of all judged documents.
What has no data is None, never a number that looks like a result.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from statistics import fmean

Judgments = Mapping[str, int]
"""Gain by document id; a document without one, or with 0 or less, is not relevant."""


def ndcg(ranking: Sequence[str], judged: Judgments, k: int) -> float:
    gains = [max(judged.get(document, 0), 0) for document in ranking[:k]]
    ideal = sorted((max(gain, 0) for gain in judged.values()), reverse=True)[:k]
    return _dcg(gains) / _dcg(ideal) if any(ideal) else 0.0


def recall(ranking: Sequence[str], judged: Judgments, k: int) -> float:
    relevant = {document for document, gain in judged.items() if gain > 0}
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], judged: Judgments, k: int) -> float:
    ranks = (r for r, document in enumerate(ranking[:k], 1) if judged.get(document, 0) > 0)
    return 1 / next(ranks, float("inf"))


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


# --- things that are wanted, by the rank at which each was first found ---------------------------


def ndcg_of_ranks(ranks: Sequence[int | None], k: int) -> float:
    """Each wanted thing counts once, where it was first found. Things that one hit holds together
    count as if they stood one below the other, so that 1 is the most."""
    found = sorted(rank for rank in ranks if rank is not None)
    places = [max(rank, place) for place, rank in enumerate(found, start=1)]
    ideal = range(1, min(len(ranks), k) + 1)
    gained = sum(1 / log2(place + 1) for place in places if place <= k)
    return gained / sum(1 / log2(place + 1) for place in ideal)


def recall_of_ranks(ranks: Sequence[int | None], k: int) -> float:
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


# --- confidence ----------------------------------------------------------------------------------


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """How probable it is that a positive stands above a negative; a tie counts a half (Hanley and
    McNeil 1982)."""
    if not positive or not negative:
        return None
    below = sorted(negative)
    wins = sum(bisect_left(below, p) + bisect_right(below, p) for p in positive) / 2
    return wins / (len(positive) * len(negative))


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of about the same confidence: the mean of it, and the share that was right."""

    low: float
    high: float
    count: int
    confidence: float
    right: float


def reliability(judged: Iterable[tuple[float, bool]], bins: int = 10) -> list[Bin]:
    """(confidence in 0 to 1, was it right) in, bins of equal width that hold any out. A confidence
    on the border belongs to the upper bin; 1 belongs to the last."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for confidence, right in judged:
        groups[min(int(confidence * bins), bins - 1)].append((confidence, right))
    return [
        Bin(
            place / bins,
            (place + 1) / bins,
            len(group),
            fmean(confidence for confidence, _ in group),
            fmean(right for _, right in group),
        )
        for place, group in enumerate(groups)
        if group
    ]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Expected calibration error (Naeini et al. 2015): the mean distance of confidence and share,
    each bin with the weight of what it holds."""
    total = sum(each.count for each in bins)
    gaps = (each.count * abs(each.confidence - each.right) for each in bins)
    return sum(gaps) / total if total else None


# --- means and percentiles -----------------------------------------------------------------------


def mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None


def percentile(values: Iterable[float], share: float) -> float | None:
    """The value below which that share lies, between the two nearest by their distance: 0 is the
    least, 1 the greatest."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
