"""Retrieval quality on SciFact and Cranfield, mode by mode, beside LanceDB with the same vectors.

    python evals/retrieval.py [--data DIR] [--store URL] [--json FILE]

LanceDB gets the very passages and vectors of our index and fuses full-text and vector search by its
own reciprocal rank fusion; its better result of two list lengths counts. nDCG@10 over documents.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from statistics import fmean

import numpy as np
from _program import arguments

from sourcebook import Sourcebook
from sourcebook.evaluation import MODES, Collection, evaluate, read_collection
from sourcebook.measures import ndcg

SETS = ("scifact", "cranfield")
_PASSAGES = """
SELECT p.element_id, p.context, p.body, v.data FROM passage p
JOIN repository r ON r.id = p.repository
JOIN space s ON s.repository = r.id JOIN vector v ON v.space = s.row AND v.text_hash = p.text_hash
WHERE r.name = ? AND p.resolution = 2 AND p.died IS NULL ORDER BY p.node_id
"""


def lance(folder: str, rows: list[tuple[str, str, str, bytes]]) -> Callable[..., list[str]]:
    """LanceDB's hybrid search: a question and its vector in, document ids out."""
    import lancedb
    import pyarrow as pa
    from lancedb.rerankers import RRFReranker

    vectors = np.frombuffer(b"".join(row[3] for row in rows), np.float32)
    columns = {
        "id": pa.array([row[0] for row in rows]),
        "text": pa.array([f"{row[1]}\n{row[2]}" for row in rows]),
        "vector": pa.FixedSizeListArray.from_arrays(vectors, len(vectors) // len(rows)),
    }
    table = lancedb.connect(folder).create_table("passages", pa.table(columns))
    table.create_fts_index("text", use_tantivy=False)
    reranker = RRFReranker()

    def search(text: str, vector: np.ndarray, limit: int) -> list[str]:
        asked = table.search(query_type="hybrid").vector(vector).text(text)
        found = asked.distance_type("cosine").rerank(reranker).limit(limit).to_arrow()
        return list(dict.fromkeys(found["id"].to_pylist()))

    return search


def peer(engine: Sourcebook, collection: Collection) -> float:
    store = engine.in_repository(f"eval-{collection.name}").store
    rows = store.reader().execute(_PASSAGES, (f"eval-{collection.name}",)).fetchall()
    scores = []
    with tempfile.TemporaryDirectory() as folder:
        search = lance(folder, rows)
        for limit in (10, 100):
            values = []
            for query, text in collection.queries.items():
                ranking = search(text, engine.embedder.embed_query(text).vector, limit)
                values.append(ndcg(ranking, collection.judgments[query], 10))
            scores.append(round(fmean(values), 5))
    return max(scores)


def main() -> None:
    given = arguments(__doc__)
    results = []
    with Sourcebook.open(given.store) as engine:
        for name in SETS:
            result = evaluate(engine, given.data / name, modes=tuple(MODES))
            result["lancedb_hybrid_ndcg@10"] = peer(engine, read_collection(given.data / name))
            results.append(result)
            print(f"\n{name}: {result['queries']} queries")
            for mode, measured in result["modes"].items():
                print(f"  {mode:8}", *(f"{k} {v:.4f}" for k, v in measured.items()), sep="  ")
            print(f"  LanceDB hybrid, same vectors  ndcg@10 {result['lancedb_hybrid_ndcg@10']:.4f}")
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
