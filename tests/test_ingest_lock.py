"""An ingest keeps other writers out only while it writes, and stays right if they come between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sourcebook.engine import Engine
from sourcebook.errors import Conflict, StoreBusy
from sourcebook.ingest import Again, Request
from sourcebook.model import Document, Skipped
from sourcebook.sources import read_text
from sourcebook.stores import prepared
from sourcebook.stores.sqlite import SqliteStore
from tests import town

BASE = {"base.md": "Dues are paid every quarter."}
OLD, NEW = "The fence is of wood.", "The fence is of stone."


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with town.quick(tmp_path, BASE) as made:
        yield made


def given(texts: dict[str, str]) -> list[Document | Skipped]:
    return [each for name, text in texts.items() for each in read_text(text, source=name)]


def take_in(engine: Engine, texts: dict[str, str]) -> int:
    return engine.take_in(Request(given(texts)), wait=False).revision


def texts_of(engine: Engine) -> dict[str, str]:
    nodes = [node for node in engine.list(limit=1000) if node.parent_id is None]
    found = {node.id: engine.store.text(engine.scope, node) for node in nodes}
    return {name: text for name, text in found.items() if "base.md" not in name}


def meanwhile(texts: dict[str, str], act: Callable[[], object]) -> Iterator[Document | Skipped]:
    """The documents, and something else that happens before the last of them is read."""
    *first, last = given(texts)
    yield from first
    act()
    yield last


def test_others_write_while_documents_are_read(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sourcebook.ingest._BATCH_DOCUMENTS", 1)
    assert isinstance(engine.store, SqliteStore)
    other = SqliteStore.open(engine.store.path, busy_timeout=0)

    def write() -> None:
        with other.commit(engine.in_repository("other").scope) as writer:
            assert writer.revision == 0

    documents = meanwhile({"a.md": OLD, "b.md": NEW}, write)
    assert engine.take_in(Request(documents), wait=False).revision == 2
    other.close()


def test_a_document_that_another_writer_changed_meanwhile_is_not_left_out(engine: Engine) -> None:
    """It was unchanged when it was looked at."""
    take_in(engine, {"a.md": OLD})
    times = []

    def change() -> None:
        times.append(1)
        if len(times) == 1:
            take_in(engine, {"a.md": NEW})

    both = {"a.md": OLD, "b.md": OLD}

    def documents() -> Iterator[Document | Skipped]:
        yield from given({"a.md": OLD})
        yield from given({f"more{n}.md": OLD for n in range(300)})  # a.md is looked at by now
        change()
        yield from given({"b.md": OLD})

    outcome = engine.take_in(Request(Again(documents)), wait=False)
    assert outcome.revision == 4
    assert {name: text for name, text in texts_of(engine).items() if name in both} == both
    assert len(times) == 2


def test_documents_that_can_be_read_only_once_are_refused_then(engine: Engine) -> None:
    take_in(engine, {"a.md": OLD})
    many = {"a.md": OLD, **{f"more{n}.md": OLD for n in range(300)}}
    documents = meanwhile(many, lambda: take_in(engine, {"a.md": NEW}))
    with pytest.raises(Conflict, match="another writer changed the same documents"):
        engine.take_in(Request(documents), wait=False)
    assert texts_of(engine) == {"a.md": NEW}


def test_an_ingest_that_never_finds_rest_says_so(engine: Engine) -> None:
    def documents() -> Iterator[Document | Skipped]:
        take_in(engine, {"a.md": OLD})
        yield from given({"a.md": OLD, **{f"more{n}.md": OLD for n in range(300)}})
        take_in(engine, {"a.md": NEW})

    with pytest.raises(StoreBusy, match="other writers keep changing"):
        engine.take_in(Request(Again(documents)), wait=False)


def test_what_another_writer_brought_meanwhile_is_not_brought_again(engine: Engine) -> None:
    documents = meanwhile({"a.md": OLD, "b.md": OLD}, lambda: take_in(engine, {"a.md": OLD}))
    outcome = engine.take_in(Request(documents), wait=False)
    assert (outcome.revision, outcome.unchanged, outcome.counts["document"]) == (3, 1, 1)


def sections(*changed: int) -> str:
    return "".join(
        f"## Part {n}\n\n{'Amended. ' if n in changed else ''}{OLD * 20}\n\n" for n in range(12)
    )


def test_small_pieces_make_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(name: str) -> list[object]:
        with town.quick(tmp_path / name, BASE) as engine:
            for text in (sections(), sections(3, 7), sections(7)):
                take_in(engine, {"a.md": text})
            counts = [revision.counts for revision in engine.log()]
            found = [
                engine.search(q, mode="sparse").to_dict()["results"] for q in ("fence", "amended")
            ]
            return [counts, found]

    whole = rows("whole")
    monkeypatch.setattr(prepared, "_ROWS", 2)
    assert rows("pieces") == whole
