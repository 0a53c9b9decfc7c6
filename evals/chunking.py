"""Measure chunkers by what they do for retrieval: corpora and questions in, recall and IoU out.

    python evals/chunking.py [--data DIR] [--json]

Data and measures are those of Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval"
(Chroma, 2024): 472 questions over five corpora, each with the excerpts that answer it. Every
chunker cuts every corpus; the five chunks nearest to a question inside its corpus are compared with
its excerpts, character by character. Recall is the share of the excerpts' characters that were
retrieved; precision and IoU divide the same characters by all that were retrieved (those that are
retrieved twice count twice) and, for IoU, by the missed ones as well. Means are over questions.

IoU falls with the size of the chunks whatever their quality, and recall rises with it. So the
engine's defaults stand against splitters of the same order of size, and the same chunker with a
small target stands against the peer whose chunks are small.

All chunkers are embedded by the same local model, the chunk's text alone. A chunk that the model
cannot take whole is cut into windows that it can. The peers are the packages themselves with their
own defaults, and run only where they are installed (`pip install 'sourcebook[bench]'`).

Of the prices in `sourcebook.chunking.assemble` only SIZE was tried out, on the corpora named in
TUNED, where it made no difference; the others are reported apart as held out. SMALL was not chosen
blindly: a first try of 25/64/128 tokens had been run on all corpora (72 tokens a chunk, recall
73.94, IoU 10.81, so a lower recall than the peer's) before 40/80/128 was taken.
"""

import argparse
import csv
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sourcebook.chunking import ChunkingStrategy, FixedChunker, SemanticChunker
from sourcebook.model import ChunkOptions
from sourcebook.models.install import locate
from sourcebook.models.local import LocalEmbedder
from sourcebook.models.static import StaticModel
from sourcebook.sources.text import paragraphs

ROOT = Path(__file__).resolve().parent.parent
TUNED = ("wikitexts", "chatlogs", "state_of_the_union")
RETRIEVED = 5
CONTEXT = 64  # tokens that the engine keeps for a chunk's title and heading path
SMALL = ChunkOptions(min_tokens=40, target_tokens=80, max_tokens=128, overlap_tokens=0)
"""Chunks nearly as small as those that Chonkie's defaults give."""
BOUNDARY_MODEL = "potion-base-8M"

Span = tuple[int, int]
Vectors = NDArray[np.float32]
Cutter = Callable[[str], Sequence[Span]]


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    corpus: str
    excerpts: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Score:
    recall: float
    precision: float
    iou: float


def questions(folder: Path) -> list[Question]:
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Question(
            row["question"],
            row["corpus_id"],
            [(r["start_index"], r["end_index"]) for r in json.loads(row["references"])],
        )
        for row in rows
    ]


def corpora(folder: Path) -> dict[str, str]:
    paths = sorted((folder / "corpora").glob("*.md"))
    return {path.stem: path.read_bytes().decode("utf-8") for path in paths}


# --- the chunkers --------------------------------------------------------------------------------


def ours(strategy: ChunkingStrategy, options: ChunkOptions) -> Cutter:
    def cut(text: str) -> list[Span]:
        chunks = strategy.chunk(text, paragraphs(text), options)
        return [(chunk.start, chunk.end) for chunk in chunks]

    return cut


def windows(tokenizer: Tokenizer, size: int) -> Cutter:
    """Exactly `size` tokens after another, wherever they end."""

    def cut(text: str) -> list[Span]:
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        starts = [offsets[i][0] for i in range(0, len(offsets), size)]
        return [
            (start, offsets[min(len(offsets), (i + 1) * size) - 1][1])
            for i, start in enumerate(starts)
        ]

    return cut


def chonkie(folder: Path, most: int) -> Cutter:
    """Chonkie's SemanticChunker as it comes, with the same static model as ours."""
    from chonkie import SemanticChunker as Peer
    from chonkie.embeddings import Model2VecEmbeddings

    peer = Peer(embedding_model=Model2VecEmbeddings(str(folder)), chunk_size=most)
    return lambda text: [(chunk.start_index, chunk.end_index) for chunk in peer.chunk(text)]


