"""What people say of results: kept against exact words, given back as golden questions, and used by
nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sourcebook import ReadContext, Sourcebook
from sourcebook.access import Grant, authenticate
from sourcebook.engine import Engine
from sourcebook.errors import Forbidden, InvalidInput, NotFound
from sourcebook.feedback import LONGEST_NOTE, golden, judge
from sourcebook.golden import evaluate
from sourcebook.golden_file import read_questions
from sourcebook.ingest import Request
from sourcebook.model import Block, Document, Feedback, Hit, Judgment, Opinion

QUESTION = "how long is the quarantine for new chickens?"
START = datetime(2026, 3, 1, tzinfo=UTC)
HEAD, SPRING = ReadContext(), ReadContext("baseline", "spring")


def note(name: str, text: str, **metadata: object) -> Document:
    blocks = (Block("prose", 0, len(text)),)
    return Document(name, name, text, f"{name}.txt", "text", blocks, metadata)


@pytest.fixture
def sb(tmp_path: Path, model_dir: Path) -> Iterator[Sourcebook]:
    with Sourcebook.open(f"sqlite:///{tmp_path}/store.db") as opened:
        lines = {
            "chickens": "New chickens stay in quarantine for 14 days.",
            "ducks": "Ducks stay in quarantine for 7 days, geese for 9.",
            "gates": "All gates stay closed while animals are in quarantine.",
        }
        opened.take_in(Request([note(name, text) for name, text in lines.items()]))
        yield opened


def found(sb: Engine, name: str, query: str = QUESTION, at: ReadContext = HEAD) -> Hit:
    return next(h for h in sb.search(query, read_context=at).results if h.node.id == name)


def say(sb: Engine, name: str, opinion: Opinion, minute: int = 0, **changes: Any) -> Feedback:
    at = changes.pop("read_context", HEAD)
    query = changes.pop("query", QUESTION)
    cited = found(sb, name, query, at).citation
    given = replace(Judgment(query, cited, opinion, at), **changes)
    return judge(sb.store, sb.scope, given, START + timedelta(minutes=minute))


def rows(sb: Engine, **options: Any) -> list[tuple[list[str], list[str]]]:
    made = golden(sb.store, sb.scope, **options)
    return [(row["must_include"], row["must_not_include"]) for row in made.rows]


# --- keeping -------------------------------------------------------------------------------------


def test_a_judgment_is_kept_against_question_version_and_read_context(sb: Sourcebook) -> None:
    hit = found(sb, "chickens")
    kept = sb.give_feedback(Judgment(QUESTION, hit.citation, "helpful", note="just this"))
    assert kept.query == QUESTION
    assert (kept.node_id, kept.citation) == ("chickens", hit.citation)
    assert (kept.read_context.selector, kept.read_context.revision) == ("head", 1)
    assert (kept.opinion, kept.note, kept.key_id) == ("helpful", "just this", None)
    assert sb.judgments() == [kept]


def test_answers_do_not_change_by_what_people_say_of_them(sb: Sourcebook) -> None:
    def answers() -> list[str]:
        told = []
        for mode in ("hybrid", "dense", "sparse"):
            for rerank in ("local", "late", "none"):
                found = sb.search(QUESTION, mode=mode, rerank=rerank, cache=False).to_dict()
                del found["stats"]["timings_ms"]
                told.append(json.dumps(found, sort_keys=True))
        context = sb.context(QUESTION).to_dict()
        return [*told, context["text"], str(sb.resolve()), str(sb.log()), str(sb.list())]

    before = answers()
    for minute in range(20):
        say(sb, "gates", "helpful", minute)
        say(sb, "chickens", "not_helpful", minute)
        say(sb, "ducks", "clicked", minute)
    assert answers() == before


@pytest.mark.parametrize(
    "change",
    [
        {"text_hash": "0" * 64},
        {"start": 1},
        {"end": 2**80},
        {"version_id": "none"},
        {"element_id": "ducks"},
        {"repository_id": "other"},
    ],
)
def test_a_citation_that_does_not_hold_is_refused(sb: Sourcebook, change: dict[str, Any]) -> None:
    cited = replace(found(sb, "chickens").citation, **change)
    with pytest.raises(InvalidInput, match="the citation does not hold"):
        sb.give_feedback(Judgment(QUESTION, cited, "helpful"))
    assert sb.judgments() == []


def test_a_citation_must_be_shown_at_the_read_context(sb: Sourcebook) -> None:
    sb.create_baseline("spring")
    old = found(sb, "chickens").citation
    sb.take_in(Request([note("chickens", "New chickens stay in quarantine for 30 days.")]))
    with pytest.raises(InvalidInput, match="not what revision 2 shows"):
        sb.give_feedback(Judgment(QUESTION, old, "helpful"))
    kept = sb.give_feedback(Judgment(QUESTION, old, "helpful", SPRING))
    assert (kept.read_context.revision, kept.read_context.baseline_id) == (1, "spring")
    with pytest.raises(NotFound, match="no baseline 'winter'"):
        sb.give_feedback(Judgment(QUESTION, old, "helpful", ReadContext("baseline", "winter")))


def test_input_that_is_too_long_or_none_at_all(sb: Sourcebook) -> None:
    cited = found(sb, "chickens").citation
    for given, sentence in (
        ({"note": "x" * 10_485_760}, "the note has 10,485,760 characters; 10,000 are possible"),
        ({"query": "x" * 10_001}, "the query has 10,001 characters"),
        ({"request_id": "x" * 201}, "the request_id has 201 characters"),
        ({"query": " \n"}, "which question"),
        ({"opinion": "lovely"}, "helpful, not_helpful or clicked, not 'lovely'"),
        ({"note": "half \ud800"}, "half of a character pair"),
    ):
        judgment = replace(Judgment(QUESTION, cited, "helpful"), **given)
        with pytest.raises(InvalidInput, match=sentence) as caught:
            sb.give_feedback(judgment)
        assert len(str(caught.value)) < 300
    assert sb.judgments() == []
    sb.give_feedback(Judgment(QUESTION, cited, "helpful", note="\x1b[31m\n" + "ö" * 9_000))
    assert LONGEST_NOTE == 10_000


def test_a_request_is_taken_once(sb: Sourcebook) -> None:
    first = say(sb, "chickens", "helpful", request_id="r1")
    again = say(sb, "ducks", "not_helpful", 1, request_id="r1")
    assert again == first
    assert say(sb, "ducks", "not_helpful", 1, request_id="r2") != first
    assert len(sb.judgments()) == 2


# --- with a key ----------------------------------------------------------------------------------


def test_whoever_may_read_may_judge_but_not_see_what_others_say(sb: Sourcebook) -> None:
    key, text = sb.create_key(Grant("joe"))
    reader = sb.as_caller(authenticate(sb.store, text), "default")
    cited = found(reader, "chickens").citation
    kept = reader.give_feedback(Judgment(QUESTION, cited, "helpful", key_id="forged"))
    assert kept.key_id == key.id
    for refused in (reader.judgments, reader.golden, reader.keys):
        with pytest.raises(Forbidden, match="'admin'"):
            refused()
    _, text = sb.create_key(Grant("boss", rights="admin"))
    assert sb.as_caller(authenticate(sb.store, text), "default").judgments() == [kept]


def test_what_a_reader_may_not_see_it_cannot_judge(sb: Sourcebook) -> None:
    sb.take_in(Request([note("pay", "Quarantine costs 12 euros a day.", visibility="finance")]))
    cited = found(sb, "pay").citation
    _, text = sb.create_key(Grant("joe", roles=frozenset({"hr"})))
    reader = sb.as_caller(authenticate(sb.store, text), "default")
    told = []
    for citation in (cited, replace(cited, version_id="x" * len(cited.version_id))):
        with pytest.raises(InvalidInput) as caught:
            reader.give_feedback(Judgment(QUESTION, citation, "helpful"))
        told.append(str(caught.value).replace(citation.version_id, "V"))
    assert told[0] == told[1]


# --- golden questions ----------------------------------------------------------------------------


def test_judgments_become_questions(sb: Sourcebook) -> None:
    say(sb, "chickens", "helpful")
    say(sb, "gates", "not_helpful")
    say(sb, "ducks", "helpful", query="what about geese?")
    made = golden(sb.store, sb.scope)
    first, second = made.rows
    assert first | {"id": ""} == {
        "id": "",
        "query": QUESTION,
        "must_include": ["chickens"],
        "must_not_include": ["gates"],
        "read_context": "revision:1",
        "answerable": True,
    }
    assert (second["query"], second["must_include"]) == ("what about geese?", ["ducks"])
    assert made.left_out == 0
    assert first["id"] != second["id"]
    assert golden(sb.store, sb.scope) == made


def test_the_newest_opinion_of_a_version_counts(sb: Sourcebook) -> None:
    say(sb, "chickens", "not_helpful", 0)
    assert rows(sb) == [([], ["chickens"])]
    say(sb, "chickens", "helpful", 1)
    assert rows(sb) == [(["chickens"], [])]
    say(sb, "chickens", "clicked", 2)
    assert rows(sb) == [(["chickens"], [])]
    say(sb, "chickens", "not_helpful", 3)
    say(sb, "chickens", "clicked", 4)
    assert rows(sb) == rows(sb, with_clicks=True) == [([], ["chickens"])]


def test_a_click_alone_says_nothing_unless_asked_for(sb: Sourcebook) -> None:
    say(sb, "chickens", "clicked")
    with pytest.raises(NotFound, match="no judgment"):
        rows(sb)
    assert rows(sb, with_clicks=True) == [(["chickens"], [])]
    say(sb, "ducks", "helpful")
    assert rows(sb) == [(["ducks"], [])]
    assert rows(sb, with_clicks=True) == [(["chickens", "ducks"], [])]


def test_questions_are_pinned_to_what_was_judged(sb: Sourcebook) -> None:
    """At each revision the question has its own answer, and later revisions take none away."""
    sb.create_baseline("spring")
    sb.publish("spring")
    say(sb, "chickens", "helpful", read_context=ReadContext("published"))
    say(sb, "chickens", "helpful")
    sb.take_in(Request([note("chickens", "New chickens stay in quarantine for 30 days.")]))
    say(sb, "chickens", "not_helpful", 1)
    made = golden(sb.store, sb.scope)
    assert {row["read_context"]: row["must_include"] for row in made.rows} == {
        "baseline:spring": ["chickens"],
        "revision:1": ["chickens"],
        "revision:2": [],
    }
    now = golden(sb.store, sb.scope, read_context="head")
    assert [(r["read_context"], r["must_not_include"]) for r in now.rows] == [
        ("head", ["chickens"])
    ]
    assert now.left_out == 2
    with pytest.raises(NotFound, match="winter"):
        golden(sb.store, sb.scope, read_context="baseline:winter")


def test_judgments_outlive_the_revisions_that_they_were_made_at(sb: Sourcebook) -> None:
    """Retention drops the revision: nothing can be asked there, so the judgment is left out."""
    say(sb, "chickens", "helpful")
    say(sb, "ducks", "helpful", query="what about geese?")
    sb.take_in(Request([note("chickens", "New chickens stay in quarantine for 30 days.")]))
    say(sb, "chickens", "helpful", 1)
    sb.retain(keep_revisions=1)
    assert len(sb.judgments()) == 3
    made = golden(sb.store, sb.scope)
    assert [row["read_context"] for row in made.rows] == ["revision:2"]
    assert made.left_out == 2
    now = golden(sb.store, sb.scope, read_context="head")
    assert [row["must_include"] for row in now.rows] == [["ducks"], ["chickens"]]
    assert now.left_out == 1


def test_a_document_that_holds_what_is_wanted_is_not_forbidden(sb: Sourcebook) -> None:
    text = "# Birds\n\n" + "Chickens wait 14 days. " * 60 + "\n\n# Gates\n\n" + "Shut them. " * 90
    file = Path(sb.root) / "long.md"
    file.write_text(text)
    sb.ingest(file)
    chunk = next(h for h in sb.search(QUESTION).results if h.node.element_id == "long.md")
    whole = next(
        h for h in sb.search(QUESTION, resolution=0).results if h.node.element_id == "long.md"
    )
    assert chunk.node.id != whole.node.id == "long.md"
    sb.give_feedback(Judgment(QUESTION, whole.citation, "not_helpful"))
    assert rows(sb) == [([], ["long.md"])]
    sb.give_feedback(Judgment(QUESTION, chunk.citation, "helpful"))
    assert rows(sb) == [([chunk.node.id], [])]


def test_the_file_is_read_back_and_measured(sb: Sourcebook, tmp_path: Path) -> None:
    odd = 'chickens "14 days"\n\u2028\t\\ 🐔'
    say(sb, "chickens", "helpful")
    say(sb, "gates", "not_helpful", query=odd)
    say(sb, "chickens", "helpful", query=odd)
    sb.take_in(Request([note("chickens", "Chickens are gone.")]))
    file = tmp_path / "golden.jsonl"
    made = golden(sb.store, sb.scope)
    file.write_text("".join(json.dumps(row) + "\n" for row in made.rows))
    questions = read_questions(file)
    assert [q.query for q in questions] == [QUESTION, odd]
    assert [q.wanted for q in questions] == [(("chickens",),)] * 2
    assert questions[1].must_not_include == ("gates",)
    measured = evaluate(sb, file, modes=("default",))["modes"]["default"]
    assert measured["recall@10"] == 1
    assert measured["forbidden@10"] == 1  # three documents: all are among the first ten
    assert measured["citations"] == 1
