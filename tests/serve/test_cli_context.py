"""`sourcebook context` as people and programs see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Cli

SHAPE = {
    "status", "warning", "degraded", "query", "read_context", "text", "tokens", "max_tokens",
    "sources", "left_out", "relationships", "stats",
}  # fmt: skip
SOURCE = {
    "number", "element_id", "node_id", "version_id", "repository_id", "title", "kind",
    "section_path", "page", "start", "end", "source", "text", "relevance", "why_included", "path",
    "parts", "superseded_by", "supersedes", "metadata", "citation",
}  # fmt: skip
HOTEL = "how much may a hotel cost?"


def test_json_has_the_documented_shape(folder: Path, cli: Cli) -> None:
    ran = cli("context", HOTEL, "--json")
    assert (ran.status, ran.err) == (0, "")
    data = ran.data
    assert set(data) == SHAPE
    assert data["max_tokens"] == 4000
    assert 0 < data["tokens"] <= 4000
    assert data["read_context"]["revision"] == 1
    for number, source in enumerate(data["sources"], start=1):
        assert set(source) == SOURCE
        assert source["number"] == number
        assert f"[SOURCE {number}]" in data["text"]
        assert cli("verify", json.dumps(source)).status == 0
    assert data["sources"][0]["title"] == "Travel expenses"
    assert "hotels are paid up to" in data["text"]


def test_people_get_the_context_on_stdout_and_the_rest_on_stderr(folder: Path, cli: Cli) -> None:
    data = cli("context", HOTEL, "--json").data
    ran = cli("context", *HOTEL.split())
    assert (ran.status, ran.out) == (0, data["text"] + "\n")
    said = f"{data['tokens']} of 4,000 tokens, {len(data['sources'])} sources"
    assert ran.err.splitlines()[-1] == said


def test_options_bound_what_is_given(folder: Path, cli: Cli) -> None:
    ran = cli("context", HOTEL, "--max-sources", "1", "--hops", "0", "--neighbours", "0", "--json")
    assert len(ran.data["sources"]) == 1
    ran = cli("context", HOTEL, "--max-tokens", "60", "--json")
    assert ran.data["tokens"] <= ran.data["max_tokens"] == 60
    assert ran.data["left_out"] == 1
    assert "1 left out for want of room" in cli("context", HOTEL, "--max-tokens", "60").err


def test_a_budget_for_nothing_is_said(folder: Path, cli: Cli) -> None:
    ran = cli("context", HOTEL, "--max-tokens", "3")
    assert (ran.status, ran.out) == (0, "")
    assert "no source fits into 3 tokens" in ran.err


def test_the_configuration_gives_the_defaults(folder: Path, cli: Cli) -> None:
    (folder / "sourcebook.toml").write_text("[context]\nmax_tokens = 70\nmax_sources = 1\n")
    data = cli("context", HOTEL, "--json").data
    assert (data["max_tokens"], len(data["sources"])) == (70, 1)
    assert cli("context", HOTEL, "--max-tokens", "80", "--json").data["max_tokens"] == 80
    (folder / "sourcebook.toml").write_text("[context]\nhops = 9\n")
    assert cli("context", HOTEL).status == 2


def test_filters_and_read_contexts_hold(folder: Path, cli: Cli) -> None:
    cli("baseline", "create", "first")
    (folder / "notes" / "travel.md").write_text("# Travel\n\nHotels are paid up to 900 euros.\n")
    cli("ingest", "notes")
    ran = cli("context", HOTEL, "--read-context", "baseline:first")
    assert "140 euros" in ran.out
    assert "900" not in ran.out
    assert "read at baseline first (revision 1)" in ran.err
    assert "900 euros" in cli("context", HOTEL).out
    ran = cli("context", HOTEL, "--filter", "department=people", "--json")
    assert {s["metadata"]["department"] for s in ran.data["sources"]} == {"people"}


def test_nothing_found_gives_no_text(folder: Path, cli: Cli) -> None:
    ran = cli("context", HOTEL, "--filter", "department=nobody")
    assert (ran.status, ran.out) == (0, "")
    assert "no results: " in ran.err
    assert cli("context", HOTEL, "--filter", "department=nobody", "--json").data["text"] == ""


@pytest.mark.parametrize(
    "given",
    [("--max-tokens", "0"), ("--max-sources", "0"), ("--hops", "4"), ("--neighbours", "-1")],
)
def test_values_out_of_bounds_are_wrong_use(folder: Path, cli: Cli, given: tuple[str, str]) -> None:
    ran = cli("context", HOTEL, *given, "--json")
    assert ran.status == 2
    assert ran.data["error"]["field"] == given[0].strip("-").replace("-", "_")


def test_an_empty_question_is_wrong_use(folder: Path, cli: Cli) -> None:
    assert cli("context", " ").status == 2
