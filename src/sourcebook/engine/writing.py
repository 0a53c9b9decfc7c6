"""Sources in, revisions and their vectors out.

What reads the formats is imported when there is something to read: a search starts faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sourcebook import access, indexing, rating
from sourcebook.analysis import ANALYZER_VERSION
from sourcebook.context.generated import Asking, Contexts
from sourcebook.context.passages import CONTEXT_VERSION, PassageMaker
from sourcebook.engine.core import Core
from sourcebook.errors import InvalidInput, ModelUnavailable
from sourcebook.hashing import digest
from sourcebook.indexing import Indexer
from sourcebook.ingest import Again, Builder, Outcome, Progress, Request, ingest
from sourcebook.model import (
    Document,
    Json,
    Metadata,
    Skipped,
    Tree,
)
from sourcebook.ports import Embedder, Failure, IndexHealth
from sourcebook.spaces import Reindexed

if TYPE_CHECKING:
    from sourcebook.sources.governing import Rules


class Writing(Core):
    def ingest(
        self,
        *paths: str | Path,
        format: str | None = None,
        metadata: Metadata | None = None,
        prune: bool = False,
        message: str = "",
        request_id: str | None = None,
        wait: bool = True,
        progress: Progress | None = None,
        embedding_progress: indexing.Progress | None = None,
        context_progress: Asking | None = None,
        embed_first: bool = False,
    ) -> Outcome:
        """Files and folders become one revision; unchanged files change nothing. With
        `embed_first` it is committed when all its vectors are there."""
        from sourcebook.sources import find

        if not paths:
            raise InvalidInput("give at least one file or folder to ingest", field="paths")
        found = list(find(paths))
        given = [Path(path).resolve() for path in paths]

        def below(source: str) -> bool:
            return any((self.root / source).is_relative_to(path) for path in given)

        documents = Again(lambda: self._read(found, format, metadata or {}))
        request = Request(documents, message, request_id, below if prune else None)
        reports = (progress, embedding_progress, context_progress)
        return self.take_in(request, wait, *reports, embed_first)

    def take_in(
        self,
        request: Request,
        wait: bool = True,
        progress: Progress | None = None,
        embedding_progress: indexing.Progress | None = None,
        context_progress: Asking | None = None,
        embed_first: bool = False,
    ) -> Outcome:
        """Commit parsed documents; with `wait`, embed what has no vector yet."""
        access.require(self.caller, "write")
        made = (self.store, self.scope, self._builder())
        ahead = self._embed_ahead if embed_first else None
        outcome = ingest(*made, request, progress, context_progress, ahead)
        if outcome.revision == 0:
            return outcome
        rating.rate(self.store, self.scope, since=outcome.revision)
        spaces = self._spaces
        try:
            space = spaces.require()
        except ModelUnavailable:  # it cannot even say how long its vectors are: a worker asks again
            outcome.pending_vectors = outcome.passages
            return outcome
        if wait:
            model = spaces.embedder(space)
            indexing.fill(self.store, model, self.scope, space, embedding_progress)
        health = self.store.index_health(self.scope, space)
        outcome.pending_vectors, outcome.failed_vectors = health.pending, health.failed
        return outcome

    def _embed_ahead(self, trees: Sequence[Tree]) -> None:
        spaces = self._spaces
        space = spaces.require()
        texts = {digest(p.embedded_text): p.embedded_text for t in trees for p in t.passages}
        indexing.embed_ahead(self.store, spaces.embedder(space), self.scope, space, texts)

    def _read(
        self, found: Sequence[Path | Skipped], format: str | None, metadata: Metadata
    ) -> Iterable[Document | Skipped]:
        from sourcebook.sources import read
        from sourcebook.sources.governing import governed

        for item in found:
            if isinstance(item, Skipped):
                yield replace(item, path=self.source_of(Path(item.path)))
            else:
                source = self.source_of(item)
                for each in read(item, source=source, format=format, metadata=metadata):
                    if isinstance(each, Document):
                        yield governed(each, self._rules, self.root)
                    else:
                        yield each

    @cached_property
    def _rules(self) -> Rules:
        return [(rule.path, rule.values()) for rule in self.settings.documents]

    def source_of(self, path: Path) -> str:
        """The name of a file in the index: relative to the store's root where it lies below that,
        so that it does not depend on the folder that a command is typed in."""
        full = path.resolve()
        return (full.relative_to(self.root) if full.is_relative_to(self.root) else full).as_posix()

    def _builder(self) -> Builder:
        """For the model of the active space: passages must fit it."""
        embedder = self._spaces.embedder(self.space)
        model = (embedder.provider, embedder.model)
        if model not in self._builders:
            self._builders[model] = self._make_builder(embedder)
        return self._builders[model]

    def _make_builder(self, embedder: Embedder) -> Builder:
        passages = PassageMaker(embedder.count, embedder.max_tokens)
        wanted = self.settings.chunking.options()
        most = min(wanted.max_tokens, passages.room)
        options = replace(
            wanted,
            max_tokens=most,
            target_tokens=min(wanted.target_tokens, most),
            min_tokens=min(wanted.min_tokens, most),
        )
        made_by: Iterable[Json] = (
            self._chunker.name,
            self._chunker.version,
            [getattr(options, name) for name in options.__slots__],
            CONTEXT_VERSION,
            ANALYZER_VERSION,
            embedder.model,
        )
        contexts = self._contexts(embedder)
        recipe = digest(*made_by, *([contexts.name] if contexts else []))[:16]
        return Builder(self._chunker, passages, options, recipe, contexts)

    def _contexts(self, embedder: Embedder) -> Contexts | None:
        if not (self.generator and self.settings.generator.contexts):
            return None
        return Contexts(self.store, self.scope, self.generator, embedder.count, embedder.max_tokens)

    def index(self, progress: indexing.Progress | None = None) -> int:
        """Score what has no quality yet and embed what has no vector; returns how many texts were
        embedded."""
        access.require(self.caller, "write")
        rating.rate(self.store, self.scope)
        return sum(
            indexing.fill(self.store, embedder, self.scope, space, progress)
            for embedder, space in self._spaces.to_fill()
        )

    def indexers(self, worker: str, pace: indexing.Pace = indexing.Pace()) -> list[Indexer]:
        """What a worker does here: one a space, the active one first."""
        access.require(self.caller, "write")
        return [
            Indexer(self.store, embedder, self.scope, space, worker, pace)
            for embedder, space in self._spaces.to_fill()
        ]

    def rate(self) -> int:
        """Score what has no quality yet; how many nodes that were."""
        access.require(self.caller, "write")
        return rating.rate(self.store, self.scope)

    def index_health(self) -> IndexHealth:
        """How far the vectors that searches use are behind the texts."""
        space = self.space
        return self.store.index_health(self.scope, space) if space else IndexHealth()

    def lag(self) -> tuple[int, int]:
        """Texts that wait for a vector and texts that were given up, in all spaces that are used or
        being built."""
        used = [space for space in self.store.spaces(self.scope) if space.state != "retired"]
        health = [self.store.index_health(self.scope, space) for space in used]
        return sum(each.pending for each in health), sum(each.failed for each in health)

    def failures(self, limit: int = 20) -> Sequence[Failure]:
        """Texts that could not be embedded: what was given up first, then the newest."""
        space = self.space
        return [] if space is None else self.store.failures(self.scope, space, limit)

    def retry_failed(self) -> int:
        """Forget what failed, so that it is tried again; how many texts there were."""
        access.require(self.caller, "write")
        return sum(
            self.store.retry_failed(self.scope, space) for _, space in self._spaces.to_fill()
        )

    def reindex(
        self,
        space: str | None = None,
        *,
        drop_old: bool = False,
        accept_failed: bool = False,
        progress: indexing.Progress | None = None,
    ) -> Reindexed:
        """Build a space beside the active one, of the model `provider/model` or of the configured
        one, and switch to it when it is complete."""
        access.require(self.caller, "admin")
        wanted = {"drop_old": drop_old, "accept_failed": accept_failed}
        return self._spaces.reindex(space, **wanted, progress=progress)

    def drop_space(self, space_id: str) -> int:
        """Of one that is not active; how many vectors it held."""
        access.require(self.caller, "admin")
        return self._spaces.drop(space_id)
