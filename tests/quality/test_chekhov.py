"""Necessity: what a sentence brings, what comes back, what is filler."""

from __future__ import annotations

import pytest

from sourcebook.quality.chekhov import Necessity, necessity
from sourcebook.quality.reading import read
from sourcebook.quality.sic import authenticity


def needed(text: str) -> Necessity:
    reading = read(text)
    return necessity(reading, authenticity(reading)[1])


def test_the_parts_by_hand() -> None:
    """Content words: gate, opens, noon; then opens, gate, ramp, key. Half of the second are new,
    more than 0.35. Seven of eleven words carry something: (7/11 - 0.25) / 0.3 is over 1."""
    parts = needed("The gate opens at noon. It opens the gate, ramp and key.")
    assert parts == Necessity(1.0, 1.0, 2 / 3, 1.0, ())
    assert parts.overall == pytest.approx(0.45 + 0.25 * 2 / 3 + 0.30)


def test_a_partly_new_sentence_counts_in_part() -> None:
    """Second sentence: five content words, one new: 0.2 / 0.35 of it counts."""
    parts = needed("Red gates, blue doors open. Red gates, blue doors close.")
    assert parts.novelty == pytest.approx((5 + 5 * 0.2 / 0.35) / 10)


def test_density_by_hand() -> None:
    """Two content words of six: (1/3 - 0.25) / 0.30."""
    assert needed("It is in the gate house.").density == pytest.approx((2 / 6 - 0.25) / 0.30)


def test_what_comes_back_by_hand() -> None:
    """Of the three sentences after the first, two use something again: (2 + 1) / (3 + 2)."""
    parts = needed("The gate is red. The pump is loud. The pump has rust. The gate has paint.")
    assert parts.used_again == pytest.approx(3 / 5)


def test_filler_by_hand() -> None:
    """Three words of twenty are filler: three quarters of the share at which nothing is left."""
    text = "The gate opens at noon in the fact that " + " ".join(f"w{n}x" for n in range(11)) + "."
    assert len(read(text).words) == 20
    assert needed(text).plain == pytest.approx(1 - 3 / 20 / 0.20)


def test_a_repeated_sentence_brings_nothing_and_does_not_count_as_used() -> None:
    once = needed("The gate is red.")
    twice = needed("The gate is red. The gate is red.")
    assert twice.novelty == pytest.approx(once.novelty / 2)
    assert twice.used_again == once.used_again == 0.5
    assert [e.start for e in twice.repeated] == [17]


def test_relations_join_names_that_were_there_before() -> None:
    text = "Billing serves Sales. Sales serves Billing. Billing serves Sales."
    reading = read(text)
    assert necessity(reading, ()).novelty == pytest.approx(3 / 9)
    assert necessity(reading, (), listed=True).novelty == pytest.approx(6 / 9)


def test_nothing_said_is_not_needed() -> None:
    assert needed("").overall == 0
    assert needed("It is what it is.").overall == 0


def test_padding_lowers_necessity() -> None:
    said = "The pump failed on Monday. The valve behind the pump had rusted."
    padded = said + " Basically, it goes without saying that it is what it is, more or less."
    assert needed(padded).overall < needed(said).overall


def test_the_density_of_an_unknown_language_is_not_judged() -> None:
    assert needed("Комитет собирается раз в месяц в малом зале.").density == 0.7
