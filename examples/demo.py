"""`make demo`: takes the example corpus in and asks it, as you would type it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent
COMMAND = Path(sys.executable).parent / "sourcebook"
QUORUM = "How many members must take part for the general meeting to take decisions?"
LATE = "What do I pay when I bring a tool back late?"
ELSEWHERE = "What is the capital of Mongolia?"


def say(text: str) -> None:
    print(f"\n# {text}", flush=True)


def run(*words: str) -> None:
    shown = os.path.relpath(COMMAND, PROJECT)
    print(f"\n$ {shown} {shlex.join(words)}\n", flush=True)
    done = subprocess.run([COMMAND, *words], cwd=PROJECT, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def main() -> None:
    say("Bylaws, minutes, a chat, an ArchiMate model: all of it becomes one revision.")
    run("ingest", "examples/corpus", "--message", "the example corpus")
    say("Relevance is the probability that a passage answers. What is superseded ranks lower.")
    run("search", QUORUM, "-k", "2", "--per-document", "1")
    say("A question that the corpus cannot answer is told so.")
    run("search", ELSEWHERE, "-k", "1")
    say("For an agent: only what is good enough, and what was refused.")
    run("agent", LATE, "--min-relevance", "0.3")
    say("For a language model: numbered sources with citations, within a budget of tokens.")
    run("context", LATE, "--max-tokens", "300")
    print(
        """
What to type next:
  .venv/bin/sourcebook search "…" --explain        why each passage is there, and others are not
  .venv/bin/sourcebook search "…" --json           the same for programs, with citations
  .venv/bin/sourcebook ingest PATH                 your own files: PDF, Word, chats, models …
  .venv/bin/sourcebook baseline create NAME        a name for this state, to ask it again later:
  .venv/bin/sourcebook search "…" --read-context baseline:NAME
  .venv/bin/sourcebook --help                      everything else
"""
    )


if __name__ == "__main__":
    main()
