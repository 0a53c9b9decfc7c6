"""The sieve must give what a full scan in double precision gives: same rows, same bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebook.stores import cosine as module
from sourcebook.stores.cosine import Cosine


@pytest.fixture(autouse=True, scope="module")
def sieve_few_vectors_too() -> Iterator[None]:
    usual, module._SMALL = module._SMALL, 0
    yield
    module._SMALL = usual


def test_few_vectors_are_scored_one_by_one() -> None:
    rng = np.random.default_rng(5)
    vectors, query = unit(rng, 300, 48), unit(rng, 1, 48)[0]
    sieved = Cosine.build(vectors).nearest(query, 7)
    module._SMALL = 300
    try:
        alone = Cosine.build(vectors)
        assert (alone.axes == np.eye(48)).all()
        assert [x.tobytes() for x in alone.nearest(query, 7)] == [x.tobytes() for x in sieved]
    finally:
        module._SMALL = 0


def unit(rng: np.random.Generator, n: int, d: int, offset: float = 0.0) -> np.ndarray:
    vectors = rng.normal(size=(n, d)) + offset
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def full_scan(vectors: np.ndarray, query: np.ndarray, k: int, rows: np.ndarray) -> np.ndarray:
    scores = (vectors[rows].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    return rows[np.lexsort((rows, -scores))[:k]]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 3000),
    k=st.integers(1, 50),
    offset=st.sampled_from([0.0, 0.5, 3.0]),
    share=st.sampled_from([None, 0.01, 0.3]),
    duplicates=st.booleans(),
)
def test_equals_a_full_scan(
    seed: int, n: int, k: int, offset: float, share: float | None, duplicates: bool
) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit(rng, n, 48, offset)
    if duplicates:  # ties must go to the lower row
        vectors = vectors[rng.integers(0, max(n // 4, 1), n)]
    query = unit(rng, 1, 48, offset)[0]
    rows = None if share is None else np.flatnonzero(rng.random(n) < share)
    cosine = Cosine.build(vectors)
    found, scores = cosine.nearest(query, k, rows)
    expected = full_scan(vectors, query, k, np.arange(n) if rows is None else rows)
    assert found.tolist() == expected.tolist()
    exact = (vectors[found].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    assert scores == pytest.approx(exact, abs=1e-15)
    alone = [cosine.nearest(query, 1, found[i : i + 1])[1][0] for i in range(len(found))]
    assert scores.tolist() == alone


def test_rows_that_come_later_change_no_bit() -> None:
    rng = np.random.default_rng(5)
    before, query = unit(rng, 500, 384, 0.5), unit(rng, 1, 384, 0.5)[0]
    after = np.concatenate([unit(rng, 777, 384, 0.2), before])
    rows = np.arange(777, 1277)
    found, scores = Cosine.build(before).nearest(query, 20)
    later, later_scores = Cosine.build(after).nearest(query, 20, rows)
    assert (later - 777).tolist() == found.tolist()
    assert later_scores.tolist() == scores.tolist()


def test_the_bounds_hold_for_every_row_and_shut_most_of_them_out() -> None:
    rng = np.random.default_rng(6)
    spread = np.geomspace(1, 0.02, 384)  # as trained models do, vary in few directions
    vectors = rng.normal(size=(5000, 384)) * spread + 0.3
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    cosine = Cosine.build(vectors)
    half, every = cosine.half, np.arange(5000)
    assert np.isfinite(cosine.rest).all()
    for query in vectors[:20]:
        turned = (query - cosine.mean) @ cosine.axes
        true = vectors.astype(np.float64) @ query.astype(np.float64)
        first, error = cosine.first.products(turned[:half])
        second, further = cosine.second.products(turned[half:], every)
        rough = first + second + cosine.bias + query @ cosine.mean
        assert np.abs(rough - true).max() <= error + further + 2e-5
        beyond = np.linalg.norm(turned[half:]) * cosine.rest
        assert (first + beyond + cosine.bias + query @ cosine.mean + error + 2e-5 >= true).all()
        assert len(cosine._possible(query, 10, None)) < 250


@pytest.mark.parametrize("k", [1, 10, 100])
def test_vectors_far_from_their_images_are_found_and_shut_none_in(
    monkeypatch: pytest.MonkeyPatch, k: int
) -> None:
    """The scale comes from a sample, every second vector; these are beyond it."""
    monkeypatch.setattr(module, "_UNLIKE", 100)
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(40_000, 16)) * np.geomspace(1, 0.02, 16) + 3.0
    vectors[25_001::500] -= 12 * np.eye(16)[3]
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    cosine = Cosine.build(vectors)
    assert len(vectors) // module._SAMPLE == 2
    unlike = np.flatnonzero(np.isinf(cosine.rest))
    assert 400 <= len(unlike) <= 800
    assert set(range(25_001, 40_000, 500)) <= set(unlike)
    half = np.arange(20_000, 40_000)
    for asked in (*vectors[:4], vectors[25_001], -vectors[0]):
        for rows in (None, half):
            every = np.arange(len(vectors)) if rows is None else rows
            found, _ = cosine.nearest(asked, k, rows)
            assert found.tolist() == full_scan(vectors, asked, k, every).tolist()
        possible = cosine._possible(asked, k, None)
        assert set(unlike) <= set(possible)
        assert len(possible) < 4000 + 20 * k


@pytest.mark.parametrize("n", [0, 1])
def test_few_vectors(n: int) -> None:
    vectors = unit(np.random.default_rng(0), n, 8)
    found, scores = Cosine.build(vectors).nearest(unit(np.random.default_rng(1), 1, 8)[0], 5)
    assert len(found) == len(scores) == n
    empty, _ = Cosine.build(vectors).nearest(
        vectors[0] if n else np.ones(8, np.float32), 5, np.empty(0, np.int64)
    )
    assert len(empty) == 0


def test_by_hand() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8], [0, 1], [-1, 0]], np.float32)
    found, scores = Cosine.build(vectors).nearest(np.array([1, 0], np.float32), 2)
    assert found.tolist() == [0, 1]
    assert scores == pytest.approx([1.0, 0.6])
