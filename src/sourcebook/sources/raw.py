"""One source as it arrives: bytes to be read, and what the caller knows about them.

Every format reads from this, so that a format that can be streamed is streamed and the others
take all bytes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import BinaryIO

from sourcebook.errors import UnreadableSource
from sourcebook.model import Block, Document, Metadata
from sourcebook.sources.decode import Decoded


@dataclass(frozen=True, slots=True)
class Raw:
    source: str
    stream: BinaryIO
    metadata: Metadata = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What a document is called when it does not say so itself."""
        return PurePosixPath(self.source).stem or self.source

    def document(
        self, decoded: Decoded, *, format: str, title: str, blocks: Sequence[Block], own: Metadata
    ) -> Document:
        """The whole source as one document. What the caller states outranks what the file says
        of itself, as a command line outranks a file everywhere."""
        if not blocks:
            raise UnreadableSource("the file holds no text")
        encoding = {} if decoded.encoding == "utf-8" else {"encoding": decoded.encoding}
        return Document(
            element_id=self.source,
            title=title or self.name,
            text=decoded.text,
            source=self.source,
            format=format,
            blocks=tuple(blocks),
            metadata={**encoding, **own, **self.metadata},
        )
