"""Many short documents at once: how long they take on each store, and how that grows.

    python benchmarks/documents.py [--documents 20000] [--json FILE]

Real sentences (SciFact), each a document of its own, are taken in without waiting for vectors by
one `ingest` into a new store, then again with every second one changed, then again as they are: a
quarter of them, and all. The embedded store is the limit that PostgreSQL is compared with: the same
work without a server between. A factor of growth of 4 is straight.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[1]))

from sourcebook import Sourcebook
from tests.postgres import temporary

DATA = Path(os.environ.get("SOURCEBOOK_DATA", "../shared/data"))
SENTENCE = re.compile(r"(?<=[.!?])\s+")


def sentences() -> Iterator[str]:
    with (DATA / "scifact" / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            yield from (s for s in SENTENCE.split(json.loads(line)["text"]) if len(s) > 40)


def write(file: Path, texts: list[str], *, changed: bool) -> None:
    with file.open("w", encoding="utf-8") as out:
        for n, text in enumerate(texts):
            said = f"{text} So it was." if changed and n % 2 else text
            out.write(json.dumps({"_id": f"s{n}", "text": said}) + "\n")


def measure(url: str, texts: list[str], folder: Path) -> dict[str, float]:
    """Seconds of three ingests."""
    file, took = folder / "sentences.jsonl", {}
    engine = Sourcebook.open(url)
    for step, changed in (("new", False), ("half changed", True), ("unchanged", True)):
        write(file, texts, changed=changed)
        start = time.perf_counter()
        engine.ingest(file, wait=False)
        took[step] = round(time.perf_counter() - start, 2)
    engine.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    texts = list(islice(sentences(), args.documents))
    found: dict[str, dict[str, dict[str, float]]] = {}
    for count in (len(texts) // 4, len(texts)):
        with tempfile.TemporaryDirectory() as name, temporary() as server:
            folder = Path(name)
            sqlite = measure(f"sqlite:///{folder}/store.db", texts[:count], folder)
            postgres = measure(server.url(), texts[:count], folder)
        ratio = {step: round(postgres[step] / sqlite[step], 2) for step in sqlite}
        found[f"{count:,}"] = {"sqlite_s": sqlite, "postgresql_s": postgres, "ratio": ratio}
        print(f"{count:,} documents", json.dumps(found[f"{count:,}"]), flush=True)
    small, large = found.values()
    growth = {
        store: {step: round(large[store][step] / small[store][step], 1) for step in large[store]}
        for store in ("sqlite_s", "postgresql_s")
    }
    print("growth, for four times as many:", json.dumps(growth))
    if args.json:
        args.json.write_text(json.dumps({**found, "growth": growth}, indent=2) + "\n")


if __name__ == "__main__":
    main()
