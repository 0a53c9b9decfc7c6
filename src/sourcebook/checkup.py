"""An installation in; a list of checks out, each with what was found and what to do about it.

The checks are in the order in which one stands on another. One that fails ends none but those that
cannot be made without it.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from sourcebook import environment, machine
from sourcebook.bootstrap import Sourcebook, make_embedder, needed_models, shown, store_file
from sourcebook.config import Embedding, Settings
from sourcebook.engine import Engine
from sourcebook.errors import SourcebookError
from sourcebook.machine import Check
from sourcebook.models.install import advice, models_dir, unsound
from sourcebook.ports import Embedder
from sourcebook.stores.connections import NEEDED, sqlite_suits

PYTHON = (3, 11)
_SAMPLE = 200
"""Rows of each table that are compared with their checksums."""
_LISTED = 5
_QUESTION = "Does this model answer?"


def checkup(
    load: Callable[[], Settings],
    open_with: Callable[..., Sourcebook],
    *,
    offline: bool = False,
    host: str = "127.0.0.1",
    ports: Mapping[str, int] = {},
    deep: bool = False,
) -> Iterator[Check]:
    """`open_with` opens the engine, with some settings changed. `offline` asks no service. `ports`
    are those that a server would listen on, by the option that changes each. `deep` reads the whole
    store instead of a sample."""
    yield from _machine()
    yield machine.limits()
    yield from machine.ports(host, ports)
    try:
        settings = load()
    except SourcebookError as error:
        yield _failed("configuration", error)
        return
    ours = settings.embedding
    yield Check("configuration", "ok", f"embeds with {ours.provider}/{ours.model}")
    for name in needed_models(settings):
        yield _files(name)
    embedder: Embedder | None = None
    try:
        embedder = make_embedder(ours)
        yield from _embedding(ours, embedder, offline)
    except SourcebookError as error:
        yield _failed("embedding", error)
    yield from _store(settings, embedder, open_with, deep)


def _machine() -> Iterator[Check]:
    version = platform.python_version()
    if sys.version_info >= PYTHON:
        yield Check("python", "ok", version)
    else:
        yield Check("python", "failed", version, "install Python 3.11 or later")
    found = f"SQLite {sqlite3.sqlite_version}"
    if sqlite_suits():
        yield Check("sqlite", "ok", found)
    else:
        yield Check("sqlite", "failed", found, NEEDED)


def _files(name: str) -> Check:
    try:
        wrong = unsound(name)
    except SourcebookError as error:
        return _failed(f"model {name}", error)
    if wrong:
        return Check(f"model {name}", "failed", f"{wrong} in {models_dir()}", advice(name))
    return Check(f"model {name}", "ok", f"complete in {models_dir() / name}")


def _embedding(ours: Embedding, embedder: Embedder, offline: bool) -> Iterator[Check]:
    variable = environment.KEYS.get(ours.provider)
    if variable and not (ours.provider == "openai" and ours.base_url):
        address = ours.base_url or environment.endpoint() or "https://"
        if environment.embedding_key(ours.provider, address) is None:
            yield Check("key", "failed", "there is none", f"set {variable}")
            return
        yield Check("key", "ok", "set in the environment")
    if offline and ours.provider != "local":
        yield Check("embedding", "skipped", f"{embedder.provider} was not asked (--offline)")
        return
    yield _answers(embedder)


def _answers(embedder: Embedder) -> Check:
    """One real question: it takes the way that those of people take."""
    start = time.perf_counter()
    try:
        vector = embedder.embed_query(_QUESTION).vector
        expected = embedder.dimensions
    except SourcebookError as error:
        return _failed("embedding", error)
    taken = (time.perf_counter() - start) * 1e3
    found = f"{embedder.model} answered in {taken:.0f} ms with {len(vector)} numbers"
    if len(vector) != expected or abs(float(np.linalg.norm(vector)) - 1) > 1e-3:
        return Check("embedding", "failed", found, "choose another embedding.model")
    return Check("embedding", "ok", found)


def _store(
    settings: Settings,
    embedder: Embedder | None,
    open_with: Callable[..., Sourcebook],
    deep: bool,
) -> Iterator[Check]:
    try:
        file = store_file(settings)
        if file is not None:
            yield machine.room(file)
            if not file.exists():
                yield _to_be_made(file)
                return
            yield machine.permissions(file)
        usual = {"embedding": {"provider": "local", "model": Embedding().model}}
        with open_with(**(usual if embedder is None else {})) as engine:
            yield _writable(engine, file or shown(settings.store))
            if file is None:
                yield _walls(engine)
            else:
                yield machine.privacy(file)
            yield from _integrity(engine, deep)
            yield from _spaces(engine, embedder)
            yield _index(engine)
    except SourcebookError as error:
        yield _failed("store", error)


def _to_be_made(file: Path) -> Check:
    folder = next(parent for parent in file.parents if parent.exists())
    if folder.is_dir() and os.access(folder, os.W_OK):
        return Check(
            "store", "ok", f"{file} is not there yet; the first `sourcebook ingest` makes it"
        )
    return Check("store", "failed", f"no store can be made in {folder}", "choose another --store")


def _walls(engine: Engine) -> Check:
    """Of a server: whether the database itself keeps tenants apart."""
    if getattr(engine.store, "walled", False):
        return Check("walls", "ok", "row-level security keeps tenants apart")
    return Check(
        "walls",
        "warning",
        "row-level security does not hold for this user, who is a superuser",
        "let an administrator make the role sourcebook_app: see docs/operations.md",
    )


def _writable(engine: Engine, file: Path | str) -> Check:
    """An empty commit takes the lock that every write takes, and leaves nothing behind."""
    try:
        with engine.store.commit(engine.scope):
            pass
    except SourcebookError as error:
        return _failed("store", error)
    return Check("store", "ok", f"{file} can be read and written")


def _integrity(engine: Engine, deep: bool) -> Iterator[Check]:
    """Whether what is stored matches its checksums: all of it, or a sample of every repository."""
    rows, damaged = 0, []
    scopes = engine.store.repositories()
    for scope in scopes:
        found = engine.store.examine(scope, None if deep else _SAMPLE)
        rows += found.rows
        damaged += [f"{part.part} of {part.element_id!r}" for part in found.damaged]
    what = f"{rows:,} rows" + ("" if deep else " (a sample)")
    if damaged:
        listed = "; ".join(damaged if deep else damaged[:_LISTED])
        yield Check(
            "integrity",
            "failed",
            f"{len(damaged):,} of {what} do not match their checksums: {listed}",
            "ingest the original files again, or restore the store from a backup"
            + ("" if deep else "; `sourcebook doctor --deep` lists everything"),
        )
    else:
        yield Check("integrity", "ok", f"{what} match their checksums")
    if deep:
        wrong = engine.store.structure()
        advice = "copy the store with `sourcebook copy`, or restore it from a backup"
        yield (
            Check("structure", "failed", "; ".join(wrong), advice)
            if wrong
            else Check("structure", "ok", "the database finds its pages and indexes in order")
        )


def _spaces(engine: Engine, embedder: Embedder | None) -> Iterator[Check]:
    space = engine.space
    if space is None:
        yield Check("space", "ok", "nothing is embedded yet")
        return
    holds = f"searches use {space.provider}/{space.model} with {space.dimensions} numbers"
    if embedder is None:
        yield Check("space", "skipped", holds)
        return
    ours = engine.settings.embedding
    if (space.provider, space.model) != (embedder.provider, embedder.model):
        yield Check(
            "space",
            "warning",
            f"{holds}, but {ours.provider}/{ours.model} is configured",
            "run `sourcebook reindex`, or configure the model of the store",
        )
    elif ours.dimensions not in (None, space.dimensions):
        yield Check(
            "space",
            "failed",
            f"{holds}, but embedding.dimensions is {ours.dimensions}",
            f"set embedding.dimensions = {space.dimensions}, or run `sourcebook reindex`",
        )
    else:
        yield Check("space", "ok", holds)


def _index(engine: Engine) -> Check:
    index = engine.status()["index"]
    pending, failed = index["pending"], index["failed"]
    found = f"{pending:,} texts wait for a vector, {failed:,} failed"
    if failed:
        return Check("index", "warning", found, "run `sourcebook reindex --failed`")
    if pending:
        return Check("index", "warning", found, "run `sourcebook worker`")
    return Check("index", "ok", found)


def _failed(name: str, error: SourcebookError) -> Check:
    """An error says what happened, and behind the last semicolon what to do."""
    found, _, wanted = str(error).rpartition("; ")
    return Check(name, "failed", found or wanted, wanted if found else "")
