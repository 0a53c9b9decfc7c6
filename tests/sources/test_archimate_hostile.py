"""Files that mean harm: each ends soon, with one clear sentence or with documents."""

from __future__ import annotations

import io
import time
import zipfile
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebook.model import Document, Skipped
from sourcebook.sources import read_text
from sourcebook.sources.archimate import xmltree
from tests.sources.test_archimate import EXCHANGE, HEAD, NATIVE

SECONDS = 10.0


def results(data: str | bytes) -> list[Document | Skipped]:
    start = time.process_time()
    found = list(read_text(data, source="m.xml", format="archimate"))
    assert time.process_time() - start < SECONDS
    return found


def reason(data: str | bytes) -> str:
    (found,) = results(data)
    assert isinstance(found, Skipped)
    assert not found.taken
    return found.reason


def element(id: str, name: str = "x", type: str = "Node") -> str:
    return f'<element identifier="{id}" xsi:type="{type}"><name>{name}</name></element>'


def relationship(id: str, source: str, target: str, type: str = "Flow") -> str:
    return (
        f'<relationship identifier="{id}" xsi:type="{type}" source="{source}" target="{target}"/>'
    )


def model(elements: list[str], relationships: list[str], views: str = "") -> str:
    return (
        f"{HEAD}<elements>{''.join(elements)}</elements>"
        f"<relationships>{''.join(relationships)}</relationships>{views}</model>"
    )


def test_a_dtd_is_refused_with_or_without_a_bomb_in_it() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE model [<!ENTITY l0 "ha">{laughs}]>{HEAD}<name>&l11;</name></model>'
    outside = f'<!DOCTYPE model [<!ENTITY x SYSTEM "file:///etc/passwd">]>{HEAD}&x;</model>'
    plain = f"<!DOCTYPE model>{HEAD}</model>"
    for data in (bomb, outside, plain):
        assert reason(data) == (
            "the XML declares a DTD, which a model never has; remove the DOCTYPE"
        )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            f"{HEAD}<name>x</model>",
            "not valid XML (mismatched tag at line 1); export the model anew",
        ),
        ("<model", "not valid XML (unclosed token at line 1); export the model anew"),
        ("plain words", "not valid XML (syntax error at line 1); export the model anew"),
        ("<html><p>x</p></html>", "the XML is not an ArchiMate model but <html>"),
        ("<model/>", "the XML is not an ArchiMate model but <model>"),
        (b'<?xml version="1.0" encoding="klingon"?><m/>', "encoding"),
        (b'<?xml version="1.0" encoding="utf-7"?><m/>', "encoding"),
        ("<a>" * 300 + "</a>" * 300, "the XML is nested too deeply for a model"),
        (b"PK\x03\x04 and no more", "the ZIP archive is damaged or locked; save the model anew"),
    ],
)
def test_what_is_no_model_is_refused(data: str | bytes, expected: str) -> None:
    assert expected in reason(data)


def zipped(name: str, content: bytes, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", packing) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def test_a_zip_without_a_model_or_with_too_much_is_refused() -> None:
    assert "no model.xml" in reason(zipped("other.xml", b"<a/>"))
    damaged = bytearray(zipped("model.xml", NATIVE.encode()))
    damaged[60:90] = b"\xff" * 30
    assert "damaged" in reason(bytes(damaged))


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_model_packed_in_an_unusual_way_is_refused(packing: int) -> None:
    data = bytearray(zipped("model.xml", NATIVE.encode(), packing))
    assert "damaged" in reason(bytes(data))
    data[60:70] = b"\xff" * 10
    assert "damaged" in reason(bytes(data))


def test_a_zip_that_unpacks_to_far_more_is_refused() -> None:
    bomb = zipped("model.xml", NATIVE.encode() + b" " * 20_000_000)
    assert len(bomb) < 30_000
    assert "far more than a model" in reason(bomb)


def test_size_and_number_of_parts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xmltree, "MAX_BYTES", 1024 * 1024)
    bomb = zipped("model.xml", b" " * (1024 * 1024 + 1))
    assert len(bomb) < 10_000
    for data in (bomb, b" " * (1024 * 1024 + 1)):
        assert reason(data) == "the model is larger than 1 MB; split it into several models"
    monkeypatch.setattr(xmltree, "MAX_NODES", 10)
    assert "too many parts" in reason(EXCHANGE)


def test_a_hub_a_junction_and_a_dense_middle_end_soon() -> None:
    some = [element(f"id-n{n}", f"N{n}") for n in range(5000)]
    hub = [relationship(f"id-h{n}", "id-n0", f"id-n{n}") for n in range(5000)]
    joint = [element("id-j", type="AndJunction")]
    through = [relationship(f"id-a{n}", f"id-n{n}", "id-j") for n in range(5000)]
    through += [relationship(f"id-b{n}", "id-j", f"id-n{n}") for n in range(5000)]
    dense = [
        relationship(f"id-d{a}-{b}", f"id-n{a}", f"id-n{b}", "Composition")
        for a in range(100)
        for b in range(100)
    ]
    below = [relationship(f"id-e{n}", "id-n7", f"id-n{n}", "Composition") for n in range(100, 5000)]
    found = results(model([*some, *joint], [*hub, *through, *dense, *below]))
    assert len(found) == 5002
    assert all(len(d.context.split()) <= 120 for d in found if isinstance(d, Document))


