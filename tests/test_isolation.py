"""The isolation kit finds nothing where nothing is wrong, and every wall that a test takes down."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sourcebook import retrieve
from sourcebook.bootstrap import scratch_store
from sourcebook.model import Block, Document, Json, Scope
from sourcebook.querying.search import Searches
from sourcebook.stores import labels, queries
from sourcebook.stores.labels import View
from sourcebook.stores.sqlite import SqliteStore
from sourcebook.testing import __main__ as program
from sourcebook.testing import isolation
from sourcebook.testing.generate import generate
from sourcebook.testing.isolation import EngineSurface, Leak, Request
from sourcebook.testing.observe import difference, foreign, plain
from sourcebook.testing.past import Past
from sourcebook.testing.worlds import CANARY, Name, Reader, Step, World, readable, without

Opens = Callable[[], EngineSurface]
Sql = Callable[[str, str, str], None]
HOME = Scope("acme", "research", "notes")


@pytest.fixture
def opens(tmp_path: Path) -> Opens:
    names = count()
    return lambda: EngineSurface(SqliteStore.open(tmp_path / f"{next(names)}.db"))


def test_nothing_leaks(opens: Opens) -> None:
    report = isolation.run(opens, worlds=50)
    assert "\n".join(map(str, report.leaks)) == ""
    assert (report.worlds, report.ok) == (50, True)
    assert report.observations == 50 * 24


def test_nothing_leaks_on_postgresql(postgres_url: str) -> None:
    with ExitStack() as databases:
        report = isolation.run(
            lambda: EngineSurface(databases.enter_context(scratch_store(postgres_url))), worlds=3
        )
    assert "\n".join(map(str, report.leaks)) == ""
    assert report.observations == 3 * 24


# --- a wall less ---------------------------------------------------------------------------------


@pytest.fixture
def sql(monkeypatch: pytest.MonkeyPatch) -> Sql:
    """Takes a predicate out of a statement."""

    def change(name: str, old: str, new: str) -> None:
        statement = queries.QUERIES[name]
        assert old in statement
        monkeypatch.setitem(queries.QUERIES, name, statement.replace(old, new))  # type: ignore[arg-type]

    return change


def first_leak(opens: Opens, first: int = 0) -> Leak:
    """`first` skips worlds in which it is known not to show, since that takes long."""
    report = isolation.run(opens, worlds=200 - first, first=first, most_leaks=1)
    return report.leaks[0]


@pytest.mark.parametrize("part", ["tenant", "organization"])
def test_finds_a_missing_part_of_the_scope(opens: Opens, sql: Sql, part: str) -> None:
    sql("repository", f"{part} = :{part} AND", "")
    found = isolation.run(opens, worlds=8).leaks
    assert {"differs", "foreign"} <= {leak.kind for leak in found}


def test_finds_answers_kept_without_their_scope(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    key: Any = retrieve._key
    monkeypatch.setattr(retrieve, "_key", lambda *given: key(*given)[1:])
    found = isolation.run(opens, worlds=8).leaks
    assert {"differs", "foreign"} <= {leak.kind for leak in found}


def test_finds_answers_kept_without_their_roles(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = retrieve._key

    def key(searches: Searches, *given: Any) -> Any:
        return (replace(searches.scope, roles=None), *made(searches, *given)[1:])

    monkeypatch.setattr(retrieve, "_key", key)
    assert first_leak(opens).kind == "differs"


def test_finds_questions_kept_without_their_scope(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vector is the same, but it takes no time where somebody else has asked before."""

    def embedded(self: Searches, text: str) -> Any:
        held = self.questions.get(text) if self.questions is not None else None
        if held is None:
            held = self.embedder.embed_query(text)
            if self.questions is not None:
                self.questions.put(text, held)
        return held

    monkeypatch.setattr(Searches, "_embedded", embedded)
    assert first_leak(opens).where == ".questions_embedded"


@pytest.mark.parametrize(
    ("name", "predicate"),
    [
        ("lane", "p.died IS NULL OR p.died > :revision"),
        ("nodes", "n.died IS NULL OR n.died > :revision"),
        ("nodes", "n.born <= :revision"),
    ],
)
def test_finds_a_missing_revision(opens: Opens, sql: Sql, name: str, predicate: str) -> None:
    sql(name, predicate, "1")
    expected = {"differs", "crash"} if name == "lane" else {"another time"}
    assert first_leak(opens).kind in expected


