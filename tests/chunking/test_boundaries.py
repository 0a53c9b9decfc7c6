"""Topic boundaries: numbers worked out by hand, a brute-force twin, and invariants."""

import json
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from sourcebook.chunking import boundaries
from sourcebook.chunking.boundaries import Boundary, cuts, detect, distances
from sourcebook.models.static import StaticModel

Floats = NDArray[np.float32]


def rows(*given: list[float]) -> Floats:
    return np.array(given, dtype=np.float32)


def units(vectors: NDArray[np.floating]) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def topics(sizes: list[int], *, noise: float, seed: int = 5, width: int = 64) -> Floats:
    """Units scattered around one direction for each topic."""
    draw = np.random.default_rng(seed)
    centres = np.repeat(units(draw.standard_normal((len(sizes), width))), sizes, axis=0)
    scatter = draw.standard_normal(centres.shape) * noise / np.sqrt(width)
    return units(centres + scatter)


def found(vectors: Floats, **options: object) -> list[int]:
    return [b.index for b in detect(vectors, **options) if b.significant]  # type: ignore[arg-type]


# By hand ---------------------------------------------------------------------------------------


def test_distance_of_neighbours_in_their_context() -> None:
    # Gap 1: before is (0, 1) + (1, 0) / 2, after is (0, 1): the cosine is 1 / sqrt(1.25).
    measured = distances(rows([1, 0], [0, 1], [0, 1]))
    assert measured == pytest.approx([1.0, 1 - 1 / np.sqrt(1.25)])


def test_distance_reaches_three_units_to_either_side() -> None:
    # Before: 1 and 1/2 and 1/4 of three right angles; after: the same of (1, 0, 0, 0) alone.
    measured = distances(
        rows([0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0])
    )
    # Gap 3: (1/4, 1/2, 1, 0) and (1.5, 0, 0, 0): cosine 0.25 / sqrt(0.0625 + 0.25 + 1).
    assert measured[3] == pytest.approx(1 - 0.25 / np.sqrt(1.3125))


def test_price_at_which_two_pairs_become_one_topic() -> None:
    # a, a, b, b: the mean is (a + b) / 2, the variance 0.5, the scaled similarities 1 and -1, and
    # the lift 1/3. A pair alone has 2 * (4/3) / (2 + KAPPA) = 2/3; all four have 0. The boundary
    # brings 4/3 and costs 0.2 * t/0.35 * t/0.5, which is equal at t = sqrt(7/6) = 1.0801.
    four = rows([1, 0], [1, 0], [0, 1], [0, 1])
    assert found(four) == [1]
    assert found(four, threshold=1.07) == [1]
    assert found(four, threshold=1.09) == []


def test_exchanges_are_bound_by_the_excess_of_their_parity() -> None:
    # Means of 0.7 and 0.1: the gaps of the first parity are inside exchanges.
    alike = np.array([0.8, 0.1, 0.6, 0.1])
    assert boundaries._exchange_bonds(alike) == pytest.approx([0.6, 0, 0.6, 0])
    assert boundaries._exchange_bonds(alike[1:]) == pytest.approx([0, 0.5, 0])


def test_doubt_where_neighbours_are_no_more_alike_than_others() -> None:
    # 41 units: the lift is 1/40, so an excess of 0.2 is no doubt at all, and none in common gives
    # (41 * 0 + 10 * 0.2) / 51 = 0.0392, of which half of the usual 0.2 is 2.55 times.
    assert boundaries._doubt(np.full(40, 0.2 - 1 / 40)) == 1.0
    assert boundaries._doubt(np.full(40, -1 / 40)) == pytest.approx(2.55)


def test_weights_grow_with_the_fourth_root_of_the_length() -> None:
    # 16 tokens weigh twice as much as one; the mean of 1, 2 is 1.5.
    assert boundaries._weights(np.array([1, 16]), 2) == pytest.approx([1 / 1.5, 2 / 1.5])


def test_nothing_is_paid_enough_to_part_identical_units() -> None:
    vectors = rows([1, 0], [1, 0], [0, 1])
    prices = boundaries._prices(vectors, vectors, 0.35, turns=False)
    assert prices.tolist() == [np.inf, pytest.approx(0.2)]


# Known topics ----------------------------------------------------------------------------------


def test_finds_the_seams_of_three_topics() -> None:
    assert found(topics([6, 9, 5], noise=1.0)) == [5, 14]


