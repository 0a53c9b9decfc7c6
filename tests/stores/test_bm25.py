"""BM25 against the formula written out with numbers, and against invariants."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.stores import bm25
from sourcebook.stores.bm25 import AROUND_WEIGHT, K1, TITLE_WEIGHT, B, Postings, best
from sourcebook.stores.postings import TERM


def postings(passages: list[dict[int, tuple[int, ...]]]) -> Postings:
    """Counts in title, heading, body and, where it is given, around."""
    records = [(t, *c, 0)[:5] for p in passages for t, c in sorted(p.items())]
    return Postings.build(np.array(records, TERM), np.array([len(p) for p in passages], np.int64))


def test_by_hand() -> None:
    """Three passages; term 7 stands in two of them, once in a title."""
    built = postings([{7: (0, 0, 2), 8: (0, 0, 2)}, {7: (1, 0, 0), 9: (0, 0, 4)}, {9: (0, 0, 2)}])
    lengths = [4, TITLE_WEIGHT + 4, 2]
    average = sum(lengths) / 3
    idf = log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def expected(frequency: float, length: float) -> float:
        return idf * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length / average))

    scores = built.scores([7])
    assert scores[0] == pytest.approx(expected(2, lengths[0]), rel=1e-6)
    assert scores[1] == pytest.approx(expected(TITLE_WEIGHT, lengths[1]), rel=1e-6)
    assert scores[2] == 0


def test_what_stands_around_counts_little_and_is_not_held() -> None:
    built = postings([{7: (0, 0, 1), 8: (0, 0, 3, 2)}, {7: (0, 0, 0, 2), 8: (0, 0, 4)}])
    lengths = [4 + 2 * AROUND_WEIGHT, 2 * AROUND_WEIGHT + 4]
    average = sum(lengths) / 2
    frequency = 2 * AROUND_WEIGHT
    saturated = frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * lengths[1] / average))
    assert built.scores([7])[1] == pytest.approx(log(1 + 0.5 / 2.5) * saturated, rel=1e-6)
    assert built.holding([7]).tolist() == [0]
    assert built.holding([8]).tolist() == [0, 1]


def test_terms_add_up_and_unknown_terms_add_nothing() -> None:
    built = postings([{1: (0, 0, 1), 2: (0, 0, 1)}, {2: (0, 0, 3)}])
    both = built.scores([1, 2, 99])
    assert both.tolist() == pytest.approx((built.scores([1]) + built.scores([2])).tolist())


def test_holding_needs_every_term() -> None:
    built = postings([{1: (0, 0, 1), 2: (0, 0, 1)}, {2: (0, 0, 3)}, {1: (1, 0, 0), 2: (0, 1, 0)}])
    assert built.holding([1, 2]).tolist() == [0, 2]
    assert built.holding([1, 99]).tolist() == []
    assert built.holding([]).tolist() == []


def test_no_passages() -> None:
    built = postings([])
    assert built.scores([1]).tolist() == []


@given(st.lists(st.integers(0, 2**31 - 1), max_size=200))
def test_the_order_of_terms_is_a_stable_sort(terms: list[int]) -> None:
    array = np.array(terms, np.int32)
    assert bm25._stable_order(array).tolist() == np.argsort(array, kind="stable").tolist()


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=60), st.integers(0, 70))
def test_best_takes_the_highest_and_lower_rows_first(values: list[float], k: int) -> None:
    scores = np.array(values, np.float32)
    expected = sorted((r for r, v in enumerate(values) if v > 0), key=lambda r: (-values[r], r))
    assert best(scores, k).tolist() == expected[:k]
    odd = np.arange(1, len(values), 2)
    assert best(scores, k, odd).tolist() == [r for r in expected if r % 2][:k]


@pytest.mark.parametrize("kind", ["spread", "ties", "all alike", "mostly zero", "in few groups"])
@pytest.mark.parametrize("k", [1, 10, 100, 700, 5000])
def test_the_highest_of_many(kind: str, k: int) -> None:
    """Wherever they lie: what is found holds the k best and their ties."""
    rng = np.random.default_rng(k)
    for _ in range(20):
        values = rng.random(5000).astype(np.float32)
        if kind == "ties":
            values = np.round(values, 1)
        elif kind == "all alike":
            values[:] = 1
        elif kind == "mostly zero":
            values[rng.random(5000) < 0.995] = 0
        elif kind == "in few groups":
            values[:: 4 * max(k, 64)] += 1
        for above in (-np.inf, 0):
            found = bm25.highest(values, k, above)
            lowest = np.sort(values)[-k]
            expected = np.flatnonzero((values >= lowest) & (values > above))
            assert set(expected.tolist()) <= set(found.tolist())
            assert (np.diff(found) > 0).all()
            assert (values[found] > above).all()


def test_few_others_are_found_with_the_highest() -> None:
    values = np.random.default_rng(1).random(100_000).astype(np.float32)
    for some in (values, np.sort(values)):
        assert 100 <= len(bm25.highest(some, 100)) < 150


@given(st.lists(st.lists(st.integers(1, 9), max_size=6), min_size=1, max_size=12),
       st.lists(st.integers(1, 9), max_size=5))  # fmt: skip
def test_scores_are_the_sums_of_what_each_term_adds(
    texts: list[list[int]], asked: list[int]
) -> None:
    counted = [{t: (0, 0, n) for t, n in Counter(text).items()} for text in texts]
    built = postings(counted)
    expected = np.zeros(len(texts))
    for term in asked:
        place = built.find(term)
        for row, impact in zip(built.rows[place], built.impacts[place], strict=True):
            weight = np.float32(built._weight(place.stop - place.start))
            expected[row] += np.float32(impact * weight)
    assert built.scores(asked).tolist() == expected.astype(np.float32).tolist()
