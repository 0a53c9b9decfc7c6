"""What keeping token vectors small costs: MaxSim over the kept ones beside full precision.

    python evals/kept.py [--data DIR] [--json FILE]

On SciFact and Cranfield each question's 100 nearest documents (by their vectors, exact) are ranked
by MaxSim twice: over every token's vector as the model gives it, and over what a store keeps. No
other part of the pipeline is in the way. Also printed: the bytes that are kept of a document.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import numpy as np
from _program import arguments, report

from sourcebook.evaluation import Collection, read_collection
from sourcebook.measures import ndcg
from sourcebook.models.local import LocalEmbedder
from sourcebook.ports import Vectors

NEAREST = 100
SETS = ("scifact", "cranfield")
Scores = dict[str, dict[str, float]]
"""By question, of each document."""


def documents(file: Path) -> dict[str, str]:
    found = [json.loads(line) for line in file.open(encoding="utf-8")]
    return {row["_id"]: f"{row.get('title', '')} {row['text']}".strip() for row in found}


def fitting(embedder: LocalEmbedder, text: str) -> str:
    """As much of a text as the model takes."""
    encoding = embedder.tokenizer.encode(text, add_special_tokens=False)
    most = embedder.max_tokens
    return text if len(encoding) <= most else text[: encoding.offsets[most - 1][1]]


def maxsim(question: Vectors, tokens: Vectors) -> float:
    if not len(tokens):  # a document without words
        return 0.0
    return float((question @ tokens.T).max(axis=1).mean())


def measured(embedder: LocalEmbedder, folder: Path) -> dict[str, object]:
    late = embedder.late
    assert late is not None
    collection = read_collection(folder)
    corpus = {i: fitting(embedder, t) for i, t in documents(collection.corpus).items()}
    names, texts = list(corpus), list(corpus.values())
    vectors, coded = embedder.embed_late(texts)
    near: dict[str, list[int]] = {}
    askers: dict[int, list[tuple[str, Vectors]]] = {}
    kept: Scores = {}
    for query, text in collection.queries.items():
        question = embedder.embed_query(text)
        assert question.tokens is not None
        near[query] = np.argsort(-(vectors @ question.vector), kind="stable")[:NEAREST].tolist()
        scores = late.maxsim(question.tokens, [coded[number] for number in near[query]])
        for number, score in zip(near[query], scores.tolist(), strict=True):
            askers.setdefault(number, []).append((query, question.tokens))
            kept.setdefault(query, {})[names[number]] = score
    full: Scores = {}
    tokens = 0
    for number, asked in askers.items():
        _, whole = embedder.token_vectors(texts[number])
        tokens += len(whole)
        for query, question_tokens in asked:
            full.setdefault(query, {})[names[number]] = maxsim(question_tokens, whole)
    before, after = (mean_ndcg(collection, scores) for scores in (full, kept))
    return {
        "full": round(before, 4),
        "kept": round(after, 4),
        "points lost": round(100 * (before - after), 2),
        "tokens a document": round(tokens / len(askers)),
        "bytes a document": round(sum(map(len, coded)) / len(coded)),
    }


def mean_ndcg(collection: Collection, found: Scores) -> float:
    ranked = {q: sorted(s, key=lambda name: (-s[name], name)) for q, s in found.items()}
    return fmean(ndcg(ranked[q], judged, 10) for q, judged in collection.judgments.items())


def main() -> None:
    given = arguments(__doc__)
    embedder = LocalEmbedder()
    found = {}
    for name in SETS:
        found[name] = measured(embedder, given.data / name)
        print(name, found[name], flush=True)
    report(found, given.json)


if __name__ == "__main__":
    main()
