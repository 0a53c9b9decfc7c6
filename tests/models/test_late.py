"""Token vectors: how well they survive, how small they are, and MaxSim against its definition."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.models import late
from sourcebook.models.late import AXES, BITS, BYTES, MARK, TokenCodec, dropped, merged
from sourcebook.models.local import LocalEmbedder
from sourcebook.ports import Vectors

TEXTS = (
    "Fences along the rear line are built of cedar or stone and are no higher than six feet.",
    "The committee approves the design before work begins, within thirty days of a request.",
    "Macrophages secrete IL-6 in response to lipopolysaccharide (LPS), p < 0.05.",
    "def encode(self, ids: list[int]) -> bytes:  # one row a token",
    "Straßenbahn, café, 東京 and naïve résumés.",
)
QUESTION = "How high may a fence be?"


@pytest.fixture(scope="module")
def embedder(model_dir: Path) -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def codec(embedder: LocalEmbedder) -> TokenCodec:
    assert embedder.late is not None
    return embedder.late


@pytest.fixture(scope="module")
def coded(embedder: LocalEmbedder) -> list[bytes]:
    return embedder.embed_late(TEXTS)[1]


def kept(embedder: LocalEmbedder, text: str) -> Vectors:
    """The vectors that are coded: those of different tokens that are not left out."""
    ids, vectors = embedder.token_vectors(text)
    return merged(np.array(ids, np.int64), vectors, dropped(embedder.tokenizer))


def test_a_token_that_comes_again_is_kept_once_and_stop_words_are_not() -> None:
    """Tokens 5, 1, 5, 2, of which 2 is a stop word."""
    vectors: Vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [0, -1]], np.float32)
    without = np.array([False, False, True, False, False, False])
    found = merged(np.array([5, 1, 5, 2]), vectors, without)
    mean = np.array([1.6, 0.8]) / np.hypot(1.6, 0.8)
    assert found.tolist() == [[0, 1], pytest.approx(mean.tolist())]
    alone = merged(np.array([2, 2]), vectors[2:], without)
    assert alone.shape == (1, 2)


def test_the_bytes_of_a_token(embedder: LocalEmbedder, coded: list[bytes]) -> None:
    assert sum(axes * bits for axes, bits in BITS) / 8 == BYTES
    for text, code in zip(TEXTS, coded, strict=True):
        words = set(embedder.token_vectors(text)[0])
        assert len(code) == MARK + BYTES * len(kept(embedder, text)) < BYTES * len(words)


def test_tokens_come_back_much_as_they_were(
    embedder: LocalEmbedder, codec: TokenCodec, coded: list[bytes]
) -> None:
    cosines: list[float] = []
    for text, code in zip(TEXTS, coded, strict=True):
        true, known = kept(embedder, text), codec.vectors(code)
        assert np.linalg.norm(known, axis=1) == pytest.approx(np.ones(len(known)), abs=1e-4)
        cosines += (true * known).sum(axis=1).tolist()
    assert np.mean(cosines) > 0.8
    assert np.min(cosines) > 0.5


def test_maxsim_is_what_its_definition_says(
    embedder: LocalEmbedder, codec: TokenCodec, coded: list[bytes]
) -> None:
    query = embedder.embed_query(QUESTION).tokens
    assert query is not None
    expected = [(query @ codec.vectors(code).T).max(axis=1).mean() for code in coded]
    assert codec.maxsim(query, coded) == pytest.approx(expected, abs=1e-5)
    assert int(np.argmax(expected)) == 0


def test_coding_changes_maxsim_little(
    embedder: LocalEmbedder, codec: TokenCodec, coded: list[bytes]
) -> None:
    query = embedder.embed_query(QUESTION).tokens
    assert query is not None
    true = [(query @ kept(embedder, text).T).max(axis=1).mean() for text in TEXTS]
    found = codec.maxsim(query, coded)
    assert int(np.argmax(true)) == int(np.argmax(found)) == 0
    assert found == pytest.approx(true, abs=0.08)


def test_a_passage_of_300_tokens_takes_at_most_12_kilobytes(
    embedder: LocalEmbedder, codec: TokenCodec
) -> None:
    """Of prose: what stands here is the documentation of the project itself."""
    words = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text().split()
    for start in (0, 400, 800):
        size = 300
        while embedder.count([" ".join(words[start : start + size])])[0] > 300:
            size -= 5
        text = " ".join(words[start : start + size])
        assert 280 <= embedder.count([text])[0] <= 300
        assert len(embedder.embed_late([text])[1][0]) <= 12_000


def test_the_same_text_has_the_same_bytes_however_it_arrives(
    embedder: LocalEmbedder, coded: list[bytes]
) -> None:
    assert embedder.embed_late(TEXTS[::-1])[1] == coded[::-1]
    assert embedder.embed_late([TEXTS[2]])[1] == [coded[2]]
    assert embedder.embed_late(TEXTS)[0].tolist() == embedder.embed(TEXTS).tolist()


def test_the_order_of_the_texts_does_not_matter(
    embedder: LocalEmbedder, codec: TokenCodec, coded: list[bytes]
) -> None:
    query = embedder.embed_query(QUESTION).tokens
    assert query is not None
    turned = codec.maxsim(query, coded[::-1])[::-1]
    assert turned == pytest.approx(codec.maxsim(query, coded), abs=1e-6)


def test_small_batches_give_the_same(
    embedder: LocalEmbedder,
    codec: TokenCodec,
    coded: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = embedder.embed_query(QUESTION).tokens
    assert query is not None
    many = [b"", coded[0], b"", coded[1], coded[2], b"", b"", coded[3]]
    whole = codec.maxsim(query, many)
    assert [score == 0 for score in whole] == [text == b"" for text in many]
    for most in (1, 20, 45):
        monkeypatch.setattr(late, "_AT_ONCE", most)
        assert codec.maxsim(query, many) == pytest.approx(whole, abs=1e-6)


_BITS = f"""
from sourcebook.models.local import LocalEmbedder
model = LocalEmbedder()
vectors, coded = model.embed_late({TEXTS!r})
asked = model.embed_query({QUESTION!r})
print((vectors.tobytes() + asked.vector.tobytes()).hex(), b"".join(coded).hex())
print(model.late.maxsim(asked.tokens, coded).tobytes().hex())
"""


def test_the_kernels_of_matrix_products_do_not_show(model_dir: Path) -> None:
    """As on another processor, or with more threads."""
    ways = ({}, {"OPENBLAS_CORETYPE": "Nehalem"}, {"OPENBLAS_NUM_THREADS": "2"})
    said = {
        subprocess.run(
            [sys.executable, "-c", _BITS],
            env={**os.environ, **way},
            check=True,
            capture_output=True,
        ).stdout
        for way in ways
    }
    assert len(said) == 1
    assert all(said)


def test_a_text_of_stop_words_keeps_them(embedder: LocalEmbedder, codec: TokenCodec) -> None:
    text = "to be or not to be, that is the"
    ids, _ = embedder.token_vectors(text)
    assert dropped(embedder.tokenizer)[ids].all()
    [code] = embedder.embed_late([text])[1]
    assert codec.vectors(code).shape == (len(set(ids)), 384)


def test_texts_without_tokens(embedder: LocalEmbedder, codec: TokenCodec) -> None:
    nothing: Vectors = np.empty((0, 384), np.float32)
    empty = codec.encode([], nothing)
    assert len(empty) == MARK
    assert embedder.embed_late(["", "\u200b"])[1] == [empty, empty]
    assert codec.vectors(empty).shape == (0, 384)
    query = embedder.embed_query("fence").tokens
    assert query is not None
    assert codec.maxsim(query, []).tolist() == []
    assert codec.maxsim(query, [empty, b""]).tolist() == [0, 0]
    assert codec.maxsim(nothing, [codec.encode([2000], query[:1])]).tolist() == [0]


def test_a_codec_reads_only_what_it_wrote(codec: TokenCodec, embedder: LocalEmbedder) -> None:
    [code] = embedder.embed_late(["a fence"])[1]
    parts = (codec._axes, codec._deviations, [np.arange(2**bits) for _, bits in BITS])
    other = TokenCodec(codec._mean * 2, *parts, codec._dropped)
    assert codec.readable(code)
    assert not other.readable(code)
    assert not codec.readable(b"")


def test_what_is_left_out(embedder: LocalEmbedder) -> None:
    without = dropped(embedder.tokenizer)
    ids = embedder.tokenizer.get_vocab()
    assert without[[ids[token] for token in ("the", "of", ",", ".", "(")]].all()
    assert not without[[ids[token] for token in ("fence", "six", "6", "committee")]].any()


def test_a_model_that_was_not_fitted_has_no_codec(embedder: LocalEmbedder) -> None:
    assert TokenCodec.of("another-model", embedder.tokenizer) is None


@given(st.sampled_from([1, 2, 4]), st.integers(0, 6), st.data())
def test_packing_can_be_undone(bits: int, rows: int, data: st.DataObject) -> None:
    each = 8 // bits
    codes = np.array(
        data.draw(
            st.lists(
                st.lists(st.integers(0, 2**bits - 1), min_size=2 * each, max_size=2 * each),
                min_size=rows,
                max_size=rows,
            )
        ),
        np.uint8,
    ).reshape(rows, 2 * each)
    table = late._table(np.arange(2**bits, dtype=np.float32))
    packed = late._packed(codes, bits)
    assert packed.shape == (rows, 2)
    assert table[packed].reshape(rows, 2 * each).tolist() == codes.tolist()


def test_the_axes_fill_whole_bytes() -> None:
    assert all(axes * bits % 8 == 0 for axes, bits in BITS)
    assert AXES <= 384


def test_stop_words_of_a_question_count_little(embedder: LocalEmbedder, codec: TokenCodec) -> None:
    """A quarter of another word; 1 in the mean: 0.25 and 1 are 0.4 and 1.6."""
    tokens = embedder.embed_query("the fence").tokens
    assert tokens is not None
    assert np.linalg.norm(tokens, axis=1) == pytest.approx([0.4, 1.6], abs=1e-5)
    whole = codec.encode([1000], np.eye(384, dtype=np.float32)[:1])
    each = [codec.maxsim(row[None], [whole])[0] for row in tokens]
    assert codec.maxsim(tokens, [whole])[0] == pytest.approx(np.mean(each), abs=1e-5)
    assert embedder.embed_query("").tokens is not None