def test_topics_longer_than_the_reach_stay_whole() -> None:
    assert found(topics([70, 130, 80], noise=1.0)) == [69, 199]
    assert found(topics([64, 128, 64], noise=1.0)) == [63, 191]


def test_a_text_of_one_topic_or_of_shuffled_topics_is_not_cut() -> None:
    assert found(topics([300], noise=1.0)) == []
    mixed = topics([10] * 12, noise=1.0)[np.random.default_rng(1).permutation(120)]
    assert found(mixed) == []


def test_the_mean_is_that_of_the_surroundings() -> None:
    # A long stretch about something else must not hide the topics of the rest.
    near = units(topics([8] * 40, noise=1.0) + 2 * topics([320], noise=0.0, seed=9))
    far = topics([1000], noise=1.0, seed=3)
    assert {b for b in found(np.concatenate([near, far])) if b < 200} >= set(range(7, 200, 8))


def test_an_answer_stays_with_its_question() -> None:
    # Eight exchanges, each with something of its own, four to a topic; the question that opens the
    # second topic leans a little to the first.
    said = np.zeros((16, 10))
    said[:8, 0] = said[8:, 1] = 1.0
    said[np.arange(16), 2 + np.arange(16) // 2] = 0.7
    said[8, :2] = [0.6, 0.4]
    assert found(units(said)) == [8]
    assert found(units(said), turns=True) == [7]


# Edges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_lies_between_fewer_than_two_units(count: int) -> None:
    assert detect(np.ones((count, 4), dtype=np.float32)) == []


def test_two_units_are_no_statistics() -> None:
    assert detect(rows([1, 0], [0, 1])) == [Boundary(0, 1.0, False)]


def test_empty_units_neither_cut_nor_spoil_numbers() -> None:
    assert all(b == Boundary(i, 0.0, False) for i, b in enumerate(detect(np.zeros((9, 4)))))
    whole = topics([6, 6], noise=1.0)
    for empty in (1, 2, 5):
        gapped = np.insert(whole, 6, np.zeros((empty, 64)), axis=0)
        assert found(gapped, lengths=np.full(len(gapped), 9)) == [5 + empty]
        assert all(np.isfinite(b.distance) for b in detect(gapped))


def test_the_input_is_left_as_it_was_and_the_result_repeats() -> None:
    vectors = topics([5, 5, 5], noise=1.0)
    kept = vectors.copy()
    assert detect(vectors) == detect(vectors.astype(np.float64))
    assert (vectors == kept).all()


# Against brute force ---------------------------------------------------------------------------


def value(vectors: Floats, weights: NDArray[np.float64], marks: tuple[bool, ...]) -> float:
    """Cohesion of one segmentation less its prices, straight from the definition."""
    count = len(vectors)
    centred = vectors - vectors.mean(axis=0)
    variance = float((centred**2).sum() / count)
    centred = centred / np.sqrt(variance)
    products = centred @ centred.T + 1 / (count - 1)
    mixed = (count * np.diag(products, 1).mean() + 10 * 0.2) / (count + 10)
    price = boundaries.PENALTY * max(1.0, 0.1 / max(mixed, 0.001)) * max(1.0, 0.35 / variance)
    total = -price * sum(marks)
    alike = products * np.outer(weights, weights)
    edges = [0, *(i + 1 for i, cut in enumerate(marks) if cut), count]
    for low, high in pairwise(edges):
        part = alike[low:high, low:high]
        mass = weights[low:high].sum() + boundaries.KAPPA
        total += (part.sum() - np.trace(part)) / mass
    return float(total)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 8), st.booleans())
def test_no_segmentation_is_better(seed: int, count: int, weighed: bool) -> None:
    draw = np.random.default_rng(seed)
    vectors = units(draw.standard_normal((count, 5)))
    lengths = draw.integers(1, 60, count) if weighed else None
    weights = boundaries._weights(lengths, count)
    best = max(value(vectors, weights, marks) for marks in product([False, True], repeat=count - 1))
    chosen = tuple(cuts(vectors, lengths=lengths).tolist())
    assert value(vectors, weights, chosen) == pytest.approx(best, abs=1e-4)


