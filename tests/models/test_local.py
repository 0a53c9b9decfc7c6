"""The local embedder, with the real model."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from sourcebook.errors import InvalidInput, ModelUnavailable
from sourcebook.models.local import LocalEmbedder

TEXTS = [
    "The warehouse service handles order fulfilment.",
    "Invoices are sent on the first day of the month.",
    "",
    "A cat sleeps on the warm stones of the harbour wall. " * 12,
    "Stiff matrices need an implicit integration scheme.",
    "naïve café – 価格は無料です 🙂",
    "ERR_CONN-42",
]


@pytest.fixture(scope="module")
def embedder(model_dir: Path) -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def vectors(embedder: LocalEmbedder) -> np.ndarray:
    return embedder.embed(TEXTS)


def words(count: int) -> str:
    """A text of that many tokens: `apple` is one."""
    return "apple " * count


def test_says_what_it_is(embedder: LocalEmbedder) -> None:
    described = (embedder.provider, embedder.model, embedder.dimensions, embedder.max_tokens)
    assert described == ("local", "gte-small", 384, 510)


def test_vectors_are_finite_and_of_unit_length(vectors: np.ndarray) -> None:
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_meaning_is_nearer_than_words(embedder: LocalEmbedder) -> None:
    query = embedder.embed_query("Which component ships what customers bought?").vector
    near, far = embedder.embed([TEXTS[0], "Which customers bought a component of the ship?"])
    unrelated = embedder.embed(["Rain is expected in the north on Friday."])[0]
    assert query @ near > query @ unrelated + 0.05
    assert query @ far > query @ unrelated


def test_same_text_has_the_same_bytes_alone_and_among_others(
    embedder: LocalEmbedder, vectors: np.ndarray
) -> None:
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])
    backwards = embedder.embed(TEXTS[::-1])[::-1]
    other_instance = LocalEmbedder(threads=1).embed(TEXTS)
    for again in (alone, backwards, other_instance):
        assert again.tobytes() == vectors.tobytes()


def test_four_threads_at_once_get_the_same_bytes(model_dir: Path, vectors: np.ndarray) -> None:
    fresh = LocalEmbedder()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: fresh.embed(TEXTS), range(4)))
    assert all(result.tobytes() == vectors.tobytes() for result in results)


def test_query_of_a_model_without_prefix_is_its_document_vector(
    embedder: LocalEmbedder, vectors: np.ndarray
) -> None:
    assert embedder.embed_query(TEXTS[0]).vector.tobytes() == vectors[0].tobytes()


def test_no_texts_give_no_rows(embedder: LocalEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)
    assert embedder.count([]) == []


def test_counts_are_the_tokenizers(embedder: LocalEmbedder, model_dir: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    many = [f"{text} {number}" for number in range(100) for text in TEXTS]
    expected = [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in many]
    assert embedder.count(many) == expected


def test_special_tokens_in_a_text_are_words(embedder: LocalEmbedder) -> None:
    assert embedder.count(["[SEP]"]) == embedder.count(["[ sep ]"]) == [3]


def test_longest_text_is_taken_and_one_token_more_refused(embedder: LocalEmbedder) -> None:
    assert embedder.embed([words(510)]).shape == (1, 384)
    with pytest.raises(InvalidInput, match=r"Text 1 has 511 tokens.* takes 510"):
        embedder.embed(["short", words(511)])


def test_query_is_cut_at_what_the_model_takes(embedder: LocalEmbedder) -> None:
    cut = embedder.embed_query(words(510) + "zebra " * 50).vector
    assert cut.tobytes() == embedder.embed_query(words(510)).vector.tobytes()


def test_lone_surrogate_does_not_stop_the_rest(embedder: LocalEmbedder) -> None:
    assert np.isfinite(embedder.embed(["broken \ud800 text"])).all()


def test_progress_counts_up_to_all(embedder: LocalEmbedder) -> None:
    seen: list[tuple[int, int]] = []
    embedder.embed(TEXTS[:3], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_unknown_and_static_models_are_refused() -> None:
    with pytest.raises(InvalidInput, match="choose one of"):
        LocalEmbedder("no-such-model")
    with pytest.raises(InvalidInput, match="not an encoder"):
        LocalEmbedder("potion-base-8M")


def test_missing_model_is_told_at_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCEBOOK_MODELS", str(tmp_path))
    embedder = LocalEmbedder()
    with pytest.raises(ModelUnavailable, match="run `sourcebook model install`"):
        embedder.count(["text"])


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_damaged_file_of_the_right_size_is_told(
    name: str, model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "gte-small"
    broken.mkdir()
    for file in model_dir.iterdir():
        (broken / file.name).symlink_to(file)
    size = (broken / name).stat().st_size
    (broken / name).unlink()
    (broken / name).write_bytes(b"\xff" * size)
    monkeypatch.setenv("SOURCEBOOK_MODELS", str(tmp_path))
    with pytest.raises(ModelUnavailable, match=f"{name} .*is damaged; run `sourcebook model"):
        LocalEmbedder().embed(["text"])


def test_import_and_construction_load_no_runtime() -> None:
    program = (
        "import sys; from sourcebook.models.local import LocalEmbedder; LocalEmbedder();"
        "sys.exit('onnxruntime' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_what_was_embedded_is_counted_and_costs_nothing(embedder: LocalEmbedder) -> None:
    before = embedder.usage
    embedder.embed(["one two three", "four"])
    embedder.embed_query("five six")
    after = embedder.usage
    assert (after.texts - before.texts, after.tokens - before.tokens) == (3, 6)
    assert (after.requests, after.cost) == (0, 0.0)
