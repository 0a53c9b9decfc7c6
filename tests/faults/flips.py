"""Change one byte of a store, ask the same questions as before, and judge every answer.

A flip is harmless when all answers are as they were, noticed when each answer that differs is a
typed error or says that something is damaged, and wrong in any other case.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sourcebook import Sourcebook
from sourcebook.errors import SourcebookError
from sourcebook.model import Citation, Filter, ReadContext
from sourcebook.retrieve import Caches
from sourcebook.stores.sqlite import SqliteStore
from tests.faults.pages import Layout, layout

Question = Callable[[Sourcebook], Any]
CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
SEARCHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Who may borrow the community tools?", {}),
    ("How is the inverter fault reset?", {"mode": "hybrid", "rerank": "none"}),
    ("When must dues be paid?", {"mode": "dense", "rerank": "none"}),
    ("annual general meeting quorum", {"mode": "sparse"}),
    ('"general meeting" notice', {"mode": "sparse"}),
    ("What reads the meters?", {"filters": (Filter("kind", ("chunk", "document")),)}),
    ("What did the bylaws say about fences?", {"read_context": ReadContext("revision", "1")}),
)
_VOLATILE = frozenset(
    {"timings_ms", "oldest_pending_s", "queries", "vectors_per_s", "seconds_left"}
)
"""What differs from one call to the next without any damage."""
_NOTICES = ("degraded", "damaged", "damage")


@dataclass(frozen=True, slots=True)
class Verdict:
    question: str
    kind: str
    """right, typed error, declared, untyped error, or wrong"""
    detail: str = ""

    @property
    def bad(self) -> bool:
        return self.kind in ("wrong", "untyped error")


@dataclass(slots=True)
class Flip:
    offset: int
    mask: int
    where: str
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """wrong, untyped error, noticed or harmless"""
        kinds = {verdict.kind for verdict in self.verdicts}
        for bad in ("wrong", "untyped error"):
            if bad in kinds:
                return bad
        return "noticed" if kinds - {"right"} else "harmless"


@dataclass(slots=True)
class Campaign:
    """A store with known answers, of which damaged copies are made."""

    path: Path
    model: Sourcebook
    """Lends its embedding model and its embedded questions to the engines of the copies."""
    questions: dict[str, Question]
    truth: dict[str, Any]
    texts: Texts
    """Every text that a true answer may hold."""
    layout: Layout

    @classmethod
    def prepare(cls, path: Path, model: Sourcebook) -> Campaign:
        """The file must be closed: all of it is in the file itself, and nothing in a log."""
        with reopened(path, model) as engine:
            asked = dict(questions(engine))
            truth = {name: told(ask(engine)) for name, ask in asked.items()}
            texts = Texts.of(engine)
        return cls(path, model, asked, truth, texts, layout(path))

    def flip(self, rng: random.Random, *, bit: bool = False) -> Flip:
        """Damage one random byte of a copy and ask everything of it."""
        offset = rng.randrange(self.layout.size)
        return self.damaged(offset, 1 << rng.randrange(8) if bit else rng.randrange(1, 256))

    def damaged(self, offset: int, mask: int) -> Flip:
        copy = self.path.with_name("flipped.db")
        shutil.copyfile(self.path, copy)
        with copy.open("r+b") as file:
            file.seek(offset)
            before = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([before ^ mask]))
        flip = Flip(offset, mask, self.layout.at(offset))
        flip.verdicts = list(self._ask(copy))
        for file_name in (copy.name, f"{copy.name}-wal", f"{copy.name}-shm"):
            copy.with_name(file_name).unlink(missing_ok=True)
        return flip

    def _ask(self, copy: Path) -> Iterator[Verdict]:
        try:
            engine = reopened(copy, self.model)
        except SourcebookError as error:
            yield Verdict("open", "typed error", str(error))
            return
        except Exception as error:  # noqa: BLE001  that it is not typed is what is reported
            yield Verdict("open", "untyped error", f"{type(error).__name__}: {error}")
            return
        with engine:
            for name, ask in self.questions.items():
                yield self._verdict(name, ask, engine)

    def _verdict(self, name: str, ask: Question, engine: Sourcebook) -> Verdict:
        try:
            answer = told(ask(engine))
        except SourcebookError as error:
            return Verdict(name, "typed error", str(error))
        except Exception as error:  # noqa: BLE001  that it is not typed is what is reported
            return Verdict(name, "untyped error", f"{type(error).__name__}: {error}")
        return judge(name, self.truth[name], answer, self.texts)


@dataclass(frozen=True, slots=True)
class Texts:
    """All words of a store: whole documents, and what stands on nodes and before passages."""

    documents: str
    short: frozenset[str]

    @classmethod
    def of(cls, engine: Sourcebook) -> Texts:
        documents, short = [], set()
        store, scope = engine.store, engine.scope
        documents += [m.row[1] for m in store.export(scope, "content", ("",), 3, 10_000)]
        for revision in (1, 2, 3):
            for each in store.passages(scope, revision, range(1, 10_000)):
                short |= {each.node.title, each.passage.context, each.text}
        return cls("\0".join(documents), frozenset(short))

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and (text in self.short or text in self.documents)


def judge(name: str, true: Any, answer: Any, texts: Texts) -> Verdict:
    """An answer that says that something is damaged may lack things, but shows no altered text."""
    if answer == true:
        return Verdict(name, "right")
    notice = _notice(answer)
    if notice and notice != _notice(true):
        altered = [text for text in _texts(answer) if text not in texts]
        if not altered:
            return Verdict(name, "declared", notice)
        return Verdict(name, "wrong", f"declared, but shows {altered[0][:80]!r}")
    return Verdict(name, "wrong", difference(true, answer))


def _notice(answer: Any) -> str:
    if not isinstance(answer, dict):
        return ""
    notices = [answer[key] for key in _NOTICES if answer.get(key)]
    if answer.get("state") == "damaged":
        notices.append("damaged")
    return json.dumps(notices).strip("[]")


def _texts(answer: Any) -> Iterator[str]:
    """The texts of hits, sources and nodes, wherever they stand in an answer. The text of a context
    is put together from those of its sources, and a query's text is the user's own."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            if key == "query" or (key == "text" and "sources" in answer):
                continue
            if key in ("text", "context", "title") and isinstance(value, str):
                yield value
            else:
                yield from _texts(value)
    elif isinstance(answer, list):
        for each in answer:
            yield from _texts(each)


