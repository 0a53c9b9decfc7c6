"""Turns: how many at a time, in which order, and who does not start at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from sourcebook.model import Caller
from sourcebook.serve.failures import OutOfTime, Overloaded, Stopping, TooOften
from sourcebook.serve.turns import Bounds, Turns, Visit


@contextmanager
def busy(turns: Turns) -> Iterator[None]:
    """All places taken."""
    with ExitStack() as stack:
        for _ in range(turns.bounds.running):
            stack.enter_context(turns.turn())
        yield


def until_waiting(turns: Turns, number: int) -> None:
    end = time.monotonic() + 5
    while turns.waiting != number:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_as_many_run_as_may_and_as_many_wait_as_may() -> None:
    turns = Turns(Bounds(running=3, waiting=0))
    with busy(turns):
        assert turns.in_flight == 3
        with pytest.raises(Overloaded), turns.turn():
            pass
    assert turns.in_flight == 0


def test_turns_come_in_the_order_of_arrival() -> None:
    turns, order = Turns(Bounds(running=1, waiting=10)), []

    def ask(number: int) -> None:
        with turns.turn():
            order.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    with busy(turns):
        for number, thread in enumerate(threads, start=1):
            thread.start()
            until_waiting(turns, number)
        with pytest.raises(Overloaded), turns.turn():
            pass
    for thread in threads:
        thread.join(5)
    assert order == list(range(10))
    assert (turns.in_flight, turns.waiting) == (0, 0)


def test_who_is_out_of_time_does_not_start() -> None:
    turns = Turns(Bounds(running=1, waiting=1))
    started = time.monotonic()
    with busy(turns), pytest.raises(OutOfTime), turns.turn(Visit(started + 0.1)):
        pytest.fail("started")
    assert 0.1 <= time.monotonic() - started < 10
    with pytest.raises(OutOfTime), turns.turn(Visit(started)):
        pytest.fail("started though its time was over before it came")
    assert (turns.in_flight, turns.waiting) == (0, 0)


@pytest.mark.parametrize("far", [1e7, 1e15, float("inf")])
def test_a_deadline_that_is_very_far_is_none(far: float) -> None:
    turns, done = Turns(Bounds(running=1, waiting=1)), []

    def ask() -> None:
        with turns.turn(Visit(far)):
            done.append(True)

    thread = threading.Thread(target=ask)
    with busy(turns):
        thread.start()
        until_waiting(turns, 1)
    thread.join(5)
    assert done


def test_who_leaves_gives_up_the_place_in_line_at_once() -> None:
    turns, visit, failed = Turns(Bounds(running=1, waiting=1)), Visit(), []

    def ask() -> None:
        try:
            with turns.turn(visit):
                failed.append("started")
        except OutOfTime:
            failed.append("not started")

    thread = threading.Thread(target=ask)
    with busy(turns):
        thread.start()
        until_waiting(turns, 1)
        visit.leave()
        thread.join(5)
        assert failed == ["not started"]
        assert (turns.in_flight, turns.waiting) == (1, 0)
    with turns.turn():
        assert turns.in_flight == 1


def test_who_left_before_its_turn_passes_it_on() -> None:
    """The place is given in the moment in which its asker leaves: the next one must get it."""
    turns, visit = Turns(Bounds(running=1, waiting=2)), Visit()
    visit.leave()
    with pytest.raises(OutOfTime), turns.turn(visit):
        pytest.fail("started")
    with turns.turn():
        assert turns.in_flight == 1


def test_an_error_gives_the_place_back() -> None:
    turns = Turns(Bounds(running=1, waiting=0))
    with pytest.raises(ValueError, match="inside"), turns.turn():
        raise ValueError("inside")
    assert turns.in_flight == 0


def test_never_more_than_allowed_whatever_happens() -> None:
    turns = Turns(Bounds(running=2, waiting=50))
    lock, now, most, done = threading.Lock(), 0, 0, 0

    def ask(number: int) -> None:
        nonlocal now, most, done
        visit = Visit(time.monotonic() + 0.001 if number % 3 == 0 else None)
        if number % 5 == 0:
            threading.Timer(0.002, visit.leave).start()
        try:
            with turns.turn(visit):
                with lock:
                    now += 1
                    most = max(most, now)
                time.sleep(0.001)
                with lock:
                    now -= 1
                    done += 1
        except OutOfTime:
            pass

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most == 2
    assert done >= sum(1 for n in range(50) if n % 3 and n % 5)
    assert (turns.in_flight, turns.waiting) == (0, 0)


# --- shares --------------------------------------------------------------------------------------


def visit_of(tenant: str, key: str = "k", *, brings: bool = False) -> Visit:
    caller = Caller(tenant, "o", None, None, "write", key)
    return Visit(caller=caller, brings_documents=brings)


@contextmanager
def waiting(turns: Turns, visits: list[Visit], order: list[str]) -> Iterator[None]:
    """Each in a thread of its own; `order` gets the tenant and key of each as its turn comes."""

    def ask(visit: Visit) -> None:
        assert visit.caller
        with turns.turn(visit):
            order.append(visit.caller.tenant + visit.caller.key_id)

    threads = [threading.Thread(target=ask, args=(visit,)) for visit in visits]
    for number, thread in enumerate(threads, start=turns.waiting + 1):
        thread.start()
        until_waiting(turns, number)
    yield
    for thread in threads:
        thread.join(5)


def test_a_tenant_and_a_key_leave_places_to_others() -> None:
    turns, order = Turns(Bounds(running=8, waiting=8)), []
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(turns.turn(visit_of("a", "1")))
        for _ in range(2):
            stack.enter_context(turns.turn(visit_of("a", "2")))
        with ExitStack() as others:
            others.enter_context(waiting(turns, [visit_of("a", "1"), visit_of("a", "2")], order))
            for tenant in ("b", "c"):
                others.enter_context(turns.turn(visit_of(tenant)))
            assert (turns.in_flight, order) == (8, [])
            stack.close()
    assert sorted(order) == ["a1", "a2"]
    assert (turns.in_flight, turns.waiting) == (0, 0)


def test_a_key_cannot_take_all_places_to_wait() -> None:
    turns = Turns(Bounds(running=1, waiting=4))
    with ExitStack() as ends, busy(turns):
        ends.enter_context(waiting(turns, [visit_of("a"), visit_of("a")], []))
        with pytest.raises(TooOften, match="this key has as many requests"):
            turns.turn(visit_of("a")).__enter__()
        ends.enter_context(waiting(turns, [visit_of("a", "other")], []))
        with pytest.raises(TooOften, match="this tenant has as many requests"):
            turns.turn(visit_of("a", "third")).__enter__()
        ends.enter_context(waiting(turns, [visit_of("b")], []))
        with pytest.raises(Overloaded):
            turns.turn(visit_of("c")).__enter__()
    assert (turns.in_flight, turns.waiting) == (0, 0)


def test_turns_go_round_the_tenants_and_their_keys() -> None:
    turns, order = Turns(Bounds(running=1, waiting=20)), []
    many = [visit_of("a", "1") for _ in range(3)]
    late = [visit_of("a", "2"), visit_of("b"), visit_of("b"), visit_of("c")]
    with ExitStack() as ends, busy(turns):
        ends.enter_context(waiting(turns, [*many, *late], order))
    assert order == ["a1", "bk", "ck", "a2", "bk", "a1", "a1"]
    assert not turns._held
    assert not turns._served


def test_few_ingests_run_and_one_of_a_key() -> None:
    turns, order = Turns(Bounds(running=8, waiting=8, ingests=2)), []
    first = [visit_of(tenant, brings=True) for tenant in ("a", "b")]
    with ExitStack() as ends, turns.turn(first[0]), turns.turn(first[1]):
        queued = [visit_of(tenant, brings=True) for tenant in ("a", "c")]
        ends.enter_context(waiting(turns, queued, order))
        with turns.turn(visit_of("a")), turns.turn(visit_of("c")):
            assert turns.in_flight == 4
        assert order == []
    assert sorted(order) == ["ak", "ck"]


def test_the_owner_has_all_places() -> None:
    turns = Turns(Bounds(running=4, waiting=0))
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(turns.turn(Visit(brings_documents=True)))
        assert turns.in_flight == 4


def test_a_close_ends_who_is_inside_and_lets_nobody_in() -> None:
    turns, visit, told = Turns(Bounds(running=1, waiting=1)), Visit(), []
    with turns.turn(visit), visit.on_leave(lambda: told.append("left")):
        turns.close()
        with pytest.raises(Stopping):
            visit.check()
        assert told == ["left"]
    with pytest.raises(Stopping), turns.turn():
        pytest.fail("started")
