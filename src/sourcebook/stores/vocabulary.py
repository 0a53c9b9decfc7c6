"""Index terms in, their numbers out: numbers are given once and never change.

What a commit numbers is known to itself alone until the commit is durable, so a commit that is
rolled back leaves no number behind that the store does not have.
"""

from __future__ import annotations

from collections.abc import Iterable

from sourcebook.stores.statements import Statements

_MOST = 2_000_000
"""Terms in memory, over all repositories; beyond it they are read from the store again."""


class Vocabulary:
    """The committed terms that earlier commits of this process met, by repository."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, int]] = {}

    def of(self, repository: int) -> dict[str, int]:
        return self._known.get(repository, {})

    def add(self, repository: int, terms: dict[str, int]) -> None:
        """Only what is durable: the caller has committed."""
        if sum(map(len, self._known.values())) > _MOST:
            self._known.clear()
        self._known.setdefault(repository, {}).update(terms)


class TermNumbers:
    """The numbers as one open commit sees them. `met` holds those of every term it has learnt."""

    def __init__(self, db: Statements, repository: int, known: dict[str, int]) -> None:
        self._db = db
        self._repository = repository
        self._known = known
        self._next: int | None = None
        self.met: dict[str, int] = {}

    def learn(self, terms: Iterable[str]) -> None:
        """Make sure that every one of these has a number."""
        new = [term for term in dict.fromkeys(terms) if term not in self.met]
        self.met.update((term, self._known[term]) for term in new if term in self._known)
        unknown = [term for term in new if term not in self._known]
        if unknown:
            values = {"repository": self._repository, "texts": unknown}
            self.met.update(self._db.run("terms", values).fetchall())
            self._give([term for term in unknown if term not in self.met])

    @property
    def last(self) -> int | None:
        """The highest number that this commit gave out; None where it gave none."""
        return None if self._next is None else self._next - 1

    def of(self, terms: Iterable[str]) -> list[int]:
        """The numbers of terms that were learnt."""
        return [*map(self.met.__getitem__, terms)]

    def _give(self, terms: list[str]) -> None:
        if not terms:
            return
        if self._next is None:
            found = self._db.run("next_term", {"repository": self._repository})
            self._next = int(found.fetchone()[0])
        numbers = range(self._next, self._next + len(terms))
        rows = [(self._repository, t, n) for t, n in zip(terms, numbers, strict=True)]
        self._db.run_many("add_term", rows)
        self.met.update(zip(terms, numbers, strict=True))
        self._next = numbers.stop
