"""What was answered at a revision is answered again, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sourcebook import ReadContext, Sourcebook
from sourcebook.history import parse_read_context
from sourcebook.ingest import Request
from sourcebook.model import Block, Citation, Document

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
    sb.take_in(Request([note("bees", "Hives are inspected every second week.")]))
    citation = sb.search("how often are hives inspected?").results[0].citation
    sb.take_in(Request([note("bees", "Hives are inspected every day.")]))
    replayed = sb.verify(citation)
    assert (replayed.valid, replayed.text) == (True, "Hives are inspected every second week.")
    moved = Citation(**{**_fields(citation), "start": 1})
    assert sb.verify(moved).reason == "the version is there, but not at the cited offsets"
    forged = Citation(**{**_fields(citation), "text_hash": "0" * 64})
    assert not sb.verify(forged).valid
    assert not sb.verify(Citation(**{**_fields(citation), "version_id": "none"})).valid
    assert not sb.verify(Citation(**{**_fields(citation), "repository_id": "another"})).valid
    assert not sb.verify(Citation(**{**_fields(citation), "element_id": "another"})).valid


def _fields(citation: Citation) -> dict[str, object]:
    return {name: getattr(citation, name) for name in citation.__slots__}


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("head", ReadContext()),
        ("published", ReadContext("published")),
        ("baseline:v 1:a", ReadContext("baseline", "v 1:a")),
        ("as-of:2026-01-31T12:00:00Z", ReadContext("as_of", "2026-01-31T12:00:00Z")),
    ],
)
def test_parse_read_context(text: str, context: ReadContext) -> None:
    assert parse_read_context(text) == context


@pytest.mark.parametrize("text", ["", "yesterday", "baseline:", "head:3", "as-of"])
def test_a_wrong_read_context_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Exception, match="for example as-of:2026"):
        parse_read_context(text)
