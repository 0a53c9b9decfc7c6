"""Search over 100,000 passages: speed beside LanceDB, filters beside an exact scan, and history.

    python benchmarks/search.py [--passages 100000] [--json FILE]

Real text (windows of sentences of the SciFact abstracts) and real questions (its claims), with
vectors of the static boundary model turned into 384 dimensions: what is measured is search, not
the model. LanceDB holds the same passages and vectors in the same run, with its own vector index
(IVF-HNSW-SQ) and full-text index, and fuses by its own reciprocal rank fusion; all questions are
asked of both in turn, several times. Times are those of one process; embedding the query is left
out on both sides. Read the ratios: machines differ.

NumPy runs in one thread, as it does under the command line.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from sourcebook.bootstrap import BOUNDARY_MODEL
from sourcebook.chunking.fixed import FixedChunker
from sourcebook.config import Settings
from sourcebook.engine import Engine
from sourcebook.ingest import Request
from sourcebook.model import Block, Document, Filter, ReadContext
from sourcebook.models.install import locate
from sourcebook.models.late import TokenCodec
from sourcebook.models.static import StaticModel
from sourcebook.ports import EmbeddedQuery, Usage, Within
from sourcebook.querying.answer import Options
from sourcebook.querying.cache import Cache
from sourcebook.querying.cite import cite
from sourcebook.querying.fuse import explain
from sourcebook.querying.prepare import normalize, prepare
from sourcebook.querying.recall import recall
from sourcebook.querying.search import Searches
from sourcebook.stores.sqlite import SqliteStore

DATA = Path(os.environ.get("SOURCEBOOK_DATA", "../shared/data"))
DIMENSIONS = 384


ROUNDS = 3
FUSED = {"rerank": "none", "cache": False}
"""Search in the fused order, with the relevance of every hit."""


class TurnedStatic:
    """The static model's vectors in 384 dimensions; an isometry keeps every cosine."""

    provider, model, dimensions, max_tokens = "bench", "gte-small", DIMENSIONS, 510
    """The reranker's weights are those of gte-small: here they only have to cost what they cost."""
    usage = Usage()

    def __init__(self) -> None:
        self._model = StaticModel(locate(BOUNDARY_MODEL))
        width = self._model.embed(["width"]).shape[1]
        turned, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(DIMENSIONS, width)))
        self._turn = turned.T.astype(np.float32)
        tokens = self._model.table @ self._turn
        self._tokens = tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-9)
        self.late = TokenCodec.of(self.model, self._model.tokenizer)

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = self._model.embed(texts) @ self._turn
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors[norms[:, 0] == 0, 0] = 1.0
        return (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)

    def embed_late(self, texts: Sequence[str]) -> tuple[np.ndarray, list[bytes]]:
        return self.embed(texts), [self.late.encode(*self._own_tokens(text)) for text in texts]

    def embed_query(self, text: str) -> EmbeddedQuery:
        return EmbeddedQuery(self.embed([text])[0], self._own_tokens(text)[1])

    def _own_tokens(self, text: str) -> tuple[list[int], np.ndarray]:
        ids = self._model.tokenizer.encode(text, add_special_tokens=False).ids
        return ids, self._tokens[ids]


def passages(wanted: int) -> list[str]:
    """Windows of three to five sentences, each distinct, from real abstracts."""
    rows = [json.loads(line) for line in (DATA / "scifact" / "corpus.jsonl").open()]
    made: dict[str, None] = {}
    for size in (4, 3, 5, 2, 6):
        for row in rows:
            sentences = row["text"].split(". ")
            for at in range(0, max(len(sentences) - size + 1, 1)):
                made[". ".join(sentences[at : at + size])] = None
                if len(made) == wanted:
                    return list(made)
    raise SystemExit(f"only {len(made)} passages can be made")


def questions() -> list[str]:
    files = [DATA / "scifact" / name for name in ("queries.jsonl", "queries_train.jsonl")]
    return [json.loads(line)["text"] for file in files for line in file.open()]


FACETS = {"percent": 100, "tenth": 10, "all": 1}
"""Filters that keep 1 %, 10 % and all: the document's number modulo this."""


def document(number: int, text: str) -> Document:
    buckets = {key: str(number % count) for key, count in FACETS.items()}
    block = Block("prose", 0, len(text))
    return Document(f"p{number:06d}", "", text, f"{number}.txt", "text", (block,), buckets)


def engine_over(path: Path, embedder: TurnedStatic) -> Engine:
    store = SqliteStore.open(f"sqlite:///{path}")
    chunker = FixedChunker(embedder.count)
    return Engine(Settings(), store, embedder, lambda: chunker, path.parent)


