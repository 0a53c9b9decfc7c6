"""docs/configuration.md shows every setting and no other, with the defaults as they are."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from sourcebook.config import DocumentRule, Settings, load

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
EXAMPLES = {
    "embedding.base_url",
    "embedding.batch_texts",
    "embedding.dimensions",
    "embedding.document_prefix",
    "embedding.max_tokens",
    "embedding.price_per_million_tokens",
    "embedding.query_prefix",
    "generator.base_url",
    "generator.model",
    "serve.per_key_per_minute",
    "store_read",
}
"""Written as comments, with a value that somebody might give."""


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SOURCEBOOK_")]:
        monkeypatch.delenv(name)


def block() -> str:
    found = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def written() -> dict[str, Any]:
    """The settings of the page, those in comments too."""
    return tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", block(), flags=re.MULTILINE))


def flat(table: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def settings(model: BaseModel, before: str = "") -> Iterator[tuple[str, Any]]:
    for key in type(model).model_fields:
        value = getattr(model, key)
        if isinstance(value, BaseModel):
            yield from settings(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", list(value) if isinstance(value, tuple) else value


def test_every_setting_is_documented_and_no_other() -> None:
    assert {key for key, _ in flat(written())} == {key for key, _ in settings(Settings())}


def test_the_page_shows_the_defaults() -> None:
    shown = dict(flat(written()))
    for key, value in settings(Settings()):
        if key != "documents" and key not in EXAMPLES:
            assert shown[key] == value, key


def test_a_rule_for_documents_shows_all_that_it_may_hold() -> None:
    (rule,) = written()["documents"]
    assert set(rule) == set(DocumentRule.model_fields)


@pytest.mark.parametrize("uncommented", [False, True])
def test_the_page_is_a_file_that_can_be_read(tmp_path: Path, uncommented: bool) -> None:
    file = tmp_path / "sourcebook.toml"
    text = re.sub(r"^# (\w+ = )", r"\1", block(), flags=re.MULTILINE) if uncommented else block()
    file.write_text(text, "utf-8")
    assert load(file).documents[0].path == "governance/*"


def test_lists_in_the_environment_are_written_as_the_page_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    name, value = re.findall(r"`(SOURCEBOOK_\w+)='(\[.*?\])'`", PAGE)[0]
    monkeypatch.setenv(name, value)
    assert load().quality.exclude_stubs == ("breadcrumb", "note")
