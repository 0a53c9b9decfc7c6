"""Sources in, revisions out: what is unchanged stays, what changed gets new versions, no more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sourcebook import Filter, Sourcebook, SourcebookError

PARAGRAPH = (
    "The cooperative keeps its tools in the shed behind the mill and lends them for a week. "
)


@pytest.fixture
def sb(tmp_path: Path, model_dir: Path) -> Sourcebook:
    return Sourcebook.open(f"sqlite:///{tmp_path}/store.db")


def handbook(*changed: int) -> str:
    """A document of five sections, each long enough for chunks of its own."""
    sections = []
    for number in range(1, 6):
        words = f"Rule {number} of the house. " + PARAGRAPH * 12
        sections.append(f"## Part {number}\n\n{words}{'Amended. ' if number in changed else ''}\n")
    return "# Handbook\n\n" + "\n".join(sections)


def test_unchanged_files_make_no_revision_and_embed_nothing(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(handbook())
    first = sb.ingest(tmp_path / "a.md")
    assert first.revision == 1
    assert first.counts["section"] == 6
    again = sb.ingest(tmp_path / "a.md")
    assert (again.revision, again.nodes, again.passages, again.unchanged) == (1, 0, 0, 1)
    assert len(sb.log()) == 1


def test_only_what_changed_gets_a_new_version(sb: Sourcebook, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(handbook())
    sb.ingest(file)
    before = {n.id: n for n in sb.list(limit=1000)}
    embedded: list[int] = []
    file.write_text(handbook(3))
    sb.ingest(file, embedding_progress=lambda done, total: embedded.append(total))
    after = {n.id: n for n in sb.list(limit=1000)}
    same = [i for i in before if i in after and before[i].version_id == after[i].version_id]
    changed = [i for i in after if i not in same]
    assert {after[i].kind for i in same} == {"section", "chunk"}
    assert all(
        after[i].kind == "document"
        or "Part 3" in after[i].section_path
        or after[i].section_path == ("Handbook",)
        for i in changed
    )
    assert sum(after[i].kind == "chunk" for i in changed) == 1
    assert embedded[-1] <= 4  # the chunk, its section, and the summaries above it
    for node in after.values():  # offsets moved with the text
        assert sb.store.text(sb.scope, node) == file.read_text()[node.start : node.end]


def test_every_chunk_is_its_span_of_the_source(sb: Sourcebook, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("---\ntitle: Haus\n---\n" + handbook().replace("mill", "mühle 🏡"))
    sb.ingest(file)
    hits = sb.search("where are tools kept?", k=50).results
    assert len(hits) >= 5
    source = file.read_text()
    assert all(source[h.node.start : h.node.end] == h.text for h in hits)
    assert all(h.node.section_path[0] == "Handbook" for h in hits)


def test_small_content_is_one_node(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# Shed\n\nThe key hangs by the door.\n\n## Hours\n\nAlways open."
    )
    assert sb.ingest(tmp_path / "a.md").counts == {"document": 1}
    hit = sb.search("where is the key?").results[0]
    assert (hit.node.kind, hit.resolution) == ("document", 2)
    assert len(sb.search("key", resolution=0).results) == 1


def test_a_request_id_is_done_once(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Seeds are shared in March.")
    first = sb.ingest(tmp_path / "a.txt", request_id="r-1")
    (tmp_path / "a.txt").write_text("Seeds are shared in April.")
    again = sb.ingest(tmp_path / "a.txt", request_id="r-1")
    assert again.to_dict()["nodes"] == first.to_dict()["nodes"]
    assert again.revision == 1
    assert sb.resolve().revision == 1
    assert sb.ingest(tmp_path / "a.txt", request_id="r-2").revision == 2


def test_bad_files_are_reported_and_the_rest_goes_on(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "image.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    (tmp_path / "broken.txt").write_bytes("häuser und bäume ".encode() * 5 + b"\xc3")
    (tmp_path / "good.txt").write_text("Ladders are in the barn.")
    outcome = sb.ingest(tmp_path)
    assert outcome.counts["document"] == 1
    assert {Path(s.path).name for s in outcome.skipped} == {"empty.txt", "image.md", "broken.txt"}
    assert sb.search("where are ladders?").results[0].text == "Ladders are in the barn."


def test_a_missing_path_changes_nothing(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Something.")
    with pytest.raises(SourcebookError, match="nowhere"):
        sb.ingest(tmp_path / "a.txt", tmp_path / "nowhere")
    assert sb.resolve().revision == 0


def test_jsonl_rows_keep_their_ids_and_metadata_filters(sb: Sourcebook, tmp_path: Path) -> None:
    items = [
        {"_id": f"d{n}", "text": f"A ladder of {n} metres.", "metadata": {"shelf": str(n % 3)}}
        for n in range(30)
    ]
    rows = [*map(json.dumps, items), "not json"]
    (tmp_path / "items.jsonl").write_text("\n".join(rows))
    outcome = sb.ingest(tmp_path / "items.jsonl")
    assert outcome.counts["document"] == 30
    assert len(outcome.skipped) == 1
    for mode in ("dense", "sparse", "hybrid"):
        hits = sb.search("ladder", k=30, mode=mode, filters=(Filter("shelf", ("1",)),)).results
        assert {h.node.element_id for h in hits} == {f"d{n}" for n in range(1, 30, 3)}
    none = sb.search("ladder", filters=(Filter("shelf", ("7",)),))
    assert (none.status, none.results) == ("no_results", [])


def test_no_wait_leaves_vectors_pending_and_says_so(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The well is behind the barn.")
    assert sb.ingest(tmp_path / "a.txt", wait=False).pending_vectors == 1
    answer = sb.search("where is the well?")
    assert [d.part for d in answer.degraded] == ["dense"]
    assert "1 of 1 passages" in answer.degraded[0].reason
    assert answer.results[0].scores.dense is None
    assert sb.index() == 1
    complete = sb.search("where is the well?")
    assert complete.degraded == ()
    assert complete.results[0].scores.dense is not None


def test_pruning_the_folder_itself_and_naming_it_otherwise(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Apples.")
    (tmp_path / "docs" / "b.txt").write_text("Pears.")
    sb.ingest(tmp_path / "docs")
    assert {n.source for n in sb.list()} == {"docs/a.txt", "docs/b.txt"}
    (tmp_path / "docs" / "b.txt").unlink()
    assert sb.ingest(tmp_path / "docs" / ".." / "docs").unchanged == 1
    assert sb.ingest(tmp_path, prune=True).ended == 1


def test_an_id_that_comes_from_another_file_is_said(sb: Sourcebook, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"_id": "1", "text": "The same words."}')
    sb.ingest(tmp_path / "a.jsonl")
    outcome = sb.ingest(tmp_path / "b.jsonl")
    assert [w.reason for w in outcome.warnings] == [
        "the id '1' came from a.jsonl before; this replaces it"
    ]
    assert sb.get("1")[0].source == "b.jsonl"
    assert sb.ingest(tmp_path / "a.jsonl", tmp_path / "b.jsonl", prune=True).ended == 0


def test_odd_metadata_does_not_stop_the_rest(sb: Sourcebook, tmp_path: Path) -> None:
    rows = [
        '{"_id": "1", "text": "One.", "metadata": {"page": 99999999999999999999, "x": NaN}}',
        '{"_id": "2", "text": "Two.", "metadata": {"page": true, "source": "pubmed"}}',
        json.dumps({"_id": "3", "title": "T" * 100_000, "text": "Three. " * 2000}),
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    assert sb.ingest(tmp_path / "a.jsonl").counts["document"] == 3
    assert [sb.get(i)[0].page for i in "12"] == [None, None]
    assert [
        h.node.id for h in sb.search("two", filters=(Filter("source", ("pubmed",)),)).results
    ] == ["2"]
    assert all(len(n.title) <= 1000 for n in sb.list(limit=1000))


def test_one_long_document_does_not_hide_the_others(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("\n\n".join(f"Whale song {n}. " * 60 for n in range(150)))
    for n in range(5):
        (tmp_path / f"s{n}.txt").write_text(f"A small note on the whale, number {n}.")
    sb.ingest(tmp_path, wait=False)
    hits = sb.search("whale song", k=10, mode="sparse", per_document=1).results
    assert len(hits) == 6


def test_contractions_and_unspaced_scripts_are_found(sb: Sourcebook, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("You can't park here. I don't know why.")
    (tmp_path / "b.txt").write_text("Pythonは便利です。猫が好き。")
    sb.ingest(tmp_path, wait=False)
    for query in ('"can\'t park"', '"I don\u2019t know"', "Python", "\u732b", "\u4fbf\u5229"):
        (hit,) = sb.search(query, mode="sparse").results
        assert hit.scores.exact or query[0] != '"'
