"""What was answered at a revision is answered again, byte for byte."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sourcebook import ReadContext, Sourcebook
from sourcebook.errors import InvalidInput, NotFound, RevisionDropped
from sourcebook.hashing import text_hash
from sourcebook.history import Keep, parse_read_context, replay, retain
from sourcebook.ingest import Request
from sourcebook.model import Block, Citation, Document, Link, Scope
from sourcebook.stores.sqlite import SqliteStore
from tests.stores.conformance import tree
from tests.town import quick

MODES = ("hybrid", "dense", "sparse")
QUESTION = "how long is the quarantine for new chickens?"


def note(name: str, text: str, **metadata: object) -> Document:
    return Document(
        name, name, text, f"{name}.txt", "text", (Block("prose", 0, len(text)),), metadata
    )


def answer(sb: Sourcebook, context: ReadContext, mode: str, query: str = QUESTION) -> str:
    found = sb.search(query, mode=mode, read_context=context).to_dict()
    del found["stats"]["timings_ms"]
    return json.dumps(found, sort_keys=True)


@pytest.fixture
def sb(tmp_path: Path, model_dir: Path) -> Sourcebook:
    return Sourcebook.open(f"sqlite:///{tmp_path}/store.db")


def test_a_document_changed_three_times(sb: Sourcebook, tmp_path: Path) -> None:
    file, times = tmp_path / "rules.md", []
    for days in (7, 14, 30):
        file.write_text(f"# Rules\n\nNew chickens stay in quarantine for {days} days.\n")
        sb.ingest(file)
        times.append((days, sb.log()[0].at))
    for mode in MODES:
        for days, at in times:
            found = sb.search(QUESTION, mode=mode, read_context=ReadContext("as_of", at))
            assert f"{days} days" in found.results[0].text
            assert found.read_context.as_of is not None


def test_later_documents_change_no_byte_of_a_baseline(sb: Sourcebook) -> None:
    animals = ("chickens", "ducks", "geese", "rabbits", "goats", "bees")
    first = [note(a, f"New {a} stay in quarantine for {n} days.") for n, a in enumerate(animals)]
    sb.take_in(Request(first))
    sb.create_baseline("spring")
    sb.publish("spring")
    contexts = [
        ReadContext("baseline", "spring"),
        ReadContext("published"),
        ReadContext("as_of", sb.log()[0].at),
    ]
    before = {(c, m): answer(sb, c, m) for c in contexts for m in MODES}
    more = [
        note(f"extra-{n}", f"Quarantine of chickens, note {n}: {n % 50} days.") for n in range(1000)
    ]
    sb.take_in(Request([*more, note("chickens", "New chickens stay nowhere.")]))
    assert {(c, m): answer(sb, c, m) for c in contexts for m in MODES} == before
    again = Sourcebook.open(sb.settings.store)
    assert {(c, m): answer(again, c, m) for c in contexts for m in MODES} == before
    assert answer(sb, ReadContext(), "sparse") != before[contexts[0], "sparse"]


def test_an_ended_document_is_seen_only_in_the_past(sb: Sourcebook, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("The pond is drained every October.")
    (folder / "b.txt").write_text("The orchard is pruned in winter.")
    sb.ingest(folder)
    sb.create_baseline("full")
    (folder / "a.txt").unlink()
    assert sb.ingest(folder).ended == 0
    (folder / "b.txt").write_text("")  # there, but nothing to read in it
    assert sb.ingest(folder, prune=True).ended == 1
    for mode in MODES:
        now = sb.search("when is the pond drained?", mode=mode).results
        then = sb.search(
            "when is the pond drained?", mode=mode, read_context=ReadContext("baseline", "full")
        )
        assert all("pond" not in hit.text for hit in now)
        assert "pond" in then.results[0].text


def test_a_citation_is_replayed_after_the_document_changed(sb: Sourcebook) -> None:
    old, new = "Hives are inspected every second week.", "Hives are inspected every day."
    sb.take_in(Request([note("bees", old)]))
    citation = sb.search("how often are hives inspected?").results[0].citation
    current = sb.verify(citation)
    assert (current.state, current.ended_at, current.visible) == ("current", None, ((1, None),))
    sb.take_in(Request([note("bees", new)]))
    replayed = sb.verify(citation)
    assert (replayed.valid, replayed.text, replayed.reason) == (True, old, None)
    assert (replayed.state, replayed.ended_at) == ("superseded", 2)
    assert replayed.visible == ((1, 2),)
    _end(sb, "bees")
    assert (sb.verify(citation).state, sb.verify(citation).ended_at) == ("ended", 2)


def test_what_a_citation_gets_wrong_is_named(sb: Sourcebook) -> None:
    text = "Hives are inspected every second week."
    sb.take_in(Request([note("bees", text)]))
    citation = sb.search("how often are hives inspected?").results[0].citation
    version, found = citation.version_id, citation.text_hash

    def differs(**changes: object) -> tuple[str | None, str | None, list[tuple[str, Any, Any]]]:
        told = sb.verify(Citation(**{**_fields(citation), **changes}))
        assert not told.valid
        return told.reason, told.text, [(d.field, d.cited, d.found) for d in told.differences]

    size = len(text)
    assert differs(start=1) == (
        f"the version is there, but not at the cited offsets 1-{size}: it stands at 0-{size}",
        text,
        [("offsets", [1, size], [[0, size]])],
    )
    assert differs(text_hash="0" * 64) == (
        f"the version is there, but its text has another hash: {found}",
        text,
        [("text_hash", "0" * 64, found)],
    )
    assert differs(version_id="none") == (
        "there is no version none in this repository, and there never was",
        None,
        [("version_id", "none", None)],
    )
    assert differs(repository_id="another")[2] == [("repository_id", "another", "default")]
    assert differs(element_id="wasps")[2] == [("element_id", "wasps", "bees")]
    both = differs(element_id="wasps", text_hash="f" * 64)[2]
    assert [field for field, _, _ in both] == ["element_id", "text_hash"]
    sb.take_in(Request([note("bees", "Hives are inspected every day.")]))
    sb.retain(keep_revisions=1)
    told = sb.verify(citation)
    assert (told.valid, told.text, told.state) == (False, None, "dropped")
    assert told.reason == f"version {version} was dropped by retention; it was shown by revisions 1"
    with pytest.raises(NotFound, match=f"{version} was dropped by retention"):
        sb.get("bees", version=version)
    with pytest.raises(NotFound, match="no node 'bees' at version none"):
        sb.get("bees", version="none")


def test_a_place_that_was_dropped_while_its_version_stays(tmp_path: Path) -> None:
    """A part moves down; its version, and the words, are kept at the new place alone."""
    store, scope = SqliteStore.open(tmp_path / "s.db"), Scope()
    for parts in (["two"], ["a start", "two"]):
        with store.commit(scope) as writer:
            writer.put(tree("x", parts))
    (node,) = store.nodes(scope, 1, kind="chunk")
    cited = Citation("default", "x", node.version_id, 0, 3, text_hash("two"))
    told = replay(store, scope, cited)
    assert (told.valid, told.state, told.visible) == (True, "current", ((1, 2),))
    retain(store, scope, Keep(revisions=1))
    told = replay(store, scope, cited)
    assert (told.valid, told.text, told.state, told.visible) == (
        False, "two", "current", ((2, None),),
    )  # fmt: skip
    assert told.reason == (
        "the version is there, but not at the cited offsets 0-3: retention dropped it there, it is "
        "kept at 9-12"
    )
    store.close()


def _end(sb: Sourcebook, element: str) -> None:
    with sb.store.commit(sb.scope) as writer:
        writer.end(element)


# --- what is kept --------------------------------------------------------------------------------


def test_kept_revisions_answer_as_before(sb: Sourcebook) -> None:
    """Of search, list, get and links, with a second process that had the store open."""
    animals = ("chickens", "ducks", "geese", "bees")
    for n in range(9):
        changed = [note(a, f"New {a} stay in quarantine for {n + i} days.", binding=n % 2 == 0)
                   for i, a in enumerate(animals) if (n + i) % 3 != 2]  # fmt: skip
        sb.take_in(Request(changed))
        if n == 4:
            _end(sb, "ducks")
    last = sb.resolve().revision
    sb.create_baseline("early", ReadContext("revision", "2"))
    sb.create_baseline("middle", ReadContext("revision", "5"))
    sb.publish("early")
    kept = [2, 5, last - 2, last - 1, last]
    other = Sourcebook.open(sb.settings.store)
    for engine in (sb, other):
        for number in range(1, last + 1):
            everything(engine, number)
    before = {number: everything(sb, number) for number in kept}
    planned = sb.retain(keep_revisions=3, dry_run=True)
    assert planned == sb.retain(keep_revisions=3)
    assert [r.number for r in sb.log() if not r.dropped] == sorted(kept, reverse=True)
    sb.vacuum()
    for engine in (sb, other, Sourcebook.open(sb.settings.store)):
        assert {number: everything(engine, number) for number in kept} == before
        for number in set(range(1, last + 1)) - set(kept):
            with pytest.raises(RevisionDropped, match="the nearest one that is kept is revision"):
                everything(engine, number)
    assert sb.search(QUESTION, read_context=ReadContext("published")).read_context.revision == 2


def everything(sb: Sourcebook, number: int) -> str:
    at = ReadContext("revision", str(number))
    nodes = sb.list(read_context=at)
    seen = [answer(sb, at, mode, q) for mode in MOST_MODES for q in (QUESTION, '"new ducks" days')]
    seen += [repr([sb.get(n.id, read_context=at), sb.links(n.id, at)]) for n in nodes]
    return json.dumps([repr(nodes), *seen])


MOST_MODES = ("hybrid", "sparse")


@pytest.mark.parametrize(
    "bounds",
    [{}, {"keep_days": 1, "before": "2026-01-01"}, {"keep_days": -1}, {"keep_revisions": 0}],
)
def test_one_bound_must_be_given(sb: Sourcebook, bounds: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="keep"):
        sb.retain(**bounds)


def test_bounds_in_time(tmp_path: Path) -> None:
    """Revisions on the first six days of March, at noon."""
    times = iter(datetime(2026, 3, day, 12, tzinfo=UTC) for day in range(1, 20))
    store, scope = SqliteStore.open(tmp_path / "s.db", clock=lambda: next(times)), Scope()
    for text in "abcdef":
        with store.commit(scope) as writer:
            writer.put(tree("x", [text]))

    def dropped(keep: Keep, now: datetime | None = None) -> tuple[int, ...]:
        nonlocal times
        times = iter([datetime(2026, 4, 1, tzinfo=UTC)])
        return retain(store, scope, keep, dry_run=True, now=now).revisions

    assert dropped(Keep(before="2026-03-03T12:00:00Z")) == (1, 2)
    assert dropped(Keep(before="2026-03-03T11:59:59Z")) == (1,)  # 2 was head until noon
    assert dropped(Keep(before="2026-03-03")) == (1,)  # the first moment of the day
    assert dropped(Keep(before="2026-02-01")) == ()
    assert dropped(Keep(before="2099-01-01")) == (1, 2, 3, 4, 5)
    evening = datetime(2026, 3, 6, 18, tzinfo=UTC)
    assert dropped(Keep(days=2), evening) == (1, 2, 3)
    assert dropped(Keep(days=0), evening) == (1, 2, 3, 4, 5)
    assert dropped(Keep(revisions=6)) == dropped(Keep(revisions=99)) == ()
    assert dropped(Keep(revisions=2)) == (1, 2, 3, 4)
    with pytest.raises(InvalidInput, match="first year"):
        dropped(Keep(days=10**7), evening)
    with pytest.raises(InvalidInput, match="not a time"):
        dropped(Keep(before="last week"))
    times = iter([datetime(2026, 4, 1, tzinfo=UTC)] * 2)
    retain(store, scope, Keep(revisions=2))
    assert dropped(Keep(before="2026-03-03")) == ()  # what was head then is dropped already
    assert dropped(Keep(before="2026-03-06T12:00:00Z")) == (5,)
    store.close()


def test_an_answer_is_of_one_publication(sb: Sourcebook) -> None:
    """`links` and `similar` read twice: both times of what was published when they began."""
    for text in ("The pond is drained every October.", "The pond is drained every May."):
        sb.take_in(Request([note("pond", text)]))
    for name, number in (("v1", "1"), ("v2", "2")):
        sb.create_baseline(name, ReadContext("revision", number))
    sb.publish("v1")
    expected = {
        "v1": ("The pond is drained every October.", 1),
        "v2": ("The pond is drained every May.", 2),
    }
    done = threading.Event()

    def republish() -> None:
        for turn in range(200):
            sb.publish(("v2", "v1")[turn % 2])
        done.set()

    thread = threading.Thread(target=republish)
    thread.start()
    seen = set()
    while not done.is_set():
        for selector in ("published", "default"):
            at = ReadContext(selector)  # type: ignore[arg-type]
            found = sb.search("when is the pond drained?", mode="sparse", read_context=at)
            name = found.read_context.baseline_id
            assert name is not None
            assert (found.results[0].text, found.read_context.revision) == expected[name]
            seen.add(name)
    thread.join()
    assert seen == {"v1", "v2"}


def _fields(citation: Citation) -> dict[str, object]:
    return {name: getattr(citation, name) for name in citation.__slots__}


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("head", ReadContext()),
        ("published", ReadContext("published")),
        ("default", ReadContext("default")),
        ("revision:7", ReadContext("revision", "7")),
        ("baseline:v 1:a", ReadContext("baseline", "v 1:a")),
        ("as-of:2026-01-31T12:00:00Z", ReadContext("as_of", "2026-01-31T12:00:00Z")),
    ],
)
def test_parse_read_context(text: str, context: ReadContext) -> None:
    assert parse_read_context(text) == context


@pytest.mark.parametrize(
    "text", ["", "yesterday", "baseline:", "head:3", "as-of", "default:", "revision:"]
)
def test_a_wrong_read_context_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Exception, match="for example as-of:2026"):
        parse_read_context(text)


def test_what_comes_later_does_not_change_what_was_superseded_before(tmp_path: Path) -> None:
    """Whether a repository knows of standings at all must not depend on later documents."""
    with quick(tmp_path, {"x.md": "The pump is red."}) as engine:
        old, new = note("old", "The pump is blue."), note("new", "The pump is green.")
        engine.take_in(Request([old, replace(new, links=(Link("new", "old", "supersedes"),))]))
        engine.create_baseline("b")

        def asked() -> list[tuple[str, tuple[str, ...]]]:
            at = ReadContext("baseline", "b")
            found = engine.search("pump", read_context=at, cache=False).results
            return [(h.node.id, tuple(a.name for a in h.adjustments)) for h in found]

        before = asked()
        assert ("old", ("superseded",)) in before
        engine.take_in(Request([note("y", "Dogs bark.", is_binding=True)]))
        assert asked() == before
