"""A program's source in, one code block for each run of lines between blank lines out.

The words stay as they are; a chunk is shown to the model with the lines that it stands in, so that
a method is found by its class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from sourcebook.model import Document
from sourcebook.sources.decode import decode
from sourcebook.sources.raw import Raw
from sourcebook.sources.text import paragraphs

EXTENSIONS = frozenset(
    """.bash .c .cc .clj .cpp .cs .css .cxx .dart .elm .erl .ex .exs .fs .go .groovy .h
    .hpp .hs .java .jl .js .jsx .kt .kts .lua .m .ml .mm .nim .php .pl .pm .proto .ps1 .py
    .pyi .r .rb .rs .scala .scss .sh .sol .sql .swift .tf .ts .tsx .vb .vue .zig""".split()
)


def read(raw: Raw) -> Iterator[Document]:
    decoded = decode(raw.stream.read())
    blocks = [replace(block, kind="code") for block in paragraphs(decoded.text)]
    name = PurePosixPath(raw.source).name
    yield raw.document(decoded, format="code", title=name, blocks=blocks, own={})
