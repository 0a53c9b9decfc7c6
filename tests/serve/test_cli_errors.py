"""Bad input: one clear sentence, the right exit status, and never a traceback."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sourcebook.serve import cli as program

from .conftest import Cli, Ran

RO = "sqlite:///.sourcebook/sourcebook.db?mode=ro"


def check(ran: Ran, status: int, words: str) -> None:
    """One sentence on stderr, and nothing of Python's own words."""
    assert ran.status == status
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert words in ran.err
    assert "Traceback" not in ran.err + ran.out


WRONG: list[tuple[tuple[str, ...], int, str]] = [
    (("search", "  "), 2, "the query is empty"),
    (("search",), 2, "Missing argument 'QUERY'"),
    (("search", "x", "-k", "0"), 2, "k must be from 1 to 1000"),
    (("search", "x", "-k", "many"), 2, "-k"),
    (("search", "x", "--mode", "best"), 2, "'hybrid', 'dense', 'sparse'"),
    (("search", "x", "--per-document", "0"), 2, "per_document must be 1 or more"),
    (("search", "x", "--filter", "department"), 2, "--filter takes KEY=VALUE"),
    (("search", "x", "--filter", "=people"), 2, "--filter takes KEY=VALUE"),
    (("search", "x", "--read-context", "yesterday"), 2, "as-of:TIMESTAMP"),
    (("search", "x", "--read-context", "as-of:soon"), 2, "as_of is not a time"),
    (("search", "x", "--read-context", "baseline:Q9"), 1, "there is no baseline 'Q9'"),
    (("search", "x", "--read-context", "published"), 1, "no baseline is published"),
    (("search", "x", "--modle", "dense"), 2, "--mode"),
    (("search", "x", "--store", "sqlite:///x.db"), 2, "--store stands before the command"),
    (("serch", "x"), 2, "Did you mean 'search'"),
    (("get", "nothing"), 1, "there is no node 'nothing'"),
    (("get", "notes/leave.md", "--version", "v0"), 1, "at version v0"),
    (("links", "nothing"), 1, "there is no node 'nothing'"),
    (("list", "--limit", "0"), 2, "--limit"),
    (("list", "--limit", "9" * 20), 2, "--limit"),
    (("log", "--limit", "9" * 20), 2, "--limit"),
    (("baseline", "publish", "Q9"), 1, "there is no baseline 'Q9'"),
    (("baseline", "create", " "), 2, "the baseline's name"),
    (("verify", "{"), 2, "the citation is not JSON"),
    (("verify", "[" * 100_000), 2, "the citation is not JSON"),
    (("verify", "[]"), 2, "a citation is a JSON object"),
    (("verify", "{}"), 2, "the citation needs repository_id"),
    (("ingest", "nowhere"), 2, "nowhere does not exist"),
    (("ingest", "-", "notes"), 2, "`-` stands alone"),
    (("ingest", "-", "--prune"), 2, "--prune needs files"),
    (("ingest", "notes", "--format", "word"), 2, "there is no format 'word'"),
    (("ingest", "notes", "--meta", "year"), 2, "--meta takes KEY=VALUE"),
    (("model", "install", "gpt"), 2, "There is no model 'gpt'"),
    (("--config", "nowhere.toml", "status"), 2, "there is no configuration file nowhere.toml"),
    (("--store", "mysql://host/db", "status"), 2, "is not known; use sqlite:///path/file.db"),
    (("--tenant", "", "status"), 2, "the setting tenant"),
    (("--store", "sqlite:///none.db?mode=ro", "status"), 3, "there is no store at"),
    (("--store", RO, "ingest", "changed.md"), 3, "read-only"),
    (("--store", RO, "baseline", "create", "Q1"), 3, "read-only"),
]


@pytest.mark.parametrize(("args", "status", "words"), WRONG, ids=lambda value: str(value)[:60])
def test_wrong_use_is_one_sentence(
    folder: Path, cli: Cli, args: tuple[str, ...], status: int, words: str
) -> None:
    (folder / "changed.md").write_text("# New\n\nSomething new.\n")
    check(cli(*args), status, words)
    with_json = cli(*args, "--json")
    check(with_json, status, words)
    error = with_json.data["error"]
    assert set(error) == {"code", "message", "field", "suggestions"}
    assert words in error["message"]


