"""Evidence turns of LoCoMo found inside their conversation: turns alone, and with their context.

    python evals/conversations.py [--data DIR] [--store URL] [--json FILE]

Recall@10 of the turns that hold the evidence, over all kinds of questions. "alone" indexes every
turn as a document of its own, with speaker and date; "conversation" indexes the conversations as
Sourcebook takes them in. What was tuned was tuned on every other conversation: "held out" is the
mean over the rest.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from statistics import fmean

from _program import arguments, report

from sourcebook import Filter, Sourcebook
from sourcebook.evaluation import MODES, USUAL
from sourcebook.ingest import Request
from sourcebook.model import Block, Document, Turn

Rows = list[dict[str, str]]


def rows(file: Path) -> Rows:
    return [json.loads(line) for line in file.open()]


def evidence(file: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in file.read_text().splitlines()[1:]:
        query, turn, _ = line.split("\t")
        found[query].add(turn)
    return found


def words(turn: dict[str, str]) -> str:
    caption = turn.get("image_caption")
    return f"{turn['text']} [image: {caption}]" if caption else turn["text"]


def moment(turn: dict[str, str]) -> str:
    return datetime.strptime(turn["date"], "%I:%M %p on %d %B, %Y").isoformat()


def alone(turns: Rows) -> Iterator[Document]:
    for turn in turns:
        text = f"{turn['speaker']} ({turn['date']}): {words(turn)}"
        block = Block("prose", 0, len(text))
        about = {"conversation": turn["conversation"]}
        yield Document(turn["_id"], "", text, "locomo", "text", (block,), about)


def conversations(turns: Rows) -> Iterator[Document]:
    grouped: dict[str, Rows] = defaultdict(list)
    for turn in turns:
        grouped[turn["conversation"]].append(turn)
    for name, own in grouped.items():
        text, blocks = "", []
        for turn in own:
            said, start = words(turn), len(text)
            text += f"{said}\n\n"
            who = Turn(turn["_id"], turn["speaker"], moment(turn))
            blocks.append(Block("turn", start, start + len(said), turn=who))
        about = {"conversation": name}
        yield Document(name, "", text, "locomo", "chat", tuple(blocks), about, kind="conversation")


def recall(engine: Sourcebook, asked: Rows, wanted: dict[str, set[str]], mode: str) -> list[float]:
    found = []
    for query in asked:
        inside = (Filter("conversation", (query["conversation"],)),)
        hits = engine.search(query["text"], 10, filters=inside, **MODES[mode]).results
        ids = {hit.node.id.rpartition("#")[2] for hit in hits}
        found.append(len(ids & wanted[query["_id"]]) / len(wanted[query["_id"]]))
    return found


def main() -> None:
    given = arguments(__doc__)
    folder = given.data / "locomo"
    turns, wanted = rows(folder / "corpus.jsonl"), evidence(folder / "qrels.tsv")
    asked = [query for query in rows(folder / "queries.jsonl") if wanted[query["_id"]]]
    tuned = set(sorted({turn["conversation"] for turn in turns})[::2])
    result: dict[str, dict[str, float]] = {}
    with Sourcebook.open(given.store) as opened:
        for name, documents in (("alone", alone(turns)), ("conversation", conversations(turns))):
            engine = opened.in_repository(f"eval-locomo-{name}")
            engine.take_in(Request(documents))
            for mode in USUAL:
                values = recall(engine, asked, wanted, mode)
                rest = [
                    v for v, q in zip(values, asked, strict=True) if q["conversation"] not in tuned
                ]
                result[f"{name} {mode}"] = {
                    "recall@10": round(fmean(values), 4),
                    "held out": round(fmean(rest), 4),
                }
    report(result, given.json)


if __name__ == "__main__":
    main()
