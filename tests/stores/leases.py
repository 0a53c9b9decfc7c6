"""What every store must do for those who share the work of embedding: leases, failures, usage.

A store's test module inherits `LeaseConformance` and gives it a `store` fixture whose store reads
its time from the `clock` fixture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import strategies as st

from sourcebook.errors import Forbidden, InvalidInput, NotFound
from sourcebook.model import Scope, Space
from sourcebook.ports import Backoff, IndexHealth, Pending, Spending, Spent, Store
from tests.stores.conformance import OTHER, SCOPE, SPACE, end, put, tree, units
from tests.stores.properties import Properties, examples

STEADY = Backoff(first_s=10, factor=3, longest_s=50, attempts=5)
READER = Scope(SCOPE.tenant, SCOPE.organization, SCOPE.repository, frozenset({"staff"}))


@dataclass
class Clock:
    """Stands still until somebody moves it."""

    now: datetime = field(default_factory=lambda: datetime(2026, 3, 31, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def filled(store: Store, texts: int) -> list[Pending]:
    """So many texts that wait, the shortest first."""
    put(store, tree("a", [f"word {'long ' * n}end" for n in range(texts)]))
    store.register_space(SCOPE, SPACE)
    return store.pending(SCOPE, SPACE)


def claim(store: Store, worker: str, limit: int = 100, lease_s: float = 60) -> list[str]:
    return [p.text_hash for p in store.claim(SCOPE, SPACE, worker, limit, lease_s)]


def embed(store: Store, hashes: list[str], spent: Spent | None = None) -> None:
    store.put_vectors(SCOPE, SPACE, hashes, units(len(hashes)), None, spent)


def fail(store: Store, worker: str, *hashes: str, backoff: Backoff = STEADY) -> None:
    errors = {key: f"{key[:4]} is too odd" for key in hashes}
    store.fail(SCOPE, SPACE, worker, errors, backoff)


def health(store: Store) -> IndexHealth:
    return store.index_health(SCOPE, SPACE)


class LeaseConformance(Properties):
    """Inherit it, and give the fixtures `clock` and `store`."""

    # --- claims --------------------------------------------------------------------------------

    def test_a_text_is_claimed_by_one_worker(self, store: Store) -> None:
        waiting = filled(store, 7)
        assert store.claim(SCOPE, SPACE, "one", 3, 60) == waiting[:3]
        assert store.claim(SCOPE, SPACE, "two", 3, 60) == waiting[3:6]
        assert store.claim(SCOPE, SPACE, "one", 3, 60) == waiting[6:]
        assert claim(store, "two") == []
        assert health(store).claimed == 7
        assert store.count_pending(SCOPE, SPACE) == health(store).pending == 7

    def test_what_head_shows_comes_first_and_short_texts_before_long_ones(
        self, store: Store
    ) -> None:
        put(store, tree("a", ["gone", "a longer text", "short"], context="In a"))
        put(store, tree("a", ["a longer text"], context="In a"))
        put(store, tree("b", ["short"], context="In a"))
        store.register_space(SCOPE, SPACE)
        held = store.claim(SCOPE, SPACE, "one", 9, 60)
        assert [p.text for p in held] == ["In a\nshort", "In a\na longer text", "In a\ngone"]

    def test_what_comes_later_is_claimed_too(self, store: Store) -> None:
        filled(store, 2)
        embed(store, claim(store, "one"))
        assert claim(store, "one") == []
        put(store, tree("b", ["new words"]))
        assert [p.text for p in store.claim(SCOPE, SPACE, "one", 9, 60)] == ["new words"]
        end(store, "b")
        assert claim(store, "two") == []

    def test_a_lease_that_runs_out_is_taken_over(self, store: Store, clock: Clock) -> None:
        keys = [p.text_hash for p in filled(store, 4)]
        assert claim(store, "dead", 2, lease_s=60) == keys[:2]
        clock.pass_s(40)
        assert claim(store, "alive") == keys[2:]
        assert store.next_claim_s(SCOPE, SPACE) == pytest.approx(20)
        clock.pass_s(19.9)
        assert claim(store, "alive") == []
        clock.pass_s(0.1)
        assert store.next_claim_s(SCOPE, SPACE) == 0
        assert claim(store, "alive") == keys[:2]
        assert store.renew(SCOPE, SPACE, "dead", 60) == 0

    def test_a_lease_that_is_renewed_is_kept(self, store: Store, clock: Clock) -> None:
        filled(store, 3)
        held = claim(store, "slow", 2, lease_s=60)
        clock.pass_s(50)
        assert store.renew(SCOPE, SPACE, "slow", 60) == 2
        clock.pass_s(50)
        assert set(claim(store, "other")).isdisjoint(held)
        assert store.renew(SCOPE, SPACE, "nobody", 60) == 0

    def test_what_is_given_back_is_free(self, store: Store) -> None:
        filled(store, 4)
        held = claim(store, "one", 3)
        store.release(SCOPE, SPACE, "two")
        assert len(claim(store, "two")) == 1
        assert claim(store, "two") == []
        store.release(SCOPE, SPACE, "one", held[:1])
        assert claim(store, "two") == held[:1]
        store.release(SCOPE, SPACE, "one")
        assert claim(store, "three") == held[1:]
        assert health(store).claimed == 4

    def test_nothing_left_to_claim_is_known_at_once_and_for_as_long_as_it_is_so(
        self, store: Store, clock: Clock
    ) -> None:
        """Idle workers ask again and again: what they are told must follow what others do."""
        filled(store, 2)
        held = claim(store, "one", lease_s=60)
        assert claim(store, "two") == []
        store.release(SCOPE, SPACE, "one", held[:1])
        assert claim(store, "two") == held[:1]
        fail(store, "two", held[0])
        assert claim(store, "two") == []
        assert store.retry_failed(SCOPE, SPACE) == 1
        assert claim(store, "two") == held[:1]
        clock.pass_s(60)
        assert claim(store, "three") == held

    def test_a_vector_ends_claims_and_failures(self, store: Store, clock: Clock) -> None:
        keys = [p.text_hash for p in filled(store, 3)]
        claim(store, "one")
        fail(store, "one", keys[0])
        clock.pass_s(100)
        assert claim(store, "two") == keys
        embed(store, keys)
        assert health(store) == IndexHealth()
        assert store.next_claim_s(SCOPE, SPACE) is None
        assert store.failures(SCOPE, SPACE, 9) == []
        fail(store, "two", keys[0])
        assert store.failures(SCOPE, SPACE, 9) == []

    def test_a_vector_that_comes_late_changes_nothing(self, store: Store, clock: Clock) -> None:
        """Its lease was taken over, and the other was faster."""
        filled(store, 1)
        (key,) = claim(store, "slow", lease_s=10)
        clock.pass_s(11)
        assert claim(store, "fast") == [key]
        first, second = units(2)
        store.put_vectors(SCOPE, SPACE, [key], first[None])
        store.put_vectors(SCOPE, SPACE, [key], second[None])
        assert store.count_pending(SCOPE, SPACE) == 0
        assert health(store).claimed == 0

    def test_spaces_and_repositories_have_claims_of_their_own(self, store: Store) -> None:
        filled(store, 2)
        put(store, tree("a", ["word end"]), scope=OTHER)
        store.register_space(OTHER, SPACE)
        beside = Space("beside", "local", "tiny", 4, "2")
        store.register_space(SCOPE, beside)
        assert len(claim(store, "one")) == 2
        assert len(store.claim(OTHER, SPACE, "one", 9, 60)) == 1
        assert len(store.claim(SCOPE, beside, "one", 9, 60)) == 2
        assert claim(store, "two") == []
        with pytest.raises(NotFound):
            store.claim(OTHER, beside, "one", 9, 60)

    def test_a_reader_with_roles_claims_nothing(self, store: Store) -> None:
        filled(store, 2)
        for write in (
            lambda: store.claim(READER, SPACE, "one", 9, 60),
            lambda: store.fail(READER, SPACE, "one", {"h": "no"}),
            lambda: store.retry_failed(READER, SPACE),
            lambda: store.release(READER, SPACE, "one"),
        ):
            with pytest.raises(Forbidden):
                write()
        assert claim(store, "one")

    # --- failures ------------------------------------------------------------------------------

    def test_a_text_that_fails_waits_longer_each_time_and_is_given_up(
        self, store: Store, clock: Clock
    ) -> None:
        (waiting,) = filled(store, 1)
        key = waiting.text_hash
        for attempt, most in enumerate((10, 30, 50, 50), start=1):
            assert claim(store, "one") == [key]
            fail(store, "one", key)
            assert health(store).retrying == 1
            (told,) = store.failures(SCOPE, SPACE, 9)
            assert (told.attempts, told.dead, told.text) == (attempt, False, waiting.text)
            wait = store.next_claim_s(SCOPE, SPACE)
            assert wait is not None
            assert most / 2 <= wait <= most
            clock.pass_s(wait - 0.01)
            assert claim(store, "one") == []
            clock.pass_s(0.01)
        assert claim(store, "one") == [key]
        fail(store, "one", key)
        clock.pass_s(1e9)
        assert claim(store, "one") == []
        assert store.next_claim_s(SCOPE, SPACE) is None
        now = health(store)
        assert (now.pending, now.retrying, now.failed) == (0, 0, 1)
        assert store.count_pending(SCOPE, SPACE) == 1
        (told,) = store.failures(SCOPE, SPACE, 9)
        assert (told.attempts, told.dead) == (5, True)
        assert told.error == f"{key[:4]} is too odd"

    def test_what_was_given_up_is_tried_again_when_somebody_asks(self, store: Store) -> None:
        keys = claim(store, "one") if filled(store, 3) else []
        fail(store, "one", *keys[:2], backoff=Backoff(attempts=1))
        assert health(store).failed == 2
        assert store.retry_failed(SCOPE, SPACE) == 2
        assert store.retry_failed(SCOPE, SPACE) == 0
        assert set(claim(store, "two")) == set(keys[:2])
        fail(store, "two", keys[0])
        (told,) = store.failures(SCOPE, SPACE, 9)
        assert told.attempts == 1

    def test_a_failure_ends_the_claim_of_its_worker_alone(self, store: Store, clock: Clock) -> None:
        (key,) = [p.text_hash for p in filled(store, 1)]
        claim(store, "slow", lease_s=10)
        clock.pass_s(11)
        assert claim(store, "fast") == [key]
        fail(store, "slow", key, backoff=Backoff(first_s=0.001))
        clock.pass_s(1)
        assert claim(store, "third") == []
        assert health(store).claimed == 1

    def test_what_was_given_up_is_listed_first_and_others_see_nothing(
        self, store: Store, clock: Clock
    ) -> None:
        filled(store, 4)
        keys = claim(store, "one")
        fail(store, "one", keys[0], backoff=Backoff(attempts=1))
        clock.pass_s(1)
        fail(store, "one", keys[1])
        clock.pass_s(1)
        fail(store, "one", keys[2])
        listed = store.failures(SCOPE, SPACE, 9)
        assert [f.text_hash for f in listed] == [keys[0], keys[2], keys[1]]
        assert [f.text_hash for f in store.failures(SCOPE, SPACE, 2)] == [keys[0], keys[2]]
        assert store.failures(OTHER, SPACE, 9) == []

    def test_what_a_reader_may_not_see_is_not_told(self, store: Store) -> None:
        put(store, tree("open", ["for all"]))
        put(store, tree("hidden", ["for few"], metadata={"visibility": "board"}))
        put(store, tree("staff", ["for staff"], metadata={"visibility": ["staff"]}))
        store.register_space(SCOPE, SPACE)
        assert store.index_health(READER, SPACE).pending == 2
        held = store.claim(SCOPE, SPACE, "one", 9, 60)
        fail(store, "one", *(p.text_hash for p in held), backoff=Backoff(attempts=1))
        assert {f.text for f in store.failures(READER, SPACE, 9)} == {"for all", "for staff"}
        assert store.index_health(READER, SPACE) == IndexHealth()
        assert health(store).failed == 3

    @pytest.mark.parametrize("attempts", range(1, 12))
    def test_waits_are_bounded(self, attempts: int) -> None:
        backoff = Backoff(first_s=1, factor=4, longest_s=600)
        assert 0 < backoff.wait_s(attempts, 0.0) <= backoff.wait_s(attempts, 1.0) <= 600
        assert backoff.wait_s(attempts, 0.0) == min(4 ** (attempts - 1), 600) / 2
        assert backoff.wait_s(10_000, 1.0) == 600

    # --- how far it is -------------------------------------------------------------------------

    def test_the_oldest_commit_that_waits(self, store: Store, clock: Clock) -> None:
        put(store, tree("a", ["first"]))
        clock.pass_s(100)
        put(store, tree("b", ["the second"]))
        clock.pass_s(10)
        store.register_space(SCOPE, SPACE)
        assert health(store).oldest_pending_s == pytest.approx(110)
        embed(store, [store.pending(SCOPE, SPACE)[0].text_hash])
        assert health(store).oldest_pending_s == pytest.approx(10)
        embed(store, [p.text_hash for p in store.pending(SCOPE, SPACE)])
        assert health(store).oldest_pending_s is None

    def test_what_it_cost_is_added_up_by_model(self, store: Store, clock: Clock) -> None:
        filled(store, 8)
        for number in range(4):
            cost = None if number == 0 else 0.25
            embed(store, claim(store, "one", 2), Spent("one", 2.0, 100, cost))
            clock.pass_s(2)
        told = health(store)
        assert told.spending == (Spending("local", "tiny", 8, 400, 8.0, 0.75),)
        assert told.vectors_per_s == pytest.approx(8 / (4 * 2 + 2), abs=1e-3)
        clock.pass_s(3600)
        assert health(store).vectors_per_s == 0
        assert store.index_health(OTHER, SPACE) == IndexHealth()

    def test_usage_is_bounded_and_loses_nothing(self, store: Store, clock: Clock) -> None:
        """Two weeks of small batches."""
        filled(store, 1)
        batches = 14 * 96
        for _ in range(batches):
            embed(store, [], Spent("one", 1.0, 3, 0.5))
            clock.pass_s(900)
        assert health(store).spending == (
            Spending("local", "tiny", 0, 3 * batches, float(batches), 0.5 * batches),
        )

    def test_vectors_that_are_refused_end_no_claim(self, store: Store) -> None:
        filled(store, 1)
        (key,) = claim(store, "one")
        with pytest.raises(InvalidInput):
            store.put_vectors(SCOPE, SPACE, [key], units(1) * 0, None, Spent("one", 1, 1, 1))
        assert health(store).claimed == 1
        assert health(store).spending == ()

    # --- all of it -----------------------------------------------------------------------------

    @examples(40, data=st.data())
    def test_no_text_is_held_by_two_and_all_is_done_in_the_end(
        self, store: Store, clock: Clock, data: st.DataObject
    ) -> None:
        """Against a model of who holds what until when."""
        scope = Scope("acme", "research", f"r{uuid4()}")
        put(store, tree("a", [f"{n}" * (n + 1) for n in range(9)]), scope=scope)
        store.register_space(scope, SPACE)
        held: dict[str, tuple[str, datetime]] = {}
        done: set[str] = set()
        for _ in range(data.draw(st.integers(1, 30), "steps")):
            worker = data.draw(st.sampled_from("xyz"), "worker")
            match data.draw(st.sampled_from(["claim", "put", "release", "renew", "wait"]), "does"):
                case "claim":
                    for each in store.claim(scope, SPACE, worker, 3, 10):
                        _, until = held.get(each.text_hash, ("", clock.now))
                        assert until <= clock.now
                        assert each.text_hash not in done
                        held[each.text_hash] = (worker, clock.now + timedelta(seconds=10))
                case "put":
                    keys = [key for key, (who, _) in held.items() if who == worker]
                    store.put_vectors(scope, SPACE, keys, units(len(keys)))
                    done.update(keys)
                    for key in keys:
                        del held[key]
                case "release":
                    store.release(scope, SPACE, worker)
                    held = {key: lease for key, lease in held.items() if lease[0] != worker}
                case "renew":
                    store.renew(scope, SPACE, worker, 10)
                    until = clock.now + timedelta(seconds=10)
                    held |= {key: (who, until) for key, (who, _) in held.items() if who == worker}
                case "wait":
                    clock.pass_s(data.draw(st.integers(1, 12), "seconds"))
            assert store.count_pending(scope, SPACE) == 9 - len(done)
            live = [key for key, (_, until) in held.items() if until > clock.now]
            assert store.index_health(scope, SPACE).claimed == len(live)
        clock.pass_s(11)
        rest: list[str] = []
        while some := store.claim(scope, SPACE, "last", 99, 10):
            rest += [each.text_hash for each in some]
        assert len(rest) == 9 - len(done)
        assert done.isdisjoint(rest)
