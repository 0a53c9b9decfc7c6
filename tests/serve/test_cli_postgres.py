"""The commands on PostgreSQL: the same words in, the same documents out as on a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import empty

from .conftest import LEAVE, TRAVEL, Cli

QUESTIONS = ("how long is parental leave?", '"daily allowance" of chickens')


@pytest.fixture
def both(made: Path, folder: Path, cli: Cli, postgres_url: str) -> tuple[str, str]:
    """A file and a server that hold the same: one was ingested, one copied."""
    from sourcebook.bootstrap import open_store

    open_store(postgres_url).close()
    empty(postgres_url)
    file = f"sqlite:///{folder / '.sourcebook' / 'sourcebook.db'}"
    (folder / "notes" / "leave.md").write_text(LEAVE.replace("sixteen", "twenty"))
    assert cli("ingest", "notes").status == 0
    assert cli("copy", file, postgres_url).status == 0
    return file, postgres_url


def same(cli: Cli, stores: tuple[str, str], *command: str) -> Any:
    """What both say, without times of day and how long it took."""
    told = []
    for store in stores:
        ran = cli("--store", store, *command, "--json")
        assert ran.status == 0, ran.err
        data = ran.data
        if isinstance(data.get("stats"), dict):
            data["stats"].pop("timings_ms")
        told.append(data)
    assert json.dumps(told[0], sort_keys=True) == json.dumps(told[1], sort_keys=True)
    return told[0]


def test_both_stores_say_the_same(both: tuple[str, str], cli: Cli) -> None:
    assert same(cli, both, "search", QUESTIONS[0])["results"][0]["text"]
    same(cli, both, "search", QUESTIONS[0], "--read-context", "revision:1")
    same(cli, both, "search", QUESTIONS[0], "--mode", "dense", "--rerank", "none")
    same(cli, both, "search", QUESTIONS[1], "--filter", "department=finance")
    same(cli, both, "context", QUESTIONS[0])
    same(cli, both, "agent", QUESTIONS[0], "--min-words", "1")
    same(cli, both, "list", "--filter", "department=people")
    same(cli, both, "get", "notes/leave.md")
    same(cli, both, "links", "notes/leave.md")
    assert [r["number"] for r in same(cli, both, "log")["revisions"]] == [2, 1]


def test_a_store_on_a_server_is_worked_with(
    both: tuple[str, str], folder: Path, cli: Cli, tmp_path: Path
) -> None:
    _, url = both

    def on(*command: str) -> Any:
        ran = cli("--store", url, *command, "--json")
        assert ran.status == 0, ran.err
        return ran.data

    (folder / "notes" / "new.md").write_text(TRAVEL.replace("Travel", "Meal"))
    assert on("ingest", "notes/new.md", "--no-wait")["pending_vectors"] > 0
    assert on("worker", "--once")["pending"] == 0
    assert on("baseline", "create", "Q1")["revision"] == 3
    assert on("baseline", "publish", "Q1")
    assert on("baseline", "diff", "revision:2", "baseline:Q1")
    dropped = on("retain", "--keep-revisions", "1", "--yes")["revisions"]["dropped"]
    assert dropped == [1, 2]
    status = on("status")
    assert (status["revision"], status["published"], status["index"]["pending"]) == (3, "Q1", 0)
    checks = {check["name"]: check["status"] for check in on("doctor", "--offline")["checks"]}
    assert (checks["store"], checks["walls"], checks["space"]) == ("ok", "ok", "ok")
    citation = on("search", "meal expenses")["results"][0]["citation"]
    assert on("verify", json.dumps(citation))["valid"]
    archive = tmp_path / "all.jsonl.gz"
    assert on("dump", str(archive))["repositories"][0]["revision"] == 3
    loaded = cli("--store", f"sqlite:///{tmp_path}/new.db", "load", str(archive), "--json").data
    assert loaded["repositories"] == [
        {**on("copy", url, f"sqlite:///{tmp_path}/other.db")["repositories"][0], "resumed": False}
    ]


def test_a_copy_that_is_there_already_is_named(both: tuple[str, str], cli: Cli) -> None:
    again = cli("copy", *both)
    assert "default/default: there already, at revision 2\n" in again.out
    assert cli("ingest", "notes/leave.md", "--meta", "who=joe").status == 0
    later = cli("copy", *both)
    assert "at revision 2, and left so; copy into a new store to have it at 3" in later.out
    kept = cli("copy", *both, "--json").data["kept"]
    assert [(each["revision"], each["newest"]) for each in kept] == [(2, 3)]
