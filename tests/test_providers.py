"""The whole engine over each embedding service: ingest, search, and what happens without it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sourcebook import Sourcebook
from sourcebook.errors import ModelUnavailable
from sourcebook.indexing import Pace
from sourcebook.ports import Backoff
from tests.models.embedding_server import (
    DEPLOYMENT,
    DIMENSIONS,
    FORBIDDEN,
    KEY,
    EmbeddingServer,
    static,
)

PROVIDERS = ("ollama", "openai", "azure", "cohere")
NOTES = {
    "harbour.md": "# Harbour\n\nShips rest at the quay while cranes unload their cargo.",
    "bakery.md": "# Bakery\n\nThe baker kneads flour, water and yeast before dawn.",
    "court.md": "# Court\n\nThe judge adjourned the trial until both lawyers had read the files.",
}

SUBJECTS = "ships bread judges bicycles music winter doctors money horses maps gardens wine".split()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_KEY", "COHERE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("AZURE_OPENAI_EMBEDDING_DEPLOYMENT", DEPLOYMENT)
    for name in ("EMBEDDING_PROVIDER", "SOURCEBOOK_EMBEDDING_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return folder


def opened(server: EmbeddingServer, provider: str, **more: Any) -> Sourcebook:
    base = f"{server.url}/v1" if provider == "openai" else server.url
    ours = {"provider": provider, "base_url": base, "dimensions": DIMENSIONS, **more}
    return Sourcebook.open("sqlite:///store.db", embedding=ours)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_a_service_embeds_can_be_found(
    server: EmbeddingServer, provider: str, notes: Path
) -> None:
    with opened(server, provider) as sb:
        outcome = sb.ingest(notes)
        assert (len(outcome.skipped), outcome.pending_vectors) == (0, 0)
        for query, name in (
            ("vessels in port", "harbour.md"),
            ("making bread", "bakery.md"),
            ("legal proceedings", "court.md"),
        ):
            answer = sb.search(query, mode="dense", rerank="none")
            assert answer.results[0].node.source.endswith(name)
            assert answer.results[0].scores.dense is not None
        answer = sb.search("Where do ships rest at the quay?")
        assert answer.status == "ok"
        assert answer.results[0].node.source.endswith("harbour.md")
        assert "dense" not in {one.part for one in answer.degraded}
        (space,) = sb.status()["spaces"]
        assert (space["provider"], space["dimensions"]) == (provider, DIMENSIONS)
        assert sb.embedder.usage.requests == len(server.asked)
        sent = len(server.asked)
        assert sb.ingest(notes).nodes == 0
        assert len(server.asked) == sent  # nothing changed, nothing to pay


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_key_is_written_to_the_store(
    server: EmbeddingServer, provider: str, notes: Path, tmp_path: Path
) -> None:
    with opened(server, provider) as sb:
        sb.ingest(notes)
        sb.search("ships")
        assert KEY not in repr(vars(sb))
        assert KEY not in repr(sb.settings)
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


def test_a_store_without_its_service_answers_by_full_text(
    server: EmbeddingServer, notes: Path
) -> None:
    with opened(server, "openai", timeout_s=0.2) as sb:
        sb.ingest(notes)
        server.always = "hang"
        answer = sb.search("judge lawyers trial")
        assert answer.results[0].node.source.endswith("court.md")
        (reason,) = [one.reason for one in answer.degraded if one.part == "dense"]
        assert "did not answer" in reason
        with pytest.raises(ModelUnavailable):
            sb.search("judge", mode="dense")


def test_a_large_document_is_cut_to_what_the_model_takes(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    """The server's limit is real: it refuses what the estimate let through."""
    server.longest = 512
    long = tmp_path / "long.md"
    parts = (
        f"## Part {n}\n\n" + f"Café № {n}: ships — 港 — rest {n * 37}. " * 60 for n in range(12)
    )
    long.write_text("# All\n\n" + "\n\n".join(parts))
    with opened(server, "ollama", max_tokens=512) as sb:
        outcome = sb.ingest(long)
        assert outcome.pending_vectors == 0
        assert outcome.counts["chunk"] > 12


def test_a_service_that_misbehaves_in_every_way_loses_no_text(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for subject in SUBJECTS:
        (folder / f"{subject}.md").write_text(f"Note on {subject}.")
    (folder / "bad.md").write_text(f"This one has {FORBIDDEN} in it.")
    server.script = ["429", "hang up", "500", "html", "cut off", "list"]
    wrong = iter(
        [
            lambda rows: rows[:-1],
            lambda rows: [row[:-1] for row in rows],
            lambda rows: [[0.0] * len(row) for row in rows],
            lambda rows: [[None] * len(row) for row in rows],
        ]
    )
    server.spoil = lambda rows: next(wrong, lambda fine: fine)(rows)
    with opened(server, "cohere", batch_texts=4, concurrency=2) as sb:
        sb.ingest(folder, wait=False)
        (indexer,) = sb.indexers("test", Pace(backoff=Backoff(attempts=50, first_s=0.0)))
        for _ in range(20):
            indexer.step()
        index = sb.status()["index"]
        assert (index["pending"], index["failed"]) == (0, 1)
        assert FORBIDDEN in index["failures"][0]["text"]
        (space,) = sb.status()["spaces"]
    with sqlite3.connect(tmp_path / "store.db") as db:
        stored = [np.frombuffer(row[0], "<f4") for row in db.execute("SELECT data FROM vector")]
    sent = sorted({text for text in server.texts() if FORBIDDEN not in text and "Note" in text})
    real = static().embed(sent)
    assert (len(stored), len(sent), space["dimensions"]) == (12, 12, DIMENSIONS)
    nearest = {int(np.argmax(real @ vector)) for vector in stored}
    assert nearest == set(range(12))  # each text has its own vector,
    assert min(float((real @ vector).max()) for vector in stored) > 0.9999  # and it is the true one
