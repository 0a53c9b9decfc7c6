"""The gate, reason by reason, on hits made by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sourcebook.errors import InvalidInput
from sourcebook.model import CHUNK, Citation, Hit, Json, Node, Scores
from sourcebook.querying.answer import counted
from sourcebook.querying.gate import Gate, gate, words

RULES = Gate(min_quality=0.4, min_words=3, exclude_stubs=("breadcrumb", "index"))
GOOD = {"overall": 0.8, "stub_type": None}


def hit(name: str, text: str = "three good words", relevance: float | None = 0.5,
        quality: Json = GOOD) -> Hit:  # fmt: skip
    node = Node(name, name, "chunk", "v", "h", None, 0, "", "a.md", 0, len(text))
    citation = Citation("r", name, "v", 0, len(text), "t")
    return Hit(1, node, CHUNK, text, "", Scores(), citation, relevance, quality)


def alone(each: Hit) -> str:
    return each.text


def reasons(*hits: Hit, least: float = 0.0, rules: Gate | None = RULES,
            expand: Callable[[Hit], str] = alone) -> dict[str, str]:  # fmt: skip
    """Why each was refused, by id."""
    return {r.node_id: r.reason for r in gate(hits, least, rules, expand, 100)[1]}


def test_every_reason() -> None:
    found = reasons(
        hit("good"),
        hit("low", relevance=0.1),
        hit("stub", quality={"overall": 0.9, "stub_type": "index"}),
        hit("other stub", quality={"overall": 0.9, "stub_type": "circular"}),
        hit("poor", quality={"overall": 0.39, "stub_type": None}),
        hit("just enough", quality={"overall": 0.4, "stub_type": None}),
        hit("short", "two words"),
        least=0.2,
    )
    assert found == {
        "low": "relevance-too-low",
        "stub": "stub-index",
        "poor": "quality-too-low",
        "short": "word-count-too-low",
    }


def test_unscored_passes_unless_told_otherwise() -> None:
    assert reasons(hit("new", quality=None)) == {}
    strict = Gate(min_words=3, unscored=False)
    assert reasons(hit("new", quality=None), rules=strict) == {"new": "not-scored"}
    assert reasons(hit("short", "one", quality=None)) == {"short": "word-count-too-low"}


def test_relevance_that_is_not_known_passes_only_where_none_is_asked_for() -> None:
    unknown = hit("unknown", relevance=None)
    assert reasons(unknown) == {}
    assert reasons(unknown, least=0.01) == {"unknown": "relevance-too-low"}
    assert reasons(hit("equal", relevance=0.5), least=0.5) == {}
    assert reasons(hit("zero", relevance=0.0), least=0.0) == {}


def test_a_short_passage_is_read_with_its_surroundings_before_its_words_are_counted() -> None:
    asked: list[str] = []

    def around(each: Hit) -> str:
        asked.append(each.node.id)
        return f"before {each.text} after"

    kept, refused = gate([hit("short", "one"), hit("long")], 0, RULES, around, 10)
    assert [k.node.id for k in kept] == ["short", "long"]
    assert refused == []
    assert [k.expanded for k in kept] == ["before one after", ""]
    assert kept[0].text == "one"
    assert asked == ["short"]


def test_a_passage_that_stays_short_is_refused() -> None:
    assert reasons(hit("short", "one"), expand=lambda each: "one more") == {
        "short": "word-count-too-low"
    }


def test_a_stub_is_not_saved_by_its_surroundings() -> None:
    stub = hit("stub", "one", quality={"overall": 0.9, "stub_type": "breadcrumb"})
    assert reasons(stub, expand=lambda each: "many many words") == {"stub": "stub-breadcrumb"}


def test_nothing_behind_the_last_kept_one_counts_as_refused() -> None:
    hits = [hit("a", relevance=0.1), hit("b"), hit("c", relevance=0.1), hit("d"), hit("e", "one")]
    kept, refused = gate(hits, 0.2, RULES, alone, 1)
    assert [k.node.id for k in kept] == ["b"]
    assert [r.node_id for r in refused] == ["a"]
    assert gate(hits, 0.2, RULES, alone, 0) == ([], [])


def test_without_rules_only_relevance_counts() -> None:
    poor = hit("poor", "one", quality={"overall": 0.0, "stub_type": "breadcrumb"})
    assert reasons(poor, rules=None, least=0.5) == {}


def test_refused_ones_are_counted_by_reason_with_their_relevance() -> None:
    hits = [
        hit("a", "one"),
        hit("b", "one", 0.7),
        hit("c", quality={"overall": 0, "stub_type": None}),
    ]
    _, refused = gate(hits, 0, RULES, alone, 10)
    assert counted(tuple(refused)) == {"quality-too-low": 1, "word-count-too-low": 2}
    assert [r.relevance for r in refused] == [0.5, 0.7, 0.5]


def test_words() -> None:
    assert [words(text) for text in ("", "  ", "one", "one\ttwo\nthree ")] == [0, 0, 1, 3]


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (Gate(min_quality=-0.1), "min_quality"),
        (Gate(min_quality=1.1), "min_quality"),
        (Gate(min_quality=float("nan")), "min_quality"),
        (Gate(min_words=-1), "min_words"),
    ],
)
def test_rules_that_cannot_be(rules: Gate, field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        rules.check()
    assert error.value.field == field
