"""USE CASE: fill the vectors and the quality scores that are missing.

A passage without a vector and a node without a score are the work to do, so there is no queue to
lose: stop it at any moment, start it again, and it goes on. Whoever embeds claims its texts first,
so that any number of processes share the work; a claim that is not renewed runs out, and somebody
else takes its texts over. A text that cannot be embedded is recorded and stops nobody else's.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from sourcebook import asker
from sourcebook.errors import (
    InvalidInput,
    ModelUnavailable,
    NotFound,
    SourcebookError,
    StoreBusy,
    StoreError,
    TextRefused,
)
from sourcebook.model import Scope, Space
from sourcebook.ports import UNIT, Backoff, Embedder, Pending, Spent, Store, Vectors

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with what is done and what there is in all."""
_REFUSED = Backoff(attempts=1)
"""A text that a model refuses for its own sake is not offered again."""
_LONGEST_LOOK_S = 1.0
"""While others hold what is left: they may give it back before their lease runs out."""
_BUSY_TRIES = 6


@dataclass(frozen=True, slots=True)
class Pace:
    """How work is shared out, and how long a model that does not answer is waited for."""

    batch: int = 256
    """Texts claimed, embedded and stored at a time: what a crash can cost."""
    lease_s: float = 120.0
    backoff: Backoff = Backoff()
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    patience: int = 3
    """Batches in a row that a model may leave without an answer before a caller that waits gives
    up; a worker only pauses longer."""

    def pause_s(self, outages: int) -> float:
        """After so many batches in a row without an answer."""
        longest: float = min(self.first_pause_s * 2.0 ** min(outages - 1, 32), self.longest_pause_s)
        return longest if outages else 0.0


@dataclass(slots=True)
class Batch:
    """What became of the texts that were claimed together."""

    claimed: int = 0
    stored: int = 0
    failed: int = 0
    error: str = ""
    """The last one."""
    outage: bool = False
    """The model gave nothing, or nothing that can be used: the texts are not to blame."""
    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = 0.0


