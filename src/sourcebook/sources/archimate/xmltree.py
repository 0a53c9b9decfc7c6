"""The bytes of an XML file, or of a ZIP that holds one, in; a plain tree without namespaces out.

The file is not trusted: there is no DTD, so there are no entities and nothing is fetched; size,
depth and number of nodes are bounded. What only says how a diagram looks is left out at once.
Attribute names are in small letters, since versions of the format differ in it (`elementref`).
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from sourcebook.errors import UnreadableSource
from sourcebook.sources.archive import DAMAGE, is_bomb, is_plain
from sourcebook.sources.decode import mark_of

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 256
MAX_NODES = 500_000
MAX_ATTRIBUTES = 2_000_000
MAX_LINES = 3_000_000
TYPE = "xsi:type"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_LOOKS = frozenset("style bounds bendpoint feature sourceAttachment targetAttachment".split())
_ZIP = b"PK\x03\x04"
_SMALL = 4 * 1024 * 1024
_TOO_MANY = "the XML has too many parts for a model; split it into several models"
_DAMAGED = "the ZIP archive is damaged or locked; save the model anew"


@dataclass(slots=True)
class _Tree:
    """Builds the tree from the parser's events."""

    builder: TreeBuilder = field(default_factory=TreeBuilder)
    namespace: str = ""
    depth: int = 0
    nodes: int = 0
    attributes: int = 0
    hidden: int = 0
    """How deep inside a part that is left out."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        if not self.depth:
            self.namespace = namespace
        self.depth += 1
        self.nodes += 1
        self.attributes += len(attributes)
        if self.depth > MAX_DEPTH:
            raise UnreadableSource(
                "the XML is nested too deeply for a model; export the model anew"
            )
        if self.nodes > MAX_NODES or self.attributes > MAX_ATTRIBUTES:
            raise UnreadableSource(_TOO_MANY)
        if self.hidden or local in _LOOKS:
            self.hidden += 1
        else:
            self.builder.start(local, {_key(k): v for k, v in attributes.items()})

    def end(self, name: str) -> None:
        self.depth -= 1
        if self.hidden:
            self.hidden -= 1
        else:
            self.builder.end(name.rpartition(" ")[2])

    def text(self, text: str) -> None:
        if not self.hidden:
            self.builder.data(text)


def load(stream: BinaryIO) -> tuple[str, Element]:
    """The namespace of the root, and the root."""
    data = _bounded(stream)
    return _parse(_from_zip(data) if data.startswith(_ZIP) else data)


def _bounded(stream: BinaryIO) -> bytes:
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        limit = MAX_BYTES // 1024 // 1024
        raise UnreadableSource(f"the model is larger than {limit} MB; split it into several models")
    return data


def _from_zip(data: bytes) -> bytes:
    """Archi saves a model that has images as a ZIP with `model.xml` in it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            info = archive.NameToInfo.get("model.xml")
            if info is None:
                raise UnreadableSource("the ZIP archive holds no model.xml, so it is no model")
            if is_bomb(info, _SMALL):
                raise UnreadableSource(
                    "the ZIP archive unpacks to far more than a model does; save the model anew"
                )
            if not is_plain(info):
                raise UnreadableSource(_DAMAGED)
            with archive.open(info) as part:
                return _bounded(part)  # type: ignore[arg-type]
    except DAMAGE:
        raise UnreadableSource(_DAMAGED) from None


def _parse(data: bytes) -> tuple[str, Element]:
    mark = mark_of(data)
    if not (data.removeprefix(mark[0]) if mark else data).strip():
        raise UnreadableSource("the file is empty")
    if data.count(b"\n") > MAX_LINES:
        raise UnreadableSource(_TOO_MANY)
    parser = expat.ParserCreate("utf-8" if mark and mark[1] == "utf-8" else None, " ")
    tree = _Tree()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_dtd
    parser.StartElementHandler = tree.start
    parser.EndElementHandler = tree.end
    parser.CharacterDataHandler = tree.text
    try:
        parser.Parse(data, True)
        return tree.namespace, tree.builder.close()
    except expat.ExpatError as error:
        reason = f"{expat.ErrorString(error.code)} at line {error.lineno}"
        raise UnreadableSource(f"not valid XML ({reason}); export the model anew") from None
    except (LookupError, ValueError):  # an encoding that is unknown, or not one byte a character
        raise UnreadableSource("the XML's encoding is not known; save it as UTF-8") from None


def _refuse_dtd(*_: object) -> None:
    raise UnreadableSource("the XML declares a DTD, which a model never has; remove the DOCTYPE")


def _key(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return TYPE if namespace == _XSI and local == "type" else local.lower()
