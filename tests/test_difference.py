"""What changed between two points in time, as people and programs are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sourcebook.engine import Engine
from sourcebook.errors import NotFound
from sourcebook.ingest import Request
from sourcebook.model import Block, Document, Link, ReadContext
from tests.town import TOWN, quick, write


def note(name: str, text: str, *links: Link, **metadata: object) -> Document:
    blocks = (Block("prose", 0, len(text)),)
    return Document(
        name, metadata.pop("title", name), text, name, "text", blocks, metadata, links=links
    )  # type: ignore[arg-type]


def empty(folder: Path) -> Engine:
    (folder / "files").mkdir()
    return quick(folder, {})


@pytest.fixture
def town(tmp_path: Path) -> Engine:
    """Revision 1 has the town; in 2 pets.md says another thing, pool.md is gone, new.md is new."""
    engine = quick(tmp_path, TOWN)
    engine.create_baseline("first")
    files = tmp_path / "files"
    (files / "pool.md").unlink()
    write(files, {"pets.md": "Each home may keep three dogs.", "new.md": "Bees are welcome."})
    engine.ingest(files, prune=True)
    return engine


def ids(nodes: list[dict[str, object]]) -> list[str]:
    return [str(node["id"]).rpartition("/")[2] for node in nodes]


def test_documents_that_came_went_and_changed(town: Engine) -> None:
    told = town.diff("first", "head").to_dict()
    json.dumps(told)
    assert told["from"] == {
        "selector": "baseline", "revision": 1, "baseline_id": "first", "as_of": None,
    }  # fmt: skip
    assert (told["to"]["selector"], told["to"]["revision"]) == ("head", 2)
    assert {name: ids(nodes) for name, nodes in told["nodes"].items()} == {
        "added": ["new.md"], "removed": ["pool.md"], "changed": ["pets.md"],
    }  # fmt: skip
    (changed,) = told["nodes"]["changed"]
    assert changed["changed"] == ["text"]
    old, _ = town.get(changed["id"], read_context=ReadContext("baseline", "first"))
    new, _ = town.get(changed["id"])
    assert (changed["from_version"], changed["to_version"]) == (old.version_id, new.version_id)
    (document,) = told["documents"]
    assert document["diff"] == (f"@@ -1 +1 @@\n-{TOWN['pets.md']}\n+Each home may keep three dogs.")
    assert not document["cut"]
    assert told["counts"]["nodes"] == {"added": 1, "removed": 1, "changed": 1}


def test_the_other_way_round(town: Engine) -> None:
    there, back = town.diff("first", "2").to_dict(), town.diff("2", "first").to_dict()
    assert back["nodes"]["added"] == there["nodes"]["removed"]
    assert back["nodes"]["removed"] == there["nodes"]["added"]
    assert back["nodes"]["changed"][0]["to_version"] == there["nodes"]["changed"][0]["from_version"]
    assert "+Each home may keep two" in back["documents"][0]["diff"]


def test_options(town: Engine) -> None:
    assert town.diff("first", "head", text=False).documents == ()
    assert town.diff("first", "head", kind="chunk").changed == ()
    other = town.diff(ReadContext("revision", "0"), "head", limit=2)
    assert (len(other.added), other.counts["nodes"]["added"]) == (2, len(TOWN))
    assert town.diff("head", "head").to_dict()["counts"]["nodes"]["changed"] == 0


def test_what_changed_of_a_node(tmp_path: Path) -> None:
    engine = empty(tmp_path)
    engine.take_in(Request([note("x", "One.", owner="ann", year=1, same=0)]))
    engine.take_in(Request([note("x", "One.", owner="bob", page=2, same=0, title="New name")]))
    (changed,) = engine.diff("1", "2").changed
    assert changed.what == ("title", "page", "metadata.owner", "metadata.page", "metadata.year")
    assert engine.diff("1", "2").documents == ()  # the text is the same


def test_relationships(tmp_path: Path) -> None:
    engine = empty(tmp_path)

    def cites(target: str, **metadata: object) -> Link:
        return Link("x", target, "cites", metadata)

    engine.take_in(Request([note("x", "One.", cites("a", page=1), cites("b"))]))
    engine.take_in(Request([note("x", "One.", cites("a", page=2), cites("c"))]))
    told = engine.diff("1", "2").to_dict()
    assert told["relationships"] == {
        "added": [{"source_id": "x", "target_id": "c", "type": "cites", "metadata": {}}],
        "removed": [{"source_id": "x", "target_id": "b", "type": "cites", "metadata": {}}],
        "changed": [
            {
                "source_id": "x",
                "target_id": "a",
                "type": "cites",
                "from_metadata": {"page": 1},
                "to_metadata": {"page": 2},
            }
        ],
    }
    assert told["nodes"]["changed"] == []
    assert told["counts"]["relationships"] == {"added": 1, "removed": 1, "changed": 1}
    assert [x.target_id for x in engine.diff("1", "2", limit=1).relations.added] == ["c"]


def test_what_a_side_may_be(town: Engine) -> None:
    at = town.log()[-1].at
    for name in ("first", "1", "baseline:first", f"as-of:{at}", "revision:1"):
        assert town.diff(name, "head").old.revision == 1
    town.publish("first")
    for name in ("published", "default"):
        assert town.diff(name, "head").old.baseline_id == "first"
    town.create_baseline("7", ReadContext("revision", "1"))
    assert town.diff("7", "2").old.baseline_id == "7"  # a name comes before a number
    with pytest.raises(NotFound, match="known baselines: 7, first. A side may also be head"):
        town.diff("second", "head")
    with pytest.raises(NotFound, match="last one is 2"):
        town.diff("first", "99")
