"""What every part of the engine shares: the ports, whose data it is, and who asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sourcebook import access
from sourcebook.chunking.strategy import ChunkingStrategy
from sourcebook.config import Monitoring, Settings
from sourcebook.ingest import Builder
from sourcebook.model import (
    Caller,
    ReadContext,
    Resolved,
    Right,
    Scope,
    Space,
)
from sourcebook.ports import Embedder, Generator, Store
from sourcebook.retrieve import Caches
from sourcebook.spaces import Makes, Spaces

HEAD = ReadContext()


class Core:
    """The ports and the scope."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        embedder: Embedder,
        chunker: Callable[[], ChunkingStrategy],
        root: Path,
        generator: Generator | None = None,
        judge: Generator | None = None,
        make_embedder: Makes | None = None,
    ) -> None:
        """Files below `root` are named relative to it. `generator` writes contexts at ingest,
        `judge` answers while a question waits. `make_embedder` gives the models of spaces that are
        not the configured one's."""
        self.root = root.resolve()
        self.settings = settings
        self.scope = settings.scope
        self.caller: Caller | None = None
        """Who came with a key; None is the owner of the store."""
        self.store = store
        self.embedder = embedder
        self.generator = generator
        self.judge = judge
        self._make_chunker = chunker
        self._make_embedder = make_embedder
        self._builders: dict[tuple[str, str], Builder] = {}
        self._caches = Caches.make()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    def in_repository(self, name: str) -> Self:
        """The same store and models, another repository: one that the caller may read."""
        if self.caller is not None:
            return self.as_caller(self.caller, name)
        return self._with(replace(self.scope, repository=name))

    def in_scope(self, scope: Scope) -> Self:
        """The same store and models, any repository of the store: for who runs it, and for no
        key."""
        access.require_owner(self.caller)
        return self._with(scope)

    def as_caller(self, caller: Caller, repository: str, right: Right = "read") -> Self:
        """The same store, models and caches, seen by whoever came with a key; NotFound for a
        repository that it may not read. What writes asks for the right by itself."""
        scope = access.scope_for(self.store, caller, repository, right)
        return self._with(scope, caller=caller)

    def unlogged(self) -> Self:
        """The same, but what is asked of it is not what people ask: an evaluation."""
        return self._with(self.scope, caller=self.caller, monitoring=Monitoring(log=False))

    def _with(self, scope: Scope, *, caller: Caller | None = None, **changes: Any) -> Self:
        place = {
            "tenant": scope.tenant,
            "organization": scope.organization,
            "repository": scope.repository,
        }
        settings = self.settings.model_copy(update=place | changes)
        made = (settings, self.store, self.embedder, lambda: self._chunker)
        engine = type(self)(*made, self.root, self.generator, self.judge, self._make_embedder)
        engine.scope, engine.caller, engine._caches = scope, caller, self._caches
        return engine

    def resolve(self, context: ReadContext = HEAD) -> Resolved:
        return self.store.resolve(self.scope, context)

    def cache_counts(self) -> dict[str, tuple[int, int]]:
        """How often each cache had what was asked for and how often not, for all callers."""
        questions, answers = self._caches.questions, self._caches.answers
        return {
            "questions": (questions.hits, questions.misses),
            "answers": (answers.hits, answers.misses),
        }

    @property
    def space(self) -> Space | None:
        """The one that searches use."""
        return self._spaces.active()

    @property
    def _spaces(self) -> Spaces:
        def chunker() -> str:
            return f"{self._chunker.name}-{self._chunker.version}"

        return Spaces(self.store, self.scope, self.embedder, self._make_embedder, chunker)

    @cached_property
    def _chunker(self) -> ChunkingStrategy:
        return self._make_chunker()
