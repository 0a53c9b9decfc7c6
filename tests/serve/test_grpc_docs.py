"""The examples of docs/grpc.md do what the page says, with the real model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.json_format import MessageToJson, Parse

from sourcebook import Sourcebook
from sourcebook.model import Scope
from sourcebook.serve.failures import KINDS, OURS
from sourcebook.serve.grpc_server import ADDRESS, ASKS, MAX_MESSAGE, SERVICE
from sourcebook.serve.operations import OPERATIONS
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb

from .grpc_client import Client, key_for, serving

PAGE = (Path(__file__).parents[2] / "docs" / "grpc.md").read_text("utf-8")
HOME = Scope("default", "default", "default")


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    with (
        Sourcebook.open(f"sqlite:///{folder}/.sourcebook/sourcebook.db") as engine,
        serving(engine, keys=True) as made,
    ):
        yield made


@pytest.fixture
def key(client: Client) -> str:
    return key_for(client.engine, HOME)[1]


def block(kind: str) -> str:
    found = re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def test_the_python_example_prints_what_the_page_shows(
    client: Client, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = block("python").replace("sb_…", key).replace(ADDRESS, f"127.0.0.1:{client.server.port}")
    exec(compile(code, "grpc.md", "exec"), {})
    assert capsys.readouterr().out == block("text")


def test_the_shell_example_is_answered_as_the_page_shows(client: Client, key: str) -> None:
    command, _, shown = block("console").partition("\n{")
    sent = re.search(r"-d '(.*)' ", command)
    assert sent
    assert command.split()[-2:] == [ADDRESS, f"{SERVICE.full_name}/Search"]
    found = client.ask("Search", Parse(sent[1], pb.SearchRequest()), key=key)
    told = iter(MessageToJson(found, ensure_ascii=False).splitlines())
    for line in shown.splitlines():
        if line.strip() not in ("", "…"):
            assert any(line.rstrip(",") == each.rstrip(",") for each in told), line


def test_the_filter_of_the_page_is_one(client: Client, key: str) -> None:
    [text] = re.findall(r'`("filters": .*)`', PAGE)
    asked = Parse("{" + text + ', "query": "leave"}', pb.SearchRequest())
    assert len(client.ask("Search", asked, key=key).results) == 2
    assert json.loads("{" + text + "}")["filters"]["department"]


def test_the_table_of_methods_is_complete_and_right() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (read|write|admin) \|$", PAGE, re.MULTILINE)
    assert dict(rows) == {name: OPERATIONS[ASKS[name]].right for name in ASKS}


def test_the_table_of_statuses_has_every_status_that_is_used() -> None:
    rows = set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE))
    used = {kind.grpc for kind in (*KINDS.values(), OURS)} - {"UNIMPLEMENTED"}
    assert rows == used
    assert all(grpc.StatusCode[name] for name in rows)


def test_the_limit_of_the_page_is_that_of_the_server() -> None:
    assert f"{MAX_MESSAGE // 2**20} MiB" in PAGE
