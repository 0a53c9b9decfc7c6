"""docs/agents.md, SKILL.md, llms.txt: what they show can be used, and what they name is there."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from sourcebook.serve.cli import app
from sourcebook.serve.mcp_catalog import TOOLS
from sourcebook.serve.mcp_pages import BOUND
from tests.conftest import PROJECT

AGENTS, SKILL, LLMS = (PROJECT / name for name in ("docs/agents.md", "SKILL.md", "llms.txt"))
PAGE = AGENTS.read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def entries(value: Any) -> list[dict[str, Any]]:
    """Every description of a server in a configuration."""
    if isinstance(value, list):
        return [found for each in value for found in entries(each)]
    if not isinstance(value, dict):
        return []
    if {"command", "url", "httpUrl", "serverUrl", "server_url"} & set(value):
        return [value]
    return [found for each in value.values() for found in entries(each)]


def configurations() -> list[Any]:
    return [*map(json.loads, blocks("json")), *map(tomllib.loads, blocks("toml"))]


def test_every_configuration_can_be_read_and_names_one_server() -> None:
    assert len(configurations()) >= 12
    for configuration in configurations():
        (server,) = entries(configuration)
        if "command" in server:
            assert Path(server["command"]).name == "sourcebook"
            get_command(app).make_context("sourcebook", list(server["args"]))
            assert server["args"][-1] == "mcp"
        else:
            (address,) = [server[name] for name in server if name.lower().endswith("url")]
            assert address.endswith("/mcp")


def test_every_tool_is_told_with_its_arguments() -> None:
    table = PAGE.partition("## Which tool")[2].partition("\n\n")[0]
    for name, tool in TOOLS.items():
        (row,) = [line for line in table.splitlines() if re.match(rf"\|.*`{name}`.*\|", line)]
        for field in tool.arguments.model_fields:
            assert f"`{field}`" in row, (name, field)
    assert f"{BOUND:,} bytes" in PAGE


def test_the_program_shown_is_python() -> None:
    (program,) = blocks("python")
    compile(program, "agents.md", "exec")


def test_the_skill_has_what_clients_look_for() -> None:
    head, body = SKILL.read_text("utf-8").removeprefix("---\n").split("\n---\n", 1)
    known = yaml.safe_load(head)
    assert set(known) == {"name", "description"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", known["name"])
    assert len(known["description"]) <= 1024
    assert all(f"`{name}`" in body for name in TOOLS)


@pytest.mark.parametrize("page", [AGENTS, SKILL, LLMS], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).is_file(), target


def test_llms_txt_has_the_form_that_is_expected() -> None:
    lines = LLMS.read_text("utf-8").splitlines()
    assert lines[0] == "# Sourcebook"
    assert lines[2].startswith("> ")
    links = [line for line in lines if line.startswith("- ")]
    assert all(re.fullmatch(r"- \[[^\]]+\]\([^)]+\): .+", line) for line in links)
