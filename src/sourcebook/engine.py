"""Sourcebook's use cases behind one object that holds the ports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sourcebook import history, indexing, monitor, sources
from sourcebook.analysis import ANALYZER_VERSION
from sourcebook.chunking.strategy import ChunkingStrategy
from sourcebook.config import Monitoring, Settings
from sourcebook.context.generated import Asking, Contexts
from sourcebook.context.passages import CONTEXT_VERSION, PassageMaker
from sourcebook.contexts import Context, Wanted, assemble_context
from sourcebook.errors import InvalidInput, NotFound, SpaceMismatch
from sourcebook.hashing import digest
from sourcebook.ingest import Builder, Outcome, Progress, Request, ingest
from sourcebook.model import (
    Baseline,
    Citation,
    Document,
    Filter,
    Json,
    Link,
    Metadata,
    Node,
    ReadContext,
    Resolved,
    Revision,
    Skipped,
    Space,
)
from sourcebook.ports import Embedder, Generator, Store
from sourcebook.quality import QUALITY_VERSION, score
from sourcebook.querying.gate import Gate
from sourcebook.querying.search import Searches
from sourcebook.retrieve import Answer, Caches, Options, search
from sourcebook.similar import similar
from sourcebook.sources.governing import Rules, governed

HEAD = ReadContext()
_QUERIES_SUMMED_UP = 10_000
"""The newest questions, by which `status` judges."""


class Engine:
    def __init__(
        self,
        settings: Settings,
        store: Store,
        embedder: Embedder,
        chunker: Callable[[], ChunkingStrategy],
        root: Path,
        generator: Generator | None = None,
        judge: Generator | None = None,
    ) -> None:
        """Files below `root` are named relative to it. `generator` writes contexts at ingest,
        `judge` answers while a question waits."""
        self.root = root.resolve()
        self.settings = settings
        self.scope = settings.scope
        self.store = store
        self.embedder = embedder
        self.generator = generator
        self.judge = judge
        self._make_chunker = chunker
        self._caches = Caches.make()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    def in_repository(self, name: str) -> Engine:
        """The same store and models, another repository."""
        return self._with(repository=name)

    def unlogged(self) -> Engine:
        """The same, but what is asked of it is not what people ask: an evaluation."""
        return self._with(monitoring=Monitoring(log=False))

    def _with(self, **changes: Any) -> Engine:
        settings = self.settings.model_copy(update=changes)
        made = (settings, self.store, self.embedder, lambda: self._chunker)
        return Engine(*made, self.root, self.generator, self.judge)

    # --- taking in -----------------------------------------------------------------------------

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
    ) -> Outcome:
        """Files and folders become one revision; unchanged files change nothing."""
        if not paths:
            raise InvalidInput("give at least one file or folder to ingest", field="paths")
        found = list(sources.find(paths))
        given = [Path(path).resolve() for path in paths]

        def below(source: str) -> bool:
            return any((self.root / source).is_relative_to(path) for path in given)

        documents = self._read(found, format, metadata or {})
        request = Request(documents, message, request_id, below if prune else None)
        return self.take_in(request, wait, progress, embedding_progress, context_progress)

    def take_in(
        self,
        request: Request,
        wait: bool = True,
        progress: Progress | None = None,
        embedding_progress: indexing.Progress | None = None,
        context_progress: Asking | None = None,
    ) -> Outcome:
        """Commit parsed documents; with `wait`, embed what has no vector yet."""
        made = (self.store, self.scope, self._builder)
        outcome = ingest(*made, request, progress, context_progress)
        if outcome.revision == 0:
            return outcome
        indexing.rate(self.store, self.scope, since=outcome.revision)
        space = self.store.register_space(self.scope, self._wanted_space)
        if wait:
            indexing.fill(self.store, self.embedder, self.scope, space, embedding_progress)
        outcome.pending_vectors = self.store.count_pending(self.scope, space)
        return outcome

    def index(self, progress: indexing.Progress | None = None) -> int:
        """Score what has no quality yet and embed what has no vector; returns how many texts were
        embedded."""
        indexing.rate(self.store, self.scope)
        space = self.space
        if space is None:
            return 0
        return indexing.fill(self.store, self.embedder, self.scope, space, progress)

    def _read(
        self, found: Sequence[Path | Skipped], format: str | None, metadata: Metadata
    ) -> Iterable[Document | Skipped]:
        for item in found:
            if isinstance(item, Skipped):
                yield replace(item, path=self.source_of(Path(item.path)))
            else:
                source = self.source_of(item)
                for read in sources.read(item, source=source, format=format, metadata=metadata):
                    if isinstance(read, Document):
                        yield governed(read, self._rules, self.root)
                    else:
                        yield read

    @cached_property
    def _rules(self) -> Rules:
        return [(rule.path, rule.values()) for rule in self.settings.documents]

    def source_of(self, path: Path) -> str:
        """The name of a file in the index: relative to the store's root where it lies below that,
        so that it does not depend on the folder that a command is typed in."""
        full = path.resolve()
        return (full.relative_to(self.root) if full.is_relative_to(self.root) else full).as_posix()

    # --- asking --------------------------------------------------------------------------------

    def search(self, query: str, k: int = 10, *, kind: str | None = None, **options: Any) -> Answer:
        """Ranked hits; `options` are those of retrieve.Options. `kind` is what the query log calls
        it."""
        ours = self.settings.search
        weights = {
            "dense": ours.dense_weight,
            "sparse": ours.sparse_weight,
            "staged": ours.staged_weight,
            "combined": ours.combined_weight,
        }
        given = {
            "depth": ours.depth,
            "rrf_k": ours.rrf_k,
            "weights": weights,
            "rerank": ours.rerank,
            "cache": ours.cache,
            "split_by_model": self.settings.generator.split,
            "factors": self.settings.adjust.factors(),
            **options,
        }
        asked = Options(k=k, **given)
        space = None if asked.mode == "sparse" else self._usable_space()
        caches = self._caches if asked.cache else None
        searches = Searches(
            self.store, self.embedder, self.scope, space, caches.questions if caches else None
        )
        answer = search(searches, query, asked, self.judge, caches.answers if caches else None)
        kind = kind or ("agent" if asked.gate else "search")
        self.record(answer, kind=kind, mode=asked.mode, rerank=asked.rerank)
        return answer

    def agent(
        self,
        query: str,
        k: int = 10,
        *,
        min_quality: float | None = None,
        min_words: int | None = None,
        exclude_stubs: tuple[str, ...] | None = None,
        **options: Any,
    ) -> Answer:
        """Hits that are good enough; what is not given comes from the settings."""
        given = {
            "min_quality": min_quality,
            "min_words": min_words,
            "exclude_stubs": exclude_stubs,
        }
        ours = self.settings.quality.model_dump()
        gate = Gate(**ours | {name: value for name, value in given.items() if value is not None})
        return self.search(query, k, gate=gate, **options)

    def similar(
        self,
        node_id: str,
        k: int = 10,
        *,
        filters: tuple[Filter, ...] = (),
        read_context: ReadContext = HEAD,
    ) -> Answer:
        """Passages written like a node's text, by late interaction."""
        node, text = self.get(node_id, read_context=read_context)
        searches = Searches(self.store, self.embedder, self.scope, self._usable_space())
        return similar(searches, node, text, k, filters, self.resolve(read_context))

    def record(
        self, answer: Answer, *, kind: str = "search", mode: str = "hybrid", rerank: str = "none"
    ) -> None:
        """Log that this was asked, where the settings allow it. Costs no time, never fails."""
        ours = self.settings.monitoring
        if ours.log:
            row = monitor.asked(answer, kind, mode, rerank, keep_text=ours.query_text)
            self.store.log_queries(self.scope, [row])

    def context(
        self,
        query: str,
        max_tokens: int | None = None,
        max_sources: int | None = None,
        *,
        hops: int | None = None,
        neighbours: int | None = None,
        **options: Any,
    ) -> Context:
        """Numbered sources for a reader with a token budget; `options` are those of a search.
        What is not given comes from the settings."""
        given = {
            "max_tokens": max_tokens,
            "max_sources": max_sources,
            "hops": hops,
            "neighbours": neighbours,
        }
        ours = self.settings.context.model_dump()
        wanted = Wanted(**ours | {name: n for name, n in given.items() if n is not None})
        wanted.check()
        answer = self.search(query, wanted.candidates, kind="context", **options)
        made = (self.store, self.scope, self.embedder.count)
        return assemble_context(*made, answer, wanted, options.get("filters", ()))

    # --- structured reads ----------------------------------------------------------------------

    def resolve(self, context: ReadContext = HEAD) -> Resolved:
        return self.store.resolve(self.scope, context)

    def get(
        self, node_id: str, *, version: str | None = None, read_context: ReadContext = HEAD
    ) -> tuple[Node, str]:
        """A node and its text."""
        if version is not None:
            rows = [n for n in self.store.versions(self.scope, version) if n.id == node_id]
            node = rows[0] if rows else None
        else:
            node = self.store.node(self.scope, node_id, self.resolve(read_context).revision)
        if node is None:
            at = f"version {version}" if version else f"read context {read_context.selector}"
            raise NotFound(f"there is no node {node_id!r} at {at}; `sourcebook list` shows the ids")
        return node, self.store.text(self.scope, node)

    def quality(self, node: Node, text: str, *, evidence: bool = False) -> Json:
        """What was stored of a node's quality, None if nothing; with evidence it is worked out."""
        if evidence:
            return score(text, kind=node.kind, title=node.title).to_dict(evidence=True)
        found = self.store.quality(self.scope, QUALITY_VERSION, [node.version_id])
        return found.get(node.version_id)

    def list(
        self,
        *,
        kind: str | None = None,
        filters: tuple[Filter, ...] = (),
        limit: int = 100,
        after: str = "",
        read_context: ReadContext = HEAD,
    ) -> Sequence[Node]:
        revision = self.resolve(read_context).revision
        return self.store.nodes(
            self.scope, revision, kind=kind, filters=filters, limit=limit, after=after
        )

    def links(self, node_id: str, read_context: ReadContext = HEAD) -> Sequence[Link]:
        node, _ = self.get(node_id, read_context=read_context)
        found = self.store.links(self.scope, node.id, self.resolve(read_context).revision)
        # Both ends of "supersedes" may say it.
        return list(
            {(x.source_id, x.target_id, x.type, str(x.metadata)): x for x in found}.values()
        )

    # --- history -------------------------------------------------------------------------------

    def log(self, limit: int | None = None) -> Sequence[Revision]:
        return self.store.log(self.scope, limit)

    def baselines(self) -> Sequence[Baseline]:
        return self.store.baselines(self.scope)

    def create_baseline(self, name: str, read_context: ReadContext = HEAD) -> Baseline:
        return history.create_baseline(self.store, self.scope, name, read_context)

    def publish(self, name: str) -> Baseline:
        return self.store.publish(self.scope, name)

    def verify(self, citation: Citation) -> history.Replay:
        return history.replay(self.store, self.scope, citation)

    def status(self) -> dict[str, Json]:
        head = self.resolve().revision
        published = [b.id for b in self.baselines() if b.published]
        spaces = self.store.spaces(self.scope)
        pending = self.store.count_pending(self.scope, self.space) if self.space else 0
        return {
            "revision": head,
            "published": published[0] if published else None,
            "counts": dict(self.store.counts(self.scope, head)),
            "index": {"pending": pending, "oldest_pending_s": None, "failed": 0},
            "spaces": [
                {
                    "id": s.id,
                    "provider": s.provider,
                    "model": s.model,
                    "dimensions": s.dimensions,
                    "chunker": s.chunker,
                    "state": s.state,
                }
                for s in spaces
            ],
            "queries": self._queries(),
        }

    def _queries(self) -> dict[str, Json]:
        rows = self.store.query_log(self.scope, since=None, limit=_QUERIES_SUMMED_UP)
        state = {
            "logged": self.settings.monitoring.log,
            "dropped": self.store.queries_dropped,
        }
        return state | monitor.summarise(rows)

    # --- spaces --------------------------------------------------------------------------------

    @property
    def space(self) -> Space | None:
        """The space that searches use: the newest one of the configured model."""
        active = [s for s in self.store.spaces(self.scope) if s.state == "active"]
        model = (self.embedder.provider, self.embedder.model)
        ours = [s for s in active if (s.provider, s.model) == model]
        return (ours or active)[-1] if active else None

    def _usable_space(self) -> Space | None:
        """The active space, if its vectors come from the model that is configured."""
        space, embedder = self.space, self.embedder
        if space and (space.provider, space.model) != (embedder.provider, embedder.model):
            raise SpaceMismatch(
                f"the vectors of this repository come from {space.provider}/{space.model}, but "
                f"{embedder.provider}/{embedder.model} is configured; set embedding.model = "
                f'"{space.model}", or use another --repository'
            )
        return space

    @property
    def _wanted_space(self) -> Space:
        chunker = f"{self._chunker.name}-{self._chunker.version}"
        name = f"{self.embedder.provider}/{self.embedder.model}/{chunker}"
        made = (self.embedder.provider, self.embedder.model, self.embedder.dimensions, chunker)
        return Space(name, *made)

    @cached_property
    def _chunker(self) -> ChunkingStrategy:
        return self._make_chunker()

    @cached_property
    def _builder(self) -> Builder:
        self._usable_space()
        passages = PassageMaker(self.embedder.count, self.embedder.max_tokens)
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
            self.embedder.model,
        )
        contexts = self._contexts
        recipe = digest(*made_by, *([contexts.name] if contexts else []))[:16]
        return Builder(self._chunker, passages, options, recipe, contexts)

    @property
    def _contexts(self) -> Contexts | None:
        embedder = self.embedder
        if not (self.generator and self.settings.generator.contexts):
            return None
        return Contexts(self.store, self.scope, self.generator, embedder.count, embedder.max_tokens)
