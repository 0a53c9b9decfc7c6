"""Sourcebook's use cases behind one object that holds the ports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sourcebook import access, feedback, history, indexing, monitor, sources
from sourcebook.across import AnswerAcross, asked_once, make_once, search_across
from sourcebook.analysis import ANALYZER_VERSION
from sourcebook.chunking.strategy import ChunkingStrategy
from sourcebook.config import Monitoring, Settings
from sourcebook.context.generated import Asking, Contexts
from sourcebook.context.passages import CONTEXT_VERSION, PassageMaker
from sourcebook.contexts import Context, Wanted, assemble_context
from sourcebook.difference import Diff, diff, side
from sourcebook.errors import InvalidInput, NotFound
from sourcebook.feedback import Golden
from sourcebook.hashing import digest
from sourcebook.indexing import Indexer
from sourcebook.ingest import Builder, Outcome, Progress, Request, ingest
from sourcebook.model import (
    ApiKey,
    Baseline,
    Caller,
    Citation,
    Document,
    Feedback,
    Filter,
    Json,
    Judgment,
    Link,
    Metadata,
    Node,
    ReadContext,
    Resolved,
    Retained,
    Revision,
    Right,
    Scope,
    Skipped,
    Space,
    Tree,
)
from sourcebook.ports import Embedder, Failure, Generator, IndexHealth, Store
from sourcebook.quality import QUALITY_VERSION, score
from sourcebook.querying.gate import Gate
from sourcebook.querying.search import Searches
from sourcebook.retrieve import Answer, Caches, Options, search
from sourcebook.similar import similar
from sourcebook.sources.governing import Rules, governed
from sourcebook.spaces import Makes, Reindexed, Spaces

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

    def in_repository(self, name: str) -> Engine:
        """The same store and models, another repository: one that the caller may read."""
        if self.caller is not None:
            return self.as_caller(self.caller, name)
        return self._with(replace(self.scope, repository=name))

    def in_scope(self, scope: Scope) -> Engine:
        """The same store and models, any repository of the store: for who runs it, and for no
        key."""
        access.require_owner(self.caller)
        return self._with(scope)

    def as_caller(self, caller: Caller, repository: str, right: Right = "read") -> Engine:
        """The same store, models and caches, seen by whoever came with a key; NotFound for a
        repository that it may not read. What writes asks for the right by itself."""
        scope = access.scope_for(self.store, caller, repository, right)
        return self._with(scope, caller=caller)

    def unlogged(self) -> Engine:
        """The same, but what is asked of it is not what people ask: an evaluation."""
        return self._with(self.scope, caller=self.caller, monitoring=Monitoring(log=False))

    def _with(self, scope: Scope, *, caller: Caller | None = None, **changes: Any) -> Engine:
        place = {
            "tenant": scope.tenant,
            "organization": scope.organization,
            "repository": scope.repository,
        }
        settings = self.settings.model_copy(update=place | changes)
        made = (settings, self.store, self.embedder, lambda: self._chunker)
        engine = Engine(*made, self.root, self.generator, self.judge, self._make_embedder)
        engine.scope, engine.caller, engine._caches = scope, caller, self._caches
        return engine

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
        embed_first: bool = False,
    ) -> Outcome:
        """Files and folders become one revision; unchanged files change nothing. With
        `embed_first` it is committed when all its vectors are there."""
        if not paths:
            raise InvalidInput("give at least one file or folder to ingest", field="paths")
        found = list(sources.find(paths))
        given = [Path(path).resolve() for path in paths]

        def below(source: str) -> bool:
            return any((self.root / source).is_relative_to(path) for path in given)

        documents = self._read(found, format, metadata or {})
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
        indexing.rate(self.store, self.scope, since=outcome.revision)
        spaces = self._spaces
        space = spaces.require()
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

    def index(self, progress: indexing.Progress | None = None) -> int:
        """Score what has no quality yet and embed what has no vector; returns how many texts were
        embedded."""
        access.require(self.caller, "write")
        indexing.rate(self.store, self.scope)
        return sum(
            indexing.fill(self.store, embedder, self.scope, space, progress)
            for embedder, space in self._spaces.to_fill()
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
        return indexing.rate(self.store, self.scope)

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
        space = None if asked.mode == "sparse" else self.space
        caches = self._caches if asked.cache else None
        searches = Searches(
            self.store,
            self._spaces.embedder(space),
            self.scope,
            space,
            caches.questions if caches else None,
        )
        answer = search(searches, query, asked, self.judge, caches.answers if caches else None)
        self.store.require_kept(self.scope, answer.read_context.revision)
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

    def search_across(
        self,
        query: str,
        k: int = 10,
        *,
        repositories: Sequence[str] | None = None,
        caller: Caller | None = None,
        gated: bool = False,
        **options: Any,
    ) -> AnswerAcross:
        """Search in the named repositories, or in all that the caller may read; `gated` asks each
        as `agent` does. `options` are those of search or agent."""
        caller = caller or self.caller
        scopes = access.readable(self.store, self.scope, caller, repositories)
        embedder = asked_once(self.embedder)
        others = make_once(self._make_embedder) if self._make_embedder else None

        def ask(scope: Scope) -> Answer:
            engine = self._with(scope, caller=caller)
            engine.embedder, engine._make_embedder = embedder, others
            return (engine.agent if gated else engine.search)(query, k, **options)

        return search_across(scopes, ask, k)

    def similar(
        self,
        node_id: str,
        k: int = 10,
        *,
        filters: tuple[Filter, ...] = (),
        read_context: ReadContext = HEAD,
    ) -> Answer:
        """Passages written like a node's text, by late interaction."""
        context = self.resolve(read_context)
        node, text = self.get(node_id, read_context=context.pinned)
        space = self.space
        searches = Searches(self.store, self._spaces.embedder(space), self.scope, space)
        with history.steady(self.store, self.scope, context.revision):
            return similar(searches, node, text, k, filters, context)

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
        with history.steady(self.store, self.scope, answer.read_context.revision):
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
            if not rows:
                raise history.missing(self.store, self.scope, node_id, version)
            return rows[0], self.store.text(self.scope, rows[0])
        revision = self.resolve(read_context).revision
        with history.steady(self.store, self.scope, revision):
            node = self.store.node(self.scope, node_id, revision)
            if node is None:
                at = f"read context {read_context.selector}"
                raise NotFound(
                    f"there is no node {node_id!r} at {at}; `sourcebook list` shows the ids"
                )
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
        context = self.resolve(read_context)
        node, _ = self.get(node_id, read_context=context.pinned)
        found = self.store.links(self.scope, node.id, context.revision)
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
        access.require(self.caller, "write")
        return history.create_baseline(self.store, self.scope, name, read_context)

    def publish(self, name: str) -> Baseline:
        access.require(self.caller, "write")
        return self.store.publish(self.scope, name)

    def diff(
        self,
        old: str | ReadContext,
        new: str | ReadContext,
        *,
        kind: str | None = None,
        text: bool = True,
        limit: int | None = None,
    ) -> Diff:
        """What changed from one to the other: names of baselines, numbers of revisions or read
        contexts. `limit` is of each list."""
        ends = [
            self.resolve(end if isinstance(end, ReadContext) else side(self.store, self.scope, end))
            for end in (old, new)
        ]
        return diff(self.store, self.scope, *ends, kind=kind, text=text, limit=limit)

    def retain(
        self,
        *,
        keep_days: int | None = None,
        keep_revisions: int | None = None,
        before: str | None = None,
        dry_run: bool = False,
    ) -> Retained:
        """Drop older revisions, but never head nor one that a baseline names; `vacuum` then gives
        their room back. Exactly one bound is given."""
        access.require(self.caller, "admin")
        keep = history.Keep(keep_days, keep_revisions, before)
        return history.retain(self.store, self.scope, keep, dry_run=dry_run)

    def vacuum(self) -> None:
        """Give the room of what was dropped back to the file system. All tenants are in the file, so
        no key allows it."""
        access.require_owner(self.caller)
        self.store.vacuum()

    def verify(self, citation: Citation) -> history.Replay:
        return history.replay(self.store, self.scope, citation)

    def give_feedback(self, judgment: Judgment) -> Feedback:
        """Keep what somebody says of a result. Whoever may read may do so: it changes no answer."""
        key_id = self.caller.key_id if self.caller else judgment.key_id
        return feedback.judge(self.store, self.scope, replace(judgment, key_id=key_id))

    def judgments(self, limit: int | None = None) -> Sequence[Feedback]:
        """Newest first. It tells what others asked, so a key needs all rights."""
        access.require(self.caller, "admin")
        return self.store.feedback(self.scope, limit)

    def golden(self, *, with_clicks: bool = False, read_context: str | None = None) -> Golden:
        """Judgments as the rows of a file that `eval` accepts."""
        access.require(self.caller, "admin")
        wanted: dict[str, Any] = {"with_clicks": with_clicks, "read_context": read_context}
        return feedback.golden(self.store, self.scope, **wanted)

    # --- keys ----------------------------------------------------------------------------------

    def create_key(self, grant: access.Grant) -> tuple[ApiKey, str]:
        """What was kept of a key of this tenant and organization, and the key itself."""
        access.require_all(self.caller)
        return access.create_key(self.store, self.scope, grant)

    def keys(self) -> Sequence[ApiKey]:
        """Of this tenant, oldest first; a caller sees those of its organization."""
        access.require_all(self.caller)
        return access.keys_seen(self.store, self.scope, self.caller)

    def revoke_key(self, key_id: str) -> ApiKey:
        access.require_all(self.caller)
        return access.revoke_key(self.store, self.scope, self.caller, key_id)

    def status(self) -> dict[str, Json]:
        head = self.resolve().revision
        published = [b.id for b in self.baselines() if b.published]
        spaces = self.store.spaces(self.scope)
        return {
            "revision": head,
            "published": published[0] if published else None,
            "counts": dict(self.store.counts(self.scope, head)),
            "index": self._index(),
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

    def _index(self) -> dict[str, Json]:
        """How far the vectors are behind, and the texts that could not be embedded."""
        failures = [asdict(each) for each in self.failures()]
        return asdict(self.index_health()) | {"failures": failures}

    def _queries(self) -> dict[str, Json]:
        """What others asked is not for every key."""
        state: dict[str, Json] = {"logged": self.settings.monitoring.log}
        if self.caller is None:
            state["dropped"] = self.store.queries_dropped
        elif not self.caller.may("admin"):
            return state
        rows = self.store.query_log(self.scope, since=None, limit=_QUERIES_SUMMED_UP)
        return state | monitor.summarise(rows)

    # --- spaces --------------------------------------------------------------------------------

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
