"""Chunks of code found for questions about them: each chunk alone, and in the context of its file.

    python evals/contextual.py [--data DIR] [--store URL] [--json FILE]

The contextual retrieval set gives the chunks, so both ways index the same ones. Pass@k is the mean
share of a question's golden chunks among the first k. Published with large hosted models, for
k = 5, 10, 20: plain 80.9 87.2 90.1, contextual 86.4 92.8 93.8, contextual hybrid 86.4 93.2 95.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from _program import arguments, report

from sourcebook import Sourcebook
from sourcebook.chunking.strategy import FORMATS
from sourcebook.engine import Engine
from sourcebook.evaluation import MODES, USUAL
from sourcebook.ingest import Request
from sourcebook.model import Block, Chunk, ChunkOptions, Document

DEPTHS = (5, 10, 20)
Files = list[dict[str, Any]]


class GivenChunks:
    """Cuts a file as the test collection did; chunks longer than the model takes are cut again."""

    name, version, formats = "given", "1", FORMATS

    def __init__(self, files: Files, engine: Engine) -> None:
        self._given = {file["content"]: [c["content"] for c in file["chunks"]] for file in files}
        self._engine = engine

    def chunk(self, text: str, blocks: Sequence[Block], options: ChunkOptions) -> list[Chunk]:
        spans = []
        for words in self._given.get(text, [text]):
            start = text.find(words)
            own = words.strip()
            spans.append((start + words.find(own), start + words.find(own) + len(own)))
        made = []
        for start, end in spans:
            size = self._engine.embedder.count([text[start:end]])[0]
            parts = size // options.max_tokens + 1
            step = (end - start) // parts + 1
            for at in range(start, end, step):
                stop = min(at + step, end)
                made.append(Chunk(at, stop, len(made), "structural", size // parts))
        return made


def in_files(files: Files) -> Iterator[Document]:
    for file in files:
        text = file["content"]
        block = Block("code", 0, len(text))
        yield Document(file["original_uuid"], "", text, "codebase", "code", (block,))


def alone(files: Files) -> Iterator[Document]:
    for file in files:
        for chunk in file["chunks"]:
            text, name = chunk["content"], f"{file['original_uuid']}:{chunk['original_index']}"
            yield Document(name, "", text, "codebase", "code", (Block("code", 0, len(text)),))


def golden(question: dict[str, Any]) -> set[str]:
    return {f"{uuid}:{index}" for uuid, index in question["golden_chunk_uuids"]}


def names(files: Files) -> dict[str, list[tuple[int, int, str]]]:
    """For each file, the spans of its chunks and their names."""
    found = {}
    for file in files:
        spans = []
        for chunk in file["chunks"]:
            start = file["content"].find(chunk["content"])
            name = f"{file['original_uuid']}:{chunk['original_index']}"
            spans.append((start, start + len(chunk["content"]), name))
        found[file["original_uuid"]] = spans
    return found


def passes(
    engine: Engine, questions: Sequence[dict[str, Any]], files: Files, mode: str
) -> list[float]:
    spans = names(files)
    shares: list[list[float]] = []
    for question in questions:
        ranked: dict[str, None] = {}
        for hit in engine.search(question["query"], 100, **MODES[mode]).results:
            element, node = hit.node.element_id, hit.node
            held = [n for a, b, n in spans.get(element, ()) if a < node.end and node.start < b]
            ranked.update(dict.fromkeys(held or [element]))
        wanted = golden(question)
        shares.append([len(wanted & set(list(ranked)[:k])) / len(wanted) for k in DEPTHS])
    return [round(100 * fmean(column), 1) for column in zip(*shares, strict=True)]


def read_set(folder: Path) -> tuple[Files, list[dict[str, Any]]]:
    """The files with their chunks, and the questions."""
    files: Files = json.loads((folder / "codebase_chunks.json").read_text())
    lines = (folder / "evaluation_set.jsonl").read_text().splitlines()
    return files, [json.loads(line) for line in lines]


def indexed(opened: Engine, files: Files, name: str) -> Engine:
    """The repository with the chunks "alone", or "in context"."""
    engine = opened.in_repository(f"eval-contextual-{name.replace(' ', '-')}")
    engine._make_chunker = lambda: GivenChunks(files, opened)
    engine.take_in(Request(alone(files) if name == "alone" else in_files(files)))
    return engine


def main() -> None:
    given = arguments(__doc__)
    files, questions = read_set(given.data / "contextual_retrieval")
    result: dict[str, list[float]] = {}
    with Sourcebook.open(given.store) as opened:
        for name in ("alone", "in context"):
            engine = indexed(opened, files, name)
            for mode in USUAL:
                result[f"{name}, {mode}"] = passes(engine, questions, files, mode)
    report({f"{n}: Pass@5/10/20": v for n, v in result.items()}, given.json)


if __name__ == "__main__":
    main()
