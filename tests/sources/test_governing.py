"""What is known of a document's standing: rules, front matter, flags, and who supersedes whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcebook import Sourcebook
from sourcebook.config import load
from sourcebook.errors import ConfigError
from sourcebook.model import Block, Document, Link
from sourcebook.sources.governing import governed

RULES = [("rules/*", {"document_type": "rules", "is_binding": True}), ("*old*", {"archived": True})]


def document(source: str, **metadata: str) -> Document:
    return Document(source, "T", "text", source, "text", (Block("prose", 0, 4),), metadata)


def test_rules_fill_in_what_the_document_does_not_say(tmp_path: Path) -> None:
    assert governed(document("rules/a.md"), RULES, tmp_path).metadata == {
        "document_type": "rules",
        "is_binding": True,
    }
    own = governed(document("rules/old.md", document_type="guideline"), RULES, tmp_path)
    assert own.metadata == {"document_type": "guideline", "is_binding": True, "archived": True}
    assert governed(document("notes/a.md"), RULES, tmp_path).metadata == {}


@pytest.mark.parametrize("name", ["new.md", "rules/new.md", "../rules/new.md"])
def test_a_successor_is_found_from_the_folder_upward(tmp_path: Path, name: str) -> None:
    (tmp_path / "docs/rules").mkdir(parents=True)
    (tmp_path / "docs/rules/new.md").write_text("New.")
    found = governed(document("docs/rules/old.md", superseded_by=name), (), tmp_path)
    assert found.metadata["superseded_by"] == "docs/rules/new.md"
    assert found.links == (Link("docs/rules/new.md", "docs/rules/old.md", "supersedes"),)


def test_a_name_outside_the_root_or_of_no_file_stays_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.md").write_text("x")
    for name in ("../secret.md", "missing.md", "a" * 300):
        found = governed(document("old.md", superseded_by=name), (), root)
        assert found.metadata["superseded_by"] == name


def test_from_the_configuration_to_the_index(tmp_path: Path, model_dir: Path) -> None:
    (tmp_path / "law").mkdir()
    (tmp_path / "law/old.md").write_text("---\nsuperseded_by: new.md\n---\nDogs are allowed.")
    (tmp_path / "law/new.md").write_text("---\nsupersedes: old.md\n---\nDogs are not allowed.")
    (tmp_path / "sourcebook.toml").write_text(
        '[[documents]]\npath = "law/*"\ndocument_type = "bylaws"\nis_binding = true\n'
        "effective_date = 2025-01-31\n"
    )
    sb = Sourcebook.open(f"sqlite:///{tmp_path}/store.db", config=tmp_path / "sourcebook.toml")
    sb.ingest(tmp_path / "law")
    node, _ = sb.get("law/old.md")
    assert node.metadata["effective_date"] == "2025-01-31"
    assert node.metadata["is_binding"] is True
    assert [(x.source_id, x.target_id, x.type) for x in sb.links("law/old.md")] == [
        ("law/new.md", "law/old.md", "supersedes")
    ]
    assert "bylaws, 31 January 2025" in sb.search("dogs").results[0].context


def test_a_rule_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "sourcebook.toml"
    file.write_text('[[documents]]\npath = "x"\nbinding = true\n')
    with pytest.raises(ConfigError, match="documents"):
        load(file)