def langchain(model: StaticModel) -> Cutter:
    """LangChain's SemanticChunker (Kamradt's method) as it comes, with the same static model."""
    from langchain_core.embeddings import Embeddings
    from langchain_experimental.text_splitter import SemanticChunker as Peer

    class Static(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return model.embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    peer = Peer(Static())
    return lambda text: located(text, peer.split_text(text))


def located(text: str, pieces: Iterable[str]) -> list[Span]:
    """Where pieces stand that came back without offsets and with their white space changed."""
    solid = [i for i, char in enumerate(text) if not char.isspace()]
    spans, at = [], 0
    for piece in pieces:
        length = sum(not char.isspace() for char in piece)
        if length:
            spans.append((solid[at], solid[at + length - 1] + 1))
            at += length
    return spans


def chunkers(embedder: LocalEmbedder) -> dict[str, Cutter]:
    folder = locate(BOUNDARY_MODEL)
    static = StaticModel(folder, tokenizer=embedder.tokenizer)
    most = embedder.max_tokens - CONTEXT
    semantic = SemanticChunker(static.count, static.embed, static.measure)
    fitted = ChunkOptions(target_tokens=min(512, most), max_tokens=min(768, most))
    found: dict[str, Cutter] = {
        "fixed 512 tokens": windows(embedder.tokenizer, embedder.max_tokens),
        "sourcebook semantic": ours(semantic, fitted),
        "sourcebook semantic 80": ours(semantic, SMALL),
        "sourcebook fixed": ours(FixedChunker(embedder.count), fitted),
    }
    if find_spec("langchain_experimental"):
        found["langchain semantic"] = langchain(static)
    if find_spec("chonkie"):
        found["chonkie semantic"] = chonkie(folder, most)
    return found


# --- retrieval -----------------------------------------------------------------------------------


class Cached:
    """Vectors of texts, kept in a folder between runs if one is given."""

    def __init__(self, embedder: LocalEmbedder, folder: Path | None) -> None:
        self.embedder = embedder
        self._folder = folder

    def embed(self, texts: Sequence[str]) -> Vectors:
        paths = [self._path(text) for text in texts]
        missing = [i for i, path in enumerate(paths) if path is None or not path.exists()]
        fresh = self.embedder.embed([texts[i] for i in missing])
        vectors = np.empty((len(texts), self.embedder.dimensions), dtype=np.float32)
        vectors[missing] = fresh
        for i, vector in zip(missing, fresh, strict=True):
            if (path := paths[i]) is not None:
                np.save(path, vector)
        for i in set(range(len(texts))) - set(missing):
            vectors[i] = np.load(str(paths[i]))
        return vectors

    def _path(self, text: str) -> Path | None:
        name = hashlib.sha256(f"{self.embedder.model}\n{text}".encode()).hexdigest()
        return self._folder / f"{name}.npy" if self._folder else None


def fitting(text: str, spans: Iterable[Span], embedder: LocalEmbedder) -> list[Span]:
    """The spans, those that the model cannot take cut into windows; blank ones left out. A window
    that ends inside a word may have a few tokens more when it is read alone."""
    cut = windows(embedder.tokenizer, embedder.max_tokens - 10)
    kept = [(start, end) for start, end in spans if text[start:end].strip()]
    sizes = embedder.count([text[start:end] for start, end in kept])
    result: list[Span] = []
    for (start, end), size in zip(kept, sizes, strict=True):
        if size <= embedder.max_tokens:
            result.append((start, end))
        else:
            result += [(start + low, start + high) for low, high in cut(text[start:end])]
    return result


def score(retrieved: Sequence[Span], excerpts: Sequence[Span]) -> Score:
    """Characters found, over those wanted and over those retrieved."""
    wanted = {at for start, end in excerpts for at in range(start, end)}
    got = {at for start, end in retrieved for at in range(start, end)}
    found = len(wanted & got)
    total = sum(end - start for start, end in retrieved)
    return Score(found / len(wanted), found / total, found / (total + len(wanted) - found))


def evaluate(
    cutter: Cutter, texts: dict[str, str], asked: Sequence[Question], cached: Cached
) -> dict[str, object]:
    """One chunker's figures: for each corpus, for all questions, and for the held-out corpora."""
    scores: dict[str, list[Score]] = {}
    sizes: list[int] = []
    for name, text in texts.items():
        spans = fitting(text, cutter(text), cached.embedder)
        sizes += cached.embedder.count([text[start:end] for start, end in spans])
        vectors = cached.embed([text[start:end] for start, end in spans])
        own = [question for question in asked if question.corpus == name]
        ranked = np.argsort(-cached.embed([q.text for q in own]) @ vectors.T, kind="stable")
        scores[name] = [
            score([spans[i] for i in best[:RETRIEVED]], question.excerpts)
            for best, question in zip(ranked, own, strict=True)
        ]
    held = [one for name, many in scores.items() if name not in TUNED for one in many]
    every = [one for many in scores.values() for one in many]
    return {
        "chunks": len(sizes),
        "mean_tokens": round(fmean(sizes), 1),
        "all": means(every),
        "held_out": means(held),
        "corpora": {name: means(many) for name, many in scores.items()},
    }


def means(scores: Sequence[Score]) -> dict[str, float]:
    return {
        field: round(100 * fmean(getattr(one, field) for one in scores), 2)
        for field in ("recall", "precision", "iou")
    }


# --- report --------------------------------------------------------------------------------------


def line(name: str, figures: dict[str, object]) -> str:
    cells = [f"{figures[key][m]:7.2f}" for key in ("all", "held_out") for m in ("recall", "iou")]
    return f"{name:22}{figures['chunks']:7}{figures['mean_tokens']:8}" + "".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("SOURCEBOOK_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument(
        "--data", type=Path, default=Path(default), help="folder with the data sets"
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    parser.add_argument("--only", help="run chunkers with this in their name")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    if given.cache:
        given.cache.mkdir(parents=True, exist_ok=True)
    embedder = LocalEmbedder()
    folder = given.data / "chunking_eval"
    texts, asked, found = corpora(folder), questions(folder), chunkers(embedder)
    results = {}
    if not given.json:
        print(f"{'':22}{'chunks':>7}{'tokens':>8} recall    IoU  held-out: recall, IoU")
    for name, cutter in found.items():
        if given.only and given.only not in name:
            continue
        cached = Cached(embedder, given.cache)
        results[name] = evaluate(cutter, texts, asked, cached)
        if not given.json:
            print(line(name, results[name]), flush=True)
    if given.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
