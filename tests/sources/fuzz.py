"""Thousands of damaged files through every reader: `python -m tests.sources.fuzz --files 2000`.

Each format is read in a process of its own with a limit on memory and on the time of each file. A
reader fails when it raises, crashes, takes too long or too much, or gives a document that does not
hold what documents promise. Out comes a table, a row for each format, and each failing file.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from sourcebook.model import Document, Skipped
from sourcebook.sources import read, read_text
from tests.sources.fuzz_mutate import mutated, name
from tests.sources.fuzz_seeds import ENDINGS

SECONDS = 10
MEMORY = 1 << 30
_STATED = {"chatgpt-zip": "chatgpt", "exchange": "archimate", "archi": "archimate"}
_STATED |= {"archi-zip": "archimate"}


class TooSlow(BaseException):
    """Not an Exception, so that no reader can swallow it."""


@dataclass(slots=True)
class Tally:
    """What came of the files of one format."""

    files: int = 0
    documents: int = 0
    skipped: int = 0
    slowest: float = 0.0
    memory: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.files += other.files
        self.documents += other.documents
        self.skipped += other.skipped
        self.slowest = max(self.slowest, other.slowest)
        self.memory = max(self.memory, other.memory)
        self.failures += other.failures


# --- one file ------------------------------------------------------------------------------------


def check(items: list[Document | Skipped], source: str) -> None:
    """What holds for whatever comes out of one file."""
    assert items, "nothing came out"
    ids = [item.element_id for item in items if isinstance(item, Document)]
    assert len(ids) == len(set(ids)), "an id came twice"
    for item in items:
        if isinstance(item, Skipped):
            assert item.path == source
            assert item.reason.strip()
            assert len(item.reason) < 3_000, "a reason without end"
            _storable(item.reason)
        else:
            check_document(item)


def check_document(document: Document) -> None:
    assert document.element_id.strip()
    assert document.title or document.format == "jsonl"  # whose rows may have none
    assert document.title == document.title.strip()
    assert document.blocks
    end = 0
    for block in document.blocks:
        assert end <= block.start < block.end <= len(document.text), "offsets"
        piece = document.text[block.start : block.end]
        assert piece.strip(), "a block of white space"
        assert (block.kind == "turn") == (block.turn is not None)
        assert (block.kind == "heading") == (block.level > 0)
        assert block.page is None or block.page > 0
        end = block.end
    turns = [block.turn for block in document.blocks if block.turn]
    names = [turn.id for turn in turns]
    assert len(names) == len(set(names)), "the id of a turn came twice"
    assert all(names)
    assert all(turn.speaker for turn in turns)
    assert {turn.reply_to for turn in turns} <= {None, *names}
    assert all(link.source_id and link.target_id and link.type for link in document.links)
    written = json.dumps(asdict(document), allow_nan=False, ensure_ascii=False)
    written.encode("utf-8")
    assert "\\u0000" not in written.replace("\\\\", ""), "a NUL"


def _storable(text: str) -> None:
    text.encode("utf-8")
    assert "\0" not in text, "a NUL"


def try_file(kind: str, seed: int, index: int, folder: Path) -> tuple[Tally, bytes]:
    """Reads one damaged file, as a file or as bytes, with or without its format stated."""
    random = Random(f"{seed}:{kind}:{index}")
    data, source = mutated(kind, random), name(kind, random)
    format = _STATED.get(kind, kind) if random.random() < 0.3 else None
    path = folder / source
    path.write_bytes(data)
    tally = Tally(files=1)
    start = time.perf_counter()
    before = signal.signal(signal.SIGALRM, _too_slow)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        as_file = random.random() < 0.5
        found = read(path, source=source, format=format) if as_file else None
        items = list(found or read_text(data, source=source, format=format))
        tally.slowest = time.perf_counter() - start
        check(items, source)
        tally.documents = sum(isinstance(item, Document) for item in items)
        tally.skipped = len(items) - tally.documents
    except (Exception, TooSlow) as error:  # noqa: BLE001 - that is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        tally.slowest = time.perf_counter() - start
        tally.failures.append(f"{kind} {index} {source}: {what} ({where.name}:{where.lineno})")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        path.unlink()
    tally.memory = max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return tally, data


# --- one format, in a process of its own ---------------------------------------------------------


def child(kind: str, seed: int, first: int, last: int, keep: Path | None) -> None:
    """Reads files `first` to `last`; says before each one which it is, and at the end the sum."""
    _limit()
    total = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for index in range(first, last):
            print(index, flush=True)
            faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
            tally, data = try_file(kind, seed, index, Path(folder))
            if tally.failures and keep:
                (keep / f"{kind}-{seed}-{index}").write_bytes(data)
            total.add(tally)
            print(json.dumps(asdict(tally)), flush=True)


def _too_slow(*_: object) -> None:
    raise TooSlow(f"more than {SECONDS} s")


def _limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


def run(kind: str, seed: int, files: int, keep: Path | None = None, first: int = 0) -> Tally:
    """All files of one format. After a crash it goes on with the next file."""
    total = Tally()
    while first < files:
        command = [sys.executable, "-m", "tests.sources.fuzz", "--child", kind]
        command += ["--seed", str(seed), "--first", str(first), "--files", str(files)]
        command += ["--keep", str(keep)] if keep else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        at = first
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                total.add(Tally(**json.loads(line)))
                first = at + 1
            else:
                at = int(line)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or [""]
            total.files += 1
            total.failures.append(f"{kind} {at}: the process ended ({done.returncode}) {last[0]}")
            first = at + 1
    return total


def row(kind: str, tally: Tally) -> str:
    numbers = (tally.files, tally.documents, tally.skipped, round(tally.slowest * 1000))
    cells = "".join(f"{number:>11,}" for number in numbers)
    return f"{kind:12}{cells}{tally.memory // 1024:>9,} MB{len(tally.failures):>10}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000, help="of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--keep", type=Path, help="a folder for the files that fail")
    parser.add_argument("--child", choices=ENDINGS, help=argparse.SUPPRESS)
    parser.add_argument("formats", nargs="*", metavar="format", help=", ".join(ENDINGS))
    asked = parser.parse_args()
    if unknown := set(asked.formats) - set(ENDINGS):
        parser.error(f"there is no format {min(unknown)!r}; choose from {', '.join(ENDINGS)}")
    if asked.child:
        child(asked.child, asked.seed, asked.first, asked.files, asked.keep)
        return 0
    print(f"{'format':12}{'files':>11}{'documents':>11}{'skipped':>11}{'slowest ms':>11}", end="")
    print(f"{'memory':>12}{'failures':>10}")
    failures: list[str] = []
    for kind in asked.formats or ENDINGS:
        tally = run(kind, asked.seed, asked.files, asked.keep, asked.first)
        print(row(kind, tally), flush=True)
        failures += tally.failures
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
