"""Time the semantic chunker: megabytes of text in, megabytes a second and peak memory out.

    python benchmarks/chunking.py [--data DIR] [--megabytes N] [--json]

Two loads with the same text, the corpora of the chunking evaluation over and over: one document of
N megabytes, and N megabytes in documents of 50 kB. Everything is counted: sentences, tokens, static
vectors, topics, cuts, and the final count of every chunk. Processor seconds are given beside the
clock, since the machine may have other work.
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from sourcebook.chunking import SemanticChunker
from sourcebook.model import ChunkOptions
from sourcebook.models.install import locate
from sourcebook.models.local import LocalEmbedder
from sourcebook.models.static import StaticModel
from sourcebook.sources.text import paragraphs

ROOT = Path(__file__).resolve().parent.parent
MEDIUM = 50_000
OPTIONS = ChunkOptions(target_tokens=446, max_tokens=446)


def corpus(folder: Path, megabytes: float) -> str:
    paths = sorted((folder / "chunking_eval" / "corpora").glob("*.md"))
    text = "\n\n".join(path.read_bytes().decode("utf-8") for path in paths)
    size = int(megabytes * 1_000_000)
    return (text * (size // len(text) + 1))[:size]


def timed(chunker: SemanticChunker, texts: Sequence[str]) -> dict[str, float]:
    clock, cpu = time.perf_counter(), time.process_time()
    chunks = sum(len(chunker.chunk(text, paragraphs(text), OPTIONS)) for text in texts)
    seconds, used = time.perf_counter() - clock, time.process_time() - cpu
    size = sum(map(len, texts)) / 1e6
    return {
        "documents": len(texts),
        "megabytes": round(size, 2),
        "chunks": chunks,
        "seconds": round(seconds, 2),
        "megabytes_per_second": round(size / seconds, 2),
        "processor_seconds_per_megabyte": round(used / size, 2),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def engine() -> SemanticChunker:
    """As the engine makes it: one tokenizer for counts and vectors."""
    embedder = LocalEmbedder()
    static = StaticModel(locate("potion-base-8M"), tokenizer=embedder.tokenizer)
    return SemanticChunker(static.count, static.embed, static.measure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("SOURCEBOOK_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument(
        "--data", type=Path, default=Path(default), help="folder with the data sets"
    )
    parser.add_argument("--megabytes", type=float, default=5.0, help="text in each load")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    text = corpus(given.data, given.megabytes)
    medium = [text[at : at + MEDIUM] for at in range(0, len(text), MEDIUM)]
    results = {}
    chunker = engine()
    chunker.chunk(medium[0], paragraphs(medium[0]), OPTIONS)  # models are loaded at first use
    for load, texts in (("many documents", medium), ("one document", [text])):
        results[load] = timed(chunker, texts)
        if not given.json:
            print(f"{load}: {results[load]}", flush=True)
    if given.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
