"""Whether both stores give the same answers: SciFact, Cranfield, the CC&Rs and ArchiSurance.

    python evals/parity.py [--url URL] [--data DIR] [--store URL] [--json FILE]

Each collection is indexed in the embedded store (--store) and on PostgreSQL, with the same vectors:
those of the first are put into the second. Then every question is asked of both, mode by mode: how
often the first ten passages are the same, in order and with scores, and nDCG@10 of each. Without
--url a PostgreSQL server of its own is started and thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

sys.path.insert(1, str(Path(__file__).parents[1]))

import numpy as np
from _program import report

from sourcebook import Sourcebook
from sourcebook.evaluation import MODES, read_collection
from sourcebook.ingest import Request
from sourcebook.measures import ndcg
from sourcebook.model import Document, Hit
from sourcebook.sources import read
from tests.postgres import temporary

GOLDEN = Path(__file__).parent / "golden"
ASKED = ("sparse", "dense", "hybrid", "default")
BATCH = 1000


@dataclass(frozen=True)
class Set:
    """Documents, questions, and for each question what is right and what a hit is known as."""

    name: str
    documents: Callable[[], Iterable[object]]
    questions: Mapping[str, str]
    judged: Mapping[str, Mapping[str, int]]
    known_as: Callable[[Hit, Mapping[str, int]], str]


def collection(folder: Path) -> Set:
    found = read_collection(folder)
    corpus = found.corpus
    return Set(
        f"eval-{found.name}",
        lambda: read(corpus, source=str(corpus.resolve()), format="jsonl"),
        found.queries,
        found.judgments,
        lambda hit, _: hit.node.element_id,
    )


def golden(name: str, file: str, source: Path, by_heading: bool) -> Set:
    lines = [json.loads(line) for line in (GOLDEN / file).read_text().splitlines()]
    judged = {
        line["id"]: dict.fromkeys(line.get("must_include") or line["any_of"], 1) for line in lines
    }

    def known_as(hit: Hit, right: Mapping[str, int]) -> str:
        place = " > ".join(hit.node.section_path) if by_heading else hit.node.element_id
        return next((want for want in right if want in place), hit.node.id)

    def documents() -> Iterable[object]:
        return (found for found in read(source, source=source.name) if isinstance(found, Document))

    questions = {line["id"]: line["query"] for line in lines}
    return Set(f"eval-golden-{name}", documents, questions, judged, known_as)


def sets(data: Path) -> list[Set]:
    archisurance = data / "archimate/models/Archisurance.xml"
    ccr = data / "hoa/discovery_west/ccr_discovery_west.txt"
    return [
        collection(data / "scifact"),
        collection(data / "cranfield"),
        golden("ccr", "ccr_questions.jsonl", ccr, by_heading=True),
        golden("archisurance", "archisurance_questions.jsonl", archisurance, by_heading=False),
    ]


def index(first: Sourcebook, second: Sourcebook, one: Set) -> None:
    """The same documents in both, and the vectors of the first in the second."""
    first.take_in(Request(one.documents(), prune=lambda _: True))
    second.take_in(Request(one.documents(), prune=lambda _: True), wait=False)
    space = second.space
    assert space is not None
    assert first.space == space
    while pending := second.store.pending(second.scope, space, BATCH):
        known = _vectors(first, [text.text_hash for text in pending])
        for late in (True, False):
            some = {key: both for key, both in known.items() if (both[1] is not None) == late}
            if some:
                vectors = np.array([np.frombuffer(data, np.float32) for data, _ in some.values()])
                tokens = [coded for _, coded in some.values() if coded] if late else None
                second.store.put_vectors(second.scope, space, list(some), vectors, tokens)


def _vectors(engine: Sourcebook, hashes: list[str]) -> dict[str, tuple[bytes, bytes | None]]:
    """Of each text: its vector, and its token vectors if it has some."""
    statement = """
    SELECT v.text_hash, v.data, t.data
    FROM repository r JOIN space s ON s.repository = r.id AND s.state = 'active'
    CROSS JOIN json_each(?) wanted
    CROSS JOIN vector v ON v.space = s.row AND v.text_hash = wanted.value
    LEFT JOIN token_vectors t ON t.space = v.space AND t.text_hash = v.text_hash
    WHERE r.name = ?
    """
    values = (json.dumps(hashes), engine.scope.repository)
    rows = engine.store.reader().execute(statement, values).fetchall()  # type: ignore[attr-defined]
    found = {text_hash: (vector, tokens) for text_hash, vector, tokens in rows}
    if missing := set(hashes) - set(found):
        raise SystemExit(f"{len(missing)} texts have no vector in the embedded store")
    return found


def compare(first: Sourcebook, second: Sourcebook, one: Set, mode: str) -> dict[str, object]:
    """How many questions have the same ten, and what the ten are worth."""
    same, worth = [], {"sqlite": [], "postgresql": []}  # type: ignore[var-annotated]
    for key, text in one.questions.items():
        told = {}
        for name, engine in (("sqlite", first), ("postgresql", second)):
            hits = engine.search(text, 10, cache=False, **MODES[mode]).results
            told[name] = [(hit.node.id, hit.scores, hit.relevance) for hit in hits]
            ranking = list(dict.fromkeys(one.known_as(hit, one.judged[key]) for hit in hits))
            worth[name].append(ndcg(ranking, one.judged[key], 10))
        same.append(told["sqlite"] == told["postgresql"])
    return {
        "questions": len(same),
        "same": sum(same),
        **{f"ndcg@10 {name}": round(fmean(values), 5) for name, values in worth.items()},
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="of a PostgreSQL store")
    default = os.environ.get("SOURCEBOOK_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--store", default="sqlite:///.sourcebook/eval.db")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


@contextmanager
def serving(url: str | None) -> Iterator[str]:
    if url:
        yield url
        return
    with temporary() as started:
        yield started.url()


def main() -> None:
    given = arguments()
    result: dict[str, object] = {}
    with (
        serving(given.url) as url,
        Sourcebook.open(given.store) as embedded,
        Sourcebook.open(url) as server,
    ):
        for one in sets(given.data):
            first, second = (e.in_repository(one.name).unlogged() for e in (embedded, server))
            index(first, second, one)
            result[one.name] = {mode: compare(first, second, one, mode) for mode in ASKED}
    report(result, given.json)


if __name__ == "__main__":
    main()
