"""`ingest --no-wait`, `worker` and what `status` tells of the work."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sourcebook import Sourcebook
from sourcebook.indexing import worker_name
from sourcebook.models.install import locate
from sourcebook.models.manifest import DEFAULT_MODEL, DEFAULT_MODELS
from sourcebook.ports import Backoff
from tests.serve.conftest import Cli

VISITORS = "# Visitors\n\nVisitors wear a yellow badge and leave it at the door.\n"


@pytest.fixture
def behind(folder: Path, cli: Cli) -> Path:
    """The corpus with one document more, which has no vector yet."""
    (folder / "notes" / "visitors.md").write_text(VISITORS)
    assert cli("ingest", "notes", "--no-wait").status == 0
    return folder


def give_up(folder: Path, error: str) -> None:
    """What waits is given up, as after many attempts."""
    with Sourcebook.open(f"sqlite:///{folder}/.sourcebook/sourcebook.db") as sb:
        (indexer,) = sb.indexers(worker_name())
        ours = (sb.scope, indexer.space, indexer.worker)
        held = sb.store.claim(*ours, 99, 60)
        errors = {each.text_hash: error for each in held}
        sb.store.fail(*ours, errors, Backoff(attempts=1))


# --- ingest without waiting ----------------------------------------------------------------------


def test_a_write_that_does_not_wait_says_what_is_pending(folder: Path, cli: Cli) -> None:
    (folder / "notes" / "visitors.md").write_text(VISITORS)
    told = cli("ingest", "notes", "--no-wait", "--json")
    assert told.status == 0
    assert (told.data["revision"], told.data["nodes"]) == (2, 1)
    assert (told.data["pending_vectors"], told.data["failed_vectors"]) == (1, 0)
    assert told.err == ""
    sparse = cli("search", "yellow badge", "--mode", "sparse", "--json").data
    assert sparse["results"][0]["element_id"] == "notes/visitors.md"
    assert sparse["degraded"] == []
    hybrid = cli("search", "yellow badge", "--json").data
    assert hybrid["results"][0]["element_id"] == "notes/visitors.md"
    assert {"part": "dense", "reason": "1 of 3 passages have no vector yet"} in hybrid["degraded"]


def test_a_write_that_does_not_wait_needs_no_weights(
    folder: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same installation, but the file that the vectors come from is of no use, which its size
    and its time do not show."""
    for name in DEFAULT_MODELS:
        shutil.copytree(locate(name), tmp_path / "models" / locate(name).name)
    weights = tmp_path / "models" / locate(DEFAULT_MODEL).name / "model.onnx"
    before = weights.stat()
    weights.write_bytes(bytes(before.st_size))
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    monkeypatch.setenv("SOURCEBOOK_MODELS", str(tmp_path / "models"))
    (folder / "notes" / "visitors.md").write_text(VISITORS)
    assert cli("ingest", "notes", "--no-wait").status == 0
    (folder / "notes" / "parking.md").write_text("# Parking\n\nCars park behind the mill.\n")
    waited = cli("ingest", "notes", "--json")
    assert (waited.status, waited.data["pending_vectors"]) == (0, 2)
    assert "not embedded: 2 texts still wait (model.onnx of the model" in waited.err
    index = cli("status", "--json").data["index"]
    assert (index["pending"], index["retrying"], index["failed"]) == (2, 2, 0)
    monkeypatch.delenv("SOURCEBOOK_MODELS")
    assert cli("worker", "--once").status == 0
    assert cli("status", "--json").data["index"]["pending"] == 0


# --- worker --------------------------------------------------------------------------------------


def test_a_worker_embeds_what_is_pending(behind: Path, cli: Cli) -> None:
    done = cli("worker", "--once", "--json")
    assert done.status == 0
    assert (done.data["stored"], done.data["batches"]) == (1, 1)
    assert (done.data["pending"], done.data["failed"]) == (0, 0)
    (line,) = map(json.loads, done.err.splitlines())
    assert (line["event"], line["repository"], line["stored"]) == ("batch", "default", 1)
    found = cli("search", "yellow badge", "--mode", "dense", "--json").data
    assert found["degraded"] == []
    assert found["results"][0]["element_id"] == "notes/visitors.md"
    again = cli("worker", "--once")
    assert (again.status, again.out) == (0, "embedded 0 texts\n")