def test_finds_roles_that_are_not_looked_at(opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "view", lambda db, repository, scope: View(repository))
    monkeypatch.setattr(labels, "lane_view", lambda db, repository, scope: View(repository))
    found = isolation.run(opens, worlds=8).leaks
    assert {"differs", "foreign"} <= {leak.kind for leak in found}


def test_finds_searches_that_are_not_walled(opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "lane_view", lambda db, repository, scope: View(repository))
    assert first_leak(opens)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("links", 0),
        ("counts", 0),
        ("relations", 0),
        ("nodes", 0),
        ("shown", 12),
        ("versions", 22),
    ],
)
def test_finds_a_read_without_labels(opens: Opens, sql: Sql, name: str, first: int) -> None:
    sql(name, ":readable IS NULL", "1")
    assert first_leak(opens, first)


@pytest.mark.parametrize("name", ["shown", "versions"])
def test_finds_an_old_version_of_what_is_hidden_today(opens: Opens, sql: Sql, name: str) -> None:
    sql(name, "ORDER BY latest.born DESC", "ORDER BY latest.born")
    assert first_leak(opens)


@pytest.mark.parametrize(
    ("name", "alias", "first"),
    [("shown", "n.", 0), ("query_log", "", 0), ("versions", "n.", 4)],
)
def test_finds_a_read_without_its_repository(
    opens: Opens, sql: Sql, name: str, alias: str, first: int
) -> None:
    """`facet` is not among them: what it finds elsewhere is in no lane of the reader's."""
    sql(name, f"{alias}repository = :repository", "1")
    assert first_leak(opens, first)


# --- a surface that tells too much ---------------------------------------------------------------


class Talkative(EngineSurface):
    """Says how many repositories there are in all."""

    def ask(self, key: str, request: Request) -> str:
        told = json.loads(super().ask(key, request))
        return json.dumps(told | {"repositories": len(self.owner.store.repositories())})


class Fragile(EngineSurface):
    def ask(self, key: str, request: Request) -> str:
        if request.action == "verify":
            raise ZeroDivisionError("by nothing")
        return super().ask(key, request)


@pytest.mark.parametrize(("surface", "kind"), [(Talkative, "differs"), (Fragile, "crash")])
def test_finds_what_a_surface_adds(tmp_path: Path, surface: type[EngineSurface], kind: str) -> None:
    names = count()
    report = isolation.run(
        lambda: surface(SqliteStore.open(tmp_path / f"{next(names)}.db")), worlds=4, most_leaks=1
    )
    assert not report.ok
    assert report.leaks[0].kind == kind
    assert f"world {report.leaks[0].world}: {kind}" in str(report.leaks[0])


def test_a_leak_comes_again_in_its_world_alone(opens: Opens, sql: Sql) -> None:
    sql("links", ":readable IS NULL", "1")
    found = isolation.run(opens, worlds=200, most_leaks=1).leaks[0]
    again = isolation.run(opens, worlds=1, first=found.world).leaks
    assert str(found) in map(str, again)


def test_the_program_ends_with_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sql: Sql
) -> None:
    given = ["testing", "--worlds", "1", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", given)
    assert program.main() == 0
    assert "1 worlds, 24 answers compared, 0 leaks" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    sql("repository", "tenant = :tenant AND", "")
    assert program.main() == 1
    assert "world 0: " in capsys.readouterr().out


# --- its parts, by hand --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "roles", "seen"),
    [
        (None, [], True),
        ("staff", ["staff"], True),
        ("staff", ["Staff"], False),
        ("staff ", ["staff"], False),
        (["board", "staff"], ["staff"], True),
        (["board"], ["staff", "legal"], False),
        ([], ["staff"], False),
        ("", ["staff"], False),
        ({"odd": "value"}, ["odd", "value", "{'odd': 'value'}"], False),
        (True, ["true"], True),
        (True, ["True"], False),
        (7, ["7"], True),
    ],
)
def test_who_may_read_what(label: Json, roles: list[str], seen: bool) -> None:
    assert readable({"visibility": label}, frozenset(roles)) is seen
    assert labels.labels_of({"visibility": label}) is None or seen == bool(
        set(roles) & set(json.loads(labels.labels_of({"visibility": label}) or "[]"))
    )
    assert readable({"visibility": label}, None)


