"""Rankings and judgments in, measures out: nDCG, recall and reciprocal rank, as trec_eval has them.

nDCG uses linear gains, DCG = sum of gain / log2(rank + 1) (Järvelin and Kekäläinen 2002), over the
ideal order of all judged documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

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
