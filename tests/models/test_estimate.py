"""Token counts for models that are not here: exact by BERT's vocabulary, else rather too high."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.models.estimate import TokenCount
from sourcebook.models.install import install
from sourcebook.models.local import LocalEmbedder, open_tokenizer

TEXTS = [
    "A harbour is a place for ships, unbelievably so.",
    "def f(x):\n\treturn x[0] + 1  # naïve",
    "",
    "人人生而自由 😀 Würde",
    "[SEP] is a word here",
]
CL100K = [
    # (text, its number of tokens by OpenAI's cl100k_base)
    ("The quick brown fox jumps over the lazy dog.", 10),
    ("tiktoken is great!", 6),
    ("antidisestablishmentarianism", 6),
    ("2 + 2 = 4", 7),
    ("お誕生日おめでとう", 9),
]
"""Published: the last four in OpenAI's guide to counting tokens."""


@pytest.fixture(scope="module")
def counters() -> tuple[TokenCount, TokenCount]:
    tokenizer = open_tokenizer(install("potion-base-8M") / "tokenizer.json")
    return TokenCount(tokenizer, exact=True), TokenCount(tokenizer, exact=False)


def test_berts_vocabulary_is_counted_exactly(
    counters: tuple[TokenCount, TokenCount], model_dir: Path
) -> None:
    assert counters[0](TEXTS) == LocalEmbedder().count(TEXTS)


@pytest.mark.parametrize(("text", "tokens"), CL100K)
def test_an_estimate_is_not_too_low(
    counters: tuple[TokenCount, TokenCount], text: str, tokens: int
) -> None:
    (estimate,) = counters[1]([text])
    assert tokens <= estimate <= 3 * tokens


def test_an_estimate_by_hand(counters: tuple[TokenCount, TokenCount]) -> None:
    one, gaps, wide, blob = counters[1](["ship", "ship\n\n  ship  ship\tship", "😀", "x" * 303])
    assert one == 2  # 1 × 1.15, rounded up
    assert gaps == 9  # (4 words + 3 gaps) × 1.15 = 8.05
    assert wide == 4  # 4 bytes × 2/3 × 1.15 = 3.07
    assert blob == 233  # 303 bytes × 2/3 × 1.15 = 232.3
    assert counters[1]([""]) == [0]


@given(texts=st.lists(st.text(max_size=80), max_size=5))
def test_any_text_can_be_counted(counters: tuple[TokenCount, TokenCount], texts: list[str]) -> None:
    exact, estimate = counters
    for low, high in zip(exact(texts), estimate(texts), strict=True):
        assert 0 <= low <= high


def test_half_a_character_counts_too(counters: tuple[TokenCount, TokenCount]) -> None:
    assert counters[0](["a\ud800b"]) == counters[0](["a?b"])
    assert counters[1](["a\ud800b"])[0] > 0