def test_an_unknown_command_suggests_the_nearest(folder: Path, cli: Cli) -> None:
    assert cli("serch", "x", "--json").data["error"]["suggestions"][0] == "search"


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "*",
        "(",
        "NEAR",
        "AND OR NOT",
        "NEAR(",
        "?!…",
        "a" * 10_000,
        "owl " * 2_500,
        "\x00\x1b[",
    ],
    ids=lambda query: repr(query[:12]),
)
def test_any_text_is_a_safe_query(folder: Path, cli: Cli, query: str) -> None:
    ran = cli("search", query, "--json")
    assert ran.status == 0
    assert ran.data["query"]["text"] == query
    shown = cli("search", query)
    assert (shown.status, shown.err) == (0, "")


def test_a_query_of_punctuation_says_why_nothing_was_found(folder: Path, cli: Cli) -> None:
    data = cli("search", "?!…", "--json").data
    assert (data["status"], data["results"]) == ("no_results", [])
    assert "no results: the query has no words to search for" in cli("search", "?!…").out


def test_an_empty_store_says_what_to_do(empty: Path, cli: Cli) -> None:
    ran = cli("search", "owls")
    assert ran.status == 0
    assert "sourcebook ingest PATH" in ran.out
    assert "nothing was ingested yet" in cli("log").out
    check(cli("baseline", "create", "Q1"), 2, "nothing to name yet")


def test_odd_files_are_taken_in_or_skipped_with_a_reason(empty: Path, cli: Cli) -> None:
    (empty / "empty.md").write_bytes(b"")
    (empty / "binary.md").write_bytes(bytes(range(256)) * 20)
    (empty / "front.md").write_text("---\ntitle: [broken\n---\n# Owls\n\nOwls hunt at night.\n")
    (empty / "latin.txt").write_bytes(b"A caf\xe9 opens at ten \xff.")
    ran = cli("ingest", ".", "--json")
    assert ran.status == 0
    reasons = {Path(item["path"]).name: item["reason"] for item in ran.data["skipped"]}
    assert reasons["empty.md"] == "the file is empty"
    assert "binary" in reasons["binary.md"]
    assert "front.md" not in reasons
    (warning,) = ran.data["warnings"]
    assert Path(warning["path"]).name == "front.md"
    assert "front matter" in warning["reason"]
    assert {"front.md", "latin.txt"} == {n["node_id"] for n in cli("list", "--json").data["nodes"]}
    assert "café" in cli("get", "latin.txt").out


def test_a_read_only_store_can_be_searched(folder: Path, cli: Cli) -> None:
    data = cli("--store", RO, "search", "hotel", "--json").data
    assert data["results"][0]["element_id"] == "notes/travel.md"


def test_a_store_of_a_newer_program_is_refused(folder: Path, cli: Cli) -> None:
    db = sqlite3.connect(folder / ".sourcebook" / "sourcebook.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    check(cli("status"), 3, "pip install -U sourcebook")


def test_a_file_that_is_no_store_is_refused(empty: Path, cli: Cli) -> None:
    (empty / "garbage.db").write_bytes(b"not a database at all " * 500)
    check(cli("--store", "sqlite:///garbage.db", "status"), 3, "garbage.db")


def test_a_wrong_setting_names_itself(
    empty: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCEBOOK_SEARCH__DEPTH", "deep")
    check(cli("status"), 2, "SOURCEBOOK_SEARCH__DEPTH")
    monkeypatch.delenv("SOURCEBOOK_SEARCH__DEPTH")
    (empty / "sourcebook.toml").write_text("[search]\ndepht = 3\n")
    check(cli("status"), 2, "search.depht")
    (empty / "sourcebook.toml").write_text("[search\n")
    check(cli("status"), 2, "the configuration cannot be read")


def test_what_nobody_foresaw_is_one_sentence_too(
    empty: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("\x1b[31mboom")

    monkeypatch.setattr(program, "_finish", broken)
    check(cli("status"), 3, "unexpected error: RuntimeError: ␛[31mboom; please report it")
    monkeypatch.setenv("SOURCEBOOK_DEBUG", "1")
    assert "Traceback" in cli("status").err


def test_a_refusal_of_the_system_is_one_sentence(
    empty: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device", "x.db")

    monkeypatch.setattr(program, "_finish", full)
    check(cli("status"), 3, "the system refused: No space left on device: x.db")


def test_an_interrupt_is_quiet(empty: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "_finish", stop)
    ran = cli("status", "--json")
    assert (ran.status, ran.out) == (130, "")
    assert ran.err == "interrupted; what was committed is kept\n"


def test_words_behind_two_dashes_are_no_options(folder: Path, cli: Cli) -> None:
    assert "\n1. " in cli("search", "--", "--json").out
    ran = cli("get", "--", "--json")
    check(ran, 1, "there is no node '--json'")
    assert ran.out == ""