def difference(true: Any, answer: Any, place: str = "") -> str:
    """The first place where two answers differ."""
    if isinstance(true, dict) and isinstance(answer, dict):
        for key in true.keys() | answer.keys():
            if true.get(key) != answer.get(key):
                return difference(true.get(key), answer.get(key), f"{place}.{key}")
    if isinstance(true, list) and isinstance(answer, list) and len(true) == len(answer):
        for n, (one, other) in enumerate(zip(true, answer, strict=True)):
            if one != other:
                return difference(one, other, f"{place}[{n}]")
    if isinstance(true, list) and isinstance(answer, list):
        return f"{place}: {len(answer)} instead of {len(true)}"
    return f"{place}: {str(answer)[:80]!r} instead of {str(true)[:80]!r}"


# --- the store and the questions -----------------------------------------------------------------


def build(engine: Sourcebook, folder: Path) -> None:
    """Real documents in three revisions, all with vectors, a baseline and a publication."""
    corpus = folder / "corpus"
    shutil.copytree(CORPUS, corpus)
    engine.ingest(corpus, message="first")
    engine.create_baseline("first")
    engine.publish("first")
    bylaws = corpus / "governance" / "bylaws-2025.md"
    text = bylaws.read_text("utf-8")
    bylaws.write_text(text.replace("quorum", "quorum of members"), "utf-8")
    engine.ingest(corpus, message="second")
    (corpus / "notes" / "barn-rules.txt").unlink()
    engine.ingest(corpus, prune=True, message="third")


def reopened(path: Path, model: Sourcebook) -> Sourcebook:
    """An engine of its own over the file. It shares the loaded model and the embedded questions,
    and nothing that was read from a store."""
    settings = model.settings.model_copy(update={"store": f"sqlite:///{path}"})
    store = SqliteStore.open(path)
    engine = Sourcebook(settings, store, model.embedder, lambda: model._chunker, model.root)
    engine._caches = Caches(model._caches.questions, Caches.make().answers)
    return engine.unlogged()


def questions(engine: Sourcebook) -> Iterator[tuple[str, Question]]:
    """Searches, contexts, the whole list at two revisions, every node, and citations of hits."""
    cited = []
    for text, options in SEARCHES:
        yield f"search {text}", _searching(text, options)
        cited += [
            Citation(**asdict(hit.citation)) for hit in engine.search(text, 3, **options).results
        ]
    for text in ("What are the duties of the treasurer?", "What does the meter service serve?"):
        yield f"context {text}", lambda e, text=text: e.context(text, 1500).to_dict()
    for revision in ("1", "3"):
        context = ReadContext("revision", revision)
        yield f"list {revision}", lambda e, c=context: _listed(e, c)
        nodes = engine.list(limit=1000, read_context=context)
        yield f"get all {revision}", lambda e, c=context, ns=nodes: [_got(e, n.id, c) for n in ns]
    for n, citation in enumerate(cited):
        yield f"verify {n}", lambda e, c=citation: e.verify(c).to_dict()
    yield "status", lambda e: e.status()
    yield "log", lambda e: [asdict(each) for each in e.log()]
    yield "baselines", lambda e: [asdict(each) for each in e.baselines()]
    yield "diff", lambda e: e.diff("1", "3").to_dict()
    chunk = engine.list(kind="chunk", limit=1)[0].id
    yield "similar", lambda e: e.similar(chunk, 5).to_dict()


def _searching(text: str, options: Mapping[str, Any]) -> Question:
    return lambda engine: engine.search(text, 5, **options).to_dict()


def _listed(engine: Sourcebook, context: ReadContext) -> Any:
    return [asdict(node) for node in engine.list(limit=1000, read_context=context)]


def _got(engine: Sourcebook, node_id: str, context: ReadContext) -> Any:
    node, text = engine.get(node_id, read_context=context)
    links = sorted(map(str, engine.links(node_id, context)))
    return {**asdict(node), "text": text, "links": links, "quality": engine.quality(node, text)}


def told(answer: Any) -> Any:
    """The answer as JSON says it, without what changes from one call to the next."""
    return _steady(json.loads(json.dumps(answer, default=str)))


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _steady(each) for key, each in value.items() if key not in _VOLATILE}
    return [_steady(each) for each in value] if isinstance(value, list) else value


def summary(flips: Sequence[Flip]) -> dict[str, Any]:
    """How many flips ended how, and what the bad ones hit."""
    bad = [flip for flip in flips if flip.kind in ("wrong", "untyped error")]
    return {
        "flips": len(flips),
        **dict(Counter(flip.kind for flip in flips)),
        "bad by place": dict(Counter(f"{flip.where}: {flip.kind}" for flip in bad).most_common()),
    }


STORED = frozenset(
    {
        "table content.text",
        "table node.title",
        "table node.metadata",
        "table node.section_path",
        "table passage.body",
        "table passage.context",
        "table passage.terms",
        "table passage.tokens",
        "table vector.data",
        "table token_vectors.data",
    }
)
"""Places of stored texts, passages and vectors."""
