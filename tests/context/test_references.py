"""Words that name a section become links to it, when that is certain."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from sourcebook.chunking.outline import outline
from sourcebook.context.nodes import chunk_nodes, document_node, section_nodes
from sourcebook.context.references import references
from sourcebook.model import Block, Chunk, Document, Link, Node, Section
from sourcebook.sources import read


def made(*parts: tuple[str, str]) -> tuple[str, list[Section], list[Node]]:
    """A document of (heading, text) parts, all of level 1, one chunk for each text."""
    text, blocks, chunks = "", [], []
    for title, words in parts:
        start = len(text)
        text += title
        blocks.append(Block("heading", start, len(text), 1, title))
        text += "\n\n"
        start = len(text)
        text += words
        blocks.append(Block("prose", start, len(text)))
        chunks.append(Chunk(start, len(text), len(chunks), "structural", 9))
        text += "\n\n"
    document = Document("d", "d", text, "d", "text", tuple(blocks))
    sections = outline(text, blocks)
    root = document_node(document)
    nodes = section_nodes(document, sections, root)
    return text, sections, [root, *nodes, *chunk_nodes(document, chunks, sections, nodes, root)]


def targets(words: str, *titles: str) -> list[str]:
    """The titles of the sections that words in the first section are linked to."""
    parts = [("0 Start", words), *((title, "Here.") for title in titles)]
    text, sections, nodes = made(*parts)
    by_id = {node.id: node for node in nodes}
    links = references(text, sections, nodes)
    assert {by_id[link.source_id].kind for link in links} <= {"chunk"}
    assert {link.type for link in links} <= {"references"}
    return [by_id[link.target_id].title for link in links]


@pytest.mark.parametrize(
    ("words", "titles", "found"),
    [
        ("see Section 4.2", ["4.1 A", "4.2 B"], ["4.2 B"]),
        ("see section 4.2.", ["Section 4.2 B"], ["Section 4.2 B"]),
        ("under Article VII", ["ARTICLE VII – DUES", "Section 7"], ["ARTICLE VII – DUES"]),
        ("under Article 7", ["ARTICLE VII"], ["ARTICLE VII"]),
        ("under Article 7", ["7. DUES"], ["7. DUES"]),
        ("Sections 4.2 and 4.3", ["4.2 B", "4.3 C"], ["4.2 B", "4.3 C"]),
        ("Sections 4.1, 4.2 or 4.3", ["4.1 A", "4.2 B", "4.3 C"], ["4.1 A", "4.2 B", "4.3 C"]),
        ("Section 4.2(a)(1)", ["4.2 B", "1 A"], ["4.2 B"]),
        ("Exhibit A and Exhibit C", ["EXHIBIT A", "EXHIBIT C Map"], ["EXHIBIT A", "EXHIBIT C Map"]),
        ("§ 12 says", ["§ 12 Notices"], ["§ 12 Notices"]),
        ("Section 4.2 of this Declaration", ["4.2 B"], ["4.2 B"]),
        ("Section 4.2 of the Bylaws", ["4.2 B"], []),
        ("Section 4.2 of Chapter 7", ["4.2 B"], []),
        ("Section 9.9", ["4.2 B"], []),
        ("Section 1", ["Section 1 A", "Section 1 B"], []),
        ("Exhibit B", ["Appendix B"], []),
        ("a part of it, article by article", ["1 A"], []),
        ("ORS 94.630", ["94.630 X"], []),
        ("Section 4.25", ["4.2 B"], []),
    ],
)
def test_what_is_linked(words: str, titles: list[str], found: list[str]) -> None:
    assert targets(words, *titles) == found


def test_a_section_does_not_refer_to_itself_and_two_nodes_are_linked_once() -> None:
    text, sections, nodes = made(
        ("4.2 B", "This Section 4.2. See Section 4.3. Again Section 4.3."),
        ("4.3 C", "Section 4.3."),
    )
    (link,) = references(text, sections, nodes)
    chunk = next(node for node in nodes if node.kind == "chunk")
    target = next(node for node in nodes if node.title == "4.3 C")
    assert link == Link(chunk.id, target.id, "references", {"text": "Section 4.3"})


def test_without_chunks_the_section_is_the_source() -> None:
    text, sections, nodes = made(("1 A", "see Section 2"), ("2 B", "Here."))
    nodes = [node for node in nodes if node.kind != "chunk"]
    (link,) = references(text, sections, nodes)
    assert (link.source_id, link.target_id) == (nodes[1].id, nodes[2].id)


def test_a_small_document_without_sections_has_none() -> None:
    text, sections, nodes = made(("1 A", "see Section 2"), ("2 B", "Here."))
    assert references(text, sections, nodes[:1]) == []
    assert references(text, [], nodes) == []


def test_the_real_declaration(data_dir: Path) -> None:
    path = data_dir / "hoa/discovery_west/ccr_discovery_west.txt"
    (document,) = read(path, source="ccr.txt", format="text")
    assert isinstance(document, Document)
    sections = outline(document.text, document.blocks)
    root = document_node(document)
    nodes = [root, *section_nodes(document, sections, root)]
    links = references(document.text, sections, nodes)
    titles = {node.id: node.title for node in nodes}
    pairs = {
        (titles[link.source_id].split()[0], titles[link.target_id].split()[0]) for link in links
    }
    # Read by hand in the file:
    assert {("1.50", "13."), ("1.53", "5.7"), ("14.2", "14.3"), ("14.2", "14.5")} <= pairs
    assert not [pair for pair in pairs if pair[0] == pair[1]]
    named = set(re.findall(r"Sections?\s(\d+(?:\.\d+)?)(?![.\d]*\d)", document.text))
    linked = {titles[link.target_id].split()[0].rstrip(".") for link in links}
    assert {number for number in linked if number[0].isdigit()} - named <= {
        "14.4",
        "8.7",
        "8.8",
    }  # in lists


def test_many_references_take_no_time() -> None:
    text, sections, nodes = made(
        ("1 A", "Section 1.1, " * 20_000),
        ("1.1 B", "Sections " + "1, " * 50_000),
        ("1.2 C", "§" * 100_000),
    )
    began = time.process_time()
    references(text, sections, nodes)
    assert time.process_time() - began < 5
