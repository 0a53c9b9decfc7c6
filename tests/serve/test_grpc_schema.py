"""The code of the gRPC schema is what is generated from it, and runs where the package installs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2]
FOLDER = Path("sourcebook/serve/proto/sourcebook/v1")
GENERATED = ("semantic_query_pb2.py", "semantic_query_pb2.pyi", "semantic_query_pb2_grpc.py")


def test_the_code_is_what_make_proto_generates(tmp_path: Path) -> None:
    recipe = re.search(r"^proto:.*\n\t@\$\(BIN\)/python (.*)\\\n\t(.*)\n", makefile(), re.MULTILINE)
    assert recipe, "make proto is not where it was"
    words = f"{recipe[1]} {recipe[2]}".replace("_out=src", f"_out={tmp_path}").split()
    sources = [str(path.relative_to(PROJECT)) for path in PROJECT.glob(words.pop())]
    assert sources == [f"src/{FOLDER}/semantic_query.proto"]
    subprocess.run([sys.executable, *words, *sources], cwd=PROJECT, check=True, timeout=60)
    made = {path.name: path.read_text() for path in (tmp_path / FOLDER).iterdir()}
    assert sorted(made) == sorted(GENERATED)
    for name, text in made.items():
        assert (PROJECT / "src" / FOLDER / name).read_text() == text, f"{name}: run `make proto`"


def test_the_package_asks_for_the_versions_that_the_code_needs() -> None:
    wanted = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    messages, service = ((PROJECT / "src" / FOLDER / GENERATED[n]).read_text() for n in (0, 2))
    protobuf = re.search(r"^# Protobuf Python Version: (\S+)$", messages, re.MULTILINE)
    grpcio = re.search(r"^GRPC_GENERATED_VERSION = '(\S+)'$", service, re.MULTILINE)
    assert protobuf
    assert grpcio
    assert {f"protobuf>={protobuf[1]}", f"grpcio>={grpcio[1]}"} <= set(wanted)


def makefile() -> str:
    return (PROJECT / "Makefile").read_text()
