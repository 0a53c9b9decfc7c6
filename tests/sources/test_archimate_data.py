"""Real models: nothing is lost, and both forms of a model say the same."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sourcebook.model import Document
from sourcebook.sources import read
from sourcebook.sources.archimate import read_model
from sourcebook.sources.archimate.documents import documents
from sourcebook.sources.archimate.model import Model, Parts, assemble
from sourcebook.sources.raw import Raw

STEMS = """ArchiMetal Archisurance OpenDay capability_model esdc_principles gc_business_capability
    hey_blue lfenergy ochro_digital_suite tinker""".split()
REFERENCE = """Basic_Model Basic_Model_Metadata Basic_Model_Organization Basic_Model_Properties
    Model_View""".split()


@pytest.fixture
def folder(data_dir: Path) -> Path:
    found = data_dir / "archimate"
    if not found.is_dir():
        pytest.skip("NO ARCHIMATE MODELS in the test collections")
    return found


def native(folder: Path, stem: str) -> Path:
    return folder / "models" / f"{stem}.archimate"


def exchange(folder: Path, stem: str) -> Path:
    return folder / "models" / ("Open Day.xml" if stem == "OpenDay" else f"{stem}.xml")


def load(path: Path) -> Model:
    with path.open("rb") as stream:
        return read_model(Raw(path.name, stream))


def check_counts(path: Path, elements: int, relationships: int, views: int) -> None:
    found = list(read(path, source=path.name))
    kept = [d for d in found if isinstance(d, Document)]
    assert kept == found  # nothing was skipped
    links = [link for d in kept for link in d.links if link.type not in ("shows", "refers_to")]
    assert sum(d.kind == "element" for d in kept) == elements
    assert len(links) == relationships
    assert sum(d.metadata.get("document_type") == "view" for d in kept) == views
    assert len({d.element_id for d in kept}) == len(kept) == elements + views + 1
    for d in kept:
        assert d.title
        assert all(d.text[b.start : b.end].strip() == d.text[b.start : b.end] for b in d.blocks)
        shown = "".join(d.text[b.start : b.end] for b in d.blocks)
        assert "".join(shown.split()) == "".join(d.text.split())
        assert len(d.context.split()) <= 120


@pytest.mark.parametrize("stem", STEMS)
def test_counts_are_those_of_the_native_file(folder: Path, stem: str) -> None:
    path = native(folder, stem)
    types = re.findall(r'<element xsi:type="archimate:(\w+)"', path.read_text("utf-8"))
    relationships = sum(type.endswith("Relationship") for type in types)
    views = types.count("ArchimateDiagramModel")
    check_counts(path, len(types) - relationships - views, relationships, views)


@pytest.mark.parametrize("stem", [*STEMS, *REFERENCE])
def test_counts_are_those_of_the_exchange_file(folder: Path, stem: str) -> None:
    path = folder / "reference" / f"{stem}.xml"
    path = path if stem in REFERENCE else exchange(folder, stem)
    text = path.read_text("utf-8")
    tags = [len(re.findall(rf"<{tag}\s", text)) for tag in ("element", "relationship", "view")]
    check_counts(path, *tags)


def test_counts_of_the_collection(folder: Path) -> None:
    """As its SOURCE.txt states them."""
    stated = (folder / "SOURCE.txt").read_text("utf-8")
    rows = re.findall(
        r"^(\w+): id .*?(\d+) elements .*?(\d+) relationships, (\d+) views", stated, re.M
    )
    assert len(rows) == 7
    for stem, *numbers in rows:
        found = load(native(folder, stem))
        sizes = (len(found.elements), len(found.relationships), len(found.views))
        assert sizes == tuple(map(int, numbers))


def rebuilt(model: Model, change: Callable[[Parts], None]) -> Model:
    parts = Parts(
        id=model.id,
        name=model.name,
        documentation=model.documentation,
        properties=model.properties,
        elements=list(model.elements.values()),
        relationships=list(model.relationships.values()),
        views=list(model.views),
    )
    change(parts)
    return assemble(parts, fallback_id="", fallback_name="")


def without_folders(parts: Parts) -> None:
    parts.elements = [replace(e, folder=()) for e in parts.elements]
    parts.views = [replace(v, folder=()) for v in parts.views]


def without_specializations(parts: Parts) -> None:
    parts.elements = [replace(e, specialization="") for e in parts.elements]


def without_access_modes(parts: Parts) -> None:
    parts.relationships = [
        replace(r, access="access" if r.access else "") for r in parts.relationships
    ]


def without_references(parts: Parts) -> None:
    parts.views = [replace(v, refers_to=()) for v in parts.views]


FORM_2_1 = [without_access_modes, without_references]
"""Version 2.1 of the exchange format has no access modes and no boxes that stand for views."""
LOST = {
    "ArchiMetal": FORM_2_1,
    "Archisurance": FORM_2_1,
    "OpenDay": [without_references, without_folders],  # exported without folders
    "capability_model": [without_folders],  # the exchange file is another tool's, with its folders
    "esdc_principles": [without_folders],
    "gc_business_capability": [without_folders],
    "hey_blue": [without_folders, without_specializations],  # Archi did not export profiles
    "lfenergy": [without_folders],
    "ochro_digital_suite": [without_folders],
    "tinker": [],
}
"""What the exchange file does not hold, so that it is taken from the native one before they are
compared. Everything else must be equal."""


@pytest.mark.parametrize("stem", STEMS)
def test_both_forms_give_the_same_documents(folder: Path, stem: str) -> None:
    one, other = load(native(folder, stem)), load(exchange(folder, stem))
    for change in LOST[stem]:
        one = rebuilt(one, change)
        if change is without_folders:
            other = rebuilt(other, change)
    assert one.elements == other.elements
    assert one.relationships == other.relationships
    assert comparable(one) == comparable(replace(other, about=()))


@pytest.mark.parametrize("stem", STEMS)
def test_no_difference_is_excused_that_is_not_there(folder: Path, stem: str) -> None:
    one, other = load(native(folder, stem)), load(exchange(folder, stem))
    for change in LOST[stem]:
        rest = [c for c in LOST[stem] if c is not change]
        left, right = one, other
        for c in rest:
            left, right = rebuilt(left, c), rebuilt(right, c)
        assert comparable(left) != comparable(replace(right, about=()))


def comparable(model: Model) -> dict[str, Document]:
    """By id; links in any order, since the forms list relationships in their own."""
    raw = Raw("m", None)  # type: ignore[arg-type]
    return {
        d.element_id: replace(d, links=tuple(sorted(d.links, key=repr)))
        for d in documents(model, raw)
    }


def test_a_large_model_takes_about_a_second(folder: Path) -> None:
    start = time.process_time()
    found = list(read(exchange(folder, "hey_blue"), source="hey_blue.xml"))
    assert len(found) == 374 + 57 + 1
    assert time.process_time() - start < 3  # 0.15 s on an idle machine


def test_an_element_that_an_architect_knows(folder: Path) -> None:
    path = exchange(folder, "Archisurance")
    found = {d.title: d for d in read(path, source="a.xml") if isinstance(d, Document)}
    assert found["CRM System"].context == (
        "CRM System is an Application Component in the application layer of Archisurance. "
        "It realizes: CIS (Application Service), Insurance Application Service (Business Service). "
        "It serves: Web portal (Application Component). "
        "It is served by: Claim Files Service (Technology Service)."
    )


def golden() -> list[dict[str, Any]]:
    path = Path(__file__).parents[2] / "evals" / "golden" / "archimate.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_the_golden_questions_are_twenty_and_half_need_relationships() -> None:
    rows = golden()
    assert len({row["id"] for row in rows}) == len(rows) == 20
    assert sum("through" in row for row in rows) == 10


@pytest.mark.parametrize("row", golden(), ids=lambda row: row["id"])
def test_the_answers_to_golden_questions_are_in_the_models(
    folder: Path, row: dict[str, Any]
) -> None:
    """Looked up in the raw XML: every answer is an element, and an end of the relationships that
    the answer rests on."""
    root = ElementTree.parse(exchange(folder, row["model"])).getroot()
    by_id = {node.get("identifier"): node for node in root.iter() if node.get("identifier")}
    assert all(by_id[id].tag.endswith("}element") for id in row["must_include"])
    if "through" in row:
        ends = {by_id[id].get(end) for id in row["through"] for end in ("source", "target")}
        assert set(row["must_include"]) <= ends
