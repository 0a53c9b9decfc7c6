from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.model import Match
from sourcebook.querying.fuse import combine, explain, fuse, weigh


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


# --- the weighted sum ----------------------------------------------------------------------------


def test_the_weighted_sum_with_numbers() -> None:
    dense = [match(1, 0.9), match(2, 0.8), match(3, 0.7)]
    sparse = [match(3, 10.0), match(2, 4.0), match(4, 1.0)]
    fused = weigh({"dense": dense, "sparse": sparse}, {"dense": 0.7, "sparse": 0.3})
    found = {f.passage: f.score for f in fused}
    # A cosine by its place between lowest and highest, BM25 by its share of the highest.
    assert found == pytest.approx(
        {1: 0.7 * 1.0, 2: 0.7 * 0.5 + 0.3 * 0.4, 3: 0.7 * 0.0 + 0.3 * 1.0, 4: 0.3 * 0.1}
    )
    assert [f.passage for f in fused] == [1, 2, 3, 4]
    other = weigh({"dense": dense, "sparse": sparse}, {"dense": 0.4, "sparse": 0.6})
    assert [f.passage for f in other] == [3, 2, 1, 4]


def test_the_weighted_sum_puts_exact_ones_first_and_breaks_ties_by_node_id() -> None:
    lists = {"sparse": [match(9, 3.0), match(5, 3.0), match(4, 1.0, exact=1)]}
    fused = weigh(lists, {"sparse": 1.0})
    assert [(f.passage, f.exact) for f in fused] == [(4, 1), (5, 0), (9, 0)]


def test_the_weighted_sum_of_one_or_of_nothing() -> None:
    assert weigh({}, {}) == []
    assert weigh({"dense": [], "sparse": []}, {}) == []
    assert [f.passage for f in weigh({"dense": [match(1, 0.5)]}, {})] == [1]
    assert [f.score for f in weigh({"dense": [match(1, -0.5), match(2, -0.5)]}, {})] == [0, 0]


# --- whatever the lists --------------------------------------------------------------------------

LIST = st.lists(
    st.builds(match, st.integers(0, 15), st.floats(-1, 20), st.integers(0, 2)),
    max_size=12,
    unique_by=lambda m: m.passage,
).map(lambda found: sorted(found, key=lambda m: -m.score))


@given(LIST, LIST, LIST, st.integers(1, 5))
def test_staged_search_loses_nothing_that_flat_search_finds(
    dense: list[Match], sparse: list[Match], staged: list[Match], weight: int
) -> None:
    flat = {"dense": dense, "sparse": sparse}
    without = {f.passage for f in fuse(flat, {})}
    found = [f.passage for f in fuse({**flat, "staged": staged}, {"staged": weight})]
    assert without <= set(found)
    assert len(found) == len(set(found)) == len({m.passage for m in (*dense, *sparse, *staged)})


@given(LIST, LIST)
def test_both_ways_of_fusing_find_the_same_passages(
    dense: list[Match], sparse: list[Match]
) -> None:
    lists = {"dense": dense, "sparse": sparse}
    summed = weigh(lists, {"dense": 0.7, "sparse": 0.3})
    assert {f.passage for f in summed} == {f.passage for f in fuse(lists, {})}
    assert [f.exact for f in summed] == sorted((f.exact for f in summed), reverse=True)