def test_a_worker_ends_with_1_where_texts_were_given_up(behind: Path, cli: Cli) -> None:
    give_up(behind, "the service says no")
    ended = cli("worker", "--once")
    assert ended.status == 1
    assert "1 text could not be embedded" in ended.err
    assert "sourcebook reindex --failed" in ended.err
    with Sourcebook.open() as sb:
        assert sb.retry_failed() == 1
    assert cli("worker", "--once").status == 0


def test_a_worker_of_all_repositories(folder: Path, cli: Cli) -> None:
    (folder / "notes" / "visitors.md").write_text(VISITORS)
    places = [("default", "default"), ("default", "other"), ("acme", "default")]
    for tenant, repository in places:
        where = ("--tenant", tenant, "--repository", repository)
        assert cli(*where, "ingest", "notes", "--no-wait").status == 0

    def pending() -> list[int]:
        return [
            cli("--tenant", tenant, "--repository", name, "status", "--json").data["index"][
                "pending"
            ]
            for tenant, name in places
        ]

    assert pending() == [1, 3, 3]
    assert cli("worker", "--once").status == 0
    assert pending() == [0, 3, 3]
    assert cli("worker", "--once", "--all-repositories").status == 0
    assert pending() == [0, 0, 3]
    assert cli("worker", "--once", "--all-tenants").status == 0
    assert pending() == [0, 0, 0]


@pytest.mark.parametrize("option", [("--lease", "0"), ("--batch", "0"), ("--lease", "nan")])
def test_odd_options_of_a_worker(folder: Path, cli: Cli, option: tuple[str, str]) -> None:
    said = cli("worker", "--once", *option)
    assert said.status == 2
    assert option[0] in said.err


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_works_until_it_is_told_to_stop(behind: Path, sign: signal.Signals) -> None:
    command = [sys.executable, "-m", "sourcebook", "worker", "--json"]
    process = subprocess.Popen(
        command, cwd=behind, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = json.loads(process.stderr.readline())
    assert (line["event"], line["stored"]) == ("batch", 1)
    os.kill(process.pid, sign)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert err == ""
    assert json.loads(out)["stored"] == 1


# --- status --------------------------------------------------------------------------------------


def test_status_tells_how_far_it_is(behind: Path, cli: Cli) -> None:
    index = cli("status", "--json").data["index"]
    assert {name: index[name] for name in ("pending", "claimed", "retrying", "failed")} == {
        "pending": 1, "claimed": 0, "retrying": 0, "failed": 0,
    }  # fmt: skip
    assert 0 < index["oldest_pending_s"] < 600
    (spent,) = index["spending"]
    assert (spent["provider"], spent["model"], spent["texts"]) == ("local", DEFAULT_MODEL, 2)
    assert (spent["cost"], spent["tokens"] > 20) == (0.0, True)
    assert index["failures"] == []
    said = cli("status").out
    assert "pending vectors  1, the oldest for" in said
    assert f"by local/{DEFAULT_MODEL}: 2 texts" in said


def test_status_lists_what_was_given_up(behind: Path, cli: Cli) -> None:
    give_up(behind, "a [bold]service[/] that says \x1b[31mno")
    index = cli("status", "--json").data["index"]
    assert (index["failed"], index["pending"]) == (1, 0)
    (failure,) = index["failures"]
    assert "yellow badge" in failure["text"]
    assert (failure["attempts"], failure["dead"]) == (1, True)
    said = cli("status").out
    assert "failed: 1 text could not be embedded" in said
    assert "`sourcebook reindex --failed` tries them again" in said
    assert "[bold]service[/]" in said
    assert "\x1b[31m" not in said


def test_an_ingest_says_what_was_given_up(behind: Path, cli: Cli) -> None:
    give_up(behind, "too rude")
    (behind / "notes" / "parking.md").write_text("# Parking\n\nCars park behind the mill.\n")
    told = cli("ingest", "notes", "--json")
    assert told.status == 0
    assert (told.data["pending_vectors"], told.data["failed_vectors"]) == (0, 1)
    assert "not embedded: 1 failed (too rude)" in told.err
