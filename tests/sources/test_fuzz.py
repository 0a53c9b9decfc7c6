"""A small share of the fuzzer's files through every reader, and bombs in a process with 1 GB.

The whole count is a program: `python -m tests.sources.fuzz --files 2000`.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from sourcebook.model import Block, Document, Skipped
from sourcebook.sources import read_text
from tests.sources.fuzz import MEMORY, SECONDS, check, try_file
from tests.sources.fuzz_mutate import mutated
from tests.sources.fuzz_seeds import ENDINGS, seeds, zipped
from tests.sources.test_archimate import HEAD

SEED = 20_240
FILES = {"pdf": 12, "docx": 40}
PROGRAM = f"""
import json, pathlib, resource, sys
from sourcebook.model import Document
from sourcebook.sources import read
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, resource.getrlimit(resource.RLIMIT_AS)[1]))
for path in map(pathlib.Path, sys.argv[1:]):
    for item in read(path, source=path.name):
        words = item.text if isinstance(item, Document) else item.reason
        print(json.dumps([path.name, isinstance(item, Document), words]))
"""
XINCLUDE = "http://www.w3.org/2001/XInclude"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@pytest.mark.parametrize("kind", ENDINGS)
def test_damaged_files_give_documents_or_reasons(kind: str, tmp_path: Path) -> None:
    tallies = [try_file(kind, SEED, n, tmp_path)[0] for n in range(FILES.get(kind, 80))]
    assert [failure for tally in tallies for failure in tally.failures] == []
    assert sum(tally.documents for tally in tallies) > 0
    assert sum(tally.skipped for tally in tallies) > 0


@pytest.mark.parametrize("kind", ENDINGS)
def test_the_files_that_are_damaged_are_sound(kind: str) -> None:
    assert seeds(kind)
    for data in dict.fromkeys(seeds(kind)):
        found = list(read_text(data, source=f"a.{ENDINGS[kind]}"))
        check(found, f"a.{ENDINGS[kind]}")
        assert any(isinstance(item, Document) for item in found)


def test_the_same_seed_makes_the_same_files() -> None:
    def some(seed: int) -> list[bytes]:
        return [mutated(kind, Random(seed)) for kind in ENDINGS if kind != "docx"]

    assert some(1) == some(1)
    assert some(1) != some(2)


def document(text: str = "words", **more: object) -> Document:
    made = {"blocks": (Block("prose", 0, len(text)),), "metadata": {}, **more}
    return Document("a", "A", text, "a.txt", "text", **made)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "item",
    [
        document(blocks=()),
        document(blocks=(Block("prose", 0, 6),)),
        document(blocks=(Block("prose", 2, 4), Block("prose", 0, 1))),
        document(blocks=(Block("prose", 0, 3), Block("prose", 2, 5))),
        document(blocks=(Block("turn", 0, 3),)),
        document("a\0b"),
        document("a\ud800b"),
        document(metadata={"a": float("nan")}),
        document(metadata={"a": ["\0"]}),
        document(metadata={"a": object()}),
        Skipped("a.txt", " "),
        Skipped("b.txt", "why"),
        Skipped("a.txt", "\ud800"),
    ],
)
def test_the_checks_can_fail(item: Document | Skipped) -> None:
    check([document()], "a.txt")
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check([item], "a.txt")


# --- bombs ---------------------------------------------------------------------------------------


def outcome(folder: Path, files: dict[str, bytes]) -> list[tuple[str, bool, str]]:
    """What comes out of a process with 1 GB and ten seconds: of which file, whether a document,
    and its text or the reason."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    command = [sys.executable, "-c", PROGRAM, *(str(folder / name) for name in files)]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def refusal(folder: Path, name: str, data: bytes) -> str:
    ((_, is_document, reason),) = outcome(folder, {name: data})
    assert not is_document
    return reason


def word(xml: str, declared: str = "") -> bytes:
    body = f'<w:document xmlns:w="{W}"><w:body>{xml}</w:body></w:document>'
    return zipped({"word/document.xml": f"{declared}{body}".encode()})


def model(xml: str, declared: str = "") -> bytes:
    return f"{declared}{HEAD}<name>{xml}</name></model>".encode()


def nested(levels: int) -> bytes:
    data = zipped({"conversations.json": b"[]"})
    for _ in range(levels):
        data = zipped({"a.zip": data, "b.zip": data})
    return data


def many_entries() -> bytes:
    """One member, listed in the directory 100,001 times."""
    data = zipped({"conversations.json": b"[]"})
    first, last = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    directory = data[first:last] * 100_001
    end = io.BytesIO()
    end.write(data[last : last + 8] + b"\xff\xff\xff\xff")
    end.write(len(directory).to_bytes(4, "little") + first.to_bytes(4, "little") + b"\0\0")
    return data[:first] + directory + end.getvalue()


