"""The name of a format in; sound files of it out, small enough that thousands can be read.

They come from the examples, from the test collections where these are there, and from reportlab
and python-docx.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from docx import Document as new_document
from reportlab.pdfgen.canvas import Canvas

from tests.sources.pdf_files import cells, lines, pdf
from tests.sources.test_archimate import EXCHANGE, NATIVE

PROJECT = Path(__file__).parent.parent.parent
CORPUS = PROJECT / "examples" / "corpus"
DATA = PROJECT / os.environ.get("SOURCEBOOK_DATA", "../shared/data")
_MOST = 40_000
ENDINGS = {
    "text": "txt",
    "code": "py",
    "transcript": "txt",
    "markdown": "md",
    "html": "html",
    "jsonl": "jsonl",
    "chatgpt": "json",
    "chatgpt-zip": "zip",
    "claude": "json",
    "pdf": "pdf",
    "docx": "docx",
    "exchange": "xml",
    "archi": "archimate",
    "archi-zip": "archimate",
}
"""What is fuzzed, and how its files end."""


@cache
def seeds(kind: str) -> tuple[bytes, ...]:
    return tuple(_SEEDS[kind]())


def _files(pattern: str, most: int = _MOST) -> list[bytes]:
    """The examples and the collections' files, their first lines where they are long."""
    found = [*sorted(CORPUS.glob(f"**/{pattern}")), *sorted(DATA.glob(f"**/{pattern}"))]
    return [_first_lines(path.read_bytes(), most) for path in found]


def _first_lines(data: bytes, most: int) -> bytes:
    return data if len(data) <= most else data[: data.rfind(b"\n", 0, most) + 1]


def _code() -> list[bytes]:
    return [Path(__file__).read_bytes(), b"def f(x):\n    return x\n\n\nclass A:\n    pass\n"]


def _text() -> list[bytes]:
    numbered = "\n\n".join(f"{n}. Rule {n}\n\n{n}.1 Use. The owner shall.\n" for n in range(1, 9))
    contents = "Contents\n" + "\n".join(f"{n} Rule {n} ..... {n}" for n in range(1, 9))
    return [*_files("*.txt"), f"{contents}\n\n{numbered}".encode()]


def _transcript() -> list[bytes]:
    roles = "User: How is it?\n\nAssistant: Fine.\n\n```py\nx: 1\n```\n\n" * 8
    stamped = "[2024-05-01 10:22] Anna: Hello.\n[2024-05-01 10:23] Ben (IT): No!\n" * 8
    bold = "**Anna:** Is it so?\n\n**Ben:** It is.\n\n" * 5
    return [roles.encode(), stamped.encode(), bold.encode(), *_files("chatlogs.md")]


def _markdown() -> list[bytes]:
    front = b"---\ntitle: A\ndate: 2024-01-01\ntags: [a, 1, true, null]\nn: {k: 1.5}\n---\n\n"
    everything = (
        front + b"# A\n\n- b\n  1. c\n\n> d\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx\n```\n"
    )
    plain = [data for data in _files("*.md", 8_000) if not data.startswith(b"---")]
    return [everything, *_files("*.md", 8_000), *(front + data for data in plain[:3])]


def _html() -> list[bytes]:
    table = "<table><caption>c</caption><tr><th>a<td>b<tr><td>1<td><pre>x\ny</pre></table>"
    page = f"<!doctype html><title>t</title><meta name=author content=me><h1>a</h1>{table}"
    rest = "<ul><li>x<li>y<b>z</b></ul><nav>n</nav><p>a<br>b &amp; c<script>s</script>"
    return [*_files("*.html"), f"{page}{rest}".encode()]


def _jsonl() -> list[bytes]:
    row = {"_id": "a", "title": "t", "text": "One.\n\nTwo.", "metadata": {"n": [1, {"k": None}]}}
    return [json.dumps(row).encode() + b"\n", *_files("corpus.jsonl", 6_000)]


def _chatgpt() -> list[bytes]:
    return [*_exports("chatgpt"), json.dumps([_conversation()]).encode()]


def _conversation() -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"content_type": "text", "parts": ["Hello"]},
        {"content_type": "code", "language": "python", "text": "print(1)"},
        {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}]},
        {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]},
        {"content_type": "text", "parts": ['{"name": "n", "type": "code/py", "content": "x"}']},
        {"content_type": "strange", "words": ["a", {"b": "c"}]},
    ]
    mapping: dict[str, Any] = {"0": {"id": "0", "parent": None, "children": ["1"], "message": None}}
    for number, content in enumerate(kinds, 1):
        about = {"model_slug": "m", "attachments": [{"id": "f", "name": "f.txt"}]}
        mapping[str(number)] = {
            "id": str(number),
            "parent": str(number - 1),
            "children": [str(number + 1)],
            "message": {
                "author": {"role": "user" if number % 2 else "tool", "name": "canmore"},
                "create_time": 1.7e9 + number,
                "content": content,
                "metadata": about,
                "recipient": "all" if number % 2 else "canmore.x",
            },
        }
    return {"id": "c", "title": "T", "create_time": 1.7e9, "current_node": "6", "mapping": mapping}


