"""`feedback` and `--repositories` on a real store, as they are typed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import Cli

QUESTION = "how long is parental leave?"


def first(cli: Cli, query: str = QUESTION, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = cli("search", query, "--json", *options).data["results"][0]
    return found


def test_from_a_search_to_a_golden_file_to_a_measure(folder: Path, cli: Cli) -> None:
    hit = first(cli)
    kept = cli("feedback", "add", QUESTION, json.dumps(hit), "--helpful", "--note", "yes", "--json")
    assert kept.status == 0
    assert (kept.data["judgment"], kept.data["node_id"]) == ("helpful", hit["node_id"])
    assert kept.data["citation"] == hit["citation"]
    assert kept.data["read_context"]["revision"] == 1
    wrong = cli("search", QUESTION, "--json").data["results"][1]
    assert cli("feedback", "add", QUESTION, json.dumps(wrong), "--not-helpful").status == 0
    (folder / "notes" / "leave.md").write_text("# Parental leave\n\nIt was cut to ten weeks.\n")
    assert cli("ingest", "notes").status == 0
    made = cli("feedback", "export", "golden.jsonl", "--json")
    assert Path("golden.jsonl").stat().st_mode & 0o077 == 0
    assert made.data == {"file": "golden.jsonl", "queries": 1, "left_out": 0}
    (row,) = map(json.loads, (folder / "golden.jsonl").read_text().splitlines())
    assert row["must_include"] == [hit["node_id"]]
    assert row["must_not_include"] == [wrong["node_id"]]
    measured = cli("eval", "golden.jsonl", "--modes", "default", "--json")
    assert measured.status == 0
    assert measured.data["modes"]["default"]["recall@10"] == 1
    assert measured.data["modes"]["default"]["mrr@10"] == 1
    assert measured.data["modes"]["default"]["forbidden@10"] == 1
    now = cli("feedback", "export", "now.jsonl", "--read-context", "head")
    assert now.status == 0
    assert "1 judgment left out" in now.out


def test_a_citation_comes_from_stdin(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    citation = json.dumps(first(cli)["citation"]).encode()
    for _ in range(2):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(citation)))
        said = cli("feedback", "add", QUESTION, "-", "--clicked", "--request-id", "once")
        assert (said.status, said.err) == (0, "")
    assert len(cli("feedback", "list", "--json").data["feedback"]) == 1
    nothing = cli("feedback", "export", "golden.jsonl")
    assert nothing.status == 1
    assert "no judgment" in nothing.err
    assert not (folder / "golden.jsonl").exists()
    assert cli("feedback", "export", "golden.jsonl", "--with-clicks").status == 0


def test_a_list_shows_control_characters_as_pictures(folder: Path, cli: Cli) -> None:
    assert "nothing was judged" in cli("feedback", "list").out
    cited = json.dumps(first(cli))
    assert (
        cli("feedback", "add", "\x1b[2Jleave", cited, "--helpful", "--note", "a\x07b").status == 0
    )
    shown = cli("feedback", "list")
    assert "\x1b" not in shown.out
    assert "\x07" not in shown.out
    assert "\u241b" in shown.out


def test_wrong_use_is_one_sentence(folder: Path, cli: Cli) -> None:
    cited = json.dumps(first(cli)["citation"])
    changed = json.dumps(first(cli)["citation"] | {"text_hash": "0"})
    for args, words in (
        ((cited,), "one of --helpful"),
        ((cited, "--helpful", "--clicked"), "one of --helpful"),
        (("{}", "--helpful"), "repository_id"),
        ((changed, "--helpful"), "does not hold"),
        ((cited, "--helpful", "--note", "x" * 10_001), "10,001 characters"),
        ((cited, "--helpful", "--read-context", "someday"), "someday"),
    ):
        refused = cli("feedback", "add", QUESTION, *args)
        assert (refused.status, refused.out) == (2, "")
        assert words in refused.err
        assert refused.err.count("\n") == 1
    assert cli("feedback", "add", " ", cited, "--helpful").status == 2
    other = cli("--repository", "other", "feedback", "add", QUESTION, cited, "--helpful")
    assert (other.status, "cites the repository" in other.err) == (2, True)
    assert cli("feedback", "list", "--json").data == {"feedback": []}


def test_a_file_that_cannot_be_written_is_said(folder: Path, cli: Cli) -> None:
    cli("feedback", "add", QUESTION, json.dumps(first(cli)), "--helpful")
    refused = cli("feedback", "export", "no/such/folder/golden.jsonl")
    assert refused.status == 3
    assert refused.err.count("\n") == 1


# --- several repositories ------------------------------------------------------------------------


@pytest.fixture
def two(folder: Path, cli: Cli) -> Path:
    (folder / "more").mkdir()
    (folder / "more" / "pets.md").write_text("# Pets\n\nDogs may come to the office on Fridays.\n")
    assert cli("--repository", "more", "ingest", "more").status == 0
    return folder


def test_two_repositories_are_one_list(two: Path, cli: Cli) -> None:
    found = cli("search", "--repositories", "more, default", QUESTION, "--json").data
    assert [each["repository_id"] for each in found["repositories"]] == ["default", "more"]
    assert {hit["repository_id"] for hit in found["results"]} == {"default", "more"}
    assert found["results"][0]["source"] == "notes/leave.md"
    for hit in found["results"]:
        assert cli("verify", json.dumps(hit)).status == 0
    everything = cli("search", "--repositories", "*", QUESTION, "--json").data
    assert everything["results"] == found["results"]
    shown = cli("search", "--repositories", "*", "dogs in the office", "-k", "1")
    assert "more more/pets.md:" in shown.out
    gated = cli("agent", "--repositories", "*", QUESTION, "--min-words", "5", "--json").data
    assert gated["results"][0]["repository_id"] == "default"
    assert "accepted" in cli("agent", "--repositories", "*", QUESTION).out


def test_names_that_are_not_there(two: Path, cli: Cli) -> None:
    unknown = cli("search", "--repositories", "default,MORE", QUESTION)
    assert (unknown.status, unknown.out) == (1, "")
    assert "no repository 'MORE'" in unknown.err
    empty = cli("search", "--repositories", " , ", QUESTION)
    assert empty.status == 2
    other = cli("--tenant", "acme", "search", "--repositories", "*", QUESTION)
    assert other.status == 1


def test_a_repository_without_the_baseline_is_named(two: Path, cli: Cli) -> None:
    cli("baseline", "create", "spring")
    asked = ("search", "--repositories", "*", QUESTION, "--read-context", "baseline:spring")
    shown = cli(*asked)
    assert shown.status == 0
    assert "degraded: repository: more was not searched: there is no baseline 'spring'" in shown.out
    refused = cli(*asked[:-1], "baseline:winter")
    assert (refused.status, refused.out) == (1, "")
