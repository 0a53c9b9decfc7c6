"""Texts in, unit vectors of a service out: in batches that it takes, several at once, each answer
checked before anything is made of it.

A vector is never made up and never of another length than the others: an answer with the wrong
number of rows, rows of the wrong length, values that are no finite numbers or a row of zeros is
ModelUnavailable. A text that the service refuses for its own sake is TextRefused.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np

from sourcebook.config import Embedding
from sourcebook.errors import ModelUnavailable, TextRefused
from sourcebook.model import Json
from sourcebook.models.batches import batches
from sourcebook.models.estimate import TokenCount
from sourcebook.models.http import Limits, Refused, Service
from sourcebook.models.install import locate
from sourcebook.models.known import family, known
from sourcebook.models.local import open_tokenizer
from sourcebook.models.manifest import POTION_BASE_8M
from sourcebook.models.usage import Meter
from sourcebook.models.wire import Wire
from sourcebook.ports import EmbeddedQuery, Floats, Usage, Vectors

QUESTION_S = 15.0
"""Somebody waits for a question's vector; nobody does for a document's."""
PATIENT = Limits(tries=6, max_bytes=32 << 20)
_SPECIAL_TOKENS = 2
_PROBE = "A sentence."
_SHORTEST = 1e-9
"""A vector shorter than this has no direction."""


class RemoteEmbedder:
    """Implements ports.Embedder. Any thread may call; together they have no more requests for
    documents under way than `concurrency`."""

    late = None

    def __init__(self, ours: Embedding, wire: Wire, limits: Limits = PATIENT) -> None:
        self.provider = wire.provider
        self.model = ours.model
        self._wire = wire
        self._ours = ours
        self._dimensions = ours.dimensions or known(ours.model).dimensions
        like = family(ours.model)
        self._query_prefix = like.query if ours.query_prefix is None else ours.query_prefix
        self._prefix = like.document if ours.document_prefix is None else ours.document_prefix
        told = ours.price_per_million_tokens
        self._meter = Meter(wire.price if told is None else told)
        self._slots = threading.BoundedSemaphore(ours.concurrency)
        self._lock = threading.Lock()
        self._accepted = False
        soon = min(ours.timeout_s, QUESTION_S)
        patient = replace(limits, timeout_s=ours.timeout_s, total_s=ours.timeout_s * 4)
        self._documents = _service(wire, patient)
        self._questions = _service(wire, replace(limits, timeout_s=soon, total_s=None))

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self.provider!r}, {self.model!r} at {self._documents.host!r})"

    @property
    def usage(self) -> Usage:
        """What was answered, whether it could be used or not: it has to be paid."""
        return self._meter.total

    @property
    def dimensions(self) -> int:
        """As set, or as known, or as the service's first answer has them."""
        if self._dimensions is None:
            self._ask(self._documents, [_PROBE], question=False)
        assert self._dimensions is not None
        return self._dimensions

    @cached_property
    def max_tokens(self) -> int:
        """What the model takes, less its special tokens and the prefix."""
        takes = self._ours.max_tokens or known(self.model).length
        return takes - _SPECIAL_TOKENS - self.count([self._prefix])[0]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Exact for models with BERT's vocabulary; for others an estimate, rather too high."""
        return _counter(locate(POTION_BASE_8M.name), family(self.model).bert)(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in the given order: all of them or none."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        counts = self._checked(texts)
        prefix = self.count([self._prefix])[0]
        most = min(self._wire.texts, self._ours.batch_texts or self._wire.texts)
        parts = [
            [self._prefix + texts[place] for place in part]
            for part in batches([n + prefix for n in counts], most, self._wire.tokens)
        ]
        return np.concatenate(self._all(parts))

    def embed_query(self, text: str) -> EmbeddedQuery:
        """The question is cut to what the model takes. It does not wait for documents."""
        asked = [self._query_prefix + self._cut(text)]
        return EmbeddedQuery(self._ask(self._questions, asked, question=True)[0])

    def embed_late(self, texts: Sequence[str]) -> NoReturn:
        raise NotImplementedError("services give no token vectors")

    def _checked(self, texts: Sequence[str]) -> list[int]:
        counts = self.count(texts)
        for place, (text, tokens) in enumerate(zip(texts, counts, strict=True)):
            if not text.strip():
                raise TextRefused(f"text {place} is empty; there is nothing to embed")
            if tokens > self.max_tokens:
                raise TextRefused(
                    f"text {place} has about {tokens} tokens, but {self.model} takes "
                    f"{self.max_tokens}; cut it into smaller chunks, or set embedding.max_tokens"
                )
        return counts

    def _cut(self, text: str) -> str:
        while (tokens := self.count([text])[0]) > self.max_tokens:
            text = text[: int(len(text) * min(self.max_tokens / tokens, 0.95))]
        return text

    def _all(self, parts: Sequence[Sequence[str]]) -> list[Vectors]:
        """The first failure ends it: what has not begun is not sent."""
        with ThreadPoolExecutor(min(len(parts), self._ours.concurrency)) as pool:
            asked = [pool.submit(self._in_turn, part) for part in parts]
            try:
                for done in wait(asked, return_when=FIRST_EXCEPTION).done:
                    done.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        return [future.result() for future in asked]

    def _in_turn(self, texts: Sequence[str]) -> Vectors:
        with self._slots:
            return self._ask(self._documents, texts, question=False)

    def _ask(self, service: Service, texts: Sequence[str], *, question: bool) -> Vectors:
        if self._wire.needs_key and self._wire.key is None:
            raise ModelUnavailable(
                f"{self._wire.what} at {service.host} wants a key; {self._wire.hints['key']}"
            )
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        try:
            answer = service.post(self._wire.path, self._wire.body(clean, question))
        except Refused as refused:
            if list(texts) == [_PROBE] or not self._takes_others(service):
                raise
            raise TextRefused(str(refused)) from None
        vectors = self._believed(answer, texts)
        self._accepted = True
        return vectors

    def _takes_others(self, service: Service) -> bool:
        """Whether a refusal was about the texts: another one was, or is, taken."""
        if not self._accepted:
            try:
                self._ask(service, [_PROBE], question=False)
            except Refused:
                return False
        return True

    def _believed(self, answer: Json, texts: Sequence[str]) -> Vectors:
        """The vectors of an answer, of length 1, if it is one."""
        try:
            rows, tokens = self._wire.read(answer)
        except (LookupError, TypeError, AttributeError):
            self._wrong("sent an answer that is not of the known form")
        if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
            tokens = sum(self.count(texts))
        self._meter.add(requests=1, texts=len(texts), tokens=tokens)
        if not isinstance(rows, list) or len(rows) != len(texts):
            many = len(rows) if isinstance(rows, list) else "no"
            self._wrong(f"sent {many} vectors for {len(texts)} texts")
        return self._of_one_length(self._units(self._numbers(rows)))

    def _numbers(self, rows: list[Json]) -> Floats:
        if not all(isinstance(row, list) and row for row in rows):
            self._wrong("sent something that is no vector")
        expected = self._dimensions or len(rows[0])
        for row in rows:
            self._require(len(row), expected)
        numbers = _plain_numbers(rows)
        if numbers is None:
            self._wrong("sent a vector with values that are no finite numbers")
        return numbers

    def _units(self, numbers: Floats) -> Vectors:
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > _SHORTEST).all()):
            self._wrong("sent a vector without a direction: all zeros, or out of bounds")
        units: Vectors = (numbers / lengths).astype(np.float32)
        return units

    def _of_one_length(self, vectors: Vectors) -> Vectors:
        """The first ones decide where nobody else did."""
        with self._lock:
            self._dimensions = self._dimensions or vectors.shape[1]
        self._require(vectors.shape[1], self._dimensions)
        return vectors

    def _require(self, length: int, expected: int) -> None:
        if length != expected:
            self._wrong(
                f"sent a vector of {length} numbers where {expected} are expected",
                "correct embedding.dimensions, or leave it out",
            )

    def _wrong(self, reason: str, advice: str = "choose another embedding.model") -> NoReturn:
        where = f"{self._wire.what} at {self._documents.host}"
        raise ModelUnavailable(f"{where} {reason} (model {self.model}); {advice}") from None


@cache
def _counter(folder: Path, exact: bool) -> TokenCount:
    return TokenCount(open_tokenizer(folder / "tokenizer.json"), exact=exact)


def _plain_numbers(rows: list[Json]) -> Floats | None:
    """None where one of them is no finite number."""
    try:
        numbers = np.array(rows)
    except ValueError:  # a list where a number should be
        return None
    plain = numbers.ndim == 2 and numbers.dtype.kind in "fiu" and bool(np.isfinite(numbers).all())
    return numbers.astype(np.float64) if plain else None


def _service(wire: Wire, limits: Limits) -> Service:
    return Service(
        wire.base_url,
        what=wire.what,
        advice=wire.advice,
        key=wire.key,
        header=wire.header,
        query=wire.query,
        hints=wire.hints,
        limits=limits,
    )
