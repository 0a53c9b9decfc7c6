"""Ask real questions at five baselines, let the store change in every way, and ask them again.

    python evals/replay.py [--data DIR] [--json FILE]

SciFact abstracts are edited, added and deleted at random; every few revisions one gets a name. The
answers at the names are kept to the byte, without their timings. Then come 50 more revisions, a
re-index into the space of another model and back, a retention that drops what has no name, and a
vacuum. The same questions must give the same bytes: in the process that did all this, in one that
had the store open meanwhile, and in one that opens it afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sourcebook import ReadContext, Sourcebook
from sourcebook.engine import Engine
from sourcebook.hashing import text_hash
from sourcebook.ingest import Request
from sourcebook.model import Block, Document
from sourcebook.models.install import install

OTHER_MODEL = "snowflake-arctic-embed-s"
"""It takes as many tokens as the default one, so it refuses no passage."""
DOCUMENTS, QUESTIONS, BASELINES = 250, 200, 5
BETWEEN, AFTER = 8, 50
"""Random revisions between two baselines, and after the last one."""
KEPT = 10
SEED = 20260331

Answers = dict[tuple[str, str], str]
"""By the name of the baseline and the question."""


@dataclass
class Corpus:
    """Abstracts that are in the store, and those that may still come."""

    waiting: list[tuple[str, str]]
    rng: random.Random
    live: dict[str, str] = field(default_factory=dict)

    def start(self, count: int) -> list[Document]:
        return [self._put(*self.waiting.pop()) for _ in range(min(count, len(self.waiting)))]

    def change(self) -> tuple[list[Document], list[str]]:
        """What one revision puts and what it ends."""
        put, end = [], []
        for _ in range(self.rng.randint(1, 4)):
            deed = self.rng.choice(("edit", "edit", "add", "delete"))
            if deed == "add" and self.waiting:
                put.append(self._put(*self.waiting.pop()))
            elif len(self.live) > 2:
                name = self.rng.choice(sorted(self.live))
                if deed == "delete":
                    self.waiting.insert(0, (name, self.live.pop(name)))
                    end.append(name)
                else:
                    put.append(self._put(name, self._edited(self.live[name])))
        return [d for d in put if d.element_id in self.live], [n for n in end if n not in self.live]

    def _edited(self, text: str) -> str:
        """A sentence of another abstract comes in somewhere, and often one goes."""
        sentences = text.split(". ")
        other = self.live[self.rng.choice(sorted(self.live))].split(". ")
        sentences.insert(self.rng.randint(0, len(sentences)), self.rng.choice(other))
        if self.rng.random() < 0.7:
            sentences.pop(self.rng.randrange(len(sentences)))
        return ". ".join(sentences)

    def _put(self, name: str, text: str) -> Document:
        self.live[name] = text
        return Document(name, name, text, name, "text", (Block("prose", 0, len(text)),))


def commit(engine: Engine, put: Sequence[Document], end: Sequence[str]) -> None:
    if end:
        with engine.store.commit(engine.scope) as writer:
            for name in end:
                writer.end(name)
    if put:
        engine.take_in(Request(list({d.element_id: d for d in put}.values())))


def revise(engine: Engine, corpus: Corpus, revisions: int) -> None:
    """So many more revisions at least."""
    goal = engine.resolve().revision + revisions
    while engine.resolve().revision < goal:
        commit(engine, *corpus.change())


def name_the_past(engine: Engine, corpus: Corpus, count: int, between: int) -> list[str]:
    names = []
    for number in range(1, count + 1):
        names.append(engine.create_baseline(f"baseline-{number}").id)
        if number < count:
            revise(engine, corpus, between)
    engine.publish(names[len(names) // 2])
    return names


def ask(engine: Engine, names: Sequence[str], questions: Sequence[str]) -> Answers:
    """Never from the cache of answers."""
    told: Answers = {}
    for name in names:
        for question in questions:
            at = ReadContext("baseline", name)
            answer = engine.search(question, read_context=at, cache=False).to_dict()
            del answer["stats"]["timings_ms"]
            told[name, question] = text_hash(json.dumps(answer, sort_keys=True))
    return told


def into_another_space_and_back(engine: Engine, other: str) -> int:
    """How many texts the other model embedded."""
    ours = engine.space
    there = engine.reindex(other)
    back = engine.reindex(ours.id if ours else None)
    if not (there.switched and back.switched):
        raise SystemExit(f"the space was not switched: {there}, {back}")
    return there.embedded


def measure(
    engine: Engine,
    reopen: Callable[[], Engine],
    corpus: Corpus,
    questions: Sequence[str],
    *,
    other_space: str,
    documents: int = DOCUMENTS,
    between: int = BETWEEN,
    after: int = AFTER,
) -> dict[str, int]:
    engine = engine.unlogged()
    commit(engine, corpus.start(documents), [])
    names = name_the_past(engine, corpus, BASELINES, between)
    before = ask(engine, names, questions)
    beside = reopen().unlogged()
    ask(beside, names[:2], questions[:5])
    revise(engine, corpus, after)
    embedded = into_another_space_and_back(engine, other_space)
    dropped = engine.retain(keep_revisions=KEPT)
    engine.vacuum()
    again = ask(engine, names, questions)
    opened = ask(reopen().unlogged(), names, questions)
    held = ask(beside, names, questions[::5])
    same = [key for key in before if before[key] == again[key] == opened[key]]
    stale = [key for key in held if held[key] != before[key]]
    return {
        "questions": len(questions),
        "baselines": len(names),
        "answers": len(before),
        "different_answers": len(set(before.values())),
        "identical": len(set(same) - set(stale)),
        "revisions": engine.resolve().revision,
        "dropped": len(dropped.revisions),
        "dropped_passages": dropped.rows["passages"],
        "embedded_by_the_other_model": embedded,
    }


def abstracts(folder: Path) -> Iterator[tuple[str, str]]:
    with (folder / "scifact/corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["_id"], f"{row['title']} {row['text']}"


def real_questions(folder: Path) -> list[str]:
    with (folder / "scifact/queries.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = os.environ.get("SOURCEBOOK_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    install(OTHER_MODEL)
    rng = random.Random(SEED)
    corpus = Corpus(rng.sample(sorted(abstracts(given.data)), DOCUMENTS + 200), rng)
    questions = rng.sample(real_questions(given.data), QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/store.db"
        with Sourcebook.open(store) as engine:
            made = (engine, lambda: Sourcebook.open(store), corpus, questions)
            result = json.dumps(measure(*made, other_space=f"local/{OTHER_MODEL}"), indent=2)
    print(result)
    if given.json:
        given.json.write_text(result + "\n")


if __name__ == "__main__":
    main()
