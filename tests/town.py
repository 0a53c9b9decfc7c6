"""A small real corpus for tests of the pipeline, and two embedders: the real one, and one that is
quick, knows words alone and was never calibrated."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from sourcebook import Sourcebook
from sourcebook.chunking.fixed import FixedChunker
from sourcebook.config import load
from sourcebook.engine import Engine
from sourcebook.ports import EmbeddedQuery, Usage, Vectors
from sourcebook.querying.search import Searches
from sourcebook.stores.sqlite import SqliteStore

FENCE = "How high may fences along the rear line be?"
OFF_TOPIC = "Who won the football cup in 1998?"
TOWN = {
    "fences.md": "Fences along the rear line are built of cedar or stone and are no higher than "
    "six feet. The committee approves the design before work begins.",
    "pets.md": "Each home may keep two dogs or cats. Dogs are walked on a lead, and their owners "
    "clean up after them.",
    "parking.md": "A car may stand on the street for twenty-four hours. After that it is towed at "
    "the cost of its owner.",
    "pool.md": "The pool is open from May to September, from eight in the morning until sunset. "
    "Children under twelve swim with an adult.",
    "dues.md": "Dues are paid every quarter. Who pays more than thirty days late owes a fee of 25 "
    "dollars.",
    "waste.md": "Bins are put out on Tuesday evening and taken back by Wednesday noon. Glass goes "
    "into the green bin.",
    "solar.md": "Solar panels are placed on the slope of the roof that cannot be seen from the "
    "street.",
}


def write(folder: Path, documents: Mapping[str, str]) -> Path:
    for name, text in documents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n")
    return folder


def opened(folder: Path, documents: Mapping[str, str], **settings: Any) -> Sourcebook:
    """An index of these documents, with the real model, in a store beside them."""
    store = folder / "store.db"
    sb = Sourcebook.open(f"sqlite:///{store}", **settings)
    sb.ingest(write(folder / "files", documents))
    return sb


def searches(engine: Engine) -> Searches:
    return Searches(engine.store, engine.embedder, engine.scope, engine.space)


def ids(answer: Any) -> list[str]:
    """The file names of the hits, in order."""
    return [hit.node.element_id.rpartition("/")[2] for hit in answer.results]


class WordEmbedder:
    """Implements ports.Embedder: a text is the sum of its words' random directions."""

    provider, model, dimensions, max_tokens = "test", "words", 64, 1000
    late, usage = None, Usage()

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+", text)) for text in texts]

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.array([self._sum(text) for text in texts], np.float32).reshape(
            -1, self.dimensions
        )
        unit: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return unit

    def embed_query(self, text: str) -> EmbeddedQuery:
        return EmbeddedQuery(self.embed([text])[0])

    def embed_late(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        raise NotImplementedError

    def _sum(self, text: str) -> Vectors:
        words = re.findall(r"\w+", text.lower())
        found: Vectors = np.sum(
            [np.random.default_rng(crc32(w.encode())).normal(size=self.dimensions) for w in words],
            axis=0,
        )
        return found


def quick(folder: Path, documents: Mapping[str, str], **settings: Any) -> Engine:
    """An index that is made at once: with the embedder that knows words alone."""
    embedder = WordEmbedder()
    folder.mkdir(parents=True, exist_ok=True)
    store = SqliteStore.open(f"sqlite:///{folder / 'store.db'}")
    chunker = FixedChunker(embedder.count)
    engine = Engine(load(**settings), store, embedder, lambda: chunker, folder)
    engine.ingest(write(folder / "files", documents))
    return engine


# --- a language model that judges ----------------------------------------------------------------

_PASSAGE = re.compile(r"<passage-([0-9a-f]{12})>\n(.*?)\n</passage-\1>", re.DOTALL)


def passage_of(body: Any) -> tuple[str, str]:
    """The code and the passage of a request to judge one."""
    found = _PASSAGE.search(body["messages"][1]["content"])
    assert found
    return found[1], found[2]


def score(body: Any, value: float) -> str:
    return json.dumps({"id": passage_of(body)[0], "score": value})
