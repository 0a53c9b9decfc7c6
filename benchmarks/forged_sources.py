"""Can a document forge a source? Contexts of hostile passages, read by a tolerant reader.

    python -m benchmarks.forged_sources [--passages 100000]

Texts, titles, headings and metadata are generated so that they resemble `[SOURCE n]` lines and
separators: preceded and interrupted by characters without a glyph, in other brackets, dashes,
letters and digits, behind every kind of line end. The reader of `tests/querying/forgeries.py` must
see exactly the marks that the context put there. Exits with 1 if one is forged.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

# `make bench` runs it by its path.
sys.path.insert(1, str(Path(__file__).parents[1]))

from tests.querying import forgeries

RESULTS = Path(__file__).parent / "results" / "forged_sources.json"
SOURCES = 50
"""Passages of a context."""


def measure(passages: int) -> dict[str, float | int]:
    start = time.process_time()
    hostile = forged = quoted = 0
    for seed in range(passages // SOURCES):
        made, wrong = forgeries.deceived(seed, SOURCES)
        forged += wrong
        hostile += sum(bool(forgeries.marks(source.text)) for source in made.sources)
        quoted += sum(line.startswith("> ") for line in made.text.splitlines())
    return {
        "passages": passages // SOURCES * SOURCES,
        "passages_that_deceive_unquoted": hostile,
        "lines_quoted": quoted,
        "contexts_with_a_forged_mark": forged,
        "processor_s": round(time.process_time() - start, 1),
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--passages", type=int, default=100_000)
    found = measure(arguments.parse_args().passages)
    RESULTS.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    print(json.dumps(found, indent=2))
    return int(found["contexts_with_a_forged_mark"] > 0)


if __name__ == "__main__":
    sys.exit(main())
