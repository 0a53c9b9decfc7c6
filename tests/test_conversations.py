"""Conversations, elements and pages through ingest: nodes, links, context, and what changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sourcebook import Filter, Sourcebook
from sourcebook.ingest import Request
from sourcebook.model import Block, Document, Link, Turn

TALK = [
    ("ada", "Did the baker bring the sourdough starter?", None),
    ("ben", "Yes, and she left the recipe with two kinds of rye flour.", "m1"),
    ("ada", "Good. How long does the dough have to rest?", "m2"),
    ("ben", "Twelve hours in the cold room, then two on the table.", "m3"),
    ("ada", "Now for the roof: which tiles did the mason order?", "m4"),
    ("ben", "Clay tiles from the quarry at Hollin, due on Friday.", "m5"),
]


def conversation(lines: list[tuple[str, str, str | None]], **metadata: str) -> Document:
    text, blocks = "", []
    for number, (speaker, words, reply_to) in enumerate(lines, start=1):
        start = len(text)
        text += words + "\n\n"
        at = f"2025-03-0{number}T10:00:00+00:00" if number < 10 else None
        turn = Turn(f"m{number}", speaker, at, reply_to, metadata if number > 6 else {})
        blocks.append(Block("turn", start, start + len(words), turn=turn))
    return Document(
        "talk", "The mill", text, "talk.json", "chat", tuple(blocks), {}, "conversation"
    )


@pytest.fixture
def sb(tmp_path: Path, model_dir: Path) -> Sourcebook:
    return Sourcebook.open(f"sqlite:///{tmp_path}/store.db")


def test_messages_are_nodes_with_speaker_time_and_links(sb: Sourcebook) -> None:
    outcome = sb.take_in(Request([conversation(TALK)]))
    assert (outcome.counts["conversation"], outcome.counts["message"]) == (1, 6)
    node, text = sb.get("talk#m4")
    assert (node.kind, text) == ("message", TALK[3][1])
    assert node.metadata["speaker"] == "ben"
    assert node.metadata["date"] == "2025-03-04"
    found = {(link.source_id, link.target_id, link.type) for link in sb.links("talk#m4")}
    assert ("talk#m4", "talk#m3", "responds-to") in found
    assert ("talk#m4", "talk#m3", "follows") in found
    assert ("talk#m5", "talk#m4", "follows") in found


def test_a_message_is_found_by_what_was_said_before_it(sb: Sourcebook) -> None:
    sb.take_in(Request([conversation(TALK)]))
    best = sb.search("how long must the dough rest?", k=2).results
    assert {hit.node.id for hit in best} == {"talk#m3", "talk#m4"}
    answer = next(hit for hit in best if hit.node.id == "talk#m4")
    assert answer.text == TALK[3][1]
    assert answer.context.endswith(f"ada: {TALK[2][1]}\nben:")
    assert "4 March 2025" in answer.context


def test_messages_can_be_filtered_by_speaker_and_day(sb: Sourcebook) -> None:
    sb.take_in(Request([conversation(TALK)]))
    by = sb.search("dough", filters=(Filter("speaker", ("ada",)),)).results
    assert {hit.node.id for hit in by} == {"talk#m1", "talk#m3", "talk#m5"}
    day = sb.search("dough", filters=(Filter("date", ("2025-03-02",)),)).results
    assert [hit.node.id for hit in day] == ["talk#m2"]


def test_a_branch_left_aside_follows_nothing(sb: Sourcebook) -> None:
    other = ("ben", "Slate, if I remember it right.", "m5")
    sb.take_in(Request([conversation([*TALK, other], branch="alternative")]))
    types = {link.type for link in sb.links("talk#m7") if link.source_id == "talk#m7"}
    assert types == {"responds-to"}


def test_a_long_conversation_has_episodes_and_a_long_message_parts(sb: Sourcebook) -> None:
    bread = [
        ("ada", f"Loaf {n}: the dough of rye flour rested all night.", None) for n in range(40)
    ]
    roof = [("ben", f"Row {n}: the clay tiles of the roof were laid.", None) for n in range(40)]
    story = ("ben", "The mill stood by the river. " * 200, None)
    lines = [*bread, *roof, story]
    sb.take_in(Request([conversation(lines)]))
    nodes = sb.list(limit=1000)
    messages = [n for n in nodes if n.kind == "message"]
    assert len(messages) == 81
    episodes = {n.id: n for n in nodes if n.kind == "section"}
    assert 2 <= len(episodes) <= 12
    assert all(m.parent_id in episodes for m in messages[:80] if m.id != "talk#m81")
    parts = [n for n in nodes if n.kind == "chunk"]
    assert len(parts) >= 3
    assert {n.parent_id for n in parts} == {"talk#m81"}
    starts = {n.start for n in messages}
    assert all(e.start in starts for e in episodes.values())


def test_another_speaker_of_the_same_words_is_a_change(sb: Sourcebook) -> None:
    sb.take_in(Request([conversation(TALK)]))
    assert sb.take_in(Request([conversation(TALK)])).unchanged == 1
    changed = [*TALK[:-1], ("cora", *TALK[-1][1:])]
    assert sb.take_in(Request([conversation(changed)])).revision == 2
    assert sb.get("talk#m6")[0].metadata["speaker"] == "cora"


def test_an_element_whose_neighbour_was_renamed_keeps_its_version(sb: Sourcebook) -> None:
    text = "Registers every claim of a customer."
    element = Document(
        "e1", "Claims", text, "m.xml", "archimate", (Block("prose", 0, len(text)),),
        {"layer": "application"}, "element", "It serves: Front Desk.",
        (Link("e1", "e2", "serving", {"id": "r1"}),),
    )  # fmt: skip
    sb.take_in(Request([element]))
    before = sb.get("e1")[0]
    renamed = replace(element, context="It serves: Reception.")
    outcome = sb.take_in(Request([renamed]))
    assert (outcome.revision, outcome.passages) == (2, 1)
    assert sb.get("e1")[0].version_id == before.version_id
    hit = sb.search("what serves the reception?").results[0]
    assert (hit.node.id, hit.text) == ("e1", text)
    assert "Reception" in hit.context
    assert [(x.target_id, x.type) for x in sb.links("e1")] == [("e2", "serving")]


def test_pages_are_on_every_node(sb: Sourcebook) -> None:
    page = "The council met and spoke about the water of the mill. " * 30
    text = f"{page}\n\n{page}\n\n{page}"
    size = len(page.rstrip())
    blocks = tuple(
        Block("prose", at, at + size, page=number)
        for number, at in enumerate((0, len(page) + 2, 2 * (len(page) + 2)), start=1)
    )
    sb.take_in(Request([Document("d", "Minutes", text, "d.pdf", "pdf", blocks)]))
    chunks = [n for n in sb.list(limit=100) if n.kind == "chunk"]
    assert len(chunks) > 2
    for chunk in chunks:
        assert chunk.page == 1 + sum(chunk.start >= b.start for b in blocks[1:])
