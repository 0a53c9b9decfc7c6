"""The numbers behind relevance, by hand, and what must hold of them whatever the weights are."""

from __future__ import annotations

from math import exp, inf, log, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.ports import Evidence, Floats, Vectors
from sourcebook.querying import relevance
from sourcebook.querying.relevance import (
    PEERS,
    SHARP,
    Fit,
    cautious,
    crowd,
    features,
    fit_for,
    highest,
    logistic,
    peers,
    weighted,
)

THREE: Vectors = np.array([[1, 0], [0.6, 0.8], [0, 1]], np.float32)


def array(*values: float) -> Floats:
    return np.array(values, np.float64)


def evidence(cosine: Floats | None, lexical: Floats) -> Evidence:
    return Evidence(cosine, lexical, None)


# --- by hand -------------------------------------------------------------------------------------


def test_weighted_is_a_sum() -> None:
    found = weighted(
        {"a": 2.0, "b": -1.0}, {"a": array(1, 2), "b": array(3, 0.5), "c": array(9, 9)}
    )
    assert found.tolist() == [-1.0, 3.5]


def test_logistic() -> None:
    assert logistic(array(0, log(3), -log(3))).tolist() == pytest.approx([0.5, 0.75, 0.25])
    far = logistic(array(-1e6, 1e6, -inf, inf))
    assert ((far >= 0) & (far <= 1)).all()


def test_crowd_is_the_highest_and_more_where_others_are_near() -> None:
    assert crowd(array()) == 0.0
    assert crowd(array(3)) == pytest.approx(3)
    assert crowd(array(1, 1, 1)) == pytest.approx(1 + log(3))
    assert crowd(array(2, 1)) == pytest.approx(log(exp(2) + exp(1)))
    assert crowd(array(1000, -1000)) == pytest.approx(1000)


def test_peers_of_three() -> None:
    one, two = exp(-SHARP), exp(-2 * SHARP)  # weights by how far below the best: 1, one, two
    near = [
        (0.6 * one + 0.0 * two) / (one + two),
        (0.6 * 1 + 0.8 * two) / (1 + two),
        (0.0 * 1 + 0.8 * one) / (1 + one),
    ]
    expected = [value - sum(near) / 3 for value in near]
    assert peers(array(2, 1, 0), THREE).tolist() == pytest.approx(expected, abs=1e-6)


def test_only_the_best_are_peers() -> None:
    """Behind the PEERS best comes one that is like nothing, and one that is like the first."""
    vectors: Vectors = np.zeros((PEERS + 2, PEERS + 1), np.float32)
    vectors[:PEERS, :PEERS] = np.eye(PEERS)
    vectors[PEERS, PEERS] = 1
    vectors[PEERS + 1, 0] = 1
    first = np.arange(PEERS + 2, 0, -1).astype(np.float64)
    found = peers(first, vectors)
    total = sum(exp(-SHARP * i) for i in range(PEERS))
    assert found[PEERS + 1] == pytest.approx(1 / total)
    # The first is like the last, but the last is no peer: so it is like none of its peers.
    assert found[: PEERS + 1].tolist() == pytest.approx([0.0] * (PEERS + 1))


def test_no_passage_one_passage_two_passages() -> None:
    none: Vectors = np.empty((0, 2), np.float32)
    assert peers(array(), none).tolist() == []
    assert peers(array(7), THREE[:1]).tolist() == [0.0]
    assert peers(array(7, 1), THREE[:2]).tolist() == pytest.approx([0.0, 0.0])


def test_features_and_what_is_not_known() -> None:
    found = features(array(0.2, 0.1, 0.05), evidence(array(0.8, nan, 0.5), array(1, 0, 0.5)), None)
    assert {name: values.tolist() for name, values in found.items()} == {
        "fused": [1.0, 0.5, 0.25],
        "lexical": [1.0, 0.0, 0.5],
        "cosine": [0.8, 0.5, 0.5],
    }
    late = features(array(1, 1), evidence(array(0.9, nan), array(0, 0)), array(0.7, nan))
    assert late["maxsim"].tolist() == [0.7, 0.7]


def test_without_any_vector_there_is_no_cosine_and_no_maxsim() -> None:
    for cosine in (None, array(nan, nan)):
        found = features(array(1, 2), evidence(cosine, array(0, 1)), array(nan, nan))
        assert set(found) == {"fused", "lexical"}


def test_features_of_nothing_and_of_fused_scores_that_are_all_zero() -> None:
    assert all(len(v) == 0 for v in features(array(), evidence(array(), array()), None).values())
    assert features(array(0, 0), evidence(None, array(0, 0)), None)["fused"].tolist() == [0, 0]


def test_the_highest() -> None:
    assert highest(array(0.1, 0.9, 0.5)).tolist() == [0.9]
    assert highest(array()).tolist() == [0.0]


def test_a_fit_with_numbers() -> None:
    fit = Fit(
        first={"lexical": 1.0},
        score={"lexical": 2.0},
        answerable={"bias": -1.0, "lexical": 3.0},
        passage={"bias": -1.0, "score": 1.5, "crowd": -0.5},
    )
    known = {"lexical": array(1, 0.5)}
    scores = fit.scores(known, None)
    assert scores.tolist() == [2.0, 1.0]
    many = log(exp(2) + exp(1))
    answerable = 1 / (1 + exp(-(-1 + 3 * 1.0)))
    expected = [answerable / (1 + exp(-(-1 + 1.5 * s - 0.5 * many))) for s in (2.0, 1.0)]
    assert fit.probabilities(known, scores).tolist() == pytest.approx(expected)


