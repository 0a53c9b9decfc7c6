"""A small real corpus in a real store with the real model, and the command line on it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sourcebook.models.install import install
from sourcebook.models.manifest import DEFAULT_MODELS
from sourcebook.serve.cli import run
from tests.serve import mcp_world

LEAVE = """---
department: people
---
# Parental leave

Every parent may take sixteen weeks of paid leave in the first year.

## How to ask

Write to the people team at least eight weeks before. They answer within five working days.
"""
TRAVEL = """---
department: finance
---
# Travel expenses

Receipts are sent in within thirty days. The daily allowance is 42 euros; hotels are paid up to
140 euros a night.
"""


@dataclass(frozen=True, slots=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Stdout as exactly one JSON document."""
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes and the store that holds them, made once; tests work on copies."""
    for name in DEFAULT_MODELS:
        install(name)
    folder = tmp_path_factory.mktemp("made")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "leave.md").write_text(LEAVE)
    (notes / "travel.md").write_text(TRAVEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["ingest", "notes", "--message", "first"]) == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the command, with notes already ingested."""
    here = tmp_path / "here"
    shutil.copytree(made, here)
    monkeypatch.chdir(here)
    monkeypatch.setenv("COLUMNS", "100")
    return here


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with nothing in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    def call(*args: str) -> Ran:
        capfd.readouterr()
        status = run(args)
        return Ran(status, *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> mcp_world.World:
    """What tests of MCP ask; none of them changes it."""
    return mcp_world.build(tmp_path_factory.mktemp("world"))
