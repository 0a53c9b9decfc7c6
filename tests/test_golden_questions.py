"""The question sets on which confidence is measured: well formed, and every section and element
that they name stands in the real source."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sourcebook.model import Document
from sourcebook.sources import read
from tests.conftest import PROJECT

GOLDEN = PROJECT / "evals/golden"
CCR, ARCHISURANCE, OFF_TOPIC = "ccr_questions", "archisurance_questions", "off_topic"
LINES = {CCR: 100, ARCHISURANCE: 100, OFF_TOPIC: 150}
OLDER = ("ccr", "archimate")


def questions(name: str) -> list[dict[str, Any]]:
    lines = (GOLDEN / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def wanted(name: str) -> Iterator[tuple[str, str]]:
    """Each (question id, heading or element id) of a set."""
    for question in questions(name):
        for want in question.get("any_of", question.get("must_include", [])):
            yield question["id"], want


def documents(path: Path) -> list[Document]:
    return [found for found in read(path, source=path.name) if isinstance(found, Document)]


@pytest.mark.parametrize(("name", "count"), LINES.items())
def test_a_set_has_its_number_of_questions_with_own_ids(name: str, count: int) -> None:
    ids = [question["id"] for question in questions(name)]
    assert len(ids) == count
    assert len(set(ids)) == count


def test_no_question_is_asked_twice() -> None:
    """Nor in the older sets: what is fitted on one must not be measured on another."""
    asked = Counter(
        " ".join(question["query"].casefold().split())
        for name in (*LINES, *OLDER)
        for question in questions(name)
    )
    assert [query for query, times in asked.items() if times > 1 or not query] == []


@pytest.mark.parametrize("name", [CCR, ARCHISURANCE])
def test_an_answerable_question_says_where_the_answer_stands(name: str) -> None:
    for question in questions(name):
        (kind,) = {"any_of", "must_include"} & question.keys()
        assert question.keys() == {"id", "query", kind, "answerable"}, question
        assert question["answerable"] is True, question
        places = question[kind]
        assert len(places) == len(set(places)) >= (2 if kind == "any_of" else 1), question


def test_an_off_topic_question_has_a_topic_and_no_place() -> None:
    asked = questions(OFF_TOPIC)
    for question in asked:
        keys = {"id", "query", "answerable", "topic"}
        assert keys <= question.keys() <= keys | {"near"}, question
        assert question["answerable"] is False, question
        assert question["topic"], question
    near = Counter(question["near"] for question in asked if "near" in question)
    assert near.keys() == {"ccr", "archisurance", "scifact"}
    assert near.total() >= 40


def test_every_heading_names_one_section_of_the_document(data_dir: Path) -> None:
    (document,) = documents(data_dir / "hoa/discovery_west/ccr_discovery_west.txt")
    headings = [block.title for block in document.blocks if block.kind == "heading"]
    for question, want in wanted(CCR):
        assert [title for title in headings if want in title] == [want], question


def test_every_element_stands_in_the_model(data_dir: Path) -> None:
    found = documents(data_dir / "archimate/models/Archisurance.xml")
    ids = {document.element_id for document in found}
    assert [(question, want) for question, want in wanted(ARCHISURANCE) if want not in ids] == []


def test_both_files_of_the_model_give_the_same_ids(data_dir: Path) -> None:
    """So the questions hold for whichever of the two is indexed."""
    folder = data_dir / "archimate/models"
    exchange, archi = (
        {document.element_id for document in documents(folder / f"Archisurance{ending}")}
        for ending in (".xml", ".archimate")
    )
    assert {want for _, want in wanted(ARCHISURANCE)} <= exchange & archi
