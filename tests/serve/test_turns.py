"""Turns: how many at a time, in which order, and who does not start at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from sourcebook.serve.failures import OutOfTime, Overloaded
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
