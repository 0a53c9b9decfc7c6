"""Settings in, a ready Sourcebook out: the only module that names backends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from sourcebook.chunking.fixed import FixedChunker
from sourcebook.chunking.semantic import SemanticChunker
from sourcebook.chunking.strategy import ChunkingStrategy
from sourcebook.config import Embedding, Settings, load
from sourcebook.engine import Engine
from sourcebook.environment import generator_key
from sourcebook.errors import InvalidInput, StoreError
from sourcebook.models.install import locate
from sourcebook.models.local import LocalEmbedder
from sourcebook.models.static import StaticModel
from sourcebook.ports import Embedder, Generator, Store
from sourcebook.querying.ask import DEADLINE_S
from sourcebook.spaces import Makes
from sourcebook.stores.connections import Location
from sourcebook.stores.sqlite import SqliteStore

SERVERS = ("postgresql", "postgres")
_SECRET = re.compile(r"(://)[^/@]*@")
BOUNDARY_MODEL = "potion-base-8M"
HOME = ".sourcebook"
"""A folder that belongs to the one around it."""


class Sourcebook(Engine):
    """The retrieval engine: `Sourcebook.open("sqlite:///my.db")`."""

    @classmethod
    def open(
        cls, store: str | None = None, *, config: str | Path | None = None, **given: Any
    ) -> Self:
        """`given` are settings: tenant, repository, …; the rest comes from the configuration."""
        settings = load(config, store=store, **given)
        embedder = make_embedder(settings.embedding)
        generator, judge = _generators(settings)
        opened = open_store(
            settings.store,
            busy_timeout_s=settings.busy_timeout_s,
            read_url=settings.store_read,
            full_text=settings.search.full_text,
        )
        made = (settings, opened, embedder, _chunker(settings, embedder), _root(settings))
        return cls(*made, generator, judge, _other_embedders(settings))


def make_embedder(embedding: Embedding) -> Embedder:
    """The model that these settings name. Services are imported only where one is configured: a
    model on this machine needs no HTTP client."""
    if embedding.provider == "local":
        return LocalEmbedder(embedding.model)
    from sourcebook.models import azure, cohere, ollama, openai
    from sourcebook.models.remote import RemoteEmbedder

    services = {"ollama": ollama, "openai": openai, "azure": azure, "cohere": cohere}
    return RemoteEmbedder(embedding, services[embedding.provider].wire(embedding))


def _other_embedders(settings: Settings) -> Makes:
    """The models of spaces that the configured one did not make, each made once."""

    @cache
    def make(provider: str, model: str, dimensions: int | None) -> Embedder:
        try:
            return make_embedder(settings.embedding.beside(provider, model, dimensions))
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            raise InvalidInput(
                f"{provider}/{model} is no model: {reason}", field="space"
            ) from error

    return make


def needed_models(settings: Settings) -> list[str]:
    """What must be installed: the embedding model if it runs here, and the static one, which finds
    the boundaries of chunks and whose vocabulary counts the tokens of services."""
    ours = settings.embedding
    local = [ours.model] if ours.provider == "local" else []
    static = settings.chunking.strategy == "semantic" or not local
    return list(dict.fromkeys([*local, *([BOUNDARY_MODEL] if static else [])]))


def store_file(settings: Settings) -> Path | None:
    """Where the store is, or will be; None where a server keeps it."""
    if _scheme(settings.store) in SERVERS:
        return None
    return Location.parse(settings.store).path


def _root(settings: Settings) -> Path:
    """The folder that files are named from: the one around the store, or the working one."""
    file = store_file(settings)
    if file is None:
        return Path.cwd()
    folder = file.resolve().parent
    return folder.parent if folder.name == HOME else folder


def open_store(
    url: str,
    *,
    busy_timeout_s: float = 10.0,
    read_url: str | None = None,
    full_text: str = "bm25",
) -> Store:
    """The store alone, without a model. `read_url` is a replica of it."""
    scheme = _scheme(url)
    if scheme in SERVERS:
        return _open_server(url, busy_timeout_s, read_url, full_text)
    if scheme != "sqlite":
        raise InvalidInput(
            f"the store {shown(url)!r} is not known; use sqlite:///path/file.db or "
            "postgresql://host/database",
            field="store",
        )
    if read_url:
        raise InvalidInput("only a store on PostgreSQL has replicas", field="store_read")
    if full_text != "bm25":
        raise InvalidInput(
            f"only a store on PostgreSQL ranks by {full_text}", field="search.full_text"
        )
    return SqliteStore.open(url, busy_timeout=busy_timeout_s)


def _open_server(
    url: str, busy_timeout_s: float, read_url: str | None, full_text: str = "bm25"
) -> Store:
    """Its driver is imported only where it is asked for: it is an extra."""
    try:
        from sourcebook.stores.postgres.store import PostgresStore
    except ImportError as error:
        raise StoreError(
            f"PostgreSQL needs a driver that is not installed ({error.name}); run "
            "`pip install 'sourcebook[postgres]'`"
        ) from error
    by_words = full_text == "ts_rank_cd"
    return PostgresStore.open(
        url, busy_timeout=busy_timeout_s, read_url=read_url, by_words=by_words
    )


@contextmanager
def scratch_store(url: str) -> Iterator[Store]:
    """A store that nothing was written to, in a database of its own on that PostgreSQL server, gone
    at the end."""
    if _scheme(url) not in SERVERS:
        raise InvalidInput(f"{shown(url)!r} is not postgresql://host/database", field="store")
    from sourcebook.stores.postgres.scratch import scratch

    with scratch(url) as made:
        store = _open_server(made, 10.0, None)
        try:
            yield store
        finally:
            store.close()


def _scheme(url: str) -> str:
    return url.partition(":")[0]


def shown(url: str) -> str:
    """A store's URL as it may be told: without what only its users know."""
    return _SECRET.sub(r"\1…@", url) if _scheme(url) != "sqlite" else url


def _generators(settings: Settings) -> tuple[Generator | None, Generator | None]:
    """The language model for ingest, which may take its time, and the same one for questions, which
    may not; each with a circuit breaker of its own. Imported only where one is configured: most
    programs need no HTTP client."""
    ours = settings.generator
    if not ours.base_url:
        return None, None
    from sourcebook.models.chat import ChatModel
    from sourcebook.models.http import Limits

    key = generator_key(ours.base_url)
    made = (ours.base_url, ours.model, key)
    patient = Limits(total_s=ours.timeout_s * 4)
    return (
        ChatModel(*made, timeout_s=ours.timeout_s, limits=patient),
        ChatModel(*made, timeout_s=min(ours.timeout_s, DEADLINE_S), limits=Limits()),
    )


def _chunker(settings: Settings, embedder: Embedder) -> Callable[[], ChunkingStrategy]:
    """Where the model is here, its tokenizer serves both: one pass counts and finds topics."""

    def make() -> ChunkingStrategy:
        if settings.chunking.strategy == "fixed":
            return FixedChunker(embedder.count)
        if isinstance(embedder, LocalEmbedder):
            model = StaticModel(locate(BOUNDARY_MODEL), tokenizer=embedder.tokenizer)
            return SemanticChunker(model.count, model.embed, model.measure)
        return SemanticChunker(embedder.count, StaticModel(locate(BOUNDARY_MODEL)).embed)

    return make
