"""What kind of question it is, and which type of document it names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.querying.understand import TYPES, WEIGHTS, document_type, query_type

KINDS = {
    "general": [
        "How high may a fence be?",
        "who approves a new roof",
        "May I keep chickens in the back yard?",
        "What happens when dues are paid late?",
        "Is the pool open in October?",
        "tell me about the rules for renting out a home",
        "the committee shall answer within a reasonable time after a request",
    ],
    "terminology": [
        "setback",
        "rear yard easement",
        "drainage variance",
        '"common area"',
        "“limited common element” of the condominium",
        "Is 4.2.1 still in force?",
        "a fence of 6 feet",
        "What needs 67% of the votes?",
        "What needs 67 % of the votes?",
        "notice of 30 days",
        "ERR-42 in the log",
    ],
    "definition": [
        "What does setback mean?",
        "what is meant by common area",
        "meaning of easement",
        "define variance",
        "definition of quorum",
        "How is a majority defined here?",
        "What did the parties mean by improvement?",
    ],
    "location": [
        "Where is the height of fences mentioned?",
        "where are pets discussed",
        "Where can I find the fees?",
        "Where is quorum defined?",
        "which section covers parking",
        "What article is about assessments?",
        "In which conversation did we talk about Lisbon?",
        "which view shows the claims service",
    ],
}


@pytest.mark.parametrize(
    ("text", "kind"), [(text, kind) for kind, texts in KINDS.items() for text in texts]
)
def test_query_type(text: str, kind: str) -> None:
    assert query_type(text) == kind
    assert query_type(f"  {text}\n") == kind


def test_every_type_has_weights_that_sum_to_one() -> None:
    assert set(WEIGHTS) == set(KINDS)
    assert WEIGHTS["general"] == (0.7, 0.3)
    assert WEIGHTS["terminology"] == (0.5, 0.5)
    for dense, sparse in WEIGHTS.values():
        assert dense + sparse == pytest.approx(1)


@given(st.text())
def test_any_text_has_a_type(text: str) -> None:
    assert query_type(text) in WEIGHTS


KNOWN = [*TYPES, "memo", "site_plan"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("according to the guidelines, how high may a fence be?", "design_guidelines"),
        ("What do the design standards say of roofs?", "design_guidelines"),
        ("CC&R says what about boats", "ccr"),
        ("what do the CC&Rs say", "ccr"),
        ("the covenants state that", "ccr"),
        ("is there a precedent for a red door?", "response_letter"),
        ("was a pool previously approved?", "response_letter"),
        ("what is the application process", "application_form"),
        ("do the by-laws allow it", "bylaws"),
        ("What do the rules say of noise?", "rules"),
        ("which policies are there", "policy"),
        ("in the MEMO", "memo"),
        ("all memos", "memo"),
        ("on the site plan", "site_plan"),
        ("on the site-plans", "site_plan"),
        ("unruly children at the pool", None),
        ("a ruler and a rule of thumb", None),
        ("the policyholder", None),
        ("memorandum", None),
        ("AT&CC&R&D", None),
        ("how long does it take in minutes?", None),
        ("submit a form", None),
        ("", None),
    ],
)
def test_document_type(text: str, expected: str | None) -> None:
    assert document_type(text, KNOWN) == expected


def test_only_types_that_are_there_are_named() -> None:
    assert document_type("according to the guidelines", ["ccr", "memo"]) is None
    assert document_type("according to the guidelines", []) is None


def test_the_longest_name_wins_then_the_first() -> None:
    both = "what do the rules and the design guidelines say"
    assert document_type(both, ["rules", "design_guidelines"]) == "design_guidelines"
    assert document_type("memo or note", ["note", "memo"]) == "memo"
    assert document_type("a fence by the guidelines", ["a", "design_guidelines"]) == (
        "design_guidelines"
    )


@pytest.mark.parametrize("name", ["CCR", "Ccr", "design-guidelines", "Design Guidelines"])
def test_names_of_types_may_be_spelled_otherwise(name: str) -> None:
    assert document_type("by the CC&Rs or the guidelines", [name]) == name


@given(st.text(), st.lists(st.text(min_size=1).filter(str.strip), max_size=5))
def test_any_text_and_any_types(text: str, known: list[str]) -> None:
    found = document_type(text, known)
    assert found is None or found in known
