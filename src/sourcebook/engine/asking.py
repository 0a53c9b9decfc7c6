"""Questions in, answers and contexts out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sourcebook import access, history, monitor
from sourcebook.across import AnswerAcross, asked_once, make_once, search_across
from sourcebook.contexts import Context, Wanted, assemble_context
from sourcebook.engine.core import HEAD
from sourcebook.engine.reading import Reading
from sourcebook.model import (
    Caller,
    Filter,
    ReadContext,
    Scope,
)
from sourcebook.querying.gate import Gate
from sourcebook.querying.search import Searches
from sourcebook.retrieve import Answer, Options, search
from sourcebook.similar import similar


class Asking(Reading):
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
        relationships: bool = True,
        **options: Any,
    ) -> Context:
        """Numbered sources for a reader with a token budget; `options` are those of a search.
        What is not given comes from the settings. Without `relationships` no link is followed and
        none is told."""
        given = {
            "max_tokens": max_tokens,
            "max_sources": max_sources,
            "hops": hops if relationships else 0,
            "neighbours": neighbours,
            "relationships": relationships,
        }
        ours = self.settings.context.model_dump()
        wanted = Wanted(**ours | {name: n for name, n in given.items() if n is not None})
        wanted.check()
        answer = self.search(query, wanted.candidates, kind="context", **options)
        made = (self.store, self.scope, self.embedder.count)
        with history.steady(self.store, self.scope, answer.read_context.revision):
            return assemble_context(*made, answer, wanted, options.get("filters", ()))