def test_blocks_and_tiles_do_not_show() -> None:
    vectors = topics([7, 11, 30, 5] * 8, noise=1.2)
    centred, _ = boundaries._standardise(vectors)
    reach = boundaries.REACH - 1
    band = np.concatenate(
        [boundaries._band(centred, at) for at in range(0, len(centred), boundaries.BLOCK)]
    )
    for unit in (0, 1, reach, boundaries.BLOCK - 1, boundaries.BLOCK, len(centred) - 1):
        before = centred[max(0, unit - reach) : unit] @ centred[unit]
        assert band[unit, reach - len(before) :] == pytest.approx(before, abs=1e-4)
        assert not band[unit, : reach - len(before)].any()


# Properties ------------------------------------------------------------------------------------

documents = st.builds(
    lambda sizes, noise, seed: topics(sizes, noise=noise, seed=seed, width=12),
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.floats(0.0, 3.0),
    st.integers(0, 1000),
)


@settings(max_examples=60, deadline=None)
@given(documents, st.lists(st.floats(0.0, 2.0), min_size=2, max_size=5), st.booleans())
def test_a_higher_threshold_never_gives_more(
    vectors: Floats, thresholds: list[float], turns: bool
) -> None:
    counts = [len(found(vectors, threshold=t, turns=turns)) for t in sorted(thresholds)]
    assert counts == sorted(counts, reverse=True)


@settings(max_examples=60, deadline=None)
@given(documents, st.data())
def test_identical_neighbours_are_never_apart(vectors: Floats, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(vectors) - 1))
    doubled = np.insert(vectors, at, vectors[at], axis=0)
    assert at not in found(doubled, threshold=0.0)


@settings(max_examples=60, deadline=None)
@given(documents)
def test_one_boundary_a_gap_in_order_within_bounds(vectors: Floats) -> None:
    result = detect(vectors)
    assert [b.index for b in result] == list(range(len(vectors) - 1))
    assert all(0.0 <= b.distance <= 1.0 for b in result)


# The vectors -----------------------------------------------------------------------------------

WORDS = ["[UNK]", "[PAD]", "sea", "ship", "the", "##s", "##yard", "12"]
TABLE = rows([9, 9], [9, 9], [3, 0], [0, 2], [0.5, 0], [7, 7], [0, 4], [5, 5])


def wordpiece(words: list[str], **more: object) -> Tokenizer:
    vocabulary = {word: row for row, word in enumerate(words)}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    spec = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "normalizer": {"type": "Lowercase"},
        "model": {**model, "max_input_chars_per_word": 100, "vocab": vocabulary},
        **more,
    }
    return Tokenizer.from_str(json.dumps(spec))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_file({"embeddings": TABLE}, tmp_path / "model.safetensors")
    wordpiece(WORDS).save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_a_text_is_the_direction_of_its_weighted_tokens(folder: Path) -> None:
    vectors, counts = StaticModel(folder).measure(
        ["sea ship", "Ships", "shipyard", "12", "", "xyz sea"]
    )
    # "Ships" is ship + s, and one letter counts nothing; "shipyard" is (0, 2) + (0, 4) / 2.
    assert counts.tolist() == [2, 2, 2, 1, 0, 2]
    expected = [[3 / np.sqrt(13), 2 / np.sqrt(13)], [0, 1], [0, 1], [0, 0], [0, 0], [1, 0]]
    assert vectors == pytest.approx(np.array(expected), abs=1e-6)


def test_half_a_share_for_the_rest_of_a_word(folder: Path) -> None:
    # sea (3, 0) and ##yard (0, 4) / 2: without the half it would be (3, 4) / 5.
    vector = StaticModel(folder).embed(["seayard"])[0]
    assert vector == pytest.approx([3 / np.sqrt(13), 2 / np.sqrt(13)])


def test_another_tokenizer_is_matched_by_token_and_never_cut(folder: Path) -> None:
    cut = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    other = wordpiece(["[unused0]", "ship", "[UNK]", "boat", "sea"], truncation=cut)
    shared = StaticModel(folder, tokenizer=other)
    vectors, counts = shared.measure(["sea sea ship boat"])
    assert counts.tolist() == [4]
    assert vectors[0] == pytest.approx(np.array([6, 2]) / np.sqrt(40))
    assert len(other.encode("sea sea ship boat").ids) == 2


def test_long_texts_are_gathered_in_parts(folder: Path) -> None:
    text = "ship " * 1500 + "sea " * 1000
    assert StaticModel(folder).embed([text])[0] == pytest.approx([1 / np.sqrt(2)] * 2)
