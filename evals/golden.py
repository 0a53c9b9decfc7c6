"""Golden questions on governing documents and architecture models, with and without context.

    python evals/golden.py [--data DIR] [--store URL] [--json FILE]

The CC&Rs: the right section, by its number and heading, among the first hits. ArchiMate models:
the right elements among the first hits, indexed with what their relationships say ("in context")
and by name and documentation alone ("alone"). Recall@k and the mean reciprocal rank of the first
right hit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from _program import arguments, report

from sourcebook import Filter, Sourcebook
from sourcebook.evaluation import MODES
from sourcebook.ingest import Request
from sourcebook.model import Document, Hit
from sourcebook.sources import read

GOLDEN = Path(__file__).parent / "golden"
Questions = list[dict[str, Any]]


def questions(name: str) -> Questions:
    return [json.loads(line) for line in (GOLDEN / name).read_text().splitlines()]


def measure(
    engine: Sourcebook, asked: Questions, names: Callable[[Hit], list[str]]
) -> dict[str, dict[str, float]]:
    """Fused alone and as search does by default; `names` says what a hit can be known by."""
    return {mode: measured(engine, asked, names, mode) for mode in ("hybrid", "default")}


def measured(
    engine: Sourcebook, asked: Questions, names: Callable[[Hit], list[str]], mode: str
) -> dict[str, float]:
    """Recall@3, @10 and MRR@10."""
    columns: dict[str, list[float]] = {"recall@3": [], "recall@10": [], "mrr@10": []}
    for question in asked:
        filters = (Filter("model_file", (question["model"],)),) if "model" in question else ()
        hits = engine.search(question["query"], 10, filters=filters, **MODES[mode]).results
        wanted = question["must_include"]
        ranks = [
            next((h.rank for h in hits if any(want in name for name in names(h))), None)
            for want in wanted
        ]
        columns["recall@3"].append(fmean([bool(r and r <= 3) for r in ranks]))
        columns["recall@10"].append(fmean([r is not None for r in ranks]))
        first = min((r for r in ranks if r), default=None)
        columns["mrr@10"].append(1 / first if first else 0.0)
    return {name: round(fmean(values), 3) for name, values in columns.items()}


def models(folder: Path, stems: set[str], context: bool) -> Iterator[Document]:
    for stem in sorted(stems):
        path = next(folder / f"{stem}{ending}" for ending in (".xml", ".archimate")
                    if (folder / f"{stem}{ending}").is_file())  # fmt: skip
        for found in read(path, source=path.name, metadata={"model_file": stem}):
            if isinstance(found, Document):
                yield found if context else replace(found, context="")


def main() -> None:
    given = arguments(__doc__)
    result: dict[str, object] = {}
    with Sourcebook.open(given.store) as opened:
        engine = opened.in_repository("eval-golden-ccr")
        path = given.data / "hoa/discovery_west/ccr_discovery_west.txt"
        engine.take_in(Request(read(path, source=path.name)))
        result["CC&Rs"] = measure(
            engine, questions("ccr.jsonl"), lambda hit: [" > ".join(hit.node.section_path)]
        )
        asked = questions("archimate.jsonl")
        stems = {question["model"] for question in asked}
        for name in ("alone", "in context"):
            engine = opened.in_repository(f"eval-golden-archimate-{name.replace(' ', '-')}")
            folder = given.data / "archimate/models"
            engine.take_in(Request(models(folder, stems, name == "in context")))
            for kind, some in (
                ("all", asked),
                ("through relationships", [q for q in asked if "through" in q]),
            ):
                result[f"ArchiMate {name}, {kind}"] = measure(
                    engine, some, lambda hit: [hit.node.element_id]
                )
    report(result, given.json)


if __name__ == "__main__":
    main()
