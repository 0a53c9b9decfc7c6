"""Terms in, their postings out, those of frequent terms from memory.

A passage's postings never change and new passages have higher numbers, so what is known of a term
only has to be read on from its last passage. Postings of passages that a search does not see, since
they have ended, or are hidden, or came later, are for the search to leave out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from sourcebook.stores.postgres import postings_codec
from sourcebook.stores.postgres.postings_codec import LENGTH, LENGTHS, Postings
from sourcebook.stores.postgres.search_cache import Cache, Known
from sourcebook.stores.postgres.search_statements import Session, run

Lengths = npt.NDArray[np.void]
"""Of dtype LENGTH."""
_MOST = 256 << 20
"""Bytes of postings in memory."""


class PostingsReader:
    def __init__(self, most: int = _MOST) -> None:
        self._known: Cache[tuple[int, int, int], Known[Postings]] = Cache(
            most, lambda known: known.value.size
        )
        self._lengths: Cache[tuple[int, int], Known[Lengths]] = Cache(
            most, lambda known: known.value.nbytes
        )

    def read(
        self, session: Session, repository: int, part: int, terms: Sequence[int], upto: int
    ) -> dict[int, Postings]:
        """Of each of these terms, of passages up to a number at least."""
        known = {term: self._known.get((repository, part, term)) for term in terms}
        found = {term: held.value for term, held in known.items() if held is not None}
        behind = [term for term, held in known.items() if held is None or held.upto < upto]
        afters = [_last(found[term]) if term in found else 0 for term in behind]
        if behind:
            for term, more in _blocks(session, repository, part, behind, afters).items():
                found[term] = _longer(found.get(term), more)
        for term in behind:
            held = found.setdefault(term, _NONE)
            value = Known(held, max(upto, _last(held)))
            self._known.put((repository, part, term), value)
        return found

    def lengths(self, session: Session, repository: int, part: int, upto: int) -> Lengths:
        """(number, length) of the passages of a part, up to a number at least."""
        held = self._lengths.get((repository, part))
        value = np.empty(0, LENGTH) if held is None else held.value
        if held is not None and held.upto >= upto:
            return value
        after = int(value["number"][-1]) if len(value) else 0
        asked = {"part": part, "terms": [LENGTHS], "afters": [after]}
        rows = run(session, "blocks", repository, asked, binary=True)
        more = np.frombuffer(b"".join(data for _, _, data in rows), LENGTH)
        value = np.concatenate([value, more[more["number"] > after]])
        last = int(value["number"][-1]) if len(value) else 0
        self._lengths.put((repository, part), Known(value, max(upto, last)))
        return value


_NONE = Postings(np.empty(0, np.int32), np.empty(0, np.float32))


def _blocks(
    session: Session, repository: int, part: int, terms: list[int], afters: list[int]
) -> dict[int, Postings]:
    asked = {"part": part, "terms": terms, "afters": afters}
    rows = run(session, "blocks", repository, asked, binary=True)
    return {
        term: postings_codec.read((wide, data) for _, wide, data in blocks)
        for term, blocks in groupby(rows, itemgetter(0))
    }


def _longer(held: Postings | None, more: Postings) -> Postings:
    """A block may begin with what is known already."""
    if held is None or not len(held.numbers):
        return more
    start = np.searchsorted(more.numbers, held.numbers[-1], "right")
    return Postings(
        np.concatenate([held.numbers, more.numbers[start:]]),
        np.concatenate([held.frequencies, more.frequencies[start:]]),
    )


def _last(postings: Postings) -> int:
    return int(postings.numbers[-1]) if len(postings.numbers) else 0
