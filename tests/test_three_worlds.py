"""The test collections of chats, governing documents and models through ingest: counts agree with a
count over the raw files, pages and sections can be cited, and what is refused is said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sourcebook import Sourcebook
from sourcebook.ingest import Outcome
from tests.sources.pdf_files import lines, pdf


@pytest.fixture
def sb(tmp_path: Path, model_dir: Path) -> Sourcebook:
    return Sourcebook.open(f"sqlite:///{tmp_path}/store.db")


def taken(sb: Sourcebook, path: Path) -> Outcome:
    return sb.ingest(path, wait=False)


@pytest.mark.parametrize(
    "file", ["ArchiMetal.archimate", "Archisurance.xml", "lfenergy.archimate", "tinker.xml"]
)
def test_models_are_counted_as_in_the_file(sb: Sourcebook, data_dir: Path, file: str) -> None:
    path = data_dir / "archimate/models" / file
    raw = path.read_text("utf-8")
    if file.endswith(".xml"):
        elements = len(re.findall(r"<element [^>]*xsi:type=", raw))
        relationships = len(re.findall(r"<relationship [^>]*xsi:type=", raw))
    else:
        types = re.findall(r'<element xsi:type="archimate:(\w+)"', raw)
        relationships = sum(name.endswith("Relationship") for name in types)
        elements = sum(not n.endswith(("Relationship", "Model", "View")) for n in types)
        elements -= sum(n in ("SketchModel", "CanvasModel") for n in types)
    outcome = taken(sb, path)
    assert (outcome.counts["element"], outcome.counts["relationship"]) == (elements, relationships)
    assert outcome.skipped == []
    again = taken(sb, path)
    assert (again.revision, again.nodes) == (1, 0)


def test_the_second_file_of_a_model_is_told_in_one_line(sb: Sourcebook, data_dir: Path) -> None:
    models = data_dir / "archimate/models"
    both = [models / "Archisurance.archimate", models / "Archisurance.xml"]
    outcome = sb.ingest(*both, wait=False)
    assert len(outcome.skipped) == 1
    assert re.search(r"\d+ ids, .* stand twice in this ingest", outcome.skipped[0].reason)


def test_chats_are_counted_as_in_the_file(sb: Sourcebook, data_dir: Path) -> None:
    file = data_dir / "chat_exports/chatgpt_realazthat.json"
    (conversation,) = json.loads(file.read_text())
    said = 0
    for node in conversation["mapping"].values():
        content = (node["message"] or {}).get("content") or {}
        parts = [p for p in content.get("parts", []) if isinstance(p, str)]
        said += bool("".join(parts).strip() or content.get("text", "").strip())
    outcome = taken(sb, file)
    assert (outcome.counts["conversation"], outcome.counts["message"]) == (1, said)


def test_every_file_of_the_collections_has_an_outcome(sb: Sourcebook, data_dir: Path) -> None:
    folders = [data_dir / name for name in ("chat_exports", "hoa")]
    outcome = sb.ingest(*folders, wait=False)
    files = {p.name for f in folders for p in f.rglob("*") if p.is_file()}
    told = {Path(s.path).name for s in (*outcome.skipped, *outcome.warnings)}
    held = {
        Path(n.source).name for kind in ("document", "conversation") for n in sb.list(kind=kind)
    }
    assert files == held | told
    reasons = {Path(s.path).name: s.reason for s in outcome.skipped}
    assert "OCR" in reasons["exhibit_a_scanned.pdf"]
    assert ".docx" in reasons["ccr_discovery_west.doc"]
    assert outcome.counts["page"] == 1


def test_a_citation_to_a_page_gives_its_words_again(sb: Sourcebook, tmp_path: Path) -> None:
    topics = ["water rights", "fences", "the orchard", "noise", "parking", "the annual meeting"]

    def page(topic: str) -> list[str]:
        return [f"Rule {n} about {topic}: every member keeps to it." for n in range(1, 40)]

    file = tmp_path / "rules.pdf"
    file.write_bytes(pdf(*(lambda c, t=t: lines(c, page(t)) for t in topics)))
    sb.ingest(file)
    for number, topic in enumerate(topics, start=1):
        hit = sb.search(f"rules about {topic}").results[0]
        assert (hit.node.page, topic in hit.text) == (number, True)
        assert sb.verify(hit.citation).valid
    chunks = [node for node in sb.list(limit=1000) if node.kind == "chunk"]
    assert chunks
    assert all(node.page for node in chunks)


def test_a_section_is_cited_by_its_number_and_path(ccr: Sourcebook) -> None:
    hit = ccr.search("who pays for damage to a common area?").results[0]
    assert hit.node.section_path == (
        "11. MAINTENANCE OBLIGATIONS",
        "11.3 Damage or Destruction by Owner",
    )
    links = [x for n in ccr.list(kind="chunk", limit=1000) for x in ccr.links(n.id)]
    assert sum(link.type == "references" for link in links) > 20