def test_a_fit_with_peers_chooses_them_by_its_first_weights() -> None:
    fit = Fit({"cosine": 1.0}, {"cosine": 1.0, "peers": 10.0}, {"bias": 0.0}, {"score": 1.0})
    cosine = array(2, 1, 0)
    expected = cosine + 10 * peers(cosine, THREE)
    assert fit.scores({"cosine": cosine}, THREE).tolist() == pytest.approx(expected.tolist())


def test_cautious_reading() -> None:
    known = {"cosine": array(0.9, 1.0, 0.3), "lexical": array(0.2, 1.0, 0.4)}
    assert cautious(known).tolist() == pytest.approx([0.4, 0.6, 0.0])
    assert cautious({"lexical": array(1.0)}).tolist() == [0.0]


# --- the fits that are shipped -------------------------------------------------------------------


def test_which_fit_is_used() -> None:
    late = {"cosine": array(1), "maxsim": array(1)}
    assert fit_for("gte-small", late) != fit_for("gte-small", {"cosine": array(1)})
    assert fit_for("gte-small", late) is not None
    assert fit_for("another-model", late) is None
    assert fit_for("another-model", {}) == fit_for(None, {}) == fit_for("gte-small", {})
    assert fit_for(None, {}) is not None


def test_shipped_fits_can_be_computed_and_keep_the_order() -> None:
    known = {
        "late": {"fused", "cosine", "lexical", "maxsim"},
        "dense": {"fused", "cosine", "lexical"},
    }
    for name, fit in relevance._fits().items():
        names = known.get(name.rpartition("/")[2], {"fused", "lexical"})
        assert set(fit.first) <= names
        assert set(fit.score) <= names | {"peers"}
        assert set(fit.answerable) <= names | {"bias"}
        assert set(fit.passage) <= {"bias", "score", "crowd"}
        assert fit.passage["score"] > 0
        if name == "lexical":
            assert "peers" not in fit.score  # nothing to compare


# --- whatever the numbers ------------------------------------------------------------------------

SIZES = st.integers(1, 25)
SCORES = st.lists(st.floats(-60, 60), min_size=1, max_size=30)
FITS = st.builds(
    Fit,
    first=st.just({"cosine": 1.0}),
    score=st.fixed_dictionaries({"cosine": st.floats(0, 50), "peers": st.floats(0, 20)}),
    answerable=st.fixed_dictionaries({"bias": st.floats(-90, 30), "cosine": st.floats(0, 90)}),
    passage=st.fixed_dictionaries(
        {"bias": st.floats(-30, 30), "score": st.floats(0.01, 3), "crowd": st.floats(-2, 0)}
    ),
)


def made(seed: int, size: int) -> tuple[Floats, Vectors]:
    """Cosines, all different, and unit vectors."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(size, 8)).astype(np.float32)
    return random.permutation(size) / size, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(SCORES, FITS)
def test_probabilities_lie_between_0_and_1_in_the_order_of_the_scores(
    scores: list[float], fit: Fit
) -> None:
    found = fit.probabilities({"cosine": np.linspace(0, 1, len(scores))}, array(*scores))
    assert ((found >= 0) & (found <= 1)).all()
    ranked = found[np.argsort(array(*scores))]
    assert (np.diff(ranked) >= 0).all()


@given(st.integers(0, 10_000), SIZES, FITS)
def test_the_order_of_the_candidates_does_not_matter(seed: int, size: int, fit: Fit) -> None:
    cosine, vectors = made(seed, size)
    order = np.random.default_rng(seed + 1).permutation(size)
    one = fit.scores({"cosine": cosine}, vectors)
    other = fit.scores({"cosine": cosine[order]}, vectors[order])
    np.testing.assert_allclose(one[order], other, rtol=1e-5, atol=1e-4)
    told = fit.probabilities({"cosine": cosine}, one)
    turned = fit.probabilities({"cosine": cosine[order]}, other)
    np.testing.assert_allclose(told[order], turned, rtol=1e-3, atol=1e-6)


@given(st.floats(-50, 50), st.integers(0, 100))
def test_a_lone_passage_is_as_good_as_its_peers(score: float, seed: int) -> None:
    _, vectors = made(seed, 1)
    assert peers(array(score), vectors).tolist() == [0.0]


@given(st.lists(st.floats(-1, 1) | st.just(nan), min_size=1, max_size=10))
def test_features_are_numbers(cosine: list[float]) -> None:
    found = features(np.ones(len(cosine)), evidence(array(*cosine), np.zeros(len(cosine))), None)
    assert all(np.isfinite(values).all() for values in found.values())
    assert ("cosine" in found) == (not all(np.isnan(cosine)))


def test_a_passage_without_a_vector_is_no_worse_than_the_least_alike() -> None:
    """Cosines with the others: 0.8 and 0; 0.8 and 0.6; 0 and 0.6. Their means are 0.4, 0.7 and 0.3;
    the fourth gets 0.3, and 0.425 is what the four have in the mean."""
    vectors = np.array([[1, 0], [0.8, 0.6], [0, 1], [0, 0]], np.float32)
    found = peers(np.zeros(4), vectors)
    assert found == pytest.approx([-0.025, 0.275, -0.125, -0.125], abs=1e-6)
    assert peers(np.zeros(1), np.zeros((1, 2), np.float32)) == pytest.approx([0.0])
