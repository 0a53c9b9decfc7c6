"""A small history that is known to the last byte, operations that go on with it, and the rule for
what may be found after one of them was broken off.

The documents are those of examples/, cut by the real parsers; the vectors come from words alone, so
that thousands of runs take minutes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from sourcebook import Sourcebook, moving, portable
from sourcebook.bootstrap import open_store
from sourcebook.chunking.fixed import FixedChunker
from sourcebook.config import load
from sourcebook.errors import RevisionDropped
from sourcebook.indexing import Pace
from sourcebook.ports import Store, Within
from sourcebook.querying.prepare import prepare
from sourcebook.testing.embedding import WordEmbedder
from sourcebook.worker import Worker
from tests.faults.disk import files_of

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
_WORDS = ("members", "meeting", "inverter", "notice")
_MOST_PASSAGES = 1000

# --- what a store says ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """All that can be read of a repository. What a revision shows is kept as digests."""

    revisions: Mapping[int, Mapping[str, str]]
    log: tuple[tuple[int, str], ...]
    names: tuple[tuple[str, int, bool], ...]
    vectors: Mapping[str, str]
    quality: Mapping[str, str]


EMPTY = State({}, (), (), {}, {})


def state(engine: Sourcebook) -> State:
    head = engine.resolve().revision
    return State(
        {number: _revision(engine, number) for number in range(1, head + 1)},
        tuple((r.number, r.message) for r in engine.log()),
        tuple((b.id, b.revision, b.published) for b in engine.baselines()),
        dict(_rows(engine, "vector", head)),
        dict(_rows(engine, "quality", head)),
    )


def _revision(engine: Sourcebook, number: int) -> dict[str, str]:
    store, scope = engine.store, engine.scope
    try:
        store.require_kept(scope, number)
    except RevisionDropped:
        return {"dropped": ""}
    nodes = store.nodes(scope, number, limit=_MOST_PASSAGES)
    passages = store.passages(scope, number, range(1, _MOST_PASSAGES))
    shown = sorted(repr((p.node, p.passage, p.text)) for p in passages)
    links = {repr(link) for node in nodes for link in store.links(scope, node.id, number)}
    told = {
        "nodes": [asdict(node) for node in nodes],
        "texts": store.texts(scope, nodes),
        "passages": shown,
        "links": sorted(links),
        "counts": dict(store.counts(scope, number)),
        **dict(_searches(engine, number)),
    }
    return {name: _digest(value) for name, value in told.items()}


def _searches(engine: Sourcebook, number: int) -> Iterator[tuple[str, Any]]:
    """Dense search counts where every passage has its vector."""
    store, scope, within = engine.store, engine.scope, Within(number)
    for words in _WORDS:
        found = store.sparse_search(scope, prepare(words), 10, within)
        yield f"sparse {words}", [(m.node_id, round(m.score, 4)) for m in found]
    space = engine.space
    if space is None:
        return
    covered = store.coverage(scope, space, within)
    if covered.passages and covered.vectors == covered.passages:
        for words in _WORDS:
            vector = engine.embedder.embed_query(words).vector
            near = store.dense_search(scope, space, vector, 10, within).matches
            yield f"dense {words}", [(m.node_id, round(m.score, 4)) for m in near]


def _rows(engine: Sourcebook, table: str, head: int) -> Iterator[tuple[str, str]]:
    store, scope = engine.store, engine.scope
    spaces = [space.id for space in store.spaces(scope)]
    for start in [(space, "") for space in spaces] if table == "vector" else [("", "")]:
        for key, row in store.export(scope, table, start, head, 100_000):
            yield repr(key), _digest(repr(row))


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def problems(found: State, before: State, after: State, *, steps: bool, done: bool) -> list[str]:
    """Why a state may not follow `before` on the way to `after`; empty if it may. With `steps` the
    way has several commits, of which vectors and scores come one batch at a time."""
    wrong = []
    if done and not _same(found, after):
        wrong.append(f"reported as done, but {_differs(found, after)}")
    elif not _same(found, after) and not _same(found, before):
        wrong.append(f"neither before nor after: {_differs(found, before)}")
    for name in ("vectors", "quality"):
        old, new, now = (getattr(each, name) for each in (before, after, found))
        known = dict(old) | dict(new)
        altered = [key for key, value in now.items() if known.get(key) != value]
        lost = [key for key in (new if done else old.keys() & new.keys()) if key not in now]
        if altered or lost:
            wrong.append(f"{name}: {len(altered)} altered, {len(lost)} lost")
        if not steps and now not in (old, new):
            wrong.append(f"{name}: half of a change is visible")
    return wrong


def _same(one: State, other: State) -> bool:
    """Dense answers are there only when all vectors are."""
    if (one.names, one.log) != (
        other.names,
        other.log,
    ) or one.revisions.keys() != other.revisions.keys():
        return False
    for number, shown in one.revisions.items():
        expected = other.revisions[number]
        both = [name for name in shown if name in expected or not name.startswith("dense")]
        fixed = [name for name in expected if name in shown or not name.startswith("dense")]
        if sorted(both) != sorted(fixed) or any(shown[n] != expected[n] for n in both):
            return False
    return True


def _differs(found: State, expected: State) -> str:
    if found.log != expected.log:
        return f"the log is {found.log}, not {expected.log}"
    if found.names != expected.names:
        return f"the baselines are {found.names}, not {expected.names}"
    if found.revisions.keys() != expected.revisions.keys():
        return f"the revisions are {[*found.revisions]}, not {[*expected.revisions]}"
    places = [
        f"{name} of revision {number}"
        for number, shown in expected.revisions.items()
        for name in shown.keys() | found.revisions[number].keys()
        if shown.get(name) != found.revisions[number].get(name)
    ]
    return f"differs in {', '.join(places[:5])}"


# --- operations ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that somebody does with a store. `start` names the file that it begins with."""

    name: str
    start: str | None
    run: Callable[[Sourcebook, World], object]
    steps: bool = False


