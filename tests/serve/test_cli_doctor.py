"""`doctor`: what is sound, what is broken, and what to do about it."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sourcebook.models.install import models_dir
from tests.models.embedding_server import DIMENSIONS, KEY, EmbeddingServer
from tests.serve.conftest import Cli, Ran


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EMBEDDING_PROVIDER", "OPENAI_API_KEY", "COHERE_API_KEY", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


def checks(ran: Ran) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in ran.data["checks"]}


def statuses(ran: Ran) -> dict[str, str]:
    return {name: check["status"] for name, check in checks(ran).items()}


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def configure(text: str) -> None:
    Path("sourcebook.toml").write_text(text)


def test_a_sound_installation(cli: Cli, folder: Path) -> None:
    port, other = free_port(), free_port()
    ran = cli("doctor", "--json", "--port", str(port), "--grpc-port", str(other))
    assert (ran.status, ran.data["ok"]) == (0, True)
    assert list(statuses(ran)) == [
        "python",
        "sqlite",
        "limits",
        f"port {port}",
        f"port {other}",
        "configuration",
        "model gte-small",
        "model potion-base-8M",
        "embedding",
        "room",
        "permissions",
        "store",
        "privacy",
        "integrity",
        "space",
        "index",
    ]
    assert set(statuses(ran).values()) == {"ok"}
    assert "384 numbers" in checks(ran)["embedding"]["found"]
    people = cli("doctor")
    assert people.status == 0
    assert "nothing is broken" in people.out


def test_looking_changes_nothing(cli: Cli, folder: Path) -> None:
    before = cli("log", "--json").data
    cli("doctor")
    assert cli("log", "--json").data == before


def test_a_store_that_is_not_there_is_not_made(cli: Cli, empty: Path) -> None:
    ran = cli("doctor", "--json")
    assert ran.status == 0
    assert "sourcebook ingest" in checks(ran)["store"]["found"]
    assert list(empty.iterdir()) == []


def test_a_wrong_setting_is_said(cli: Cli, empty: Path) -> None:
    configure("[embedding]\ncolour = 1\n")
    ran = cli("doctor", "--json")
    assert (ran.status, statuses(ran)["configuration"]) == (1, "failed")
    assert "embedding.colour" in checks(ran)["configuration"]["found"]


def test_a_model_that_is_missing_or_damaged(
    cli: Cli, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = models_dir()
    here = tmp_path / "models"
    shutil.copytree(there / "gte-small", here / "gte-small")
    monkeypatch.setenv("SOURCEBOOK_MODELS", str(here))
    damaged = here / "gte-small" / "tokenizer.json"
    data = bytearray(damaged.read_bytes())
    data[100] ^= 1
    damaged.write_bytes(data)  # of the right size, so that only its hash tells
    ran = cli("doctor", "--json")
    found = checks(ran)
    assert ran.status == 1
    assert "tokenizer.json is damaged" in found["model gte-small"]["found"]
    assert "is missing" in found["model potion-base-8M"]["found"]
    assert found["model gte-small"]["advice"] == "run `sourcebook model install`"
    people = cli("doctor")
    assert "FAILED" in people.out
    assert "run `sourcebook model install`" in people.out


def test_a_model_that_there_is_not(cli: Cli, empty: Path) -> None:
    configure('[embedding]\nmodel = "gte-huge"\n')
    ran = cli("doctor", "--json")
    assert ran.status == 1
    assert statuses(ran)["model gte-huge"] == statuses(ran)["embedding"] == "failed"
    assert "choose one of" in checks(ran)["embedding"]["advice"]


def test_a_store_where_none_can_be_made(cli: Cli, empty: Path) -> None:
    Path("note.md").write_text("A file is no folder.")
    ran = cli("--store", "sqlite:///note.md/x.db", "doctor", "--json")
    assert (ran.status, statuses(ran)["store"]) == (1, "failed")
    assert checks(ran)["store"]["advice"] == "choose another --store"


def test_a_store_that_is_none(cli: Cli, empty: Path) -> None:
    Path("x.db").write_text("not a database, but long enough to look like one" * 100)
    ran = cli("--store", "sqlite:///x.db", "doctor", "--json")
    assert (ran.status, statuses(ran)["store"]) == (1, "failed")


def test_a_store_that_may_only_be_read(cli: Cli, folder: Path) -> None:
    ran = cli("--store", "sqlite:///.sourcebook/sourcebook.db?mode=ro", "doctor", "--json")
    assert (ran.status, statuses(ran)["store"]) == (1, "failed")
    assert "writable" in checks(ran)["store"]["advice"]


def test_texts_that_wait(cli: Cli, folder: Path) -> None:
    (folder / "notes" / "new.md").write_text("A new note on bicycles.")
    cli("ingest", "notes", "--no-wait")
    ran = cli("doctor", "--json")
    check = checks(ran)["index"]
    assert (ran.status, check["status"]) == (0, "warning")
    assert check["found"].startswith("1 texts wait")


# --- services ------------------------------------------------------------------------------------


def openai(server: EmbeddingServer, **more: Any) -> None:
    given = {"provider": "openai", "base_url": f"{server.url}/v1", "dimensions": DIMENSIONS}
    lines = [f"{name} = {value!r}" for name, value in (given | more).items()]
    configure("[embedding]\n" + "\n".join(lines))


def test_a_service_is_really_asked(
    cli: Cli, empty: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    openai(server)
    ran = cli("doctor", "--json")
    assert (ran.status, statuses(ran)["embedding"], len(server.asked)) == (0, "ok", 1)
    assert KEY not in ran.out + ran.err
    offline = cli("doctor", "--offline", "--json")
    assert (offline.status, statuses(offline)["embedding"]) == (0, "skipped")
    assert len(server.asked) == 1


def test_a_wrong_key(
    cli: Cli, empty: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-wrong-one")
    openai(server)
    ran = cli("doctor", "--json")
    assert (ran.status, statuses(ran)["embedding"]) == (1, "failed")
    assert "OPENAI_API_KEY" in checks(ran)["embedding"]["advice"]
    assert "sk-the-wrong-one" not in ran.out + ran.err


def test_a_missing_key_is_found_without_asking(
    cli: Cli, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDING_PROVIDER", "cohere")
    ran = cli("doctor", "--offline", "--json")
    assert (ran.status, statuses(ran)["key"]) == (1, "failed")
    assert checks(ran)["key"]["advice"] == "set COHERE_API_KEY"


def test_a_service_that_does_not_run(
    cli: Cli, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDING_PROVIDER", "ollama")
    monkeypatch.setenv("SOURCEBOOK_EMBEDDING__TIMEOUT_S", "0.5")
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{taken.getsockname()[1]}")
        ran = cli("doctor", "--json")
    check = checks(ran)["embedding"]
    assert (ran.status, check["status"]) == (1, "failed")
    assert "could not be reached" in check["found"]
    assert "`ollama serve`" in check["advice"]


def test_azure_without_an_endpoint(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_PROVIDER", "azure")
    monkeypatch.setenv("AZURE_OPENAI_EMBEDDING_DEPLOYMENT", "ours")
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    ran = cli("doctor", "--json")
    assert ran.status == 1
    assert "AZURE_OPENAI_ENDPOINT" in checks(ran)["embedding"]["found"]
    assert statuses(ran)["store"] == "ok"  # what can be looked at is looked at


def test_another_model_than_that_of_the_store(
    cli: Cli, folder: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    openai(server)
    check = checks(cli("doctor", "--json"))["space"]
    assert check["status"] == "warning"
    assert "local/gte-small" in check["found"]
    assert "text-embedding-3-small" in check["found"]


def test_other_dimensions_than_those_of_the_store(
    cli: Cli, empty: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    openai(server)
    Path("note.md").write_text("A note on ships.")
    assert cli("ingest", "note.md").status == 0
    assert statuses(cli("doctor", "--json"))["space"] == "ok"
    openai(server, dimensions=128)
    check = checks(cli("doctor", "--json"))["space"]
    assert check["status"] == "failed"
    assert "embedding.dimensions = 256" in check["advice"]
