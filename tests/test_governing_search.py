"""Governing documents, small and real: what binds, what was replaced, what the question names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sourcebook import Filter, ReadContext, Sourcebook
from sourcebook.model import Hit
from sourcebook.retrieve import Answer
from tests.town import TOWN, ids, opened, write

RERANKS = ("local", "late", "none")


def doc(text: str, **front: Any) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in front.items())
    return f"---\n{lines}---\n{text}"


GATES = "Gates in a fence are painted in the colour of the house and open to the inside."
STREET = "A vehicle may stand on the street for at most {} hours. After that it is towed away."
TREES = "A tree on a lot may be cut down only with the written consent of {}."
SIGNS = "One sign of at most {} square feet may be put up in front of a home that is for sale."
ANTENNAS = "Antennas and dishes are mounted where they cannot be seen from the street."
FILES = {
    **{name: text for name, text in TOWN.items() if name != "parking.md"},
    # The same words twice, one of them binding; the other comes first by its name.
    "a-notice.md": doc(GATES, title="Gates", is_binding="false"),
    "z-declaration.md": doc(GATES, title="Gates", is_binding="true"),
    # Amended: only the new one says so, only the old one says so, both do.
    "parking-1.md": doc(STREET.format("seventy-two"), title="Parking"),
    "parking-2.md": doc(STREET.format("twenty-four"), title="Parking", supersedes="parking-1.md"),
    "trees-1.md": doc(TREES.format("the board"), title="Trees", superseded_by="trees-2.md"),
    "trees-2.md": doc(TREES.format("the committee"), title="Trees"),
    "signs-1.md": doc(SIGNS.format("four"), title="Signs", superseded_by="signs-2.md"),
    "signs-2.md": doc(SIGNS.format("six"), title="Signs", supersedes="signs-1.md"),
    # Two types that speak of one thing, and one that speaks of another.
    "antennas-ccr.md": doc(ANTENNAS, title="Antennas", document_type="ccr"),
    "antennas-guide.md": doc(ANTENNAS, title="Antennas", document_type="design_guidelines"),
    "roofs-guide.md": doc(
        "Roofs are covered with slate or with tiles of a dark colour.",
        title="Roofs",
        document_type="design_guidelines",
        is_binding="true",
    ),
    "boats-ccr.md": doc(
        "Boats and trailers are kept behind a fence, never in front of a home.",
        title="Boats",
        document_type="[ccr, memo]",
    ),
    "loop.md": doc("The loop road is closed at night.", supersedes="loop.md"),
    "emptied.md": doc("Sheds are no larger than a hundred square feet.", superseded_by='""'),
    "sheds.md": doc("Sheds are no larger than eighty square feet.", supersedes="emptied.md"),
}


@pytest.fixture(scope="module")
def town(model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sourcebook]:
    with opened(tmp_path_factory.mktemp("town"), FILES) as sb:
        yield sb


def names(hit: Hit) -> dict[str, float]:
    return {each.name: each.factor for each in hit.adjustments}


def by_id(answer: Answer) -> dict[str, Hit]:
    return dict(zip(ids(answer), answer.results, strict=True))


# --- binding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rerank", RERANKS)
@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_of_equal_words_those_that_bind_come_first(
    town: Sourcebook, rerank: str, mode: str
) -> None:
    answer = town.search("In what colour are gates painted?", rerank=rerank, mode=mode)
    assert ids(answer)[:2] == ["z-declaration.md", "a-notice.md"]
    first, second = answer.results[:2]
    assert names(first) == {"binding": 1.1}
    assert names(second) == {}
    assert (first.scores.adjusted or 0) > (second.scores.adjusted or 0)


def test_relevance_is_not_changed_by_standing(town: Sourcebook) -> None:
    """It says whether a passage answers the question, not whether it is in force."""
    hits = by_id(town.search("How long may a vehicle stand on the street?"))
    old = hits["parking-1.md"]
    assert old.scores.adjusted == pytest.approx(0.5 * (old.relevance or 0))


# --- amended -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rerank", RERANKS)
@pytest.mark.parametrize(
    ("query", "clause"),
    [
        ("How many hours may a vehicle stand on the street?", "parking"),
        ("Who consents to a tree being cut down?", "trees"),
        ("How large may a sign for a home for sale be?", "signs"),
    ],
)
def test_an_amended_clause_comes_before_the_one_it_replaced(
    town: Sourcebook, rerank: str, query: str, clause: str
) -> None:
    answer = town.search(query, rerank=rerank)
    assert ids(answer)[:2] == [f"{clause}-2.md", f"{clause}-1.md"]
    new, old = answer.results[:2]
    assert names(old) == {"superseded": 0.5}
    assert names(new) == {}


@pytest.mark.parametrize("clause", ["parking", "trees", "signs"])
def test_a_context_labels_both_whoever_says_it(town: Sourcebook, clause: str) -> None:
    query = {"parking": "hours on the street", "trees": "cut down a tree", "signs": "sign for sale"}
    made = town.context(query[clause], hops=0)
    sources = {source.node.source.rpartition("/")[2]: source for source in made.sources}
    new, old = sources[f"{clause}-2.md"], sources[f"{clause}-1.md"]
    assert old.superseded_by
    assert f"{clause}-2.md" in old.superseded_by
    assert new.supersedes
    assert f"{clause}-1.md" in new.supersedes
    assert (new.superseded_by, old.supersedes) == (None, None)


def test_a_document_does_not_replace_itself(town: Sourcebook) -> None:
    assert names(by_id(town.search("When is the loop road closed?"))["loop.md"]) == {}


def test_an_empty_successor_is_none_unless_another_says_that_it_replaces_it(
    town: Sourcebook,
) -> None:
    hits = by_id(town.search("How large may a shed be?"))
    assert names(hits["emptied.md"]) == {"superseded": 0.5}
    assert names(hits["sheds.md"]) == {}


def test_before_the_amendment_nothing_was_superseded(town: Sourcebook, tmp_path: Path) -> None:
    early = town.in_repository("early")
    early.root = tmp_path
    early.ingest(write(tmp_path, {"one.md": STREET.format("seventy-two")}))
    early.create_baseline("before")
    write(tmp_path, {"two.md": doc(STREET.format("ten"), supersedes="one.md")})
    early.ingest(tmp_path)
    query = "How long may a vehicle stand on the street?"
    now = early.search(query)
    then = early.search(query, read_context=ReadContext("baseline", "before"))
    assert ids(now) == ["two.md", "one.md"]
    assert names(now.results[1]) == {"superseded": 0.5}
    assert [(hit.node.element_id, names(hit)) for hit in then.results] == [("one.md", {})]


# --- the type that a question names --------------------------------------------------------------


@pytest.mark.parametrize("rerank", RERANKS)
def test_the_type_that_a_question_names_comes_first_of_equals(
    town: Sourcebook, rerank: str
) -> None:
    def first(query: str) -> Hit:
        answer = town.search(query, rerank=rerank)
        assert set(ids(answer)[:2]) == {"antennas-ccr.md", "antennas-guide.md"}
        return answer.results[0]

    asked = first("According to the CC&Rs, where are antennas mounted?")
    assert asked.node.metadata["document_type"] == "ccr"
    assert names(asked) == {"asked_type": 1.1}
    asked = first("According to the guidelines, where are antennas mounted?")
    assert asked.node.metadata["document_type"] == "design_guidelines"
    assert names(asked) == {"primary_source": 1.05, "asked_type": 1.1}


@pytest.mark.parametrize("rerank", RERANKS)
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("According to the guidelines, how many dogs may be kept?", "pets.md"),
        ("According to the guidelines, when is the pool open?", "pool.md"),
        ("What do the design guidelines say about the fee for late dues?", "dues.md"),
    ],
)
def test_a_clearly_better_hit_of_another_type_is_not_hidden(
    town: Sourcebook, rerank: str, query: str, best: str
) -> None:
    answer = town.search(query, 50, rerank=rerank)
    assert answer.document_type == "design_guidelines"
    assert ids(answer)[0] == best
    assert names(by_id(answer)["roofs-guide.md"]) == {
        "binding": 1.1,
        "primary_source": 1.05,
        "asked_type": 1.1,
    }


def test_the_type_is_told_and_changes_no_relevance(town: Sourcebook) -> None:
    told = town.search("According to the guidelines, what covers a roof?").to_dict()
    assert told["query"]["document_type"] == "design_guidelines"
    assert told["results"][0]["adjustments"] == [
        {"name": "binding", "factor": 1.1, "reason": ""},
        {"name": "primary_source", "factor": 1.05, "reason": ""},
        {"name": "asked_type", "factor": 1.1, "reason": "design_guidelines"},
    ]
    assert town.search("What covers a roof?").document_type is None
    assert town.search("May unruly, misguided dogs run free?").document_type is None


def test_a_document_may_have_several_types(town: Sourcebook) -> None:
    for kind in ("CC&Rs", "memo"):
        answer = town.search(f"Where are boats kept by the {kind}?")
        assert ids(answer)[0] == "boats-ccr.md"
        assert names(answer.results[0]) == {"asked_type": 1.1}


# --- a filter that was given ---------------------------------------------------------------------


def test_a_filter_that_was_given_filters(town: Sourcebook) -> None:
    query = "According to the guidelines, how many dogs may be kept?"
    answer = town.search(query, 50, filters=(Filter("document_type", ("ccr",)),))
    assert set(ids(answer)) == {"antennas-ccr.md", "boats-ccr.md"}
    binding = town.search(query, 50, filters=(Filter("is_binding", ("true",)),))
    assert set(ids(binding)) == {"z-declaration.md", "roofs-guide.md"}


def test_factors_come_from_the_settings(model_dir: Path, tmp_path: Path) -> None:
    files = {name: FILES[name] for name in ("a-notice.md", "z-declaration.md", "parking-1.md",
                                            "parking-2.md")}  # fmt: skip
    adjust = {"binding": 0.5, "superseded": 2.0}
    with opened(tmp_path, files, adjust=adjust) as sb:
        assert ids(sb.search("In what colour are gates painted?"))[0] == "a-notice.md"
        answer = sb.search("How long may a vehicle stand on the street?")
        assert ids(answer)[0] == "parking-1.md"
        assert names(answer.results[0]) == {"superseded": 2.0}
