"""Fit how token vectors are kept small, and measure what that costs.

    python evals/late.py [--data DIR] [--model NAME] [--write FILE.npz]

Token vectors of some hundred texts of each kind (abstracts, clauses, program code, chat turns) give
the mean, the principal axes with their deviations, and the levels of the best rounding to 4, 2 and
1 bits (Lloyd 1982). No question and no judgment is looked at. Printed is the share of the variance
that rounding loses, on texts that were not fitted on.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sourcebook.models.late import AXES, BITS, dropped
from sourcebook.models.local import LocalEmbedder

ROOT = Path(__file__).resolve().parent.parent
Floats = NDArray[np.float32]
EACH = 300


def texts(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Texts by kind, spread over each corpus."""
    rows = [json.loads(line) for line in (folder / "scifact/corpus.jsonl").open(encoding="utf-8")]
    yield "abstracts", spread([f"{row['title']}\n{row['text']}" for row in rows])
    clauses = (folder / "hoa/discovery_west/ccr_discovery_west.txt").read_text("utf-8")
    yield "clauses", spread(pieces(clauses))
    code = json.loads((folder / "contextual_retrieval/codebase_chunks.json").read_text("utf-8"))
    yield "code", spread([chunk["content"] for row in code for chunk in row["chunks"]])
    with (folder / "locomo/corpus.jsonl").open(encoding="utf-8") as lines:
        turns = [json.loads(line)["text"] for line in lines]
    yield "chat turns", spread(["\n".join(turns[i : i + 5]) for i in range(0, len(turns), 5)])


def pieces(text: str) -> list[str]:
    return [text[at : at + 1200] for at in range(0, len(text), 1200)]


def spread(found: list[str]) -> list[str]:
    return found[:: max(1, len(found) // EACH)][:EACH]


def token_vectors(embedder: LocalEmbedder, text: str, without: NDArray[np.bool_]) -> Floats:
    """Of the tokens that are kept, each as often as it comes: fitted on one vector a word, the same
    bytes served worse."""
    ids, vectors = embedder.token_vectors(text)
    return vectors[~without[ids]]


def lloyd(values: Floats, count: int) -> Floats:
    """The levels of least squared error for these values."""
    levels = np.quantile(values, (np.arange(count) + 0.5) / count)
    for _ in range(50):
        nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2, values)
        levels = np.array([values[nearest == i].mean() for i in range(count)])
    return levels.astype(np.float32)


def fit(tokens: Floats) -> dict[str, Floats]:
    mean = tokens.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((tokens - mean).T))
    axes = np.ascontiguousarray(axes[:, ::-1][:, :AXES]).astype(np.float16).astype(np.float32)
    turned = (tokens - mean) @ axes
    deviations = turned.std(axis=0)
    z = turned / deviations
    found = {"mean": mean, "axes": axes.astype(np.float16), "deviations": deviations}
    at = 0
    for count, bits in BITS:
        found[f"levels{bits}"] = lloyd(z[:, at : at + count].ravel()[::7], 2**bits)
        at += count
    return found


def lost(tokens: Floats, fitted: dict[str, Floats]) -> float:
    """The share of the variance that is not kept."""
    centred = tokens - fitted["mean"]
    turned = centred @ fitted["axes"].astype(np.float32)
    kept = np.zeros_like(turned)
    at = 0
    for count, bits in BITS:
        part, levels = slice(at, at + count), fitted[f"levels{bits}"]
        edges = (levels[1:] + levels[:-1]) / 2
        deviations = fitted["deviations"][part]
        kept[:, part] = levels[np.searchsorted(edges, turned[:, part] / deviations)] * deviations
        at += count
    error = (centred**2).sum() - (turned**2).sum() + ((turned - kept) ** 2).sum()
    return float(error / (centred**2).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("SOURCEBOOK_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--model", default="gte-small")
    parser.add_argument("--write", type=Path, help="such as src/sourcebook/models/data/late-….npz")
    given = parser.parse_args()
    embedder = LocalEmbedder(given.model)
    without = dropped(embedder.tokenizer)
    halves: tuple[list[Floats], list[Floats]] = [], []
    held: dict[str, list[Floats]] = {}
    for kind, found in texts(given.data):
        for number, text in enumerate(found):
            vectors = token_vectors(embedder, text, without)
            halves[number % 2].append(vectors)
            if number % 2:
                held.setdefault(kind, []).append(vectors)
        print(f"{kind}: {len(found)} texts", flush=True)
    fitted = fit(np.concatenate(halves[0]))
    for kind, vectors in held.items():
        print(f"{kind}: {lost(np.concatenate(vectors), fitted):.3f} of the variance lost")
    if given.write:
        np.savez_compressed(given.write, **fitted)
        print(f"{given.write}: {given.write.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
