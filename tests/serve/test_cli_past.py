"""`baseline diff`, `retain`, `log`, `get --version` and `verify` on a store that changes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.conftest import Cli


@pytest.fixture
def changed(folder: Path, cli: Cli) -> Path:
    """Revision 1 is named Q1; since then the allowance rose twice and leave.md went."""
    cli("baseline", "create", "Q1")
    travel, leave = folder / "notes" / "travel.md", folder / "notes" / "leave.md"
    for euros in ("50", "60"):
        travel.write_text(travel.read_text().replace("42 euros", f"{euros} euros"))
        travel.write_text(travel.read_text().replace("50 euros", f"{euros} euros"))
        assert cli("ingest", "notes").status == 0
    leave.unlink()
    assert cli("ingest", "notes", "--prune").status == 0
    return folder


def test_diff_for_people(changed: Path, cli: Cli) -> None:
    shown = cli("baseline", "diff", "Q1", "head").out.splitlines()
    assert shown[0] == "from revision 1 (Q1) to revision 4"
    assert "- notes/leave.md Parental leave" in shown
    assert "~ notes/travel.md Travel expenses (text)" in shown
    assert any(line.startswith("-Receipts") and "42 euros" in line for line in shown)
    assert any(line.startswith("+Receipts") and "60 euros" in line for line in shown)
    assert cli("baseline", "diff", "Q1", "1").out.splitlines()[1:] == ["nothing changed"]
    assert "euros" not in cli("baseline", "diff", "Q1", "head", "--no-text").out


def test_diff_as_json(changed: Path, cli: Cli) -> None:
    data = cli("baseline", "diff", "2", "3", "--json").data
    assert list(data) == ["from", "to", "nodes", "relationships", "documents", "counts"]
    assert [n["id"] for n in data["nodes"]["changed"]] == ["notes/travel.md"]
    assert data["nodes"]["changed"][0]["changed"] == ["text"]
    assert "+Receipts" in data["documents"][0]["diff"]
    assert cli("baseline", "diff", "Q1", "head", "--kind", "section", "--json").data["counts"][
        "nodes"
    ] == {"added": 0, "removed": 0, "changed": 0}
    ran = cli("baseline", "diff", "Q2", "head")
    assert ran.status == 1
    assert "known baselines: Q1" in ran.err
    assert cli("baseline", "diff", "Q1").status == 2


def test_retain_drops_what_nobody_named(changed: Path, cli: Cli) -> None:
    plan = cli("retain", "--keep-revisions", "1", "--dry-run", "--json").data
    assert plan["dry_run"]
    assert plan["revisions"] == {"dropped": [2, 3], "kept": 2}
    assert not plan["vacuumed"]
    assert not any(r["dropped"] for r in cli("log", "--json").data["revisions"])
    done = cli("retain", "--keep-revisions", "1", "--yes", "--json").data
    assert done == plan | {"dry_run": False, "vacuumed": True}
    log = cli("log", "--json").data["revisions"]
    assert [(r["number"], r["dropped"]) for r in log] == [
        (4, False), (3, True), (2, True), (1, False),
    ]  # fmt: skip
    assert log[3]["message"] == "first"
    assert "dropped" in cli("log").out
    again = cli("retain", "--keep-revisions", "1")  # nothing to drop: nothing to ask
    assert (again.status, again.out.split(" with")[0]) == (0, "dropped 0 revisions")
    ran = cli("list", "--read-context", "revision:3", "--json")
    assert (ran.status, ran.data["error"]["code"]) == (1, "revision_dropped")
    assert "nearest one that is kept is revision 4" in ran.err
    at = log[2]["at"]
    assert cli("search", "allowance", "--read-context", f"as-of:{at}").status == 1
    assert cli("baseline", "create", "Q2", "--read-context", "revision:2").status == 1
    assert cli("baseline", "diff", "2", "head").status == 1
    assert cli("search", "allowance", "--read-context", "baseline:Q1").status == 0


def test_retain_wants_a_bound_and_a_yes(changed: Path, cli: Cli) -> None:
    assert "--keep-days N" in cli("retain", "--yes").err
    assert cli("retain", "--keep-days", "1", "--keep-revisions", "2", "--yes").status == 2
    assert cli("retain", "--keep-revisions", "0", "--yes").status == 2
    ran = cli("retain", "--keep-revisions", "1")
    assert ran.status == 2
    assert "add --yes" in ran.err
    assert cli("retain", "--vacuum-only", "--keep-days", "1").status == 2
    assert cli("retain", "--vacuum-only", "--json").data == {"vacuumed": True, "warning": None}
    assert not any(r["dropped"] for r in cli("log", "--json").data["revisions"])
    kept = cli("retain", "--before", "2020-01-01", "--yes", "--no-vacuum", "--json").data
    assert kept["revisions"]["dropped"] == []
    assert not kept["vacuumed"]


@pytest.mark.parametrize(("said", "kept"), [("n", 4), ("y", 2)])
def test_on_a_terminal_it_asks(changed: Path, said: str, kept: int, cli: Cli) -> None:
    ours, theirs = pty.openpty()
    program = [
        sys.executable,
        "-c",
        "from sourcebook.serve.cli import main; raise SystemExit(main())",
    ]
    asked = subprocess.Popen(
        [*program, "retain", "--keep-revisions", "1"],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.write(ours, f"{said}\n".encode())
    status = asked.wait(60)
    told = os.read(ours, 10_000).decode()
    os.close(ours)
    os.close(theirs)
    assert "this drops 2 revisions" in told
    assert status == (0 if said == "y" else 2)
    log = cli("log", "--json").data["revisions"]
    assert len([r for r in log if not r["dropped"]]) == kept


def test_verify_tells_what_became_of_a_version(changed: Path, cli: Cli) -> None:
    def citation(number: int) -> str:
        found = cli("get", "notes/travel.md", "--read-context", f"revision:{number}", "--json").data
        return json.dumps(found["citation"])

    first, second, last = (citation(number) for number in (1, 2, 4))
    told = cli("verify", first, "--json").data
    assert told["valid"]
    assert told["differences"] == []
    assert told["visible"] == [{"from": 1, "until": 2}]
    assert (told["state"], told["ended_at"]) == ("superseded", 2)
    assert "shown by revisions 1; superseded at revision 2" in cli("verify", first).out
    assert "shown by revisions 3 to head" in cli("verify", last).out
    cli("retain", "--keep-revisions", "1", "--yes")
    ran = cli("verify", second, "--json")
    assert (ran.status, ran.data["state"], ran.data["text"]) == (1, "dropped", None)
    assert "dropped by retention; it was shown by revisions 2" in ran.data["reason"]
    assert cli("verify", first).status == cli("verify", last).status == 0
    version = json.loads(second)["version_id"]
    gone = cli("get", "notes/travel.md", "--version", version)
    assert gone.status == 1
    assert "dropped by retention" in gone.err
    kept = json.loads(first)["version_id"]
    assert "42 euros" in cli("get", "notes/travel.md", "--version", kept).out


def test_the_default_read_context(changed: Path, cli: Cli) -> None:
    def read() -> dict[str, object]:
        found: dict[str, object] = cli("list", "--read-context", "default", "--json").data
        return found["read_context"]  # type: ignore[return-value]

    assert read()["selector"] == "head"
    cli("baseline", "publish", "Q1")
    assert (read()["selector"], read()["baseline_id"]) == ("published", "Q1")
