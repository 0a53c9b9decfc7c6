"""USE CASE: a test collection in, retrieval quality out, mode by mode.

A collection is a BEIR folder: corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/test.tsv. Its
corpus is indexed into the repository `eval-<folder>` of the store, and used again while it is
unchanged. Every judged query runs in each mode; what is ranked are documents.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, quantiles
from time import perf_counter

from sourcebook.engine import Engine
from sourcebook.errors import InvalidInput
from sourcebook.ingest import Request
from sourcebook.measures import Judgments, ndcg, recall, reciprocal_rank
from sourcebook.model import Json
from sourcebook.sources import read

MODES: Mapping[str, Mapping[str, Json]] = {
    "dense": {"mode": "dense", "rerank": "none"},
    "sparse": {"mode": "sparse", "rerank": "none"},
    "hybrid": {"rerank": "none"},
    "late": {"rerank": "late"},
    "default": {},
}
"""What each mode asks of a search; `default` asks for nothing."""
USUAL = ("dense", "sparse", "hybrid", "default")
MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr@10")
DEPTH = 100
Progress = Callable[[str, int, int], None]
"""Called with the step's name, what is done and what there is in all."""
Rankings = dict[str, list[tuple[str, float]]]
"""By query id: documents with their scores, best first."""


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    corpus: Path
    queries: Mapping[str, str]
    judgments: Mapping[str, Judgments]


def evaluate(
    engine: Engine,
    path: Path,
    *,
    modes: Sequence[str] = USUAL,
    run: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Json]:
    """Measures and times of each mode; `run` gets the ranking of `default` in TREC form."""
    check_modes(modes)
    collection = read_collection(path)
    engine = engine.in_repository(f"eval-{collection.name}").unlogged()
    source = engine.source_of(collection.corpus)
    documents = read(collection.corpus, source=source, format="jsonl")
    request = Request(documents, f"evaluation of {collection.name}", prune=lambda _: True)
    outcome = engine.take_in(request, embedding_progress=step(progress, "embedding"))
    measured, timings = {}, {}
    for mode in modes:
        rankings, times = _rank(engine, collection, mode, step(progress, mode))
        measured[mode] = _measure(rankings, collection)
        timings[mode] = spread(times)
        if run is not None and mode == "default":
            write_run(rankings, run)
    return {
        "dataset": collection.name,
        "queries": len(collection.queries),
        "skipped": len(outcome.skipped),
        "modes": measured,
        "timings_ms": timings,
    }


def check_modes(modes: Sequence[str]) -> None:
    if unknown := set(modes) - set(MODES):
        raise InvalidInput(
            f"there is no mode {min(unknown)!r}; choose from {', '.join(MODES)}", field="modes"
        )


def read_collection(path: Path) -> Collection:
    """Only the queries that have judgments."""
    if not path.exists():
        raise InvalidInput(f"there is no file or folder {path}; check the path", field="path")
    corpus, queries = path / "corpus.jsonl", path / "queries.jsonl"
    judged = [p for p in (path / "qrels.tsv", path / "qrels" / "test.tsv") if p.is_file()]
    if not corpus.is_file() or not queries.is_file() or not judged:
        raise InvalidInput(
            f"{path} is not a test collection; it needs corpus.jsonl, queries.jsonl and qrels.tsv "
            "or qrels/test.tsv, or give a file of golden questions",
            field="path",
        )
    judgments = _read_judgments(judged[0])
    texts = {}
    for number, line in enumerate(queries.read_text("utf-8").split("\n"), start=1):
        if line.strip():
            identity, text = _read_query(line, queries, number)
            texts[identity] = text
    wanted = {identity: texts[identity] for identity in texts if identity in judgments}
    if not wanted:
        raise InvalidInput(f"no query of {queries} has a judgment in {judged[0]}", field="path")
    return Collection(path.resolve().name, corpus, wanted, judgments)


def write_run(rankings: Rankings, file: Path) -> None:
    """TREC form: query Q0 document rank score name. Scores fall with the rank, as readers of run
    files sort by them."""
    lines = [
        f"{query} Q0 {document} {rank} {len(ranking) - rank + 1} sourcebook"
        for query, ranking in rankings.items()
        for rank, (document, _) in enumerate(ranking, start=1)
    ]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def _rank(
    engine: Engine, collection: Collection, mode: str, progress: Callable[[int, int], None] | None
) -> tuple[Rankings, list[float]]:
    rankings: Rankings = {}
    times = []
    for done, (query, text) in enumerate(collection.queries.items(), start=1):
        started = perf_counter()
        answer = engine.search(text, DEPTH, per_document=1, cache=False, **MODES[mode])
        times.append((perf_counter() - started) * 1e3)
        rankings[query] = [(h.node.element_id, h.scores.fused or 0.0) for h in answer.results]
        if progress:
            progress(done, len(collection.queries))
    return rankings, times


def _measure(rankings: Rankings, collection: Collection) -> dict[str, float]:
    def mean(measure: Callable[[Sequence[str], Judgments, int], float], k: int) -> float:
        values = [
            measure([document for document, _ in ranking], collection.judgments[query], k)
            for query, ranking in rankings.items()
        ]
        return round(fmean(values), 5)

    values = (mean(ndcg, 10), mean(recall, 10), mean(recall, 100), mean(reciprocal_rank, 10))
    return dict(zip(MEASURES, values, strict=True))


def spread(times: Sequence[float]) -> dict[str, float]:
    """Of the times of one mode."""
    cuts = quantiles(times, n=20, method="inclusive") if len(times) > 1 else list(times) * 19
    return {"mean": round(fmean(times), 2), "p50": round(cuts[9], 2), "p95": round(cuts[18], 2)}


def _read_judgments(file: Path) -> dict[str, dict[str, int]]:
    """Three columns (query, document, gain), or four as in TREC; a header line is passed over."""
    judgments: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for number, line in enumerate(file.read_text("utf-8").split("\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            judgments[fields[0]][fields[-2]] = int(float(fields[-1]))
        except (ValueError, IndexError):
            if number > 1:
                raise InvalidInput(f"{file}, line {number}: not query, document, gain") from None
    return judgments


def _read_query(line: str, file: Path, number: int) -> tuple[str, str]:
    try:
        row = json.loads(line)
        return str(row["_id"]), str(row["text"])
    except (ValueError, KeyError, TypeError):
        message = f"{file}, line {number}: not a JSON object with _id and text"
        raise InvalidInput(message) from None


def step(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    """The progress of one step."""
    return (lambda done, total: progress(name, done, total)) if progress else None
