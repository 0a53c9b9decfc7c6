"""Where readers ask: a key and a request in, canonical JSON out.

A surface is whatever stands between a reader and a store: the engine itself, a command line, a
service. The kit writes worlds by the owner's engine and asks through the surface.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from sourcebook.access import authenticate
from sourcebook.chunking.fixed import FixedChunker
from sourcebook.config import Chunking, Settings
from sourcebook.engine import Engine
from sourcebook.errors import SourcebookError
from sourcebook.model import Json
from sourcebook.ports import Embedder, Store
from sourcebook.testing.actions import ACTIONS
from sourcebook.testing.embedding import WordEmbedder


@dataclass(frozen=True, slots=True)
class Request:
    """What a reader asks of a repository: an action of `actions.ACTIONS` and its arguments, which
    are JSON. A surface that has no such action tells the same whenever it is asked for it."""

    action: str
    repository: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


class Surface(Protocol):
    @property
    def owner(self) -> Engine:
        """Of the store below, without a key: worlds are written by it."""
        ...

    def ask(self, key: str, request: Request) -> str:
        """All that the reader gets to see, as JSON with sorted keys: the answer, or the error with
        its code and message, and whatever else the surface tells, such as headers."""
        ...

    def close(self) -> None: ...


class EngineSurface:
    """The engine, asked by whoever has a key. All readers share its caches."""

    def __init__(self, store: Store) -> None:
        self._embedders = {name: WordEmbedder(name) for name in ("words", "others")}
        self.owner = make_engine(store, self._embedders)

    def ask(self, key: str, request: Request) -> str:
        before = self._asked()
        told = self.told(key, request)
        return to_json(told | {"questions_embedded": self._asked() - before})

    def close(self) -> None:
        self.owner.close()

    def told(self, key: str, request: Request) -> dict[str, Json]:
        """What is answered. A surface over the engine has its own way to ask."""
        try:
            caller = authenticate(self.owner.store, key)
            engine = self.owner.as_caller(caller, request.repository)
            return {"answer": ACTIONS[request.action](engine, dict(request.arguments))}
        except SourcebookError as error:
            told = {"code": error.code, "message": str(error), "field": error.field}
            return {"error": told}

    def _asked(self) -> int:
        return sum(embedder.asked for embedder in self._embedders.values())


def make_engine(store: Store, embedders: Mapping[str, WordEmbedder]) -> Engine:
    """Over the kit's own embedders, by provider; the first one is the configured one."""
    first = next(iter(embedders.values()))
    chunking = Chunking(
        strategy="fixed", min_tokens=4, target_tokens=12, max_tokens=20, overlap_tokens=0
    )
    return Engine(
        Settings(chunking=chunking),
        store,
        cast(Embedder, first),
        lambda: FixedChunker(first.count),
        Path(),
        make_embedder=lambda provider, model, dimensions: cast(Embedder, embedders[provider]),
    )


def to_json(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
