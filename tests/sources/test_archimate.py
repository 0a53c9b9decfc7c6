"""One small model of my own, read from both formats: what documents, contexts and links say."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from sourcebook.model import Document, Link, Skipped
from sourcebook.sources import read, read_text
from sourcebook.sources.archimate import read_model
from sourcebook.sources.archimate.describe import describe
from sourcebook.sources.archimate.documents import documents as render
from sourcebook.sources.archimate.model import (
    Element,
    Model,
    Parts,
    Relationship,
    View,
    ViewNode,
    assemble,
)
from sourcebook.sources.archimate.vocabulary import LAYER, RELATIONSHIPS, verb, viewpoint, words
from sourcebook.sources.raw import Raw

HEAD = (
    '<model xmlns="http://www.opengroup.org/xsd/archimate/3.0/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" identifier="id-m">'
)
EXCHANGE = f"""<?xml version="1.0" encoding="UTF-8"?>
{HEAD}
 <name xml:lang="en">Mill</name>
 <documentation>How flour is made.</documentation>
 <elements>
  <element identifier="id-cap" xsi:type="Capability"><name>Milling</name></element>
  <element identifier="id-grind" xsi:type="BusinessProcess">
   <name xml:lang="de">Mahlen</name><name xml:lang="en">Grind  grain</name>
   <documentation xml:lang="de">Korn wird Mehl.</documentation>
   <documentation xml:lang="en">Grain becomes flour.&#xD;

At night.</documentation>
   <properties>
    <property propertyDefinitionRef="p1"><value>Ann</value></property>
    <property propertyDefinitionRef="p1"><value>Ben</value></property>
    <property propertyDefinitionRef="p2"><value>yes</value></property>
   </properties>
  </element>
  <element identifier="id-app" xsi:type="ApplicationService"><name>Mill control</name></element>
  <element identifier="id-node" xsi:type="Node"><name>Panel</name></element>
  <element identifier="id-data" xsi:type="DataObject"><name>Recipe</name></element>
  <element identifier="id-actor" xsi:type="BusinessActor"/>
 </elements>
 <relationships>
  <relationship identifier="id-r1" xsi:type="Serving" source="id-app" target="id-grind">
   <name>controls</name></relationship>
  <relationship identifier="id-r2" xsi:type="Realization" source="id-grind" target="id-cap"/>
  <relationship identifier="id-r3" xsi:type="Access" accessType="Read" source="id-grind"
   target="id-data"/>
  <relationship identifier="id-r4" xsi:type="Assignment" source="id-actor" target="id-grind"/>
  <relationship identifier="id-r5" xsi:type="Realization" source="id-node" target="id-app"/>
  <relationship identifier="id-r6" xsi:type="Association" isDirected="true" source="id-data"
   target="id-r1"/>
  <relationship identifier="id-r7" xsi:type="Influence" modifier="+" source="id-node"
   target="id-cap"><documentation>Less noise.</documentation></relationship>
 </relationships>
 <organizations><item><label>Business</label><item><label>Day</label>
  <item identifierRef="id-grind"/></item></item></organizations>
 <propertyDefinitions>
  <propertyDefinition identifier="p1" type="string"><name>owner</name></propertyDefinition>
  <propertyDefinition identifier="p2" type="string"><name>layer</name></propertyDefinition>
 </propertyDefinitions>
 <views><diagrams><view identifier="id-v" xsi:type="Diagram" viewpoint="Layered">
  <name>Overview</name><documentation>All at once.</documentation>
  <node identifier="n1" xsi:type="Container"><label>House</label>
   <node identifier="n2" xsi:type="Element" elementRef="id-node"/>
   <node identifier="n3" xsi:type="Element" elementRef="id-app"/></node>
  <node identifier="n4" xsi:type="Element" elementRef="id-grind"/>
  <node identifier="n5" xsi:type="Label"><label>Mind the dust.</label></node>
  <connection identifier="c1" xsi:type="Relationship" relationshipRef="id-r1" source="n3"
   target="n4"/>
 </view></diagrams></views>
