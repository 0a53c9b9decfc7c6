"""What 8-bit images leave to be compared holds the nearest, and is little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.stores.postgres.dense_images import Images


def units(rng: np.random.Generator, count: int, width: int) -> np.ndarray:
    vectors = rng.normal(size=(count, width))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def drawn(vectors: np.ndarray, mean: np.ndarray) -> Images:
    images = Images.blank(mean, len(vectors))
    images.draw(slice(None), vectors)
    return images


def test_an_image_by_hand() -> None:
    images = drawn(np.array([[0.6, 0.8], [0, 0]], np.float32), np.zeros(2, np.float32))
    # 0.6 / 0.8 x 127 = 95.25
    assert images.table.tolist() == [[95, 127], [0, 0]]
    scale = 0.8 / 127
    assert images.scales.tolist() == pytest.approx([scale, 1])
    assert images.lengths.tolist() == pytest.approx([np.hypot(95, 127) * scale, 0])
    assert images.lost.tolist() == pytest.approx([0.25 * scale, 0], abs=1e-6)


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 300),
    width=st.sampled_from([2, 8, 33]),
    k=st.integers(1, 40),
    share=st.floats(0.02, 1),
    spread=st.sampled_from([0.0, 1e-3, 0.05, 1.0]),
    centre=st.sampled_from([0.0, 0.9]),
    sharp=st.sampled_from(["query", "vectors", "neither"]),
)
def test_the_nearest_are_never_shut_out(
    seed: int,
    count: int,
    width: int,
    k: int,
    share: float,
    spread: float,
    centre: float,
    sharp: str,
) -> None:
    """Also where many are much alike, or the same. Where either side is its own image, the other
    alone has to be allowed for."""
    rng = np.random.default_rng(seed)
    vectors = units(rng, 1, width) + spread * rng.normal(size=(count, width))
    if sharp == "vectors":
        centre, peak = 0.0, np.abs(vectors).max(axis=1, keepdims=True)
        vectors = np.rint(vectors / peak * 127)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    images = drawn(vectors, (centre * vectors.mean(axis=0)).astype(np.float32))
    places = np.flatnonzero(rng.random(count) <= share)
    query = np.eye(width, dtype=np.float32)[0] if sharp == "query" else units(rng, 1, width)[0]
    found = images.possible(query, k, places)
    scores = vectors[places].astype(np.float64) @ query.astype(np.float64)
    kth = np.sort(scores)[::-1][:k].min(initial=np.inf)
    assert set(np.flatnonzero(scores >= kth)) <= set(found.tolist())


def test_little_is_left_to_compare() -> None:
    rng = np.random.default_rng(3)
    vectors = units(rng, 20_000, 384)
    images = drawn(vectors, vectors[:1000].mean(axis=0))
    for places in (np.arange(20_000), np.arange(0, 20_000, 7)):
        for query in units(rng, 5, 384):
            assert 10 <= len(images.possible(query, 10, places)) <= 60


def test_images_of_some_in_another_order() -> None:
    vectors = units(np.random.default_rng(5), 50, 8)
    images = drawn(vectors, vectors[0])
    other = Images.blank(vectors[0], 60)
    other.copy(np.arange(10, 35), images, np.arange(25, 50))
    other.draw(np.arange(35, 60), vectors[:25])
    some = other.take(np.arange(10, 60))
    assert some.table.tolist() == images.table[np.r_[25:50, 0:25]].tolist()
    assert some.lost.tolist() == images.lost[np.r_[25:50, 0:25]].tolist()
