"""What stands around a node in a real store: neighbours, openings, links followed with bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sourcebook import Filter, Sourcebook
from sourcebook.ingest import Request
from sourcebook.model import Block, Document, Link, Node
from sourcebook.querying.expand import IN_ALL, PER_NODE, Standing, Surroundings
from sourcebook.stores.queries import QUERIES

PARAGRAPH = "The pond is drained in October and the reeds are cut back to the ground. " * 30


@pytest.fixture
def sb(tmp_path: Path, model_dir: Path) -> Sourcebook:
    return Sourcebook.open(f"sqlite:///{tmp_path}/store.db")


def element(name: str, *to: str, kind: str = "serving", **metadata: str) -> Document:
    links = tuple(Link(name, other, kind) for other in to)
    text = f"Element {name}"
    block = (Block("prose", 0, len(text)),)
    return Document(
        name, name.upper(), text, "m.xml", "text", block, metadata, "element", "", links
    )


def put(sb: Sourcebook, *documents: Document) -> Surroundings:
    outcome = sb.take_in(Request(documents), wait=False)
    return Surroundings(sb.store, sb.scope, outcome.revision)


def the(around: Surroundings, node_id: str) -> Node:
    found = around.node(node_id)
    assert found is not None
    return found


def reached(around: Surroundings, starts: Sequence[str], hops: int) -> dict[str, tuple[str, ...]]:
    nodes = [the(around, name) for name in starts]
    return {linked.node.id: linked.path for linked in around.linked(nodes, hops, {})}


# --- links ---------------------------------------------------------------------------------------


def test_links_are_followed_in_both_directions_hop_by_hop(sb: Sourcebook) -> None:
    around = put(sb, element("a", "b"), element("b"), element("c", "b"), element("d", "c"))
    assert reached(around, "a", 0) == {}
    assert reached(around, "a", 1) == {"b": ("a", "b")}
    assert reached(around, "a", 2) == {"b": ("a", "b"), "c": ("a", "b", "c")}
    assert list(reached(around, "a", 3).values())[-1] == ("a", "b", "c", "d")


def test_a_link_is_told_in_its_own_direction(sb: Sourcebook) -> None:
    said = Link("c", "b", "access", {"access": "read"})
    around = put(sb, element("b"), replace(element("c"), links=(said,)))
    [linked] = around.linked([the(around, "b")], 1, {})
    assert around.told(linked.link) == "access, read (C → B)"


def test_circles_end_and_nobody_is_met_twice(sb: Sourcebook) -> None:
    around = put(sb, element("a", "b", "a"), element("b", "c"), element("c", "a", "b"))
    assert list(reached(around, "a", 3)) == ["b", "c"]
    assert reached(around, "ab", 3) == {"c": ("a", "c")}


def test_a_link_to_nothing_leads_nowhere(sb: Sourcebook) -> None:
    around = put(sb, element("a", "missing", "b", ""), element("b"))
    assert list(reached(around, "a", 3)) == ["b"]


def test_only_what_the_revision_shows_is_reached(sb: Sourcebook) -> None:
    first = put(sb, element("a", "b", "c"), element("b"))
    second = put(sb, element("a", "c"), element("c"))
    with sb.store.commit(sb.scope) as writer:
        writer.end("c")
    third = Surroundings(sb.store, sb.scope, writer.revision)
    assert list(reached(first, "a", 2)) == ["b"]  # c was not there yet
    assert list(reached(second, "a", 2)) == ["c"]
    assert list(reached(third, "a", 2)) == []
    assert list(reached(first, "a", 2)) == ["b"]


def test_another_repository_is_never_reached(sb: Sourcebook) -> None:
    put(sb, element("a", "b"), element("b"))
    other = sb.in_repository("other")
    around = put(other, element("a", "b"))  # type: ignore[arg-type]
    assert reached(around, "a", 3) == {}
    assert other.store.relations(other.scope, ["b"], 1, 9) == [Link("a", "b", "serving")]
    assert other.store.children(other.scope, "b", 1, 9) == []


def test_a_hub_gives_its_best_ten_and_all_together_fifty(sb: Sourcebook) -> None:
    spokes = [f"{hub}{n:02}" for hub in "abcdefg" for n in range(12)]
    hubs = [element(hub, *(s for s in spokes if s[0] == hub)) for hub in "abcdefg"]
    around = put(sb, *hubs, *(element(s) for s in spokes))
    assert len(reached(around, "a", 1)) == PER_NODE == 10
    found = list(reached(around, "abcdefg", 3))
    assert len(found) == IN_ALL == 50
    assert {name[0] for name in found} == set("abcde")  # the best hits first
    ranked = around.linked([the(around, "a")], 1, {"a11": 3, "a05": 7})
    assert [linked.node.id for linked in ranked[:3]] == ["a11", "a05", "a00"]


def test_what_a_view_draws_is_not_followed(sb: Sourcebook) -> None:
    around = put(sb, element("v", "a", "b", kind="shows"), element("a"), element("b"))
    assert reached(around, "a", 3) == {}


def test_filters_hold_for_what_is_reached(sb: Sourcebook) -> None:
    documents = [element("a", "b", "c", "d"), element("b", layer="Business"), element("c")]
    found = put(sb, *documents, element("d", layer="Technology"))
    found.filters = (Filter("layer", ("Business", "Technology")), Filter("kind", ("element",)))
    assert list(reached(found, "a", 1)) == ["b", "d"]
    found.filters = (Filter("kind", ("message",)),)
    assert reached(found, "a", 1) == {}


def test_the_successor_of_a_document_is_reached_and_not_its_predecessor(sb: Sourcebook) -> None:
    new = element("new", "old", kind="supersedes")
    around = put(sb, new, element("old"), element("mid", "old", "new"))
    assert list(reached(around, ["old"], 1)) == ["new", "mid"]
    assert list(reached(around, ["new"], 1)) == ["mid"]


# --- standing ------------------------------------------------------------------------------------


def test_standing_is_known_from_metadata_and_from_links(sb: Sourcebook) -> None:
    around = put(
        sb,
        element("new", "old", kind="supersedes"),
        element("old"),
        element("lost", superseded_by="file.md"),
        element("plain"),
        replace(element("bare"), metadata={"superseded_by": True}),
    )
    assert around.standing(the(around, "old")) == Standing(superseded="NEW")
    assert around.standing(the(around, "new")) == Standing(supersedes="OLD")
    assert around.standing(the(around, "lost")) == Standing(superseded="file.md")
    assert around.standing(the(around, "bare")) == Standing(superseded="")
    assert around.standing(the(around, "plain")) == Standing()


def test_two_documents_of_one_title_are_told_apart_by_their_files(sb: Sourcebook) -> None:
    old, new = (
        Document(name, "Bylaws", "Text.", name, "text", (Block("prose", 0, 5),), links=links)
        for name, links in (
            ("old.md", ()),
            ("new.md", (Link("new.md", "old.md", "supersedes"),)),
        )
    )
    around = put(sb, old, new)
    assert around.standing(the(around, "old.md")).superseded == "Bylaws (new.md)"


# --- neighbours and parents ----------------------------------------------------------------------


@pytest.fixture
def guide(sb: Sourcebook, tmp_path: Path) -> Surroundings:
    """One section of three or more chunks, with an opening of its own, under a first one."""
    text = "# Guide\n\nHow the garden is kept.\n\n## Pond\n\nAbout the pond.\n\n"
    text += "\n\n".join(f"### Part {n}\n\n{PARAGRAPH}" for n in range(3))
    (tmp_path / "guide.md").write_text(text)
    outcome = sb.ingest(tmp_path / "guide.md", wait=False)
    return Surroundings(sb.store, sb.scope, outcome.revision)


def chunks(around: Surroundings) -> list[Node]:
    found = around.store.nodes(around.scope, around.revision, kind="chunk")
    return sorted(found, key=lambda node: node.start)


def test_neighbours_are_those_before_and_after_nearest_first(guide: Surroundings) -> None:
    found = chunks(guide)
    assert len(found) > 4
    ways = guide.neighbours(found[2], 2)
    ids = [tuple(node.id for node in way) for way in ways]
    a, b, c, d, e = (node.id for node in found[:5])
    assert ids == [(b,), (d,), (b, a), (d, e)]
    assert c not in {name for way in ids for name in way}
    assert [way[-1].id for way in guide.neighbours(found[0], 1)] == [b]
    assert guide.neighbours(found[0], 0) == []


def test_siblings_are_of_the_same_section_in_order(guide: Surroundings) -> None:
    for node in chunks(guide):
        run = guide.siblings(node, 10)
        assert node in run
        assert {each.parent_id for each in run} == {node.parent_id}
        assert run == [n for n in chunks(guide) if n.parent_id == node.parent_id]


def test_the_opening_of_a_section_is_its_first_passage(guide: Surroundings) -> None:
    pond = the(guide, "guide.md#guide/pond")
    way = guide.opening(pond)
    assert way[-1].kind == "chunk"
    assert way[-1].start == pond.start
    assert guide.opening(way[-1]) == ()


def test_a_parents_opening_is_reached_over_the_parent(guide: Surroundings) -> None:
    last = chunks(guide)[-1]
    way = guide.parent_opening(last)
    assert way[-1].kind == "chunk"
    assert way[-1].start < last.start
    assert [node.kind for node in way[:-1]] == ["section"] * (len(way) - 1)
    assert way[-1].parent_id == way[-2].id
    assert way[0].id == last.parent_id
    first = chunks(guide)[0]
    assert guide.parent_opening(first) == ()


def test_a_chain_of_parents_ends_with_the_document(guide: Surroundings) -> None:
    last = chunks(guide)[-1]
    assert [node.kind for node in guide.ancestors(last)][-1] == "document"
    assert guide.root(last).id == guide.title(last).lower() + ".md" == "guide.md"


@pytest.mark.parametrize("name", ["children", "relations", "relations_among"])
def test_the_reads_go_through_an_index(sb: Sourcebook, name: str) -> None:
    values = {
        "repository": 1,
        "readable": None,
        "id": "a",
        "ids": '["a"]',
        "revision": 1,
        "limit": 9,
    }
    plan = sb.store.reader().execute(f"EXPLAIN QUERY PLAN {QUERIES[name]}", values).fetchall()  # type: ignore[attr-defined]
    steps = [row[3] for row in plan]
    assert any("USING INDEX link_by_" in step for step in steps)
    assert not any(step.startswith(("SCAN l", "SCAN n")) for step in steps)