def test_relationships_on_relationships_in_a_circle_and_a_long_chain() -> None:
    circle = [relationship("id-r0", "id-r1", "id-r1"), relationship("id-r1", "id-r0", "id-a")]
    chain = [relationship(f"id-c{n}", "id-a", f"id-c{n + 1}") for n in range(20_000)]
    found = results(model([element("id-a")], [*circle, *chain]))
    skipped = [s for s in found if isinstance(s, Skipped)]
    assert len(skipped) == 20_000  # its last end is missing, so the whole chain is
    kept = {d.element_id: d for d in found if isinstance(d, Document)}
    links = sum((d.links for d in kept.values()), ())
    assert {link.metadata["id"] for link in links} == {"id-r0", "id-r1"}


def test_long_names_are_not_multiplied() -> None:
    name = "long " * 100_000
    elements = [element("id-a", name), *(element(f"id-{n}", f"E{n}") for n in range(2000))]
    relationships = [relationship(f"id-r{n}", f"id-{n}", "id-a") for n in range(2000)]
    boxes = "".join(
        f'<node elementRef="id-a"><node elementRef="id-{n}"/></node>' for n in range(2000)
    )
    views = f'<views><diagrams><view identifier="id-v">{boxes}</view></diagrams></views>'
    found = [d for d in results(model(elements, relationships, views)) if isinstance(d, Document)]
    assert sum(len(d.text) + len(d.context) for d in found) < 6_000_000


def test_repeated_words_are_joined_in_linear_time() -> None:
    names = "<name>a</name>" * 200_000
    body = f'<elements><element identifier="id-a" xsi:type="Node">{names}</element></elements>'
    assert len(results(f"{HEAD}{body}</model>")) == 2


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_damage_gives_documents_or_a_reason(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([EXCHANGE, NATIVE]))
    pieces = ['id=""', "<element>", "id-r1", "id-grind", "</name>", "&amp;", "\x01", "\ud800", '"']
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 30))
        text = text[:start] + data.draw(st.sampled_from(pieces)) + text[start + length :]
    for found in results(text):
        assert isinstance(found, Document | Skipped)
        if isinstance(found, Document):
            assert found.title
            assert found.blocks


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text())
def test_any_name_and_text_are_kept(name: str, words: str) -> None:
    made = model(
        [
            f'<element identifier="id-a" xsi:type="Node"><name>{escape(name)}</name>'
            f"<documentation>{escape(words)}</documentation></element>"
        ],
        [],
    )
    found = results(made)
    if isinstance(found[0], Skipped):  # characters that XML does not have
        return
    (kept,) = [d for d in found if isinstance(d, Document) and d.kind == "element"]
    assert kept.title == " ".join(name.split()) or not name.split()
    assert "".join(kept.text.split()).endswith("".join(words.split()))
    for block in kept.blocks:
        assert kept.text[block.start : block.end].strip()


def written(found: list[Document | Skipped]) -> int:
    return sum(len(repr(item)) for item in found)


def test_the_name_of_a_property_is_not_multiplied() -> None:
    """A megabyte of name, referred to ten thousand times, would be ten gigabytes of text."""
    named = (
        f'<propertyDefinition identifier="p"><name>{"n" * 1_000_000}</name></propertyDefinition>'
    )
    used = '<property propertyDefinitionRef="p"><value>v</value></property>' * 10_000
    body = (
        f"<propertyDefinitions>{named}</propertyDefinitions><elements><element "
        f'identifier="e" xsi:type="Node"><properties>{used}</properties></element></elements>'
    )
    assert written(results(f"{HEAD}{body}</model>")) < 12_000_000


def test_the_name_of_a_profile_is_not_multiplied() -> None:
    profile = f'<profile id="p" name="{"n" * 1_000_000}"/>'
    start = NATIVE.index("<folder")
    element = f'<element xsi:type="archimate:Node" id="x" profiles="{"p " * 10_000}"/>'
    folder = f'<folder name="f" id="f">{element}</folder>'
    data = NATIVE[:start] + profile + folder + NATIVE[start:]
    assert written(results(data)) < 1_000_000


def test_the_name_of_a_capability_is_not_multiplied() -> None:
    elements = [element("id-c", "n" * 1_000_000, "Capability")]
    elements += [element(f"id-{n}") for n in range(5000)]
    belongs = [relationship(f"id-r{n}", f"id-{n}", "id-c", "Realization") for n in range(5000)]
    began = time.process_time()
    assert written(results(model(elements, belongs))) < 20_000_000
    assert time.process_time() - began < 5


def test_attributes_and_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xmltree, "MAX_ATTRIBUTES", 10)
    assert "too many parts" in reason(EXCHANGE)
    monkeypatch.undo()
    monkeypatch.setattr(xmltree, "MAX_LINES", 10)
    assert "too many parts" in reason(EXCHANGE)


def test_a_relationship_without_a_type_is_told_and_has_a_name() -> None:
    nameless = '<relationship identifier="id-r" source="id-a" target="id-b"/>'
    found = results(model([element("id-a"), element("id-b")], [nameless]))
    (told,) = [item for item in found if isinstance(item, Skipped)]
    assert told.taken
    (link,) = [link for item in found if isinstance(item, Document) for link in item.links]
    assert link.type == "unknown"


def test_a_name_without_end_does_not_make_a_reason_without_end() -> None:
    (told, _) = results(model([element("", "n" * 100_000)], []))
    assert isinstance(told, Skipped)
    assert len(told.reason) < 300
