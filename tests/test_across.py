"""One question to several repositories: merged by relevance, each at its own read context, and
never a look into one that was not named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook import ReadContext, Sourcebook
from sourcebook.access import Grant, authenticate
from sourcebook.across import MOST, AnswerAcross, asked_once, make_once, search_across
from sourcebook.engine import Engine
from sourcebook.errors import Forbidden, InvalidInput, NotFound, SpaceMismatch, StoreBusy
from sourcebook.ingest import Request
from sourcebook.model import (
    Adjustment,
    Block,
    Caller,
    Citation,
    Degraded,
    Document,
    Hit,
    Node,
    Resolved,
    Scope,
    Scores,
)
from sourcebook.ports import EmbeddedQuery
from sourcebook.querying.prepare import prepare
from sourcebook.retrieve import Answer

QUESTION = "how long is the quarantine for new chickens?"


# --- merging, by hand ----------------------------------------------------------------------------


def hit(
    repository: str,
    name: str,
    relevance: float | None,
    *,
    exact: int = 0,
    factors: tuple[float, ...] = (),
) -> Hit:
    node = Node(name, name, "chunk", f"v-{name}", "h", None, 0, "", f"{name}.md", 0, 4)
    cited = Citation(repository, name, node.version_id, 0, 4, "hash")
    changes = tuple(Adjustment("a", factor) for factor in factors)
    scores = Scores(exact=exact)
    return Hit(1, node, 2, "text", "", scores, cited, relevance, adjustments=changes)


def answer(*hits: Hit, revision: int = 1, **changes: Any) -> Answer:
    made = Answer(
        "ok", prepare("a question"), "general", {}, Resolved("head", revision), list(hits), 7
    )
    return replace(made, **changes)


def merged(k: int = 10, **answers: Answer | Exception) -> AnswerAcross:
    def ask(scope: Scope) -> Answer:
        found = answers[scope.repository]
        if isinstance(found, Exception):
            raise found
        return found

    return search_across([Scope(repository=name) for name in answers], ask, k)


def names(found: AnswerAcross) -> list[str]:
    return [hit.node.id for hit in found.answer.results]


def test_lists_are_merged_by_relevance() -> None:
    found = merged(
        a=answer(hit("a", "1", 0.9), hit("a", "2", 0.3)),
        b=answer(hit("b", "3", 0.5), hit("b", "4", 0.1)),
    )
    assert names(found) == ["1", "3", "2", "4"]
    assert [h.rank for h in found.answer.results] == [1, 2, 3, 4]
    assert found.answer.candidates == 14
    assert (found.answer.status, found.answer.warning) == ("ok", None)


def test_standing_counts_as_in_one_repository() -> None:
    """0.6 × 0.5 = 0.30 stands behind 0.4, and 0.35 × 1.1 = 0.385 before 0.37."""
    found = merged(
        a=answer(hit("a", "1", 0.4), hit("a", "old", 0.6, factors=(0.5,))),
        b=answer(hit("b", "binding", 0.35, factors=(1.1,)), hit("b", "plain", 0.37)),
    )
    assert names(found) == ["1", "binding", "plain", "old"]


def test_exact_matches_come_first_and_what_was_not_judged_last() -> None:
    found = merged(
        a=answer(hit("a", "1", 0.9), hit("a", "rest", None, exact=3)),
        b=answer(hit("b", "two", 0.1, exact=2), hit("b", "one", 0.2, exact=1)),
    )
    assert names(found) == ["two", "one", "1", "rest"]


def test_ties_go_by_repository_then_by_node() -> None:
    found = merged(
        b=answer(hit("b", "0", 0.5), hit("b", "1", 0.5)),
        a=answer(hit("a", "2", 0.5), hit("a", "9", 0.5)),
    )
    assert names(found) == ["2", "9", "0", "1"]


def test_k_cuts_the_merged_list_and_the_status_is_of_what_is_left() -> None:
    found = merged(
        1,
        a=answer(hit("a", "exact", 0.01, exact=1)),
        b=answer(hit("b", "good", 0.9)),
    )
    assert names(found) == ["exact"]
    assert found.answer.status == "low_confidence"
    assert "0.01" in (found.answer.warning or "")


_hits = st.lists(
    st.tuples(st.none() | st.floats(0, 1), st.integers(0, 2), st.sampled_from(["x", "y", "z"])),
    max_size=6,
)


@given(st.dictionaries(st.sampled_from("abcd"), _hits, min_size=1), st.integers(1, 12))
def test_nothing_is_lost_and_each_repository_keeps_its_order(
    worlds: dict[str, list[tuple[float | None, int, str]]], k: int
) -> None:
    answers = {
        name: answer(*(hit(name, f"{n}{i}", r, exact=e) for i, (r, e, n) in enumerate(rows)))
        for name, rows in worlds.items()
    }
    found = merged(k, **answers).answer.results
    assert len(found) == min(k, sum(map(len, worlds.values())))
    for name, one in answers.items():
        kept = [h.node.id for h in found if h.citation.repository_id == name]
        assert kept == [h.node.id for h in one.results][: len(kept)]


def test_a_repository_without_an_answer_is_named_with_the_reason() -> None:
    found = merged(
        a=answer(hit("a", "1", 0.9), revision=4),
        b=NotFound("there is no baseline 'spring'"),
        c=SpaceMismatch("another model"),
    )
    assert [asdict(part) for part in found.answer.degraded] == [
        {"part": "repository", "reason": "b was not searched: there is no baseline 'spring'"},
        {"part": "repository", "reason": "c was not searched: another model"},
    ]
    told = found.to_dict()["repositories"]
    assert [each["status"] for each in told] == ["ok", "not_searched", "not_searched"]
    assert told[1] == {
        "repository_id": "b",
        "read_context": None,
        "status": "not_searched",
        "candidates": 0,
        "degraded": [{"part": "repository", "reason": "there is no baseline 'spring'"}],
    }


def test_if_none_answers_it_is_the_error() -> None:
    with pytest.raises(NotFound, match="first"):
        merged(a=NotFound("first"), b=InvalidInput("second"))


def test_a_store_that_fails_is_no_repository_without_an_answer() -> None:
    with pytest.raises(StoreBusy):
        merged(a=answer(hit("a", "1", 0.9)), b=StoreBusy())


def test_what_is_degraded_everywhere_is_said_once() -> None:
    model, late = Degraded("dense", "no model"), Degraded("late", "no tokens")
    found = merged(
        a=answer(degraded=(model,)),
        b=answer(degraded=(model, late)),
    )
    assert found.answer.degraded == (model, Degraded("late", "b: no tokens"))
    assert found.answer.status == "no_results"


def test_the_read_context_says_what_is_the_same() -> None:
    found = merged(
        a=answer(hit("a", "1", 0.9), revision=4), b=answer(hit("b", "2", 0.8), revision=9)
    ).to_dict()
    context = {"selector": "head", "baseline_id": None, "as_of": None}
    assert found["read_context"] == {**context, "revision": None}
    assert [h["read_context"]["revision"] for h in found["results"]] == [4, 9]
    same = merged(a=answer(revision=4), b=answer(revision=4)).to_dict()
    assert same["read_context"] == {**context, "revision": 4}


def test_no_repository_and_too_many() -> None:
    with pytest.raises(NotFound, match="no repository"):
        search_across([], lambda _: answer(), 3)
    with pytest.raises(InvalidInput, match="1001 repositories"):
        search_across([Scope()] * (MOST + 1), lambda _: answer(), 3)


def test_a_question_is_embedded_once_by_however_many_threads() -> None:
    class Counting:
        model = "tiny"
        calls = 0

        def embed_query(self, text: str) -> EmbeddedQuery:
            self.calls += 1
            return EmbeddedQuery(text)  # type: ignore[arg-type]

    counting = Counting()
    once = asked_once(counting)  # type: ignore[arg-type]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: once.embed_query(str(n % 2)).vector, range(200)))
    assert found == ["0", "1"] * 100
    assert (counting.calls, once.model) == (2, "tiny")
    others = make_once(lambda *_: Counting())  # type: ignore[arg-type,return-value]
    assert others("a", "b", None) is others("a", "b", None)
    assert others("a", "b", None) is not others("a", "b", 3)


# --- real repositories ---------------------------------------------------------------------------


def note(name: str, text: str, **metadata: object) -> Document:
    blocks = (Block("prose", 0, len(text)),)
    return Document(name, name, text, f"{name}.txt", "text", blocks, metadata)


TEXTS = {
    "poultry": ["New chickens stay in quarantine for 14 days.", "Ducks need a pond."],
    "offices": ["The printer on the second floor needs toner.", "Chickens are not allowed."],
    "rules": ["Quarantine means that nobody enters the stable.", "Gates stay closed."],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Path:
    """Three repositories of one tenant, one of another organization, one of another tenant."""
    file = tmp_path_factory.mktemp("across") / "store.db"
    with Sourcebook.open(f"sqlite:///{file}", tenant="farm") as opened:
        for name, lines in TEXTS.items():
            notes = [note(f"{name}-{n}", line) for n, line in enumerate(lines)]
            opened.in_repository(name).take_in(Request(notes))
        secret = [note("secret", "New chickens stay in quarantine for 99 days.")]
        for scope in (Scope("farm", "other", "poultry"), Scope("rival", "default", "poultry")):
            opened._with(scope).take_in(Request(secret))
    return file


@pytest.fixture
def sb(made: Path, tmp_path: Path) -> Iterator[Sourcebook]:
    shutil.copy(made, tmp_path / "store.db")
    with Sourcebook.open(f"sqlite:///{tmp_path}/store.db", tenant="farm") as opened:
        yield opened


def body(found: AnswerAcross | Answer) -> str:
    told = found.to_dict()
    del told["stats"]["timings_ms"]
    return json.dumps(told, sort_keys=True)


def test_all_repositories_of_the_tenant_and_no_other(sb: Sourcebook) -> None:
    found = sb.search_across(QUESTION)
    assert [each.repository_id for each in found.repositories] == ["offices", "poultry", "rules"]
    best = found.answer.results[0]
    assert (best.citation.repository_id, best.text) == (
        "poultry",
        "New chickens stay in quarantine for 14 days.",
    )
    assert len(found.answer.results) == 6
    assert "99 days" not in body(found)
    for each in found.answer.results:
        assert sb.in_repository(each.citation.repository_id).verify(each.citation).valid


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
@pytest.mark.parametrize("rerank", ["local", "late", "none"])
def test_one_repository_is_answered_as_if_asked_alone(
    sb: Sourcebook, mode: str, rerank: str
) -> None:
    options = {"mode": mode, "rerank": rerank, "cache": False}
    alone = sb.in_repository("poultry").search(QUESTION, **options)
    found = sb.search_across(QUESTION, repositories=["poultry", "poultry"], **options)
    told, plain = json.loads(body(found)), json.loads(body(alone))
    assert told.pop("repositories")[0]["candidates"] == alone.candidates
    for each in told["results"]:
        assert each.pop("read_context") == plain["read_context"]
    assert told == plain


def test_a_hit_is_as_relevant_as_in_its_own_repository(sb: Sourcebook) -> None:
    found = sb.search_across(QUESTION, 3)
    assert [h.relevance for h in found.answer.results] == sorted(
        (
            h.relevance
            for name in ("offices", "poultry", "rules")
            for h in sb.in_repository(name).search(QUESTION).results
        ),
        reverse=True,
    )[:3]


def test_the_answer_is_the_same_every_time(sb: Sourcebook) -> None:
    assert len({body(sb.search_across(QUESTION, cache=False)) for _ in range(5)}) == 1
    assert body(sb.search_across(QUESTION)) == body(sb.search_across(QUESTION))


def test_each_repository_is_read_at_its_own_point_in_time(sb: Sourcebook) -> None:
    spring = sb.in_repository("poultry")
    spring.create_baseline("spring")
    spring.publish("spring")
    changed = note("poultry-0", "New chickens stay in quarantine for 30 days.")
    spring.take_in(Request([changed]))
    found = sb.search_across(QUESTION, read_context=ReadContext("published"))
    told = {each["repository_id"]: each for each in found.to_dict()["repositories"]}
    assert "14 days" in found.answer.results[0].text
    assert found.to_dict()["results"][0]["read_context"] == {
        "selector": "published", "revision": 1, "baseline_id": "spring", "as_of": None
    }  # fmt: skip
    assert told["rules"]["status"] == "not_searched"
    assert "no baseline is published" in told["rules"]["degraded"][0]["reason"]
    assert {part.part for part in found.answer.degraded} == {"repository"}
    with pytest.raises(NotFound, match="no baseline 'winter'"):
        sb.search_across(QUESTION, read_context=ReadContext("baseline", "winter"))


@pytest.mark.parametrize("wrong", [{"k": 0}, {"mode": "telepathy"}, {"min_relevance": 2}])
def test_wrong_options_are_the_error(sb: Sourcebook, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        sb.search_across(QUESTION, **wrong)


@pytest.mark.parametrize("name", ["nothing", "POULTRY", "poultry ", "", "*", "poultry\0"])
def test_a_name_that_is_not_there_is_the_error(sb: Sourcebook, name: str) -> None:
    with pytest.raises(NotFound, match="there is no repository"):
        sb.search_across(QUESTION, repositories=["poultry", name])


def test_a_document_fills_its_share_and_no_more(sb: Sourcebook) -> None:
    for name in ("poultry", "rules"):
        text = "\n\n".join(f"# Part {n}\n\nQuarantine rule {n}: {'wait ' * 80}." for n in range(6))
        blocks = (Block("prose", 0, len(text)),)
        long = Document("long", "Long", text, "long.txt", "text", blocks)
        sb.in_repository(name).take_in(Request([long]))
    found = sb.search_across("quarantine rule", 20, per_document=1)
    places = [(h.citation.repository_id, h.node.element_id) for h in found.answer.results]
    assert len(places) == len(set(places))
    assert {("poultry", "long"), ("rules", "long")} <= set(places)


def test_gates_are_those_of_agent(sb: Sourcebook) -> None:
    found = sb.search_across(QUESTION, gated=True, min_words=6, min_quality=0.0).to_dict()
    assert found["results"]
    assert all(len((h["expanded"] or h["text"]).split()) >= 6 for h in found["results"])
    assert {each["repository_id"] for each in found["rejected"]} <= {"offices", "poultry", "rules"}
    assert found["rejected"]
    assert sum(found["stats"]["rejected"].values()) == len(found["rejected"])


def test_the_question_is_embedded_once(sb: Sourcebook, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = type(sb.embedder).embed_query

    def watched(self: Any, text: str) -> EmbeddedQuery:
        asked.append(text)
        return real(self, text)

    monkeypatch.setattr(type(sb.embedder), "embed_query", watched)
    sb.search_across(QUESTION, cache=False)
    assert asked == [prepare(QUESTION).normalized]


# --- with a key ----------------------------------------------------------------------------------


def test_a_caller_searches_what_its_key_opens(sb: Sourcebook) -> None:
    _, key = sb.create_key(Grant("joe", repositories=("rules", "offices", "gone")))
    caller = authenticate(sb.store, key)
    found = sb.search_across(QUESTION, caller=caller)
    assert [each.repository_id for each in found.repositories] == ["offices", "rules"]
    assert "14 days" not in body(found)
    messages = set()
    for name in ("poultry", "gone", "neverwas"):
        with pytest.raises(NotFound) as caught:
            sb.search_across(QUESTION, caller=caller, repositories=["rules", name])
        messages.add(str(caught.value).replace(name, "NAME"))
    assert len(messages) == 1


def test_a_key_opens_its_own_tenant_whoever_holds_the_engine(sb: Sourcebook) -> None:
    rival = sb._with(Scope("rival", "default", "poultry"))
    _, key = rival.create_key(Grant("rival"))
    found = sb.search_across(QUESTION, caller=authenticate(sb.store, key))
    assert [h.text for h in found.answer.results] == [
        "New chickens stay in quarantine for 99 days."
    ]


def test_labels_wall_off_hits_in_every_repository(sb: Sourcebook) -> None:
    for name in ("poultry", "rules"):
        line = "Chickens in quarantine cost 12 euros a day."
        sb.in_repository(name).take_in(Request([note("pay", line, visibility="finance")]))
    question = "what does quarantine cost?"
    for roles, sees in ((frozenset({"finance"}), 2), (frozenset({"hr"}), 0), (frozenset(), 0)):
        _, key = sb.create_key(Grant("joe", roles=roles))
        found = sb.search_across(question, 20, caller=authenticate(sb.store, key))
        assert sum("12 euros" in h.text for h in found.answer.results) == sees


# --- an engine in the hands of a caller ----------------------------------------------------------


def caller_with(sb: Sourcebook, **grant: Any) -> Caller:
    return authenticate(sb.store, sb.create_key(Grant("joe", **grant))[1])


def test_a_callers_engine_stays_within_its_walls(sb: Sourcebook) -> None:
    mine = sb.as_caller(caller_with(sb, repositories=("rules",)), "rules")
    assert mine.search(QUESTION).results
    assert mine.unlogged().caller == mine.caller
    for leave in (mine.in_repository, mine.unlogged().in_repository):
        with pytest.raises(NotFound):
            leave("poultry")
    with pytest.raises(NotFound):
        mine.search_across(QUESTION, repositories=["poultry"])
    assert [e.repository_id for e in mine.search_across(QUESTION).repositories] == ["rules"]
    unlimited = sb.as_caller(caller_with(sb, rights="admin"), "rules")
    with pytest.raises(Forbidden):
        unlimited.in_scope(Scope("rival", "default", "poultry"))


def test_a_callers_engine_shares_store_models_and_caches(sb: Sourcebook) -> None:
    caller = caller_with(sb)
    first, second = (sb.as_caller(caller, "poultry") for _ in range(2))
    assert first.store is sb.store
    assert first.embedder is sb.embedder
    assert "cached" not in first.search(QUESTION).timings_ms
    assert "cached" in second.search(QUESTION).timings_ms
    walled = sb.as_caller(caller_with(sb, roles=frozenset({"hr"})), "poultry")
    assert "cached" not in walled.search(QUESTION).timings_ms
    assert "cached" not in sb.as_caller(caller, "rules").search(QUESTION).timings_ms


def test_a_reader_writes_nothing(sb: Sourcebook) -> None:
    reader = sb.as_caller(caller_with(sb), "rules")
    writer = sb.as_caller(caller_with(sb, rights="write"), "rules")
    changes: list[Callable[[Engine], object]] = [
        lambda e: e.take_in(Request([note("new", "A new note.")])),
        lambda e: e.index(),
        lambda e: e.create_baseline("spring"),
        lambda e: e.publish("spring"),
    ]
    for change in changes:
        with pytest.raises(Forbidden, match="'write'"):
            change(reader)
        change(writer)
    administers: list[Callable[[Engine], object]] = [
        lambda e: e.create_key(Grant("x")),
        lambda e: e.keys(),
        lambda e: e.revoke_key("x"),
        lambda e: e.retain(keep_revisions=1),
        lambda e: e.reindex(),
    ]
    for change in administers:
        with pytest.raises(Forbidden, match="'admin'"):
            change(writer)


def test_a_limited_administrator_makes_itself_no_wider_key(sb: Sourcebook) -> None:
    limited = sb.as_caller(caller_with(sb, rights="admin", repositories=("rules",)), "rules")
    with pytest.raises(Forbidden, match="all repositories"):
        limited.create_key(Grant("wider", rights="admin"))
    whole = sb.as_caller(caller_with(sb, rights="admin"), "rules")
    other = sb._with(Scope("farm", "other", "poultry"))
    foreign, _ = other.create_key(Grant("other"))
    listed = whole.keys()
    assert foreign.id not in {key.id for key in listed}
    with pytest.raises(NotFound):
        whole.revoke_key(foreign.id)
    made, key = whole.create_key(Grant("new"))
    assert authenticate(sb.store, key).tenant == "farm"
    assert whole.revoke_key(made.id).revoked_at


def test_what_others_asked_is_not_in_a_readers_status(sb: Sourcebook) -> None:
    sb.in_repository("rules").search("a question about salaries")
    reader, boss = (
        sb.as_caller(caller_with(sb, rights=rights), "rules") for rights in ("read", "admin")
    )
    assert "salaries" not in json.dumps(reader.status())
    assert "salaries" in json.dumps(boss.status())
