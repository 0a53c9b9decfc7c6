"""A question's terms in, a score for every passage that may be found out: BM25 with the statistics
of the whole lane.

What a passage gets for a term is computed from the same numbers in the same order as the embedded
store does (bm25.py), so scores are equal to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sourcebook.model import PreparedQuery
from sourcebook.ports import Within
from sourcebook.stores.bm25 import K1, B
from sourcebook.stores.labels import View
from sourcebook.stores.postgres.postings_codec import Postings
from sourcebook.stores.postgres.postings_read import PostingsReader
from sourcebook.stores.postgres.search_cache import Cache
from sourcebook.stores.postgres.search_lanes import Key, Lane, Rows
from sourcebook.stores.postgres.search_statements import Packed, Session, run

Norms = npt.NDArray[np.float32]
_SCORES, _NORMS = 32 << 20, 128 << 20
"""Bytes in memory. Scores are kept for a moment: search and evidence ask the same of a question."""


class Scored(NamedTuple):
    """What full-text search says of each passage that may be found, and the most it could say."""

    rows: Rows | None
    """Their numbers, ascending; None: a score for every number."""
    scores: npt.NDArray[np.float32]
    most: float

    @property
    def size(self) -> int:
        """In bytes."""
        return self.scores.nbytes + (0 if self.rows is None else self.rows.nbytes)

    def passages(self, places: Rows) -> Rows:
        return places if self.rows is None else self.rows[places]

    def of(self, passages: Rows) -> npt.NDArray[np.float32]:
        places = passages if self.rows is None else np.searchsorted(self.rows, passages)
        return self.scores[places]


class Terms:
    def __init__(self) -> None:
        self._reader = PostingsReader()
        self._scored: Cache[tuple[View, Within, tuple[str, ...]], Scored] = Cache(
            _SCORES, lambda scored: scored.size
        )
        self._norms: Cache[Key, Norms] = Cache(_NORMS, lambda norms: norms.nbytes)

    def score(
        self,
        session: Session,
        view: View,
        within: Within,
        lane: Lane,
        rows: Rows | None,
        terms: tuple[str, ...],
    ) -> Scored:
        """Kept for a moment. `rows` is what `within` leaves of the lane."""
        held = self._scored.get((view, within, terms))
        if held is None:
            key = (view, within.resolution, within.revision)
            held = self._score(session, key, lane, rows, terms)
            self._scored.put((view, within, terms), held)
        return held

    def exact(
        self, session: Session, view: View, lane: Lane, query: PreparedQuery
    ) -> npt.NDArray[np.int64]:
        """How many of the query's phrases and identifiers each passage holds."""
        words = {term for phrase in query.phrases for term in phrase}
        ids = _ids(session, view.repository, words)
        exact = np.zeros(len(lane.seen), np.int64)
        for phrase in query.phrases:
            if all(term in ids for term in phrase):
                exact[self._holding(session, view, lane, [ids[term] for term in phrase])] += 1
        return exact

    def _score(
        self, session: Session, key: Key, lane: Lane, rows: Rows | None, terms: tuple[str, ...]
    ) -> Scored:
        repository = key[0].repository
        ids = _ids(session, repository, terms)
        seen = self._seen(session, repository, lane, ids.values())
        norms = self._norms_of(session, key, lane)
        places: npt.NDArray[np.int32] | None = None
        if rows is not None:
            places = np.full(len(lane.seen), -1, np.int32)
            places[rows] = np.arange(len(rows))
            norms = norms[rows]
        sums = np.zeros(len(norms))
        most = 0.0
        for term in terms:
            held = seen.get(ids.get(term, -1), [])
            weight = _weight(len(lane), sum(len(part.numbers) for part in held))
            most += (K1 + 1) * weight
            for part in held if places is None else (_placed(part, places) for part in held):
                frequency = np.abs(part.frequencies)
                impact = frequency * np.float32(K1 + 1) / (frequency + norms[part.numbers])
                # A passage stands once in a part, so none is added to twice in one step.
                sums[part.numbers] += impact * np.float32(weight)
        return Scored(rows, sums.astype(np.float32), most)

    def _norms_of(self, session: Session, key: Key, lane: Lane) -> Norms:
        """What its length does to each passage's score, with the average of the lane."""
        held = self._norms.get(key)
        if held is None:
            lengths = np.zeros(len(lane.seen))
            for part in lane.parts:
                of = self._reader.lengths(session, key[0].repository, part, lane.last)
                of = of[of["number"] < len(lengths)]
                lengths[of["number"]] = of["length"]
            average = lengths[lane.seen].sum() / len(lane) if len(lane) else 1.0
            held = (K1 * (1 - B + B * lengths / (average or 1.0))).astype(np.float32)
            self._norms.put(key, held)
        return held

    def _seen(
        self, session: Session, repository: int, lane: Lane, terms: Iterable[int]
    ) -> dict[int, list[Postings]]:
        """Of each term the postings of passages that the lane shows, part by part."""
        found: dict[int, list[Postings]] = {}
        for part in lane.parts:
            read = self._reader.read(session, repository, part, list(terms), lane.last)
            for term, postings in read.items():
                found.setdefault(term, []).append(_visible(postings, lane))
        return found

    def _holding(self, session: Session, view: View, lane: Lane, phrase: list[int]) -> Rows:
        """The passages that hold these terms one after the other."""
        seen = self._seen(session, view.repository, lane, set(phrase))
        found = [np.concatenate(list(_own(seen[term]))) for term in set(phrase)]
        rows = min(found, key=len)
        for more in found:
            rows = np.intersect1d(rows, more, assume_unique=True)
        if len(phrase) == 1 or not len(rows):
            return rows
        wanted = np.array(phrase, "<i4").tobytes()
        asked = {"numbers": Packed(rows), "phrase": wanted}
        read = run(session, "holding", view.repository, asked, binary=True)
        hold = [number for number, tokens in read if _holds(tokens, wanted)]
        return np.array(hold, np.int64)


def _ids(session: Session, repository: int, terms: Iterable[str]) -> dict[str, int]:
    return dict(run(session, "terms", repository, {"texts": list(terms)}))


def _weight(size: int, frequency: int) -> float:
    return float(np.log1p((size - frequency + 0.5) / (frequency + 0.5)))


def _visible(postings: Postings, lane: Lane) -> Postings:
    shown = lane.among(postings.numbers)
    if len(shown) == len(postings.numbers) and shown.all():
        return postings
    size = len(shown)
    return Postings(postings.numbers[:size][shown], postings.frequencies[:size][shown])


def _placed(postings: Postings, places: npt.NDArray[np.int32]) -> Postings:
    """Of the passages that have a place, by that instead of their number."""
    found = places[postings.numbers]
    inside = found >= 0
    return Postings(found[inside], postings.frequencies[inside])


def _own(parts: Sequence[Postings]) -> Iterator[Rows]:
    """The passages that themselves hold a term, not only what stands around them."""
    for part in parts:
        yield part.numbers[part.frequencies > 0].astype(np.int64)


def _holds(tokens: bytes, phrase: bytes) -> bool:
    """Whether the phrase stands in the tokens, at a whole number of 4-byte terms."""
    at = tokens.find(phrase)
    while at >= 0 and at % 4:
        at = tokens.find(phrase, at + 1)
    return at >= 0
