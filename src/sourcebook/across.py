"""USE CASE: a question in, the answers of several repositories out as one.

Every repository is searched at its own read context, as if it were asked alone. The lists are
merged by relevance, which is a probability and so means the same everywhere; each keeps its own
order. A repository that cannot be read at that read context is named with the reason, and the
answer is degraded.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from math import prod
from time import perf_counter
from typing import Any, cast

from sourcebook.errors import (
    InvalidInput,
    ModelUnavailable,
    NotFound,
    SourcebookError,
    SpaceMismatch,
)
from sourcebook.model import Degraded, Hit, Json, Scope
from sourcebook.ports import EmbeddedQuery, Embedder
from sourcebook.querying.answer import Answer, Status
from sourcebook.querying.relevance import OK

MOST = 1000
"""Repositories of one question."""
_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="sourcebook-across")
_REASONS = (NotFound, InvalidInput, SpaceMismatch, ModelUnavailable)
"""Why one repository may have no answer while others have."""
Ask = Callable[[Scope], Answer]


@dataclass(frozen=True, slots=True)
class Searched:
    """One repository: its own answer, or why there is none."""

    repository_id: str
    answer: Answer | None = None
    error: SourcebookError | None = None

    def to_dict(self) -> dict[str, Json]:
        if self.answer is None:
            reason = Degraded("repository", str(self.error))
            return {
                "repository_id": self.repository_id,
                "read_context": None,
                "status": "not_searched",
                "candidates": 0,
                "degraded": [asdict(reason)],
            }
        return {
            "repository_id": self.repository_id,
            "read_context": asdict(self.answer.read_context),
            "status": self.answer.status,
            "candidates": self.answer.candidates,
            "degraded": [asdict(part) for part in self.answer.degraded],
        }


@dataclass(frozen=True, slots=True)
class AnswerAcross:
    """The hits of all, and what each repository said."""

    answer: Answer
    """As if it were one repository, but for its read context, which is that of the first one."""
    repositories: tuple[Searched, ...]

    def to_dict(self) -> dict[str, Json]:
        """The JSON of a search, with its repositories; a hit has its own read context."""
        found = {each.repository_id: each.to_dict() for each in self.repositories}
        told = self.answer.to_dict()
        for hit in told["results"]:
            hit["read_context"] = found[hit["repository_id"]]["read_context"]
        rejected = [
            {"repository_id": each.repository_id, **asdict(one)}
            for each in self.repositories
            if each.answer is not None
            for one in each.answer.rejected
        ]
        return told | {
            "read_context": self._read_context(),
            "rejected": rejected,
            "repositories": list(found.values()),
        }

    def _read_context(self) -> dict[str, Json]:
        """What is the same in all repositories; null where it differs."""
        read = [asdict(e.answer.read_context) for e in self.repositories if e.answer is not None]
        return {
            name: value if all(each[name] == value for each in read) else None
            for name, value in read[0].items()
        }


def search_across(scopes: Sequence[Scope], ask: Ask, k: int) -> AnswerAcross:
    """`ask` answers the question in one repository; each scope is another repository."""
    if not scopes:
        raise NotFound("there is no repository that may be read here; ingest something first")
    if len(scopes) > MOST:
        raise InvalidInput(
            f"{len(scopes)} repositories are too many for one question; name at most {MOST}",
            field="repositories",
        )
    started = perf_counter()
    work = [partial(copy_context().run, _searched, scope, ask) for scope in scopes]
    searched = tuple(_threads.map(lambda run: run(), work))
    answers = [each.answer for each in searched if each.answer is not None]
    if not answers:
        raise next(each.error for each in searched if each.error is not None)
    merged = _merged(answers, k)
    took = {"total": round((perf_counter() - started) * 1e3, 3)}
    answer = replace(merged, degraded=_degraded(searched), timings_ms=took)
    return AnswerAcross(answer, searched)


def _searched(scope: Scope, ask: Ask) -> Searched:
    try:
        return Searched(scope.repository, ask(scope))
    except _REASONS as error:
        return Searched(scope.repository, error=error)


def _merged(answers: Sequence[Answer], k: int) -> Answer:
    first = answers[0]
    hits = list(islice(heapq.merge(*(each.results for each in answers), key=_place), k))
    status, warning = _outcome(hits, answers)
    return replace(
        first,
        status=status,
        warning=warning,
        results=[replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)],
        candidates=sum(each.candidates for each in answers),
        rejected=tuple(one for each in answers for one in each.rejected),
        document_type=next((each.document_type for each in answers if each.document_type), None),
    )


def _place(hit: Hit) -> tuple[bool, int, float, str, str]:
    """As in one repository: what was judged, exact matches first, then by relevance and standing.
    The next one is always the first hit of a repository, so each keeps its order."""
    worth = (hit.relevance or 0.0) * prod(change.factor for change in hit.adjustments)
    judged = hit.relevance is not None
    exact = hit.scores.exact if judged else 0
    return not judged, -exact, -worth, hit.citation.repository_id, hit.node.id


def _outcome(hits: Sequence[Hit], answers: Sequence[Answer]) -> tuple[Status, str | None]:
    if not hits:
        reasons = list(dict.fromkeys(each.warning for each in answers))
        several = f"no passage was found in any of the {len(answers)} repositories"
        return "no_results", reasons[0] if len(reasons) == 1 else several
    best = max((hit.relevance for hit in hits if hit.relevance is not None), default=None)
    if best is None:
        return "low_confidence", "no passage could be judged; they are in the fused order"
    if best >= OK:
        return "ok", None
    return "low_confidence", (
        f"the best passage has a relevance of {best:.2f}, below {OK:g}; it may not answer the "
        "question"
    )


def _degraded(searched: Sequence[Searched]) -> tuple[Degraded, ...]:
    """What each repository lacks, once if it is the same in all of them."""
    return tuple(dict.fromkeys(_lacks(searched)))


def _lacks(searched: Sequence[Searched]) -> Iterator[Degraded]:
    answers = [each.answer for each in searched if each.answer is not None]
    common = set.intersection(*(set(answer.degraded) for answer in answers))
    for each in searched:
        if each.answer is None:
            yield Degraded("repository", f"{each.repository_id} was not searched: {each.error}")
            continue
        for part in each.answer.degraded:
            alike = part in common
            yield part if alike else Degraded(part.part, f"{each.repository_id}: {part.reason}")


Makes = Callable[[str, str, int | None], Embedder]


def asked_once(embedder: Embedder) -> Embedder:
    """The same embedder, but a question is embedded once, however many repositories are asked."""
    return cast(Embedder, _AskedOnce(embedder))


def make_once(make: Makes) -> Makes:
    """The same for the models of other spaces."""
    lock = threading.Lock()
    made: dict[tuple[str, str, int | None], Embedder] = {}

    def get(*model: Any) -> Embedder:
        with lock:
            if model not in made:
                made[model] = asked_once(make(*model))
            return made[model]

    return get


class _AskedOnce:
    """In all but questions it is the embedder that it was made from."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._known: dict[str, EmbeddedQuery] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_query(self, text: str) -> EmbeddedQuery:
        with self._lock:
            if text not in self._known:
                self._known[text] = self._embedder.embed_query(text)
            return self._known[text]
