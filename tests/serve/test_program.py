"""The command as a process: what only shows from outside."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sourcebook

PROGRAM = [sys.executable, "-m", "sourcebook"]
EVIL = (
    "# Owls \x1b]0;owned\x07\n\nOwls \x1b[31mhunt\x1b[0m at \u202enight\u202c \x9b2J with care.\n"
)


def call(*args: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, **environment}
    return subprocess.run([*PROGRAM, *args], input=stdin, capture_output=True, env=env, check=False)


def test_version_and_help() -> None:
    assert call("--version").stdout.decode().strip() == f"sourcebook {sourcebook.__version__}"
    shown = call("--help")
    assert shown.returncode == 0
    assert b"ingest" in shown.stdout
    assert call().returncode == 2


def test_help_does_not_wait_for_the_model_runtime() -> None:
    code = (
        "import sys; from sourcebook.serve.cli import run; run(['--help']);"
        "print([m for m in ('numpy', 'onnxruntime', 'tokenizers') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ran.stdout.decode().splitlines()[-1] == "[]"


def test_the_package_gives_its_names_on_first_use() -> None:
    code = (
        "import sys, sourcebook; early = 'numpy' in sys.modules;"
        "from sourcebook import Sourcebook, Citation; print(early, Sourcebook.__name__);"
        "print(set(sourcebook.__all__) <= set(dir(sourcebook)), hasattr(sourcebook, 'nothing'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ran.stdout.decode().split() == ["False", "Sourcebook", "True", "False"]


def test_a_whole_round_from_outside(empty: Path) -> None:
    text = "# Eulen\n\nEulen jagen nachts – auch im Müll. 猫\n"
    (empty / "Käuze.md").write_text(text)
    ran = call("ingest", ".", "--json", PYTHONIOENCODING="ascii")
    assert ran.returncode == 0
    assert ran.stderr == b""
    assert json.loads(ran.stdout)["revision"] == 1
    found = call("search", "Müll", "--json", PYTHONIOENCODING="ascii")
    hit = json.loads(found.stdout.decode("utf-8"))["results"][0]
    assert hit["text"] in text
    assert "Müll".encode() in found.stdout
    assert call("verify", "-", stdin=json.dumps(hit).encode()).returncode == 0
    assert call("search", "Müll", PYTHONIOENCODING="ascii").returncode == 0


def test_hostile_text_cannot_reach_the_terminal(empty: Path) -> None:
    (empty / "evil.md").write_text(EVIL)
    assert call("ingest", "evil.md", "--meta", "who=\x1b[2J").returncode == 0
    for args in (
        ("search", "owls", "--explain"),
        ("search", "owls \x1b[31m", "--explain"),
        ("get", "evil.md"),
        ("list",),
        ("get", "\x1b[2J"),
        ("search", "owls", "--json"),
        ("--store", "\x1b[2J://", "status"),
    ):
        ran = call(*args)
        shown = (ran.stdout + ran.stderr).decode()
        assert not [c for c in shown if c in "\x1b\x07\x9b\u202e" or ord(c) == 0x7F], args
    hit = json.loads(call("search", "owls", "--json").stdout)["results"][0]
    assert hit["text"] == EVIL[hit["start"] : hit["end"]]


def test_a_reader_that_leaves_early_is_no_error(folder: Path) -> None:
    (folder / "big.txt").write_text("Owls hunt at night.\n" * 20_000)
    assert call("ingest", "big.txt", "--no-wait").returncode == 0
    for extra in ([], ["--json"]):
        command = [*PROGRAM, "get", "big.txt", *extra]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 0


def test_a_reader_that_was_never_there_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # with it nothing is left to flush
    for extra in ([], ["--json"]):
        reading, writing = os.pipe()
        os.close(reading)
        ran = subprocess.run(
            [*PROGRAM, "list", *extra], stdout=writing, stderr=subprocess.PIPE, check=False
        )
        os.close(writing)
        assert (ran.returncode, ran.stderr) == (0, b"")


def test_control_c_ends_quietly(empty: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "ingest", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell's background job ignores the signal, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 30
    while not (empty / ".sourcebook" / "sourcebook.db").exists():  # then it waits for stdin
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.decode().strip() == "interrupted; what was committed is kept"


@pytest.fixture
def terminal() -> tuple[int, int]:
    return pty.openpty()


def test_progress_and_colour_are_for_terminals(folder: Path, terminal: tuple[int, int]) -> None:
    (folder / "owls.txt").write_text("Owls hunt at night.")
    ours, theirs = terminal
    with subprocess.Popen(
        [*PROGRAM, "ingest", "owls.txt", "--json"], stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        assert process.stdout is not None
        seen = _drain(ours, process)
        assert json.loads(process.stdout.read())["revision"] == 2
    assert b"reading" in seen
    assert b"embedding" in seen
    coloured = _on_terminal(["search", "hotel"])
    assert b"\x1b[" in coloured
    plain = _on_terminal(["search", "hotel"], NO_COLOR="1")
    assert b"\x1b[33m" not in plain
    assert b"\x1b[1;33m" not in plain


def _on_terminal(args: list[str], **environment: str) -> bytes:
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", **environment}
    with subprocess.Popen([*PROGRAM, *args], stdout=theirs, env=env) as process:
        return _drain(ours, process)


def _drain(ours: int, process: subprocess.Popen[bytes]) -> bytes:
    """What came to the terminal until the process ended."""
    seen = b""
    while True:
        ready, _, _ = select.select([ours], [], [], 0.1)
        if ready:
            seen += os.read(ours, 65536)
        elif process.poll() is not None:
            return seen
