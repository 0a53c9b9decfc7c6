"""The files that package Sourcebook are sound, and name only what is there: linters that know their
formats look at each, and every command, option, setting and path in them is held against ours."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from sourcebook import __version__
from sourcebook.config import Settings
from sourcebook.serve.cli import app
from tests.conftest import PROJECT

DOCKERFILE = PROJECT / "Dockerfile"
COMPOSE = PROJECT / "compose.yaml"
UNITS = sorted((PROJECT / "packaging").glob("*.service"))
GUIDE = PROJECT / "docs/deploy.md"
TOOLS = Path(sys.executable).parent
"""Of the dev extra."""
KNOWN_VARIABLES = {"SOURCEBOOK_MODELS", "SOURCEBOOK_ALLOWED_HOSTS"}
"""That are no settings; the second is compose.yaml's own."""


def ran(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


# --- linters -------------------------------------------------------------------------------------


def test_hadolint_has_nothing_to_say_of_the_dockerfile(tmp_path: Path) -> None:
    found = ran(TOOLS / "hadolint", "--no-color", DOCKERFILE)
    assert (found.returncode, found.stdout) == (0, "")
    worse = tmp_path / "Dockerfile"
    worse.write_text(DOCKERFILE.read_text().replace(":3.11.14-slim-bookworm", ""))
    assert "DL3006" in ran(TOOLS / "hadolint", "--no-color", worse).stdout


def test_compose_file_follows_the_specification(tmp_path: Path) -> None:
    check = (TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec")
    found = ran(*check, COMPOSE)
    assert found.returncode == 0, found.stdout
    worse = tmp_path / "compose.yaml"
    worse.write_text(COMPOSE.read_text().replace("read_only:", "readonly:"))
    assert ran(*check, worse).returncode == 1


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_the_unit_and_finds_little_exposed(unit: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("NO SYSTEMD: there is no systemd-analyze here that could read the units")
    ours = tmp_path / unit.name
    ours.write_text(unit.read_text().replace("/opt/sourcebook/bin/", f"{TOOLS}/"))
    found = ran(program, "verify", ours)
    assert (found.returncode, found.stderr) == (0, "")
    rated = ran(program, "security", "--offline=yes", "--no-pager", "--threshold=20", ours)
    assert rated.returncode == 0, rated.stdout[-300:]


# --- what is promised of them --------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each as one line."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
    return [(name, rest) for line in lines if line for name, _, rest in [line.partition(" ")]]


def test_the_image_runs_as_nobody_and_holds_no_secret() -> None:
    last = instructions()[[name for name, _ in instructions()].index("USER") - 8 :]
    assert ("USER", "10001:10001") in last
    for name in ("CMD", "ENTRYPOINT", "VOLUME"):
        assert isinstance(json.loads(dict(last)[name]), list)
    health = dict(last)["HEALTHCHECK"].partition("CMD ")[2]
    assert "/health" in json.loads(health)[-1]
    froms = [rest for name, rest in instructions() if name == "FROM"]
    assert all(re.match(r"python:3\.11\.\d+-slim-\w+( AS \w+)?$", each) for each in froms)
    assert len(froms) == 2
    for file in (DOCKERFILE, COMPOSE, *UNITS):
        text = re.sub(r"\$\{[^}]*\}|^\s*#.*", "", file.read_text(), flags=re.MULTILINE)
        assert not re.search(r"(?i)(password|secret|api_key|token)\w*[:=] *\S", text), file.name


def test_what_is_copied_is_there_and_is_sent() -> None:
    ignored = (PROJECT / ".dockerignore").read_text().split("\n")
    kept = [line[1:] for line in ignored if line.startswith("!")]
    copied = [
        source
        for name, rest in instructions()
        if name == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    ]
    assert len(copied) == 5
    for source in copied:
        assert (PROJECT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in kept), source
    assert not any(pattern in (".env", "tests") for pattern in kept)


def test_services_share_the_image_and_its_version() -> None:
    services = composed()["services"]
    assert set(services) == {"api", "worker", "db"}
    assert {services[name]["image"] for name in ("api", "worker")} == {f"sourcebook:{__version__}"}
    for name in ("api", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
    assert all(port.startswith("127.0.0.1:") for port in services["api"]["ports"])
    assert "ports" not in services["db"]


def composed() -> Any:
    return yaml.safe_load(COMPOSE.read_text())


# --- commands, options and settings --------------------------------------------------------------


def said() -> Iterator[tuple[str, list[str]]]:
    """Every command line of ours, and where it stands."""
    for name, rest in instructions():
        if name == "CMD":
            yield "Dockerfile", json.loads(rest)
        elif name == "RUN":
            yield from _lines("Dockerfile", rest)
    for name, service in composed()["services"].items():
        if "command" in service:
            yield f"compose.yaml {name}", service["command"]
    for unit in UNITS:
        yield from _lines(unit.name, unit.read_text())
    for file in (GUIDE, COMPOSE):
        text = file.read_text().replace("\\\n", " ")
        yield from _lines(file.name, text)
        for line in re.findall(r"docker (?:compose )?run .*", text):
            ours = re.split(r" (?:api|sourcebook:\d\S*) ?", line, maxsplit=1)[1]
            if ours:
                yield file.name, shlex.split(ours)


def _lines(where: str, text: str) -> Iterator[tuple[str, list[str]]]:
    found = re.findall(r"(?:^|[\s/=`])sourcebook ((?:--|[a-z])[^\n`&]*)", text)
    for line in found:
        words = shlex.split(line, comments=True)
        if words[0] in COMMANDS or words[0].startswith("--store"):
            yield where, words


PROGRAM: Any = typer.main.get_command(app)
COMMANDS = PROGRAM.commands


def unknown(words: list[str]) -> list[str]:
    """Words that no command or option of ours has; values of options may be anything."""
    here, found = PROGRAM, []
    options = _options(here)
    value = False
    for word in words:
        name, sign, _ = word.partition("=")
        if value:
            value = False
        elif name.startswith("-"):
            if name not in options:
                found.append(name)
            value = not sign and not options.get(name, True)
        elif word in getattr(here, "commands", {}):
            here = here.commands[word]
            options = _options(here)
        elif hasattr(here, "commands"):
            found.append(word)
    return found


def _options(command: Any) -> dict[str, bool]:
    """Each option, and whether it stands alone."""
    return {
        name: bool(option.is_flag)
        for option in command.params
        if hasattr(option, "is_flag")
        for name in (*option.opts, *option.secondary_opts)
    }


def test_every_command_and_option_exists() -> None:
    lines = list(said())
    assert [(where, words) for where, words in lines if unknown(words)] == []
    told = {" ".join(words[:2]) for _, words in lines}
    assert told >= {"serve --host", "worker --all-tenants", "model install", "keys create"}
    assert {where for where, _ in lines} >= {"Dockerfile", "deploy.md", *(u.name for u in UNITS)}
    assert unknown(["serve", "--hots", "x"]) == ["--hots"]
    assert unknown(["srve"]) == ["srve"]
    assert unknown(["--store", "x", "keys", "make"]) == ["make"]


def test_every_setting_exists() -> None:
    text = "".join(file.read_text() for file in (DOCKERFILE, COMPOSE, GUIDE, *UNITS))
    names = set(re.findall(r"SOURCEBOOK_[A-Z_]+", text)) - KNOWN_VARIABLES
    assert {"SOURCEBOOK_STORE", "SOURCEBOOK_SERVE__ALLOWED_HOSTS"} <= names
    for name in names:
        section, _, key = name.removeprefix("SOURCEBOOK_").lower().partition("__")
        assert section in Settings.model_fields, name
        if key:
            assert key in type(getattr(Settings(), section)).model_fields, name
    for section, key in re.findall(r"\b(serve)\.([a-z_]+)\b", text):
        assert section == "serve"
        assert key in Settings().serve.model_dump() or key == "service", key
