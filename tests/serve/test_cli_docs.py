"""docs/cli.md names every command and every option, and none that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from sourcebook.serve.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
EVERYWHERE = {"--json", "--help", "-h"}


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with its whole name."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, one in inner.items():
        yield from commands(one, f"{path} {name}")


def options(command: Any) -> set[str]:
    return {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("-")
    }


def section(path: str) -> str:
    """What stands under the heading of a command."""
    found = re.search(rf"^##+ {path}$(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"{path} has no section in docs/cli.md"
    return found[1]


ALL = dict(commands(get_command(app), "sourcebook"))


@pytest.mark.parametrize("path", ALL)
def test_a_command_is_documented_with_an_example(path: str) -> None:
    text = section(path)
    assert f"$ {path}" in text
    written = set(re.findall(r"`(--?[a-z][a-z-]*)", text))
    missing = options(ALL[path]) - EVERYWHERE - written
    assert not missing, f"{path}: {missing} not documented"


@pytest.mark.parametrize("path", ALL)
def test_every_command_has_json(path: str) -> None:
    assert "--json" in options(ALL[path])


def test_global_options_are_documented() -> None:
    page = PAGE.partition("## Options of every command")[2]
    for name in options(get_command(app)) | EVERYWHERE:
        assert f"`{name}`" in page


def test_no_section_without_a_command() -> None:
    groups = {"sourcebook baseline", "sourcebook feedback", "sourcebook keys", "sourcebook model"}
    assert set(re.findall(r"^##+ (sourcebook .+)$", PAGE, re.MULTILINE)) == {*ALL, *groups}


@pytest.mark.parametrize("path", ALL)
def test_every_parameter_that_can_be_typed_has_help(path: str) -> None:
    for parameter in ALL[path].params:
        if parameter.opts[0].startswith("-"):
            assert parameter.help, f"{path} {parameter.opts[0]}"