</model>"""
NATIVE = """<?xml version="1.0" encoding="UTF-8"?>
<archimate:model xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xmlns:archimate="http://www.archimatetool.com/archimate" name="Mill" id="id-m" version="5.0.0">
 <folder name="Business" id="id-f1" type="business"><folder name="Day" id="id-f2">
  <element xsi:type="archimate:BusinessProcess" name="Grind grain" id="id-grind">
   <documentation>Grain becomes flour.&#xD;

At night.</documentation>
   <property key="owner" value="Ann"/><property key="owner" value="Ben"/>
   <property key="layer" value="yes"/>
  </element></folder></folder>
 <folder id="id-f3" type="other">
  <element xsi:type="archimate:Capability" name="Milling" id="id-cap"/>
  <element xsi:type="archimate:ApplicationService" name="Mill control" id="id-app"/>
  <element xsi:type="archimate:Node" name="Panel" id="id-node"/>
  <element xsi:type="archimate:DataObject" name="Recipe" id="id-data"/>
  <element xsi:type="archimate:BusinessActor" id="id-actor"/>
 </folder>
 <folder id="id-f4" type="relations">
  <element xsi:type="archimate:ServingRelationship" name="controls" id="id-r1" source="id-app"
   target="id-grind"/>
  <element xsi:type="archimate:RealizationRelationship" id="id-r2" source="id-grind"
   target="id-cap"/>
  <element xsi:type="archimate:AccessRelationship" id="id-r3" source="id-grind" target="id-data"
   accessType="1"/>
  <element xsi:type="archimate:AssignmentRelationship" id="id-r4" source="id-actor"
   target="id-grind"/>
  <element xsi:type="archimate:RealizationRelationship" id="id-r5" source="id-node"
   target="id-app"/>
  <element xsi:type="archimate:AssociationRelationship" id="id-r6" source="id-data"
   target="id-r1" directed="true"/>
  <element xsi:type="archimate:InfluenceRelationship" id="id-r7" source="id-node"
   target="id-cap" strength="+"><documentation>Less noise.</documentation></element>
 </folder>
 <folder id="id-f5" type="diagrams">
  <element xsi:type="archimate:ArchimateDiagramModel" name="Overview" id="id-v" viewpoint="layered">
   <child xsi:type="archimate:Group" id="n1" name="House">
    <bounds x="1" y="1" width="9" height="9"/>
    <child xsi:type="archimate:DiagramObject" id="n2" archimateElement="id-node"/>
    <child xsi:type="archimate:DiagramObject" id="n3" archimateElement="id-app">
     <sourceConnection xsi:type="archimate:Connection" id="c1" source="n3" target="n4"
      archimateRelationship="id-r1"/></child></child>
   <child xsi:type="archimate:DiagramObject" id="n4" archimateElement="id-grind"/>
   <child xsi:type="archimate:Note" id="n5"><content>Mind the dust.</content></child>
   <documentation>All at once.</documentation>
  </element></folder>
 <purpose>How flour is made.</purpose>
