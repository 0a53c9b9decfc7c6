"""Damage in a store: what is altered is never served, is named, is not carried on, and is repaired
by ingesting the original file again."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sourcebook import Sourcebook, portable
from sourcebook.bootstrap import open_store
from sourcebook.errors import Damaged
from sourcebook.hashing import digest
from sourcebook.model import Citation, DamagedPart
from sourcebook.moving import copy
from sourcebook.stores import checksums
from sourcebook.stores.connections import Connections, Location
from sourcebook.stores.migrate import migrate, steps
from tests.faults import flips

FENCES = (
    "# Fences\n\nNo fence may be higher than six feet, and none may be lower than three feet.\n"
)
WELLS = "# Wells\n\nEvery well is inspected once a year by the water board of the county.\n"
QUESTION = "How high may a fence be?"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/store.db"
        return
    from tests.stores.test_postgres import empty

    address = request.getfixturevalue("postgres_url")
    open_store(address).close()
    empty(address)
    yield address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "fences.md").write_text(FENCES)
    (made / "wells.md").write_text(WELLS)
    return made


def damage(url: str, statement: str) -> None:
    """Change rows past all of Sourcebook."""
    if url.startswith("sqlite"):
        db = sqlite3.connect(url.removeprefix("sqlite:///"))
        assert db.execute(statement).rowcount > 0
        db.commit()
        db.close()
        return
    import psycopg

    with psycopg.connect(url, options="-c search_path=sourcebook,public") as server:
        assert server.execute(statement.encode()).rowcount > 0


def opened(url: str, **changes: object) -> Sourcebook:
    return Sourcebook.open(url, **changes)


TEXTS = {
    "text": "UPDATE content SET text = replace(text, 'six', 'ten')",
    "passage": "UPDATE passage SET body = replace(body, 'six', 'ten')",
    "context": "UPDATE passage SET context = 'Other words', length = length + 1",
    "node": "UPDATE node SET title = 'Hedges' WHERE element_id LIKE '%fences%'",
    "metadata": "UPDATE node SET metadata = '{}' WHERE element_id LIKE '%fences%'",
    "offsets": "UPDATE node SET start = start + 1 WHERE element_id LIKE '%fences%'",
}


@pytest.mark.parametrize("what", TEXTS)
def test_altered_words_are_not_served_and_do_not_verify(
    url: str, folder: Path, what: str, model_dir: Path
) -> None:
    with opened(url) as engine:
        engine.ingest(folder)
        true = engine.search(QUESTION).results[0]
        citation = Citation(**asdict(true.citation))
    damage(url, TEXTS[what])
    with opened(url) as engine:
        answer = engine.search(QUESTION)
        assert all(hit.text in FENCES + WELLS for hit in answer.results)
        context = engine.context(QUESTION)
        assert "ten feet" not in context.text
        assert "Hedges" not in context.text
        if what != "text":
            assert [d.part for d in answer.degraded].count("integrity") > 0
            assert "fences.md" in str(answer.degraded)
            assert "fences.md" in str(context.to_dict()["degraded"])
        if what in ("passage", "context"):
            return  # The cited words are read from the text, which is sound.
        replay = engine.verify(citation)
        assert (replay.valid, replay.state, replay.text) == (False, "damaged", None)
        with pytest.raises(Damaged, match=r"fences\.md"):
            engine.get(true.node.id)


@pytest.mark.parametrize("what", TEXTS)
def test_the_original_file_repairs_an_unchanged_document(
    url: str, folder: Path, what: str, model_dir: Path
) -> None:
    with opened(url) as engine:
        engine.ingest(folder)
        before = engine.search(QUESTION).to_dict()
    damage(url, TEXTS[what])
    with opened(url) as engine:
        outcome = engine.ingest(folder)
        assert (outcome.repaired, outcome.revision) == (2 if what == "context" else 1, 1)
        assert engine.ingest(folder).repaired == 0
    with opened(url) as engine:
        after = engine.search(QUESTION).to_dict()
    for answer in (before, after):
        del answer["stats"]["timings_ms"]
    assert after == before


VECTORS = {
    "vector": ("UPDATE vector SET data = CAST(X'00' || substr(data, 2) AS BLOB)",
               "UPDATE embedding SET vector = vector * vector"),
    "token vectors": ("UPDATE token_vectors SET data = CAST(X'00' || substr(data, 2) AS BLOB)",
                      "UPDATE token_vectors SET data = set_byte(data, 9, 255 - get_byte(data, 9))"),
}  # fmt: skip


@pytest.mark.parametrize("part", VECTORS)
def test_altered_vectors_are_left_out_named_and_made_again(
    url: str, folder: Path, part: str, model_dir: Path
) -> None:
    with opened(url) as engine:
        engine.ingest(folder)
        before = engine.search(QUESTION).results[0]
    damage(url, VECTORS[part][not url.startswith("sqlite")])
    with opened(url) as engine:
        answer = engine.search(QUESTION)
        assert f"the stored {part} of" in str(answer.degraded)
        examined = engine.store.examine(engine.scope)
        assert {each.part for each in examined.damaged} == {part}
        assert engine.ingest(folder).repaired == 2
    with opened(url) as engine:
        after = engine.search(QUESTION)
        assert not after.degraded
        assert after.results[0].scores == before.scores


def test_altered_terms_are_left_out_of_the_index_and_written_again(
    tmp_path: Path, folder: Path, model_dir: Path
) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with opened(url) as engine:
        engine.ingest(folder)
    damage(url, "UPDATE passage SET terms = CAST(X'ff' || substr(terms, 2) AS BLOB)")
    with opened(url) as reader, opened(url) as writer:
        answer = reader.search(QUESTION, mode="sparse")
        assert not answer.results
        assert "index of" in str(answer.degraded)
        assert writer.ingest(folder).repaired == 2
        mended = reader.search(QUESTION, mode="sparse")  # in a process that had the damaged index
        assert mended.results
        assert not mended.degraded


@pytest.mark.parametrize("what", ["text", "passage", "node"])
def test_damage_is_not_carried_on(
    url: str, folder: Path, what: str, tmp_path: Path, model_dir: Path
) -> None:
    with opened(url) as engine:
        engine.ingest(folder)
    damage(url, TEXTS[what])
    other = open_store(f"sqlite:///{tmp_path}/other.db")
    with opened(url) as engine, pytest.raises(Damaged, match=r"fences\.md.*not carried on"):
        copy(engine.store, other)
    with opened(url) as engine, pytest.raises(Damaged, match="not carried on"):
        portable.dump(engine.store, tmp_path / "dump.jsonl")
    other.close()


def test_deep_examination_names_every_damaged_part(url: str, folder: Path, model_dir: Path) -> None:
    with opened(url) as engine:
        engine.ingest(folder)
        whole = engine.store.examine(engine.scope)
        assert whole.rows > 0
        assert whole.damaged == ()
        name = next(n.id for n in engine.list(kind="document") if "fences" in n.id)
    for what in ("text", "passage", "node"):
        damage(url, TEXTS[what])
    with opened(url) as engine:
        found = engine.store.examine(engine.scope).damaged
        assert set(found) == {DamagedPart(name, each) for each in ("text", "passage", "node")}
        assert engine.store.examine(engine.scope, sample=5).rows > 0


def test_a_readers_role_is_not_told_of_hidden_documents(
    url: str, folder: Path, model_dir: Path
) -> None:
    with opened(url) as engine:
        engine.ingest(folder / "fences.md", metadata={"visibility": "board"})
        engine.ingest(folder / "wells.md")
    damage(url, TEXTS["passage"])
    with opened(url) as engine:
        assert "fences" in str(engine.search(QUESTION).degraded)
        store, scope = engine.store, engine.scope
        reader = replace(scope, roles=frozenset({"staff"}))
        assert store.damage(scope, 2, 0.0)
        assert not store.damage(reader, 2, 0.0)


def test_checksums_of_rows_that_were_there_before(tmp_path: Path, folder: Path) -> None:
    """An older store gets checksums for all of its rows when it is opened."""
    path = tmp_path / "old.db"
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db, str(path), to={n: sql for n, sql in steps().items() if n < _first()})
    text = "Old words, stored before there were checksums."
    db.execute(
        "INSERT INTO repository (id, tenant, organization, name, head) VALUES (1,'a','b','c',1)"
    )
    db.execute(
        "INSERT INTO content (repository, hash, text) VALUES (1, ?, ?)", (digest(text), text)
    )
    db.execute(
        "INSERT INTO node (repository, id, element_id, kind, version_id, content_hash, recipe,"
        ' position, title, source, content, start, "end", section_path, metadata, born)'
        " VALUES (1, 'd', 'd', 'document', 'v', 'h', 'r', 0, 't', 's', ?, 0, 46, '[]', '{}', 1)",
        (digest(text),),
    )
    db.close()
    Connections(Location.parse(path), 1.0).close()
    db = sqlite3.connect(path)
    columns = ["d", "d", "document", "v", "h", None, 0, "t", "s", 0, 46, "[]", None, "{}"]
    expected = checksums.of_columns([*columns, digest(text), None, 1])
    assert db.execute("SELECT checksum FROM node").fetchone() == (expected,)


def _first() -> int:
    return next(n for n, sql in steps().items() if "checksum_of_columns" in sql)


def test_a_checksum_notices_every_changed_byte() -> None:
    words = json.dumps({"a": "six feet"}).encode()
    for at in range(len(words)):
        altered = bytes([*words[:at], words[at] ^ 1, *words[at + 1 :]])
        assert checksums.of_bytes(altered) != checksums.of_bytes(words)


def test_flipped_bytes_give_no_wrong_answer(tmp_path: Path, model_dir: Path) -> None:
    """A share of what benchmarks/faults.py does a thousand times."""
    with opened(f"sqlite:///{tmp_path}/store.db") as engine:
        flips.build(engine, tmp_path)
    with opened(f"sqlite:///{tmp_path}/model.db") as model:
        campaign = flips.Campaign.prepare(tmp_path / "store.db", model)
        rng = random.Random(20)
        places = [rng.randrange(campaign.layout.size) for _ in range(400)]
        stored = [p for p in places if campaign.layout.at(p) in flips.STORED][:25]
        assert len(stored) == 25
        made = [campaign.damaged(place, rng.randrange(1, 256)) for place in stored]
    assert [flip for flip in made if flip.kind in ("wrong", "untyped error")] == []
    assert any(flip.kind == "noticed" for flip in made)
