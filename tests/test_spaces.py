"""Another model takes the place of the one in use: beside it, at once, and back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sourcebook.chunking.fixed import FixedChunker
from sourcebook.config import load
from sourcebook.engine import Engine
from sourcebook.errors import Conflict, InvalidInput, ModelUnavailable, NotFound, TextRefused
from sourcebook.ports import EmbeddedQuery, Vectors
from sourcebook.stores.sqlite import SqliteStore
from tests.town import FENCE, TOWN, WordEmbedder, write

ASKED = (FENCE, "two dogs", "When is the pool open?", "late fee")


class Named(WordEmbedder):
    """Two of them differ in their vectors, so that it shows which one answered."""

    refused: tuple[str, ...] = ()
    down = False

    def __init__(self, model: str, dimensions: int) -> None:
        self.model, self.dimensions = model, dimensions
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.down:
            raise ModelUnavailable("the model is down; start it")
        if any(word in text for word in self.refused for text in texts):
            raise TextRefused("the model refuses this text")
        self.embedded += len(texts)
        return words(texts, self.dimensions)

    def embed_query(self, text: str) -> EmbeddedQuery:
        return EmbeddedQuery(words([text], self.dimensions)[0])


def words(texts: Sequence[str], dimensions: int) -> Vectors:
    made = WordEmbedder()
    made.dimensions = dimensions
    return made.embed(texts)


@pytest.fixture
def models() -> dict[str, Named]:
    return {"old": Named("old", 64), "new": Named("new", 48)}


@pytest.fixture
def engine(tmp_path: Path, models: dict[str, Named]) -> Iterator[Engine]:
    store = SqliteStore.open(tmp_path / "s.db")
    chunker = FixedChunker(models["old"].count)

    def make(provider: str, model: str, dimensions: int | None) -> Named:
        if model not in models:
            raise InvalidInput(f"{provider}/{model} is no model")
        return models[model]

    settings = load(store=f"sqlite:///{tmp_path}/s.db")
    made = Engine(settings, store, models["old"], lambda: chunker, tmp_path, make_embedder=make)
    with made:
        made.ingest(write(tmp_path / "files", TOWN))
        yield made


def answers(engine: Engine) -> list[str]:
    found = []
    for text in ASKED:
        answer = engine.search(text, cache=False).to_dict()
        answer["stats"].pop("timings_ms")
        found.append(json.dumps(answer, sort_keys=True))
    return found


def states(engine: Engine) -> dict[str, str]:
    return {s.model: s.state for s in engine.store.spaces(engine.scope)}


def behind(engine: Engine) -> list[str]:
    degraded = engine.search("dogs", cache=False).degraded
    return [each.reason for each in degraded if each.part == "dense"]


def new_space(engine: Engine) -> str:
    return next(s.id for s in engine.store.spaces(engine.scope) if s.model == "new")


def test_there_and_back_gives_the_same_bytes(engine: Engine) -> None:
    before = answers(engine)
    there = engine.reindex("test/new")
    assert (there.switched, there.failed, there.embedded) == (True, 0, len(TOWN))
    assert states(engine) == {"old": "retired", "new": "active"}
    between = answers(engine)
    assert between != before
    back = engine.reindex("test/old")
    assert (back.switched, back.embedded) == (True, 0)
    assert answers(engine) == before
    assert engine.reindex("test/new").embedded == 0
    assert answers(engine) == between


def test_the_space_in_use_answers_until_the_other_is_complete(
    engine: Engine, models: dict[str, Named]
) -> None:
    before = answers(engine)
    models["new"].refused = ("cedar",)
    made = engine.reindex("test/new")
    assert (made.switched, made.in_use, made.failed) == (False, False, 1)
    assert made.embedded == len(TOWN) - 1
    assert states(engine) == {"old": "active", "new": "building"}
    assert answers(engine) == before
    assert engine.reindex("test/new", accept_failed=True).switched
    assert behind(engine) == ["1 of 7 passages have no vector yet"]
    models["new"].refused = ()
    assert engine.retry_failed() == 1
    engine.index()
    assert behind(engine) == []


def test_what_comes_in_meanwhile_goes_to_both(
    engine: Engine, models: dict[str, Named], tmp_path: Path
) -> None:
    """A new document is committed while the other space is built: nothing of it is missed."""
    new, embed = models["new"], models["new"].embed

    def late(texts: Sequence[str]) -> Vectors:
        if new.embedded == 0:
            write(tmp_path / "files", {"boats.md": "Boats are kept behind the gate."})
            engine.ingest(tmp_path / "files")
        return Named.embed(new, texts)

    new.embed = late  # type: ignore[method-assign]
    assert engine.reindex("test/new").switched
    new.embed = embed  # type: ignore[method-assign]
    assert engine.search("boats", mode="dense", cache=False).results[0].node.title == "boats"
    assert new.embedded == len(TOWN) + 1


def test_a_reader_sees_one_space_or_the_other(engine: Engine) -> None:
    old = answers(engine)
    engine.reindex("test/new")
    new = answers(engine)
    engine.reindex("test/old")
    stop = threading.Event()
    seen: list[list[str]] = []

    def ask() -> None:
        while not stop.is_set():
            seen.extend([[answer] for answer in answers(engine)])

    reader = threading.Thread(target=ask)
    reader.start()
    for _ in range(10):
        engine.reindex("test/new")
        engine.reindex("test/old")
    stop.set()
    reader.join()
    assert len(seen) >= len(ASKED)
    assert {answer for (answer,) in seen} <= {*old, *new}


def test_the_old_space_is_dropped_when_asked(engine: Engine) -> None:
    name = engine.reindex("test/new", drop_old=True).dropped
    assert name is not None
    assert states(engine) == {"new": "active"}
    with pytest.raises(NotFound, match=r"known spaces: test/new"):
        engine.drop_space(name)
    with pytest.raises(Conflict, match="searches use"):
        engine.drop_space(new_space(engine))


def test_a_space_made_anew_is_not_the_one_that_was_dropped(
    engine: Engine, models: dict[str, Named]
) -> None:
    """Vectors in memory belong to the space that they were read from."""
    engine.reindex("test/new")
    first = answers(engine)
    engine.reindex("test/old")
    assert engine.drop_space(new_space(engine)) == len(TOWN)
    models["new"].dimensions = 40
    assert engine.reindex("test/new").embedded == len(TOWN)
    assert answers(engine) != first
    assert behind(engine) == []


def test_other_dimensions_of_one_model_are_another_space(
    engine: Engine, models: dict[str, Named]
) -> None:
    models["old"].dimensions = 32
    assert engine.reindex().switched
    ids = [space.id for space in engine.store.spaces(engine.scope)]
    assert ids[1] == f"{ids[0]}@32"


def test_a_model_that_does_not_answer_changes_nothing(
    engine: Engine, models: dict[str, Named], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    before = answers(engine)
    models["new"].down = True
    made = engine.reindex("test/new")
    assert (made.switched, made.embedded) == (False, 0)
    assert answers(engine) == before


@pytest.mark.parametrize("name", ["new", "/new", "test/", "", "test/none"])
def test_a_name_that_is_no_space(engine: Engine, name: str) -> None:
    with pytest.raises(InvalidInput, match="is no"):
        engine.reindex(name)


# --- vectors before the commit -------------------------------------------------------------------


def test_embed_first_leaves_no_moment_without_vectors(
    engine: Engine, models: dict[str, Named], tmp_path: Path
) -> None:
    write(tmp_path / "files", {"boats.md": "Boats are kept behind the gate."})
    outcome = engine.ingest(tmp_path / "files", embed_first=True, wait=False)
    assert (outcome.revision, outcome.pending_vectors) == (2, 0)
    assert models["old"].embedded == len(TOWN) + 1


def test_embed_first_commits_nothing_where_the_model_refuses(
    engine: Engine, models: dict[str, Named], tmp_path: Path
) -> None:
    models["old"].refused = ("gate",)
    write(tmp_path / "files", {"boats.md": "Boats are kept behind the gate."})
    with pytest.raises(TextRefused):
        engine.ingest(tmp_path / "files", embed_first=True)
    assert engine.resolve().revision == 1
