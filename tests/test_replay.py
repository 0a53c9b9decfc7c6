"""Answers at baselines stay the same to the byte, whatever happens to the store: evals/replay.py in
small, with a quick embedder."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from evals.replay import Corpus, measure

from sourcebook.chunking.fixed import FixedChunker
from sourcebook.config import load
from sourcebook.engine import Engine
from sourcebook.ports import Embedder, Vectors
from sourcebook.stores.sqlite import SqliteStore
from tests.town import TOWN, WordEmbedder

QUESTIONS = [
    "How high may fences be?",
    "how many dogs or cats may each home keep",
    '"the green bin"',
    "when is the pool open, and who pays dues late?",
    "solar panels on the roof",
]


class OtherWords(WordEmbedder):
    """Other directions for the same words."""

    model = "other-words"

    def embed(self, texts: list[str]) -> Vectors:  # type: ignore[override]
        turned = super().embed([f"{text} {crc32(text.encode())}" for text in texts])
        return np.ascontiguousarray(turned[:, ::-1])


@pytest.fixture
def reopened(tmp_path: Path) -> Iterator[list[Engine]]:
    opened: list[Engine] = []
    yield opened
    for engine in opened:
        engine.close()


@pytest.mark.parametrize("seed", range(3))
def test_answers_at_baselines_never_change(
    tmp_path: Path, reopened: list[Engine], seed: int
) -> None:
    def other(provider: str, model: str, dimensions: int | None) -> Embedder:
        assert (provider, model) == ("test", "other-words")
        return OtherWords()

    def reopen() -> Engine:
        embedder = WordEmbedder()
        chunker = FixedChunker(embedder.count)
        made = (load(), SqliteStore.open(tmp_path / "s.db"), embedder, lambda: chunker, tmp_path)
        reopened.append(Engine(*made, make_embedder=other))
        return reopened[-1]

    rng = random.Random(seed)
    texts = [(name, text) for name, text in TOWN.items()]
    texts += [(f"copy-{name}", f"{text} As of {n}.") for n, (name, text) in enumerate(texts)]
    rng.shuffle(texts)
    told = measure(
        reopen(),
        reopen,
        Corpus(texts, rng),
        QUESTIONS,
        other_space="test/other-words",
        documents=8,
        between=4,
        after=25,
    )
    assert (told["answers"], told["identical"]) == (25, 25)
    assert told["different_answers"] > 20
    assert told["dropped"] > 10
    assert told["dropped_passages"] > 0
    assert told["embedded_by_the_other_model"] > 20