</archimate:model>"""


def documents(data: str | bytes, name: str = "mill.xml") -> dict[str, Document]:
    found = list(read_text(data, source=name))
    assert all(isinstance(item, Document) for item in found), found
    return {item.element_id: item for item in found if isinstance(item, Document)}


def model(data: str) -> Model:
    return read_model(Raw("mill.xml", io.BytesIO(data.encode())))


def small(elements: list[Element], relationships: list[Relationship], name: str = "M") -> Model:
    parts = Parts(id="id-m", name=name, elements=elements, relationships=relationships)
    made = assemble(parts, fallback_id="f", fallback_name="f")
    assert not made.problems
    return made


def test_an_element_is_a_document_with_its_words_and_metadata() -> None:
    grind = documents(EXCHANGE)["id-grind"]
    assert (grind.kind, grind.format, grind.source) == ("element", "archimate", "mill.xml")
    assert grind.title == "Grind grain"
    assert grind.text == (
        "Grind grain\n\nGrain becomes flour.\n\nAt night.\n\nowner: Ann\nowner: Ben\nlayer: yes"
    )
    assert [grind.text[b.start : b.end] for b in grind.blocks] == grind.text.split("\n\n")
    assert {b.kind for b in grind.blocks} == {"prose"}
    assert grind.metadata == {
        "element_type": "BusinessProcess",
        "layer": "business",
        "model": "Mill",
        "model_id": "id-m",
        "folder": "Business / Day",
        "capability": ["Milling"],
        "owner": ["Ann", "Ben"],
        "names_de": "Mahlen",
        "documentation_de": "Korn wird Mehl.",
    }


def test_the_context_tells_relationships_of_both_directions() -> None:
    found = documents(EXCHANGE)
    assert found["id-grind"].context == (
        "Grind grain is a Business Process in the business layer of Mill. "
        "It belongs to the Milling capability. "
        "It realizes: Milling (Capability). "
        "It is performed by: unnamed Business Actor. "
        'It is served by: Mill control (Application Service; "controls"; with Recipe). '
        "It accesses (reads): Recipe (Data Object)."
    )
    assert found["id-cap"].context == (
        "Milling is a Capability in the strategy layer of Mill. "
        "It is realized by: Grind grain (Business Process). "
        "It is influenced by: Panel (Node; strength +; Less noise.)."
    )
    assert found["id-data"].context == (
        "Recipe is a Data Object in the application layer of Mill. "
        "It is accessed (read) by: Grind grain (Business Process). "
        'It is associated with: the serving "controls" from Mill control to Grind grain.'
    )
    assert found["id-actor"].title == found["id-actor"].text == "(unnamed BusinessActor)"


def test_links_are_the_outgoing_relationships() -> None:
    found = documents(EXCHANGE)
    assert found["id-grind"].links == (
        Link("id-grind", "id-cap", "realization", {"id": "id-r2"}),
        Link("id-grind", "id-data", "access", {"id": "id-r3", "access": "read"}),
    )
    assert found["id-data"].links == (
        Link("id-data", "id-r1", "association", {"id": "id-r6", "directed": True}),
    )
    assert found["id-node"].links[1].metadata == {
        "id": "id-r7",
        "strength": "+",
        "documentation": "Less noise.",
    }


def test_a_relationship_that_begins_at_one_is_linked_from_it() -> None:
    turned = EXCHANGE.replace(
        'source="id-data"\n   target="id-r1"', 'source="id-r1"\n   target="id-data"'
    )
    assert turned != EXCHANGE
    (link,) = documents(turned)["id-data"].links
    assert (link.source_id, link.target_id, link.metadata["id"]) == ("id-r1", "id-data", "id-r6")


def test_a_view_says_what_it_shows() -> None:
    view = documents(EXCHANGE)["id-v"]
    assert view.kind == "document"
    assert view.text == (
        "Overview\n\nAll at once.\n\n"
        "Shows:\nBusiness Process: Grind grain\nApplication Service: Mill control\nNode: Panel\n\n"
        "Inside House: Mill control (Application Service); Panel (Node)\n\nMind the dust."
    )
    assert view.context == "Overview is a view (Layered viewpoint) of the model Mill."
    assert (view.metadata["document_type"], view.metadata["viewpoint"]) == ("view", "Layered")
    assert [(link.type, link.target_id) for link in view.links] == [
        ("shows", "id-grind"),
        ("shows", "id-app"),
        ("shows", "id-node"),
    ]


def test_the_model_is_a_document() -> None:
    found = documents(EXCHANGE)["id-m"]
    assert found.metadata == {"document_type": "model"}
    assert found.text == (
        "Mill\n\nHow flour is made.\n\n"
        "Elements: 6 (strategy 1, business 2, application 2, technology 1). "
        "Relationships: 7. Views: 1.\n\nFolders: Business."
    )


def test_both_formats_give_the_same_documents() -> None:
    one, other = documents(EXCHANGE), documents(NATIVE, "mill.archimate")
    plain = {
        id: replace(
            d,
            source="mill.archimate",
            metadata={k: v for k, v in d.metadata.items() if not k.endswith("_de")},
        )
        for id, d in one.items()
    }
    assert plain == other
    assert model(EXCHANGE).relationships == model(NATIVE).relationships


def test_the_zipped_form_and_utf16_are_read() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("images/a.png", b"\x89PNG")
        archive.writestr("model.xml", NATIVE)
    expected = documents(NATIVE, "mill.archimate")
    assert documents(packed.getvalue(), "mill.archimate") == expected
    wide = EXCHANGE.replace("UTF-8", "UTF-16").encode("utf-16")
    assert documents(wide) == documents(EXCHANGE.encode())


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (("<name>Mill control<", "<name>Controls<"), {"id-app", "id-grind", "id-node", "id-data"}),
        (("<name>Milling<", "<name>Flour<"), {"id-cap", "id-grind", "id-node", "id-actor"}),
        (("<name>controls<", "<name>runs<"), {"id-app", "id-grind", "id-data"}),
        (('modifier="+"', 'modifier="-"'), {"id-node", "id-cap"}),
        (('accessType="Read"', 'accessType="Write"'), {"id-grind", "id-data"}),
        (("Grain becomes flour", "Grain is ground"), {"id-grind"}),
        (("All at once", "Everything"), {"id-v"}),
    ],
)
def test_an_edit_changes_exactly_the_documents_that_mention_it(
    edit: tuple[str, str], changed: set[str]
) -> None:
    before, after = documents(EXCHANGE), documents(EXCHANGE.replace(*edit))
    found = {
        id
        for id in before
        if (before[id].text, before[id].context) != (after[id].text, after[id].context)
    }
    views = {"id-v"} if edit[0] == "<name>Mill control<" else set()
    assert found == changed | views


def test_a_context_keeps_to_its_budget_and_counts_what_it_leaves_out() -> None:
    hub = Element("id-h", "ApplicationComponent", "Hub")
    others = [Element(f"id-{n:02}", "BusinessProcess", f"Process {n:02}") for n in range(20)]
    served = [Relationship(f"id-r{n}", "serving", "id-h", e.id) for n, e in enumerate(others)]
    flows = [Relationship(f"id-f{n}", "flow", "id-h", e.id) for n, e in enumerate(others[:3])]
    made = small([hub, *others], [*served, *flows])
    opening = "Hub is an Application Component in the application layer of M."
    listed = ", ".join(f"Process {n:02} (Business Process)" for n in range(6))
    flowing = ", ".join(f"Process {n:02} (Business Process)" for n in range(3))
    full = f"{opening} It serves: {listed} and 14 more. It flows to: {flowing}."
    assert describe(hub, made) == full
    assert describe(hub, made, len(full.split())) == full
    assert describe(hub, made, 30) == (
        f"{opening} It serves: Process 00 (Business Process) and 19 more. "
        "It flows to: Process 00 (Business Process) and 2 more."
    )
    assert describe(hub, made, 25) == (
        f"{opening} It serves: Process 00 (Business Process) and 19 more. "
        "It has 3 more relationships."
    )
    assert describe(hub, made, 1) == f"{opening} It has 23 more relationships."
    for budget in range(20, 60):
        assert len(describe(hub, made, budget).split()) <= budget


def test_the_order_in_the_file_does_not_matter() -> None:
    elements = [Element(f"id-{n}", "Node", name) for n, name in enumerate("bcaab")]
    some = [Relationship(f"id-r{n}", "flow", "id-0", f"id-{n}") for n in range(5)]
    one, other = small(elements, some), small(elements[::-1], some[::-1])
    assert describe(elements[0], one) == describe(elements[0], other)
    assert "It flows to: a (Node), b (Node), c (Node)." in describe(elements[0], one)


def test_neighbours_behind_junctions_are_named() -> None:
    ends = [Element(f"id-{name}", "BusinessProcess", name) for name in "abc"]
    joints = [Element("id-j", "AndJunction"), Element("id-k", "OrJunction")]
    pairs = ["aj", "jk", "kb", "kc", "kj"]
    flows = [
        Relationship(f"id-{x}{y}", "flow", f"id-{x}", f"id-{y}")
        for x, y in (tuple(p) for p in pairs)
    ]
    made = small([*ends, *joints], flows)
    assert describe(ends[0], made).endswith(
        "It flows to: b (Business Process; through a junction), "
        "c (Business Process; through a junction)."
    )
    assert describe(ends[1], made).endswith(
        "It receives a flow from: a (Business Process; through a junction)."
    )


def test_capabilities_are_found_upward_through_others_and_circles_end() -> None:
    elements = [Element(f"id-{n}", "Capability" if n else "Node", f"C{n}") for n in range(4)]
    up = [
        Relationship("id-r0", "realization", "id-0", "id-1"),
        Relationship("id-r1", "composition", "id-2", "id-1"),
        Relationship("id-r2", "aggregation", "id-3", "id-2"),
        Relationship("id-r3", "aggregation", "id-1", "id-3"),
        Relationship("id-r4", "serving", "id-0", "id-3"),
    ]
    text = describe(elements[0], small(elements, up))
    assert "It belongs to the capabilities C1, C2, C3." in text


def test_every_type_of_the_language_has_a_layer_and_every_relationship_its_verbs() -> None:
    assert len(LAYER) == 62  # 60 element types of ArchiMate 3.2 and the two junctions
    assert len(RELATIONSHIPS) == 11
    phrases = {verb(type, way, "Goal") for type in RELATIONSHIPS for way in (True, False)}
    assert len(phrases) == 21  # an association reads the same both ways
    assert "has a relationship" not in " ".join(phrases)
    assert words("CourseOfAction") == "Course of Action"


@pytest.mark.parametrize("written", ["5", "application_usage", "Application Usage"])
def test_a_viewpoint_has_one_name(written: str) -> None:
    assert viewpoint(written) == "Application Usage"


def test_old_names_and_version_2_are_read() -> None:
    old = """<model xmlns="http://www.opengroup.org/xsd/archimate" identifier="id-o"
      xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><name>Old</name><elements>
      <element identifier="id-a" xsi:type="InfrastructureService"><label>A</label></element>
      <element identifier="id-b" xsi:type="Network"><label>B</label></element></elements>
      <relationships><relationship identifier="id-r" xsi:type="UsedByRelationship" source="id-a"
       target="id-b"/></relationships><organization><item><label>T</label>
       <item identifierref="id-a"/></item></organization></model>"""
    found = documents(old)
    assert found["id-a"].metadata["element_type"] == "TechnologyService"
    assert found["id-a"].metadata["folder"] == "T"
    assert found["id-b"].metadata["element_type"] == "CommunicationNetwork"
    assert found["id-a"].links[0].type == "serving"


def test_archi_s_identifiers_are_the_same_in_both_forms() -> None:
    native = NATIVE.replace('"id-grind"', '"7f3a"').replace('"id-cap"', '"c0ffee00"')
    assert {"id-7f3a", "id-c0ffee00"} <= set(documents(native, "m.archimate"))
    assert {"ba1", "EAID_1"} <= set(
        documents(EXCHANGE.replace('"id-grind"', '"ba1"').replace('"id-cap"', '"EAID_1"'))
    )


def test_a_specialization_and_or_junction_of_archi() -> None:
    native = NATIVE.replace('id="id-node"', 'id="id-node" profiles="id-p"').replace(
        "<purpose>", '<profile name="Cabinet" id="id-p" conceptType="Node"/><purpose>'
    )
    native = native.replace('BusinessActor" id="id-actor"', 'Junction" id="id-actor" type="or"')
    found = documents(native, "m.archimate")
    assert found["id-node"].metadata["specialization"] == "Cabinet"
    assert found["id-node"].context.startswith("Panel is a Cabinet (Node) in the technology layer")
    assert found["id-actor"].metadata["element_type"] == "OrJunction"
    assert found["id-actor"].context.startswith("unnamed Or Junction is an Or Junction in Mill.")


def test_what_cannot_be_used_is_reported_and_the_rest_goes_on() -> None:
    broken = f"""{HEAD}<name>B</name><elements>
      <element identifier="id-a" xsi:type="Node"><name>A</name></element>
      <element identifier="id-a" xsi:type="Node"><name>Again</name></element>
      <element xsi:type="Node"><name>Nameless</name></element>
      <element identifier="id-x" xsi:type="Robot"><name>X</name></element>
     </elements><relationships>
      <relationship identifier="id-r1" xsi:type="Flow" source="id-a" target="id-gone"/>
      <relationship identifier="id-r2" xsi:type="Flow" source="id-r1" target="id-a"/>
      <relationship identifier="id-r3" xsi:type="Knows" source="id-a" target="id-x"/>
      <relationship identifier="id-r4" xsi:type="Flow" source="id-a"/>
     </relationships><views><diagrams><view identifier="id-v"><name>V</name>
      <node identifier="n" elementRef="id-gone"/></view></diagrams></views></model>"""
    found = list(read_text(broken, source="b.xml"))
    skipped = {(s.reason, s.taken) for s in found if isinstance(s, Skipped)}
    assert skipped == {
        ("element id-a was left out: its identifier was used before", False),
        ("element 'Nameless' was left out: it has no identifier", False),
        ("element id-x: 'Robot' is not a type of ArchiMate; taken as it is", True),
        ("relationship id-r1 was left out: its target id-gone is not in the model", False),
        ("relationship id-r2 was left out: its end id-r1 was left out too", False),
        ("relationship id-r4 was left out: its target is missing", False),
        ("relationship id-r3: 'knows' is not a type of ArchiMate; taken as it is", True),
        ("view id-v shows id-gone, which is not an element here", True),
    }
    kept = {d.element_id: d for d in found if isinstance(d, Document)}
    assert set(kept) == {"id-m", "id-a", "id-x", "id-v"}
    assert kept["id-a"].context.endswith("It has a relationship (knows) to: X (Robot).")
    assert kept["id-x"].metadata["layer"] == "other"


def test_the_example_model_is_read_and_its_property_source_stays_in_the_text() -> None:
    path = Path(__file__).parents[2] / "examples" / "corpus" / "architecture" / "larkfield.xml"
    found = list(read(path, source="larkfield.xml"))
    kept = {d.element_id: d for d in found if isinstance(d, Document)}
    assert len(kept) == len(found) == 1 + 30 + 2
    reserve = kept["id-req-reserve"]
    assert "source: bylaws-2025 6.5" in reserve.text
    assert "source" not in reserve.metadata
    assert kept["id-app-ledger"].metadata["owner"] == "Treasurer"


def test_a_part_tells_only_of_what_all_its_readers_may_see() -> None:
    board, both = (("visibility", "board"),), (("visibility", "board"), ("visibility", "audit"))
    made = assemble(
        Parts(
            id="m",
            name="M",
            elements=[
                Element("open", "BusinessActor", "Clerk"),
                Element("secret", "BusinessActor", "Raider", properties=board),
                Element("shared", "BusinessActor", "Auditor", properties=both),
            ],
            relationships=[
                Relationship("r1", "Serving", "open", "secret"),
                Relationship("r2", "Serving", "secret", "shared"),
                Relationship("r3", "Serving", "shared", "open"),
            ],
            views=[
                View("v", "Public", nodes=(ViewNode("open"), ViewNode("secret", "Raider"))),
                View("w", "Board", properties=board, nodes=(ViewNode("open"), ViewNode("secret"))),
            ],
        ),
        fallback_id="m",
        fallback_name="M",
    )
    raw = Raw("m.xml", io.BytesIO(), {})
    found = {d.element_id: f"{d.context}\n{d.text}" for d in render(made, raw)}

    def names(id: str) -> set[str]:
        return {name for name in ("Clerk", "Raider", "Auditor") if name in found[id]}

    assert names("open") == {"Clerk"}
    assert names("secret") == {"Clerk", "Raider", "Auditor"}
    assert names("shared") == {"Clerk", "Auditor"}
    assert names("v") == {"Clerk"}
    assert names("w") == {"Clerk", "Raider"}
    assert "Elements: 1 " in found["m"]
    whole = Raw("m.xml", io.BytesIO(), {"visibility": "board"})
    told = {d.element_id: d.context for d in render(made, whole)}
    assert "Raider" in told["open"]