def timed(call: Callable[[str], object], asked: Sequence[str]) -> dict[str, float]:
    """Percentiles in milliseconds, after a warm-up that is not counted."""
    for text in asked[:20]:
        call(text)
    times = []
    for text in asked:
        start = time.perf_counter()
        call(text)
        times.append((time.perf_counter() - start) * 1e3)
    return _percentiles(times)


def in_blocks(
    calls: Mapping[str, Callable[[str], object]], asked: Sequence[str]
) -> dict[str, dict[str, float]]:
    """The same of several calls, each asked all questions several times in turn, so that the
    machine's moods fall on all alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            for text in asked[:20]:
                call(text)
            for text in asked:
                start = time.perf_counter()
                call(text)
                times[name].append((time.perf_counter() - start) * 1e3)
    return {name: _percentiles(took) for name, took in times.items()}


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    return {"p50": float(np.percentile(times, 50)), "p95": float(np.percentile(times, 95))}


class CachedVectors:
    """Query vectors computed before the clock runs."""

    def __init__(self, embedder: TurnedStatic, asked: Sequence[str]) -> None:
        texts = [normalize(text) for text in asked]
        self._known = {text: embedder.embed_query(text) for text in texts}
        self.provider, self.model = embedder.provider, embedder.model
        self.dimensions, self.max_tokens = embedder.dimensions, embedder.max_tokens
        self.count, self.embed, self.late = embedder.count, embedder.embed, embedder.late
        self.embed_late, self.usage = embedder.embed_late, embedder.usage
        self._embedder = embedder

    def embed_query(self, text: str) -> EmbeddedQuery:
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]


def hybrid(engine: Engine, filters: tuple[Filter, ...] = ()) -> Callable[[str], object]:
    """What the peer does, and no more: both searches, their fusion, and the ten hits, cited. No
    relevance, which is `judge` in the answer's timings."""
    ours = engine.settings.search
    weights = {
        "dense": ours.dense_weight,
        "sparse": ours.sparse_weight,
        "staged": ours.staged_weight,
        "combined": ours.combined_weight,
    }
    options = Options(rerank="none", depth=ours.depth, rrf_k=ours.rrf_k, weights=weights)
    questions: Cache[EmbeddedQuery] = Cache(10_000, 3600)

    def search(text: str) -> object:
        scope, store = engine.scope, engine.store
        searches = Searches(store, engine.embedder, scope, engine.space, questions)
        query, revision = prepare(text), engine.resolve().revision
        within = Within(revision, filters=filters)
        found = recall(searches, query, options, ours.depth, within)
        first = explain(found.lists, found.fused[:10])
        stored = store.passages(scope, revision, [each.passage for each in first])
        return cite(scope.repository, 2, first, stored, {})

    return search


def lance(folder: Path, texts: Sequence[str], vectors: np.ndarray) -> Callable[..., object]:
    """LanceDB's hybrid search over the same passages and vectors."""
    import lancedb
    import pyarrow as pa
    from lancedb.rerankers import RRFReranker

    table = lancedb.connect(folder).create_table(
        "passages",
        pa.table(
            {
                "id": pa.array(range(len(texts))),
                "text": pa.array(texts),
                "vector": pa.FixedSizeListArray.from_arrays(vectors.ravel(), DIMENSIONS),
            }
        ),
    )
    table.create_index(metric="cosine", index_type="IVF_HNSW_SQ")
    table.create_fts_index("text", use_tantivy=False)
    reranker = RRFReranker()

    def search(text: str, vector: np.ndarray) -> object:
        asked = table.search(query_type="hybrid").vector(vector).text(text)
        return asked.distance_type("cosine").rerank(reranker).limit(10).to_arrow()

    return search


def filtered_recall(engine: Engine, asked: Sequence[str], vectors: np.ndarray) -> dict[str, float]:
    """Share of the true ten nearest among the passages that the filter keeps."""
    numbers = np.arange(len(vectors))
    shares = {}
    for key, value, kept in (
        ("percent", "7", numbers % 100 == 7),
        ("tenth", "3", numbers % 10 == 3),
        (None, None, numbers >= 0),
    ):
        rows = np.flatnonzero(kept)
        filters = (Filter(key, (value,)),) if key else ()
        found = 0
        for text in asked:
            query = engine.embedder.embed_query(text).vector.astype(np.float64)
            scores = vectors[rows].astype(np.float64) @ query
            true = {f"p{n:06d}" for n in rows[np.argsort(-scores, kind="stable")[:10]]}
            hits = engine.search(text, 10, mode="dense", filters=filters, **FUSED).results
            found += len(true & {hit.node.element_id for hit in hits})
        shares[f"{kept.mean():.0%}"] = found / (10 * len(asked))
    return shares