MORE = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
LAUGHS = f'<!DOCTYPE a [<!ENTITY l0 "ha">{MORE}]>'
BLOW_UP = f'<!DOCTYPE a [<!ENTITY l11 "{"x" * 100_000}">]>'
TEXT = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "zip in zip": ("a.zip", lambda: nested(12), "no conversations.json"),
    "zip as a member": (
        "a.zip",
        lambda: zipped({"conversations.json": nested(2)}),
        "binary content (ZIP",
    ),
    "entries": ("a.zip", many_entries, "more than 100,000 files"),
    "ratio": (
        "a.zip",
        lambda: zipped({"conversations.json": b" " * 60_000_000}),
        "200 times its size",
    ),
    "word ratio": ("a.docx", lambda: word(" " * 30_000_000), "far more than a text"),
    "model ratio": (
        "a.archimate",
        lambda: zipped({"model.xml": model(" " * 30_000_000)}),
        "far more than a model",
    ),
    "word laughs": ("a.docx", lambda: word(TEXT.format("&l11;"), LAUGHS), "declares XML entities"),
    "word laughs in attributes": (
        "a.docx",
        lambda: word('<w:p a="&l11;"/>', LAUGHS),
        "declares XML entities",
    ),
    "word blow-up": (
        "a.docx",
        lambda: word(TEXT.format("&l11;" * 100_000), BLOW_UP),
        "declares XML entities",
    ),
    "word depth": ("a.docx", lambda: word("<w:p>" * 100_000), "damaged"),
    "word attribute": (
        "a.docx",
        lambda: word(f'<w:p a="{os.urandom(6_000_000).hex()}"/>'),
        "damaged",
    ),
    "model laughs": ("a.xml", lambda: model("&l11;", LAUGHS), "declares a DTD"),
    "model blow-up": ("a.archimate", lambda: model("&l11;" * 100_000, BLOW_UP), "declares a DTD"),
    "model depth": ("a.xml", lambda: model("<a>" * 100_000), "nested too deeply"),
    "page depth": ("a.html", lambda: b"<h1>" * 100_000, "nested too deeply"),
    "rows depth": ("a.jsonl", lambda: b'{"text":' + b"[" * 100_000, "nested too deeply"),
    "chat depth": ("a.json", lambda: b'[{"mapping":' + b"[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_with_a_clear_sentence(bomb: str, tmp_path: Path) -> None:
    name, make, expected = BOMBS[bomb]
    assert expected in refusal(tmp_path, name, make())


def test_a_huge_attribute_of_a_model_is_only_long(tmp_path: Path) -> None:
    name = "x" * 5_000_000
    data = f'{HEAD}<elements><element identifier="id-a" name="{name}"/></elements></model>'
    found = outcome(tmp_path, {"a.xml": data.encode()})
    assert [is_document for _, is_document, _ in found] == [False, True, True]


OUTSIDE = (
    '<!DOCTYPE a [<!ENTITY l11 SYSTEM "{}">]>',
    '<!DOCTYPE a [<!ENTITY % p SYSTEM "{}"> %p;]>',
    '<!DOCTYPE a SYSTEM "{}">',
    '<?xml-stylesheet type="text/xsl" href="{}"?>',
)


@pytest.mark.parametrize("declared", OUTSIDE)
def test_nothing_outside_a_file_is_read(declared: str, tmp_path: Path) -> None:
    """The secret comes out nowhere; and a reader that opened the pipe would wait for ever."""
    secret, pipe = tmp_path / "secret", tmp_path / "pipe"
    secret.write_text("canary")
    os.mkfifo(pipe)
    files = {}
    for number, outside in enumerate((secret.as_uri(), pipe.as_uri())):
        before = declared.format(outside)
        words = "a&l11;" if "ENTITY l11" in before else "a"
        words += f'<x:include xmlns:x="{XINCLUDE}" parse="text" href="{outside}"/>'
        page = f"{before}<html><p>{words}<iframe src='{outside}'></iframe>".encode()
        files |= {
            f"{number}.docx": word(TEXT.format(words), before),
            f"{number}.xml": model(words, before),
            f"{number}.html": page,
            f"{number}.md": f"---\na: !include {outside}\n---\n".encode() + page,
        }
    found = outcome(tmp_path, files)
    assert {name for name, _, _ in found} == set(files)
    assert "canary" not in json.dumps(found)


def test_a_zip_packed_with_lzma_takes_no_memory(tmp_path: Path) -> None:
    """Its dictionary alone would be 4 GB."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("conversations.json", "[]")
    data = bytearray(made.getvalue())
    start = data.index(b"conversations.json") + len("conversations.json")
    data[start + 5 : start + 9] = b"\xff\xff\xff\xff"
    assert "packed in an unusual way" in refusal(tmp_path, "a.zip", bytes(data))
