"""What people see of `search`, `agent` and `similar`: one number, badges, and how it came about."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sourcebook.model import (
    Adjustment,
    Citation,
    Degraded,
    Hit,
    Node,
    Rejected,
    Resolved,
    Scores,
)
from sourcebook.querying.answer import Answer
from sourcebook.querying.prepare import prepare
from sourcebook.serve.hits import CELLS, View, badges, bar, show

from .conftest import Cli

TEXT = "Tools are returned clean. A member who is late pays one pound a day for each tool."


def hit(rank: int = 1, relevance: float | None = 0.82, **changes: Any) -> Hit:
    metadata = changes.pop("metadata", {})
    node = Node("rules.md#1", "rules.md", "chunk", "v1", "h", "rules.md", 1, "Tools", "rules.md",
                10, 92, ("House rules", "7. Tools"), 3, metadata)  # fmt: skip
    scores = Scores(dense=0.9, dense_rank=2, sparse=12.5, sparse_rank=1, staged=0.9, staged_rank=4,
                    combined=1.75, combined_rank=3, fused=0.1625, rerank=48.5,
                    adjusted=0.451)  # fmt: skip
    cited = Citation("default", "rules.md", "v1", 10, 92, "0" * 64)
    made = Hit(rank, node, 2, TEXT, "House rules", scores, cited, relevance)
    return replace(made, **changes)


def answer(*hits: Hit, **changes: Any) -> Answer:
    made = Answer(
        status="ok",
        query=prepare("What does a late tool cost?"),
        query_type="general",
        weights={"dense": 1.0, "sparse": 0.5},
        read_context=Resolved("head", 7),
        results=list(hits),
        candidates=140,
        timings_ms={"dense": 1.25, "total": 30.0},
    )
    return replace(made, **changes)


def shown(
    found: Answer, view: View | None = None, width: int = 80, terminal: bool = False
) -> list[str]:
    """Lines as they would be on paper, or on a terminal without colours."""
    file = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    out = Console(file=file, width=width, force_terminal=terminal, no_color=True, markup=False,
                  color_system=None)  # fmt: skip
    show(found, view or View(), out)
    file.flush()
    return file.buffer.getvalue().decode().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_a_hit_has_its_headings_one_number_its_place_and_its_words() -> None:
    assert shown(answer(hit())) == [
        "1. House rules › 7. Tools",
        "   relevance 0.82 · rules.md:10-92 (page 3)",
        "   Tools are returned clean. A member who is late pays one pound a day for",
        "   each tool.",
        "",
    ]


def test_a_terminal_draws_the_number() -> None:
    lines = shown(answer(hit()), terminal=True)
    assert lines[1] == "   ━━━━━━━━── 0.82 · rules.md:10-92 (page 3)"


def test_what_was_not_judged_has_no_number() -> None:
    assert shown(answer(hit(relevance=None)))[1].startswith("   relevance – · ")
    assert shown(answer(hit(relevance=None)), terminal=True)[1].startswith("   relevance – · ")


@given(st.floats(0, 1))
def test_a_bar_has_its_length_whatever_it_shows(relevance: float) -> None:
    drawn = bar(relevance).plain
    assert len(drawn) == CELLS
    assert drawn.lstrip("━").rstrip("─") == ""
    assert abs(drawn.count("━") / CELLS - relevance) <= 0.5 / CELLS + 1e-9


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"metadata": {"is_binding": True}}, ["binding"]),
        ({"metadata": {"is_binding": False}}, ["not binding"]),
        ({"metadata": {"is_binding": True, "superseded_by": "rules-2026.md"}},
         ["binding", "superseded by rules-2026.md"]),
        ({"metadata": {"superseded_by": "newer/rules.md"}}, ["superseded by newer/rules.md"]),
        ({"metadata": {"superseded_by": True}}, ["superseded"]),
        ({"adjustments": (Adjustment("superseded", 0.5),)}, ["superseded"]),
        ({"adjustments": (Adjustment("superseded", 0.5, "by rules-2026.md"),)},
         ["superseded by rules-2026.md"]),
        ({"adjustments": (Adjustment("primary_source", 1.05), Adjustment("asked_type", 1.1))},
         ["primary source", "the type asked for"]),
        ({"scores": Scores(exact=1)}, ["exact match"]),
        ({"quality": {"overall": 0.7, "stub_type": None}}, []),
        ({"quality": {"overall": 0.21, "stub_type": "note"}}, ["stub: note", "quality 0.21"]),
        ({"quality": {"overall": 0.39, "stub_type": None}}, ["quality 0.39"]),
        ({"expanded": "before " + TEXT}, ["with what stands around it"]),
    ],
)  # fmt: skip
def test_badges_say_what_to_know_before_reading(changes: dict[str, Any], told: list[str]) -> None:
    assert [badge.plain for badge in badges(hit(**changes))] == told


def test_a_place_that_does_not_fit_stands_below() -> None:
    long = hit(metadata={"is_binding": True, "superseded_by": "governance/house-rules-2026.md"})
    assert shown(answer(long), width=80)[1:3] == [
        "   relevance 0.82 · binding · superseded by governance/house-rules-2026.md",
        "   rules.md:10-92 (page 3)",
    ]
    assert shown(answer(long), width=120)[1].endswith("2026.md · rules.md:10-92 (page 3)")


def test_a_file_beside_its_own_is_named_without_its_folder() -> None:
    made = hit(metadata={"superseded_by": "governance/rules-2026.md"})
    made = replace(made, node=replace(made.node, source="governance/rules.md"))
    assert [badge.plain for badge in badges(made)] == ["superseded by rules-2026.md"]


def test_an_expanded_hit_is_shown_as_it_was_judged() -> None:
    assert "   Before it." in shown(answer(hit(expanded=f"Before it.\n\n{TEXT}")))


STAGES = [
    "   dense            #2    0.9000",
    "   sparse           #1   12.5000",
    "   staged           #4    0.9000",
    "   combined         #3    1.7500",
    "   exact                2 phrases or identifiers",
    "   fused                  0.1625",
    "   rerank                48.5000",
    "   relevance              0.8200",
    "   binding              × 1.1",
    "   superseded           × 0.5 by rules-2026.md",
    "   adjusted         #1    0.4510",
    "   quality                0.6500",
]


def test_an_explanation_has_a_line_for_every_stage() -> None:
    changes = (Adjustment("binding", 1.1), Adjustment("superseded", 0.5, "by rules-2026.md"))
    made = hit(adjustments=changes, quality={"overall": 0.65, "stub_type": None})
    made = replace(made, scores=replace(made.scores, exact=2))
    lines = shown(answer(made), View(explain=True))
    first = lines.index(STAGES[0])
    assert lines[first : first + len(STAGES)] == STAGES


def test_what_was_not_judged_is_explained_so() -> None:
    made = hit(relevance=None)
    made = replace(made, scores=replace(made.scores, rerank=None, adjusted=None))
    text = "\n".join(shown(answer(made), View(explain=True)))
    assert "   not judged" in text
    assert "adjusted" not in text


def test_an_explanation_tells_the_question_and_the_funnel() -> None:
    refused = [Rejected(f"n{i}", "e", "quality-too-low", 0.5) for i in range(11)]
    refused.append(Rejected("n11", "e", "stub-breadcrumb", None))
    found = answer(hit(), rejected=tuple(refused), parts=("What costs a tool?", "Who pays?"),
                   document_type="rules")  # fmt: skip
    assert (
        shown(found, View(explain=True))[-20:]
        == [
            "",
            "read as   What does a late tool cost?",
            "type      general",
            "parts     What costs a tool?",
            "          Who pays?",
            "asks for  documents of type rules",
            "weights   dense 1 · sparse 0.5",
            "funnel    140 candidates → 100 judged → 13 checked → 1 accepted",
            "rejected  quality-too-low 11 · stub-breadcrumb 1",
            *(f"          0.50 n{i}: quality-too-low" for i in range(10)),
            "          and 2 more; --json shows all",
            "timings   dense 1.2 ms · total 30.0 ms",
        ][-20:]
    )


@pytest.mark.parametrize(
    ("view", "candidates", "told"),
    [(View(True), 12, "12 judged"), (View(True, depth=250), 300, "250 judged"),
     (View(True, deeper=True), 300, "100 or more judged"),
     (View(True, deeper=True), 99, "99 judged")],
)  # fmt: skip
def test_the_funnel_says_how_many_were_judged(view: View, candidates: int, told: str) -> None:
    text = "\n".join(shown(answer(hit(), candidates=candidates), view))
    assert f"candidates → {told} → 1 checked → 1 accepted" in text


def test_what_was_gated_always_says_what_was_refused() -> None:
    gated = View(gated=True)
    assert shown(answer(hit()), gated)[-1] == (
        "accepted 1 of 1 checked, of 140 candidates; rejected: none"
    )
    refused = (Rejected("a", "a", "word-count-too-low", 0.1), Rejected("b", "b", "not-scored"))
    nothing = answer(rejected=refused, status="no_results", warning="all refused")
    assert shown(nothing, gated, width=100) == [
        "no results: all refused",
        "accepted 0 of 2 checked, of 140 candidates; rejected: not-scored 1, word-count-too-low 1",
        "the most relevant (0.10) was rejected: a: word-count-too-low",
    ]
    assert "accepted" not in "\n".join(shown(answer(hit())))


def test_the_best_that_was_refused_is_named_where_nothing_better_passed() -> None:
    refused = tuple(
        Rejected(name, name, "word-count-too-low", relevance)
        for name, relevance in (("a", 0.3), ("b", 0.9), ("c", None))
    )
    lines = shown(answer(hit(relevance=0.82), rejected=refused), View(gated=True))
    assert lines[-1] == "the most relevant (0.90) was rejected: b: word-count-too-low"
    lines = shown(answer(hit(relevance=0.95), rejected=refused), View(gated=True))
    assert lines[-1].endswith("rejected: word-count-too-low 3")


def test_a_lesser_answer_says_so_first() -> None:
    found = answer(hit(relevance=0.05), status="low_confidence", warning="it may not answer",
                   degraded=(Degraded("dense", "no vectors"),))  # fmt: skip
    assert shown(found)[:2] == ["degraded: dense: no vectors", "low confidence: it may not answer"]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_is_wider_than_the_page_or_ends_in_blanks(width: int, terminal: bool) -> None:
    made = hit(
        metadata={"is_binding": True, "superseded_by": "a/long/path/to/the/newer-rules-of-2026.md"},
        quality={"overall": 0.2, "stub_type": "note"},
    )
    refused = (Rejected("rules.md#2", "rules.md", "quality-too-low", 0.5),) * 3
    lines = shown(answer(made, rejected=refused), View(explain=True), width, terminal)
    assert max(map(len, lines)) <= width
    assert [line for line in lines if line != line.rstrip()] == []


# --- through the command line --------------------------------------------------------------------


def test_search_as_people_see_it(folder: Path, cli: Cli) -> None:
    data = cli("search", "how much may a hotel cost?", "-k", "1", "--json").data
    out = cli("search", "how much may a hotel cost?", "-k", "1").out
    relevance = data["results"][0]["relevance"]
    assert f"1. Travel expenses\n   relevance {relevance:.2f} · notes/travel.md:28-" in out
    assert "hotels are paid up to" in out
    assert "read at" not in out
    assert "accepted" not in out
    assert "\x1b" not in out


def test_explain_shows_stages_weights_funnel_and_timings(folder: Path, cli: Cli) -> None:
    out = cli("search", "hotel", "-k", "1", "--explain").out
    stages = ("dense", "sparse", "combined", "fused", "rerank", "relevance", "adjusted")
    for word in (*stages, "read as", "weights", "→ 1 accepted", "timings"):
        assert word in out


def test_agent_always_tells_what_was_refused(folder: Path, cli: Cli) -> None:
    asked = ("agent", "how much may a hotel cost?", "--min-words", "1", "--min-quality", "0")
    ran = cli(*asked, "--exclude-stub", "none")
    accepted = len(cli(*asked, "--exclude-stub", "none", "--json").data["results"])
    assert ran.out.splitlines()[-1].startswith(f"accepted {accepted} of {accepted} checked, of ")
    assert ran.out.splitlines()[-1].endswith("; rejected: none")
    ran = cli("agent", "how much may a hotel cost?", "--min-words", "5000", "--explain")
    assert ran.status == 0
    assert ran.out.startswith("no results: ")
    assert "rejected: word-count-too-low " in ran.out.splitlines()[-2]
    assert "notes/travel.md: word-count-too-low" in ran.out


def test_similar_has_no_question_and_no_relevance(folder: Path, cli: Cli) -> None:
    ran = cli("similar", "notes/travel.md", "-k", "1", "--explain")
    alike = cli("similar", "notes/travel.md", "-k", "1", "--json").data["results"][0]
    assert ran.status == 0
    assert f"   likeness {alike['scores']['rerank']:.2f} · " in ran.out
    assert "like     notes/travel.md" in ran.out
    for word in ("relevance", "read as", "funnel", "not judged"):
        assert word not in ran.out