def with_history(engine: Engine, texts: Sequence[str], revisions: int, rng_seed: int = 1) -> None:
    """Each revision rewrites a hundredth of the passages' metadata and a few of their texts."""
    rng = np.random.default_rng(rng_seed)
    for revision in range(revisions):
        chosen = rng.choice(len(texts), max(len(texts) // 100, 1), replace=False)
        changed = [document(int(n), f"{texts[n]} Note {revision}.") for n in chosen]
        engine.take_in(Request(changed))


def copied(engine: Engine, path: Path) -> Path:
    """The store as it is now, in a file of its own."""
    with sqlite3.connect(path) as copy:
        engine.store.reader().backup(copy)
    return path


def cost_of_history(alone: Engine, grown: Engine, asked: Sequence[str]) -> dict[str, float]:
    """Medians of the same questions at one revision without history, at head after many, and at
    the first of many, asked in turn so that the machine's moods fall on all alike."""
    past = ReadContext("as_of", grown.log()[-1].at)
    calls = {
        "one revision": lambda text: alone.search(text, **FUSED),
        "head": lambda text: grown.search(text, **FUSED),
        "first revision": lambda text: grown.search(text, read_context=past, **FUSED),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for text in [*asked[:20], *asked]:
        for name, call in calls.items():
            start = time.perf_counter()
            call(text)
            times[name].append((time.perf_counter() - start) * 1e3)
    medians = {name: float(np.median(values[20:])) for name, values in times.items()}
    ratios = {f"{n} / one revision": medians[n] / medians["one revision"] for n in medians}
    return medians | ratios


def say(step: str, since: float = time.perf_counter()) -> None:
    """Progress, on stderr: the whole takes a while."""
    print(f"{time.perf_counter() - since:6.0f} s  {step}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--revisions", type=int, default=100)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--without-lancedb", action="store_true")
    given = parser.parse_args()
    embedder = TurnedStatic()
    texts, asked = passages(given.passages), questions()[:300]
    result: dict[str, object] = {"passages": len(texts)}
    with tempfile.TemporaryDirectory() as folder:
        engine = engine_over(Path(folder) / "bench.db", embedder)
        say(f"taking in {len(texts):,} passages")
        start = time.perf_counter()
        engine.take_in(Request(document(n, t) for n, t in enumerate(texts)))
        result["ingest_passages_per_s"] = round(len(texts) / (time.perf_counter() - start))
        engine.embedder = CachedVectors(embedder, asked)
        say("searching")
        start = time.perf_counter()
        engine.search(asked[0])
        result["first_search_s"] = round(time.perf_counter() - start, 2)
        modes: dict[str, dict[str, float]] = {}
        alone = hybrid(engine)
        for text in asked:  # embeds the questions
            alone(text)
        for mode in ("dense", "sparse", "hybrid"):
            modes[f"{mode}, with relevance"] = timed(
                lambda text, m=mode: engine.search(text, mode=m, **FUSED), asked
            )
        for key, value, share in (("percent", "7", "1%"), ("tenth", "3", "10%")):
            narrow = (Filter(key, (value,)),)
            modes[f"hybrid, with relevance, filter {share}"] = timed(
                lambda text, f=narrow: engine.search(text, filters=f, **FUSED), asked
            )
        modes["hybrid, reranked (100 candidates)"] = timed(
            lambda text: engine.search(text, cache=False), asked
        )
        modes["agent (100 candidates)"] = timed(lambda text: engine.agent(text, cache=False), asked)
        modes["context (4,000 tokens)"] = timed(
            lambda text: engine.context(text, cache=False), asked[:100]
        )
        result["milliseconds"] = modes
        say("comparing with an exact scan")
        vectors = embedder.embed(texts)
        result["recall@10 against exact"] = filtered_recall(engine, asked[:100], vectors)
        calls = {"hybrid": alone}
        if not given.without_lancedb:
            say("building LanceDB's table and indexes")
            peer = lance(Path(folder) / "lance", texts, vectors)
            embed = engine.embedder.embed_query
            calls["LanceDB hybrid"] = lambda text: peer(text, embed(text).vector)
        say("searching, in turn with LanceDB")
        modes |= in_blocks(calls, asked)
        for at, took in modes.get("LanceDB hybrid", {}).items():
            ratio = round(took / modes["hybrid"][at], 2)
            result[f"times faster than LanceDB ({at})"] = ratio
        before = engine_over(copied(engine, Path(folder) / "one.db"), embedder)
        before.embedder = engine.embedder
        say(f"making {given.revisions} revisions")
        with_history(engine, texts, given.revisions)
        say("searching with history")
        result["history"] = cost_of_history(before, engine, asked)
    say("done")
    print(json.dumps(result, indent=2))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