def _claude() -> list[bytes]:
    parts = [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "name": "t", "input": {"q": "a\nb", "n": 1}},
        {"type": "tool_result", "content": [{"type": "text", "text": "r"}]},
    ]
    said = [
        {
            "uuid": f"m{number}",
            "parent_message_uuid": f"m{number - 1}",
            "sender": "human",
            "created_at": "2024-01-01T00:00:00Z",
            "content": parts,
            "attachments": [{"file_name": "f", "extracted_content": "e"}],
        }
        for number in range(4)
    ]
    chat = {"uuid": "u", "name": "N", "chat_messages": said, "project": {"name": "p"}}
    return [*_exports("claude"), json.dumps([chat]).encode()]


def _exports(app: str) -> list[bytes]:
    """Whole files; of a long one its first conversation."""
    found = [path.read_bytes() for path in sorted(DATA.glob(f"chat_exports/{app}*.json"))]
    return [d if len(d) < _MOST else json.dumps(json.loads(d)[:1]).encode() for d in found]


def _chatgpt_zip() -> list[bytes]:
    several = {"conversations-0.json": _chatgpt()[0], "export/conversations-1.json": _chatgpt()[-1]}
    beside = {"chat.html": b"<p>x", "conversations.json": _chatgpt()[-1], "a/b.png": b"\x89PNG"}
    return [
        zipped(several),
        zipped(beside),
        *(zipped({"conversations.json": d}) for d in _claude()),
    ]


def _pdf() -> list[bytes]:
    def prose(canvas: Canvas) -> None:
        y = lines(canvas, ["1 Scope", "1.1 Use of the barn"], size=14, font="Helvetica-Bold")
        y = lines(canvas, ["The barn is for all mem-", "bers of the society.", "2 Fees"], y=y)
        cells(canvas, [["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]], [72, 200, 300], y)
        canvas.bookmarkPage("k")
        canvas.addOutlineEntry("1 Scope", "k", 0)

    def columns(canvas: Canvas) -> None:
        for x in (60, 320):
            lines(canvas, ["words that fill a column of text as prose does"] * 9, x=x, size=9)

    small = [pdf(prose, columns, pageCompression=c) for c in (0, 1)]
    real = [path.read_bytes() for path in sorted(DATA.glob("hoa/*/rules.pdf"))]
    return [*small * 4, *real]


def _docx() -> list[bytes]:
    word = new_document()
    word.core_properties.title = "Rules"
    word.add_heading("Scope", 1)
    word.add_paragraph("The barn is for all.")
    word.add_paragraph("First", style="List Number")
    table = word.add_table(2, 2)
    table.cell(0, 0).text = "a"
    table.cell(1, 1).add_table(1, 1).cell(0, 0).text = "inner"
    word.add_page_break()
    word.add_heading("Fees", 2)
    buffer = io.BytesIO()
    word.save(buffer)
    keep = ("[Content_Types].xml", "docProps/core.xml", "word/document.xml", "word/styles.xml")
    parts = {name: data for name, data in unzipped(buffer.getvalue()) if name in keep}
    parts |= {name: data for name, data in _NOTES.items() if name not in parts}
    return [buffer.getvalue(), zipped(parts)]


_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_NOTES = {
    "word/footnotes.xml": f'<w:footnotes xmlns:w="{_W}"><w:footnote w:id="1"><w:p><w:r><w:t>n'
    "</w:t></w:r></w:p></w:footnote></w:footnotes>".encode(),
    "word/numbering.xml": f'<w:numbering xmlns:w="{_W}"><w:abstractNum w:abstractNumId="1"><w:lvl '
    'w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1.%2"/>'
    '</w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    "</w:numbering>".encode(),
}


def _exchange() -> list[bytes]:
    real = [p.read_bytes() for p in sorted(DATA.glob("archimate/**/*.xml"))]
    example = [p.read_bytes() for p in sorted(CORPUS.glob("**/*.xml"))]
    return [EXCHANGE.encode(), *example, *(data for data in real if len(data) <= _MOST)]


def _archi() -> list[bytes]:
    real = [p.read_bytes() for p in sorted(DATA.glob("archimate/**/*.archimate"))]
    return [NATIVE.encode(), *(data for data in real if len(data) <= _MOST)]


def _archi_zip() -> list[bytes]:
    return [zipped({"model.xml": data, "images/a.png": b"\x89PNG"}) for data in _archi()]


def zipped(parts: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return packed.getvalue()


def unzipped(data: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


_SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "text": _text,
    "code": _code,
    "transcript": _transcript,
    "markdown": _markdown,
    "html": _html,
    "jsonl": _jsonl,
    "chatgpt": _chatgpt,
    "chatgpt-zip": _chatgpt_zip,
    "claude": _claude,
    "pdf": _pdf,
    "docx": _docx,
    "exchange": _exchange,
    "archi": _archi,
    "archi-zip": _archi_zip,
}
