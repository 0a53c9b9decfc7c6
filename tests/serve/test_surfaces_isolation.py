"""The isolation kit asks through each surface: nothing shows there that the engine does not show,
and a wall that is taken down is seen."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import pytest

from sourcebook.access import Grant
from sourcebook.serve.surfaces import GrpcSurface, HttpSurface, McpSurface, Served
from sourcebook.stores import queries
from sourcebook.stores.sqlite import SqliteStore
from sourcebook.testing import __main__ as program
from sourcebook.testing import isolation
from sourcebook.testing.isolation import Report, Request

SURFACES = [HttpSurface, McpSurface, GrpcSurface]


def tried(folder: Path, surface: type[Served], worlds: int, **options: int) -> Report:
    names = count()
    return isolation.run(
        lambda: surface(SqliteStore.open(folder / f"{next(names)}.db")), worlds, **options
    )


@pytest.mark.parametrize("surface", SURFACES)
def test_nothing_leaks(tmp_path: Path, surface: type[Served]) -> None:
    report = tried(tmp_path, surface, worlds=6, first=33)
    assert "\n".join(map(str, report.leaks)) == ""
    assert report.worlds == 6


@pytest.mark.parametrize("surface", SURFACES)
def test_finds_a_wall_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, surface: type[Served]
) -> None:
    statement = queries.QUERIES["repository"]
    wall = "tenant = :tenant AND"
    assert wall in statement
    monkeypatch.setitem(queries.QUERIES, "repository", statement.replace(wall, ""))  # type: ignore[arg-type]
    assert not tried(tmp_path, surface, worlds=4, most_leaks=1).ok


@pytest.mark.parametrize("surface", SURFACES)
def test_a_reader_is_answered(tmp_path: Path, surface: type[Served]) -> None:
    """So that refusals are not all that is compared."""
    made = surface(SqliteStore.open(tmp_path / "store.db"))
    try:
        (tmp_path / "gates.md").write_text("The gates are closed at nine in the evening.\n")
        made.owner.ingest(tmp_path / "gates.md")
        key = made.owner.create_key(Grant("reader"))[1]
        asked = {"query": "when are gates closed?", "k": 3, "resolution": 2, "read_context": "head"}
        assert "closed at nine" in made.ask(key, Request("search", "default", asked))
        assert made.ask(key, Request("golden", "default")) == '{"questions_embedded": 0}'
    finally:
        made.close()


def test_a_surface_is_chosen_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["testing", "--worlds", "1", "--folder", str(tmp_path), "--surface"]
    for name in ("grpc", "sourcebook.serve.surfaces:GrpcSurface"):
        monkeypatch.setattr(sys, "argv", [*given, name])
        assert program.main() == 0
        assert "1 worlds, 24 answers compared, 0 leaks" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*given, "telegraph"])
    with pytest.raises(SystemExit):
        program.main()
    assert "there is no surface 'telegraph'; use engine, http, mcp, grpc" in capsys.readouterr().err