def document(name: str, label: Json = None, words: str = "") -> Document:
    metadata = {} if label is None else {"visibility": label}
    return Document(name, name, words, name, "text", (Block("prose", 0, len(words)),), metadata)


def test_a_world_without_what_is_hidden() -> None:
    other = replace(HOME, tenant="globex")
    reader = Reader("r", "acme", "research", None, frozenset({"staff"}))
    elsewhere = replace(reader, name="o", tenant="globex")
    a, hidden = document("a"), document("a", "board")
    closed = replace(document("a", [], "closed"), title="closed")
    before = (
        Step(HOME, (a, document("b", "board")), message="the merger"),
        Step(other, (a,)),
        Name(HOME, "spring"),
        Step(HOME, (hidden, document("c", "staff")), ("b",)),
    )
    after = (Step(HOME, (a,), ("c", "a")), Name(other, "spring"))
    world = without(World(0, (HOME, other), reader, (elsewhere,), before, after))
    assert world.before == (
        Step(HOME, (a,)),
        Name(HOME, "spring"),
        Step(HOME, (document("c", "staff"), closed)),
    )
    assert world.after == (Step(HOME, (a,), ("c", "a")),)
    assert (world.places, world.others) == ((HOME,), ())


def test_worlds_are_the_same_for_ever_and_share_no_canary() -> None:
    worlds = [generate(0, number) for number in range(20)]
    assert worlds == [generate(0, number) for number in range(20)]
    assert worlds[3] != generate(1, 3)
    words = [set(CANARY.findall(repr(world))) for world in worlds]
    assert len(set.union(*words)) == sum(map(len, words))
    for world in worlds:
        home, same = world.places[:2]
        assert replace(same, tenant=home.tenant) == home
        assert not world.reader.may_read(same)


def test_times_are_left_out_by_name() -> None:
    told = {
        "at": "2026-01-01",
        "as_of": "2026-02-02",
        "until": 3,
        "since": None,
        "timings_ms": {"cached": 0.5, "none": None},
        "relevance": 0.5,
        "message": "dropped (2026-02-02) by k1",
    }
    assert plain(json.dumps(told), {"2026-02-02": "<revision 2>"}, {"k1": "<key>"}) == {
        "at": "<time>",
        "as_of": "<revision 2>",
        "until": 3,
        "since": None,
        "timings_ms": {"cached": 0, "none": None},
        "relevance": 0.5,
        "message": "dropped (<revision 2>) by <key>",
    }


def test_the_first_place_that_differs() -> None:
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}) is None
    assert difference({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == (".a[1].b", 2, 3)
    assert difference({"a": [1]}, {"a": [1, 2]}) == (".a", [1], [1, 2])
    assert difference({"a": 1}, {"b": 1}) == ("", {"a": 1}, {"b": 1})
    assert difference(1, True) == ("", 1, True)


def test_words_of_others() -> None:
    told = {"query": {"text": "zqbzq zqczq"}, "results": [{"text": "x zqazq zqbzq"}], "zqdzq": 1}
    own, asked = frozenset({"zqazq"}), frozenset({"zqbzq"})
    found = list(foreign(told, own, asked))
    assert found == [(".query.text", "zqczq"), (".results[0].text", "zqbzq"), ("", "zqdzq")]


def test_what_a_revision_may_tell() -> None:
    events = (
        Step(HOME, (document("a", words="zqazq"), document("b", words="zqbzq"))),
        Name(HOME, "spring", publish=True),
        Step(replace(HOME, tenant="globex"), (document("a", words="zqxzq"),)),
        Step(HOME, (document("a", words="zqczq"),), ("b",)),
    )
    past = Past(events, HOME)

    def words(action: str = "list", **arguments: Json) -> set[str] | None:
        found = past.words(Request(action, "notes", arguments))
        return None if found is None else set(found)

    assert words() == {"zqczq"}
    first = {"zqazq", "zqbzq"}
    for at in ("revision:1", "as-of:{revision 1}", "baseline:spring", "published", "default"):
        assert words(read_context=at) == first
    assert words(read_context="revision:0") == set()
    assert words(read_context="baseline:autumn") is None
    assert words("get", version="v") is None
    assert words("status") is None
    unsure = Past(events, HOME, may_publish=True)
    assert unsure.words(Request("list", "notes", {"read_context": "published"})) is None
