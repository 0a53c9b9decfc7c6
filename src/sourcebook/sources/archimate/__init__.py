"""An ArchiMate model in; a document for the model, each of its elements and each of its views out.

Open Group exchange files and the files of Archi become one neutral graph (`model`), from which an
element gets the context that its relationships give it (`describe`).
"""

from __future__ import annotations

from collections.abc import Iterator

from sourcebook.errors import UnreadableSource
from sourcebook.model import Document, Skipped
from sourcebook.sources.archimate import exchange, native
from sourcebook.sources.archimate.documents import documents
from sourcebook.sources.archimate.model import Model, assemble
from sourcebook.sources.archimate.xmltree import load
from sourcebook.sources.raw import Raw
from sourcebook.sources.scrub import scrub

__all__ = ["read", "read_model"]

_OPEN_GROUP = "http://www.opengroup.org/xsd/archimate"
_ARCHI = ("http://www.archimatetool.com/archimate", "http://www.bolton.ac.uk/archimate")


def read(raw: Raw) -> Iterator[Document | Skipped]:
    model = read_model(raw)
    for problem in model.problems:
        yield Skipped(raw.source, problem.reason, problem.taken)
    yield from documents(model, raw)


def read_model(raw: Raw) -> Model:
    """The graph of a file; raises UnreadableSource when there is none in it."""
    namespace, root = load(raw.stream)
    if root.tag != "model" or not namespace.startswith((_OPEN_GROUP, *_ARCHI)):
        name = scrub(root.tag)[:80]
        raise UnreadableSource(
            f"the XML is not an ArchiMate model but <{name}>; only these are read"
        )
    reader = native if namespace.startswith(_ARCHI) else exchange
    return assemble(reader.read(root), fallback_id=raw.source, fallback_name=raw.name)
