"""Does a commit wait for the model? `ingest --no-wait` with the real model beside a null one.

    python benchmarks/no_wait.py [--documents 1500] [--runs 7] [--json FILE]

Real abstracts (SciFact) are taken in without waiting for vectors, into a new store each time, in
turn with the configured model and with one that has the same tokenizer and embeds nothing. What
takes its part in a commit is the tokenizer alone, so the ratio of the medians is about 1 (at most
1.1 is wanted); the model's weights are not even loaded. Beside it: what full-text search finds at
once, and what the answer declares.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sourcebook import Sourcebook
from sourcebook.models.local import LocalEmbedder

DATA = Path(os.environ.get("SOURCEBOOK_DATA", "../shared/data"))
MOST = 1.1


class Null(LocalEmbedder):
    """The tokenizer of the model, and no model."""

    def embed(self, texts: Sequence[str], *_: object) -> np.ndarray:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        vectors[:, 0] = 1
        return vectors


def ingest(corpus: Path, embedder: LocalEmbedder) -> tuple[float, Sourcebook]:
    """Seconds from the call to the answer that it is committed."""
    store = Path(tempfile.mkdtemp(dir=corpus.parent)) / "store.db"
    engine = Sourcebook.open(f"sqlite:///{store}")
    engine.embedder = embedder
    start = time.perf_counter()
    outcome = engine.ingest(corpus, wait=False)
    seconds = time.perf_counter() - start
    assert outcome.revision == 1
    assert outcome.pending_vectors > 0
    return seconds, engine


def compare(corpus: Path, runs: int) -> dict[str, object]:
    """In turn, and in the other order every second time, so that moods of the machine fall on both
    alike; the first pair only warms up."""
    times: dict[str, list[float]] = {"model": [], "null": []}
    cpu: dict[str, list[float]] = {"model": [], "null": []}
    for run in range(runs + 1):
        pair = [("model", LocalEmbedder()), ("null", Null())]
        for name, embedder in pair if run % 2 else reversed(pair):
            start = time.process_time()
            seconds, engine = ingest(corpus, embedder)
            assert embedder._session is None, "the weights were loaded"
            if run:
                times[name].append(seconds)
                cpu[name].append(time.process_time() - start)
            engine.close()
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "seconds": {name: round(value, 3) for name, value in medians.items()},
        "ratio": round(medians["model"] / medians["null"], 3),
        "ratio of the fastest": round(min(times["model"]) / min(times["null"]), 3),
        "ratio of processor time": round(sum(cpu["model"]) / sum(cpu["null"]), 3),
    }


def seen_at_once(corpus: Path) -> dict[str, object]:
    """What a search says right behind the commit."""
    _, engine = ingest(corpus, LocalEmbedder())
    with engine:
        sparse = engine.search("calcium uptake in cells", mode="sparse")
        hybrid = engine.search("calcium uptake in cells")
        return {
            "full-text hits": len(sparse.results),
            "declared": [f"{each.part}: {each.reason}" for each in hybrid.degraded],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.jsonl"
        lines = (DATA / "scifact" / "corpus.jsonl").read_text("utf-8").splitlines()
        corpus.write_text("\n".join(lines[: given.documents]) + "\n", "utf-8")
        result = {"documents": given.documents, **compare(corpus, given.runs)}
        result |= seen_at_once(corpus)
    print(json.dumps(result, indent=2))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")
    if result["ratio"] > MOST:
        raise SystemExit(f"a commit with the model takes {result['ratio']} times as long")


if __name__ == "__main__":
    main()