def worker_name() -> str:
    """Different for every caller: leases are told apart by it."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class Indexer:
    """Embeds what has no vector in a space, a batch at a time."""

    store: Store
    embedder: Embedder
    scope: Scope
    space: Space
    worker: str = field(default_factory=worker_name)
    pace: Pace = Pace()

    def step(self) -> Batch:
        """Claim a batch and embed it. Nothing was claimed where there is nothing to do now."""
        asker.still_waits()
        ours = (self.scope, self.space, self.worker)
        held = _patiently(lambda: self.store.claim(*ours, self.pace.batch, self.pace.lease_s))
        batch = Batch(claimed=len(held))
        if not held:
            return batch
        start = time.perf_counter()
        with self._renewing():
            try:
                self._embed(held, batch)
            except BaseException:
                with contextlib.suppress(SourcebookError):
                    self.store.release(*ours)
                raise
        batch.seconds = time.perf_counter() - start
        return batch

    def _embed(self, held: list[Pending], batch: Batch) -> None:
        """Where the model refuses a text, halves are tried until it is alone. A call that gets no
        answer may be the service's fault or a text's: what failed before goes in smaller pieces,
        and a text that fails alone while others are embedded is to blame."""
        pieces, outage = _pieces(held), replace(self.pace.backoff, attempts=None)
        while pieces:
            piece = pieces.pop()
            try:
                self._store(piece, *self._vectors(piece), batch)
            except (TextRefused, InvalidInput) as error:
                if not _halved(pieces, piece):
                    self._fail(piece, str(error), batch, _REFUSED)
            except ModelUnavailable as error:
                guilty = len(piece) == 1 and batch.stored > 0
                self._fail(piece, str(error), batch, self.pace.backoff if guilty else outage)
                if batch.stored == 0:
                    batch.outage = True
                    self._release(pieces)
                    return
            except (StoreError, NotFound):
                raise
            except Exception as error:  # noqa: BLE001  whatever a model does is kept with the text
                if not _halved(pieces, piece):
                    self._fail(piece, f"{type(error).__name__}: {error}", batch)

    def _vectors(self, piece: Sequence[Pending]) -> tuple[Vectors, list[bytes] | None, Spent]:
        texts = [each.text for each in piece]
        before, start = self.embedder.usage, time.perf_counter()
        if self.embedder.late:
            vectors, tokens = self.embedder.embed_late(texts)
        else:
            vectors, tokens = self.embedder.embed(texts), None
        seconds, after = time.perf_counter() - start, self.embedder.usage
        cost = None if after.cost is None else after.cost - (before.cost or 0.0)
        return vectors, tokens, Spent(self.worker, seconds, after.tokens - before.tokens, cost)

    def _store(
        self,
        piece: list[Pending],
        vectors: Vectors,
        tokens: list[bytes] | None,
        spent: Spent,
        batch: Batch,
    ) -> None:
        """What is no unit vector of the space is a failure, and never stored."""
        expected = (len(piece), self.space.dimensions)
        if np.shape(vectors) != expected:
            shape = f"{np.shape(vectors)} numbers for {expected}"
            raise ModelUnavailable(f"{self.embedder.model} gave {shape}")
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        sound = np.abs(lengths - 1) <= UNIT
        for row in np.flatnonzero(~sound):
            reason = f"{self.embedder.model} gave a vector of length {lengths[row]:g}, not 1"
            self._fail([piece[row]], reason, batch)
        rows = np.flatnonzero(sound).tolist()
        hashes = [piece[row].text_hash for row in rows]
        coded = None if tokens is None else [tokens[row] for row in rows]
        made = (self.scope, self.space, hashes, vectors[rows], coded, spent)
        _patiently(lambda: self.store.put_vectors(*made))
        batch.stored += len(rows)
        batch.tokens += spent.tokens
        batch.cost = _sum(batch.cost, spent.cost)

    def _fail(
        self, piece: Sequence[Pending], error: str, batch: Batch, backoff: Backoff | None = None
    ) -> None:
        errors = dict.fromkeys((each.text_hash for each in piece), error)
        ours = (self.scope, self.space, self.worker, errors, backoff or self.pace.backoff)
        _patiently(lambda: self.store.fail(*ours))
        batch.failed += len(piece)
        batch.error = error

    def _release(self, pieces: Sequence[Sequence[Pending]]) -> None:
        hashes = [each.text_hash for piece in pieces for each in piece]
        if hashes:
            _patiently(lambda: self.store.release(self.scope, self.space, self.worker, hashes))

    @contextlib.contextmanager
    def _renewing(self) -> Iterator[None]:
        """The lease is extended while the block runs, however long the model takes."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self.pace.lease_s / 3):
                with contextlib.suppress(SourcebookError):
                    self.store.renew(self.scope, self.space, self.worker, self.pace.lease_s)

        thread = threading.Thread(target=renew, name="sourcebook-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def fill(
    store: Store,
    embedder: Embedder,
    scope: Scope,
    space: Space,
    progress: Progress | None = None,
    pace: Pace = Pace(),
) -> int:
    """Embed every text that has no vector in the space, together with whoever else does; returns
    how many were embedded here. Ends when all is done or given up, or the model does not answer."""
    indexer = Indexer(store, embedder, scope, space, pace=pace)
    total, done, outages = store.count_pending(scope, space), 0, 0
    while outages < pace.patience:
        batch = indexer.step()
        if batch.claimed:
            done += batch.stored
            outages = outages + 1 if batch.outage else 0
            if progress:
                progress(done, max(done, total))
            time.sleep(pace.pause_s(outages) if outages < pace.patience else 0)
        elif store.index_health(scope, space).pending:
            wait = store.next_claim_s(scope, space) or 0.0
            time.sleep(min(max(wait, 0.01), _LONGEST_LOOK_S))
        else:
            break
    return done


def embed_ahead(
    store: Store, embedder: Embedder, scope: Scope, space: Space, texts: Mapping[str, str]
) -> None:
    """Embed those of these texts, by hash, that have no vector, before any passage holds them. What
    cannot be embedded is the caller's error: nothing was committed yet."""
    indexer = Indexer(store, embedder, scope, space)
    missing = [Pending(key, texts[key]) for key in store.unembedded(scope, space, list(texts))]
    for start in range(0, len(missing), indexer.pace.batch):
        piece = missing[start : start + indexer.pace.batch]
        hashes = [each.text_hash for each in piece]
        store.put_vectors(scope, space, hashes, *indexer._vectors(piece))


def _pieces(held: list[Pending]) -> list[list[Pending]]:
    """What never failed in one, first; the rest in a quarter of that for each time it failed. They
    are taken from the end."""
    pieces: list[list[Pending]] = []
    for attempts in sorted({each.attempts for each in held}):
        alike = [each for each in held if each.attempts == attempts]
        size = max(len(held) >> 2 * min(attempts, 16), 1)
        pieces += [alike[at : at + size] for at in range(0, len(alike), size)]
    return pieces[::-1]


def _halved(pieces: list[list[Pending]], piece: list[Pending]) -> bool:
    """Puts both halves where the next pieces are taken from; False where one text is left."""
    middle = len(piece) // 2
    if middle:
        pieces += [piece[middle:], piece[:middle]]
    return bool(middle)


def _patiently(call: Callable[[], T]) -> T:
    """A store that many processes write to may be busy for longer than one of them waits."""
    for _ in range(_BUSY_TRIES - 1):
        with contextlib.suppress(StoreBusy):
            return call()
    return call()


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
