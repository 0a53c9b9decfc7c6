"""The examples of README.md and docs/cli.md are what the commands print.

`…` stands for anything, and a relevance may differ a little: processors round differently. After
relevance was fitted anew, SOURCEBOOK_REFRESH=1 writes today's numbers into the pages.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcebook.models.install import install
from sourcebook.models.manifest import DEFAULT_MODELS
from sourcebook.serve.cli import run

from .conftest import LEAVE, TRAVEL, Cli

PROJECT = Path(__file__).parents[2]
ASKED = ("search", "agent", "similar", "context")
README = PROJECT / "README.md"
PAGE = PROJECT / "docs" / "cli.md"
NEAR = 0.1
_NUMBER = re.compile(r"(?<![\w.])[01]\.\d\d(?!\d)")


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Questions, each with the text that follows it in its block."""
    for block in re.findall(r"^```(?:console)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            words = shlex.split(command, comments=True)
            if words[1:2] and words[1] in ASKED and shown.strip():
                yield command, shown.strip("\n")


IN_README = list(examples(README.read_text("utf-8")))
IN_PAGE = list(examples(PAGE.read_text("utf-8")))


def test_there_are_examples() -> None:
    assert {shlex.split(command)[1] for command, _ in IN_README} == {"search", "agent", "context"}
    assert {shlex.split(command)[1] for command, _ in IN_PAGE} == set(ASKED)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    shutil.copytree(PROJECT / "examples", folder / "examples")
    return taken_in(folder, "examples/corpus")


@pytest.fixture(scope="session")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policies")
    (folder / "notes").mkdir()
    (folder / "notes" / "leave.md").write_text(LEAVE)
    (folder / "notes" / "travel.md").write_text(TRAVEL)
    taken_in(folder, "notes", "--document-type", "policy", "--binding")
    for repository, name in (("handbook", "leave.md"), ("minutes", "travel.md")):
        into = ("--repository", repository)
        taken_in(folder, f"notes/{name}", "--document-type", "policy", "--binding", into=into)
    return folder


def taken_in(folder: Path, *words: str, into: tuple[str, ...] = ()) -> Path:
    for name in DEFAULT_MODELS:
        install(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run([*into, "ingest", *words]) == 0
    return folder


@pytest.mark.parametrize(("command", "shown"), IN_README, ids=[c[-40:] for c, _ in IN_README])
def test_the_readme_is_true(
    corpus: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str, shown: str
) -> None:
    monkeypatch.chdir(corpus)
    check(cli, monkeypatch, README, command, shown)


@pytest.mark.parametrize(("command", "shown"), IN_PAGE, ids=[c[-40:] for c, _ in IN_PAGE])
def test_the_page_of_commands_is_true(
    policies: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, command: str, shown: str
) -> None:
    monkeypatch.chdir(policies)
    check(cli, monkeypatch, PAGE, command, shown)


def check(cli: Cli, monkeypatch: pytest.MonkeyPatch, page: Path, command: str, shown: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = cli(*shlex.split(command, comments=True)[1:])
    assert ran.status == 0, ran.err
    printed = ran.out.strip("\n")
    found = re.fullmatch(pattern(shown), printed, re.DOTALL)
    assert found, f"{command} prints\n\n{printed}\n\nbut {page.name} shows\n\n{shown}"
    if os.environ.get("SOURCEBOOK_REFRESH"):
        refresh(page, f"{command}\n{shown}", found.groups())
    else:
        then = [float(number) for number in _NUMBER.findall(shown)]
        now = [float(number) for number in found.groups()]
        assert now == pytest.approx(then, abs=NEAR), f"{command} prints\n\n{printed}"


def pattern(shown: str) -> str:
    """A line of `…` is any lines, inside a line it is any text; numbers are looked at apart."""
    plain = re.escape(_NUMBER.sub("\0", shown)).replace(re.escape("\0"), r"([01]\.\d\d)")
    return plain.replace("…", ".*")


def refresh(page: Path, example: str, numbers: tuple[str, ...]) -> None:
    command, shown = example.split("\n", 1)
    left = iter(numbers)
    text = page.read_text("utf-8")
    assert text.count(example) == 1
    page.write_text(
        text.replace(example, f"{command}\n{_NUMBER.sub(lambda _: next(left), shown)}"), "utf-8"
    )
