"""`make demo`: takes the example corpus in and asks it three questions, as you would type them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent
COMMAND = Path(sys.executable).parent / "sourcebook"
QUESTIONS = (
    "How many members must take part for the general meeting to take decisions?",
    "Why does the east inverter switch off in the morning?",
    "What do I pay when I bring a tool back late?",
)


def run(*words: str) -> None:
    shown = os.path.relpath(COMMAND, PROJECT)
    print(f"\n$ {shown} {shlex.join(words)}\n", flush=True)
    done = subprocess.run([COMMAND, *words], cwd=PROJECT, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def main() -> None:
    run("ingest", "examples/corpus", "--message", "the example corpus")
    for question in QUESTIONS:
        run("search", question, "-k", "2")
    run("search", QUESTIONS[2], "-k", "1", "--filter", "effective_date=2023-04-01")
    print(
        """
What to type next:
  .venv/bin/sourcebook search "…" --explain        why each passage is there
  .venv/bin/sourcebook search "…" --json           the same for programs, with citations
  .venv/bin/sourcebook ingest PATH                 your own files: PDF, Word, chats, models …
  .venv/bin/sourcebook baseline create NAME        a name for this state, to ask it again later:
  .venv/bin/sourcebook search "…" --read-context baseline:NAME
  .venv/bin/sourcebook --help                      everything else
"""
    )


if __name__ == "__main__":
    main()
