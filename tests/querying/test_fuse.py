from __future__ import annotations

import pytest

from sourcebook.model import Match
from sourcebook.querying.fuse import combine, explain, fuse


def match(passage: int, score: float, exact: int = 0) -> Match:
    return Match(passage, f"n{passage}", f"e{passage}", score, exact)


def test_the_formula_with_numbers() -> None:
    lists = {"dense": [match(1, 0.9), match(2, 0.8)], "sparse": [match(2, 7.0), match(3, 5.0)]}
    fused = fuse(lists, {"dense": 1.0, "sparse": 0.5})
    by_passage = {c.passage: c.scores for c in explain(lists, fused)}
    assert by_passage[1].fused == pytest.approx(1 / 61)
    assert by_passage[2].fused == pytest.approx(1 / 62 + 0.5 / 61)
    assert by_passage[3].fused == pytest.approx(0.5 / 62)
    assert [c.passage for c in fused] == [2, 1, 3]
    assert (by_passage[2].dense, by_passage[2].dense_rank) == (0.8, 2)
    assert (by_passage[2].sparse, by_passage[2].sparse_rank) == (7.0, 1)
    assert by_passage[1].sparse is None
    assert by_passage[1].sparse_rank is None


def test_exact_matches_come_first_and_ties_go_by_node_id() -> None:
    lists = {"dense": [match(5, 0.9)], "sparse": [match(9, 3.0), match(4, 1.0, exact=1)]}
    assert [c.passage for c in fuse(lists, {})] == [4, 5, 9]


def test_no_lists() -> None:
    assert fuse({}, {}) == []
    assert fuse({"dense": []}, {}) == []


def test_combine_adds_scaled_scores() -> None:
    dense = [match(1, 0.9), match(2, 0.8), match(3, 0.7)]
    sparse = [match(3, 10.0), match(2, 4.0), match(4, 1.0)]
    combined = {m.passage: m.score for m in combine(dense, sparse)}
    assert combined == pytest.approx({1: 1.0, 2: 0.5 + 0.4, 3: 0.0 + 1.0, 4: 0.1})
    assert [m.passage for m in combine(dense, sparse)] == [1, 3, 2, 4]


def test_combine_with_equal_scores_divides_by_nothing() -> None:
    assert [m.score for m in combine([match(1, 0.5)], [match(2, 0.0)])] == [0.0, 0.0]