@dataclass(slots=True)
class World:
    """The folders of documents at three times, and the stores that operations begin with."""

    folder: Path
    states: dict[str, State] = field(default_factory=dict)
    """Before and after each operation, by `before NAME` and `after NAME`."""

    @classmethod
    def build(cls, folder: Path) -> World:
        world = cls(folder)
        for number in (1, 2, 3):
            _documents(folder / "documents" / str(number), number)
        world._make_starts()
        for operation in OPERATIONS:
            world._learn(operation)
        return world

    def engine(self, where: str | Path) -> Sourcebook:
        """An engine over a file or a URL."""
        url = f"sqlite:///{where}" if isinstance(where, Path) else where
        return self.over(open_store(url, busy_timeout_s=2.0), url)

    def over(self, store: Store, url: str) -> Sourcebook:
        embedder = WordEmbedder()
        settings = load(None, store=url, repository="town")
        root = self.folder / "documents"
        return Sourcebook(settings, store, embedder, lambda: FixedChunker(embedder.count), root)

    def start(self, operation: Operation, path: Path) -> None:
        """Put the file there that the operation begins with."""
        for file in files_of(path):
            file.unlink(missing_ok=True)
        if operation.start:
            shutil.copyfile(self.file(operation.start), path)

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def before(self, operation: Operation) -> State:
        return self.states[f"before {operation.name}"]

    def after(self, operation: Operation) -> State:
        return self.states[f"after {operation.name}"]

    def _make_starts(self) -> None:
        path = self.file("growing")
        with self.engine(path) as engine:
            ingest(engine, self, 1)
            engine.index()
            engine.create_baseline("first")
            engine.publish("first")
            ingest(engine, self, 2)
            engine.index()
        shutil.copyfile(path, self.file("two"))
        with self.engine(path) as engine:
            ingest(engine, self, 3)
        shutil.copyfile(path, self.file("pending"))
        with self.engine(path) as engine:
            engine.index()
            engine.create_baseline("third")
        shutil.copyfile(path, self.file("three"))
        with self.engine(path) as engine:
            retain(engine, self)
            portable.dump(engine.store, self.folder / "archive.gz")
        shutil.copyfile(path, self.file("retained"))
        path.unlink()

    def _learn(self, operation: Operation) -> None:
        path = self.folder / "learning.db"
        self.start(operation, path)
        with self.engine(path) as engine:
            self.states[f"before {operation.name}"] = state(engine)
            operation.run(engine, self)
            self.states[f"after {operation.name}"] = state(engine)


def _documents(folder: Path, number: int) -> None:
    """Each time some documents are changed, and from the second on one is new; the third lacks
    one."""
    shutil.copytree(CORPUS / "notes", folder)
    meeting = folder / "2025-03-meeting.md"
    meeting.write_text(meeting.read_text("utf-8") + f"\n\nNoted {number} times.\n", "utf-8")
    if number > 1:
        shutil.copy(CORPUS / "governance" / "guideline-lending.md", folder)
    if number > 2:
        (folder / "barn-rules.txt").unlink()


def ingest(engine: Sourcebook, world: World, number: int) -> None:
    """The folder's files take the place of those of the time before."""
    engine.root = world.folder / "documents" / str(number)
    engine.ingest(engine.root, prune=True, wait=False, message=f"revision {number}")


def work(engine: Sourcebook, world: World) -> None:
    """Leases are short: what a broken worker could not give back is soon somebody else's."""
    Worker(lambda: [engine], Pace(batch=8, lease_s=0.2, first_pause_s=0.01)).run(once=True)


def retain(engine: Sourcebook, world: World) -> None:
    engine.retain(keep_revisions=1)


def vacuum(engine: Sourcebook, world: World) -> None:
    engine.vacuum()


def copy(engine: Sourcebook, world: World) -> None:
    with world.engine(world.file("three")) as source:
        moving.copy(source.store, engine.store)


def load_archive(engine: Sourcebook, world: World) -> None:
    portable.load(world.folder / "archive.gz", engine.store)


def name(engine: Sourcebook, world: World) -> None:
    """A name is given once, so a second try looks whether the first one was successful."""
    if "second" not in {baseline.id for baseline in engine.baselines()}:
        engine.create_baseline("second")


OPERATIONS = (
    Operation("first ingest", None, lambda e, w: ingest(e, w, 1), steps=True),
    Operation("ingest", "two", lambda e, w: ingest(e, w, 3), steps=True),
    Operation("worker", "pending", work, steps=True),
    Operation("baseline", "two", name),
    Operation("retention", "three", retain),
    Operation("vacuum", "retained", vacuum),
    Operation("copy", None, copy, steps=True),
    Operation("load", None, load_archive, steps=True),
)
"""An ingest commits a revision, then the quality of its nodes."""


@contextmanager
def beside(path: Path, folder: Path) -> Iterator[Path]:
    """The files as a process that was killed now would leave them, at another place."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in files_of(path):
        if file.exists() and not file.name.endswith("-shm"):
            shutil.copyfile(file, folder / file.name)
    yield folder / path.name
