"""Authenticity: what counts for it and against it, how much, and where."""

from __future__ import annotations

from collections import Counter
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.quality import score
from sourcebook.quality.lexicon import EMPTY, SIGNALS, SPECIFIC
from sourcebook.quality.sic import squash, total, usual

FIRST_HAND = (
    "I saw the pump fail on 5 May 2023 because the valve had rusted. We measured 4.2 bar at the "
    "inlet, but only 0.3 bar behind the filter, and Maria Lopez replaced both for 180 euros."
)
EMPTY_TALK = (
    "In today's fast-paced world, it's important to note that our cutting-edge, world-class "
    "solutions empower you to seamlessly unlock the potential of various things and much more."
)
PLAIN = (
    "The committee meets in the small hall and looks after the paths and the trees.",
    "Whoever rents the hall leaves it as it was and brings back the key.",
    "Letters of members are answered in the order in which they arrive.",
    "On 3 June 2021 the roof was mended by Anna Berg for 900 euros.",
    "The old pump lost water, because its seal had dried out.",
)
BOILERPLATE = (
    "We use cookies to improve your browsing experience.",
    "All rights reserved.",
    "Subscribe to our newsletter and follow us.",
    "It is important to note that this plays a crucial role.",
    "Read more and sign up today, don't miss out.",
    "Thank you for your interest, please do not hesitate to let us know.",
    "Our innovative solutions take your business to the next level.",
    "Basically, it goes without saying that this is very, very important.",
)


def signals(text: str) -> Counter[str]:
    return Counter(e.signal for e in score(text).evidence if e.signal in SIGNALS)


def found(text: str, signal: str) -> list[str]:
    return [e.words for e in score(text).evidence if e.signal == signal]


def test_first_hand_is_above_and_empty_talk_below_ordinary_prose() -> None:
    assert score(FIRST_HAND).authenticity > 0.75
    assert score(EMPTY_TALK).authenticity < 0.2
    assert 0.4 < score(" ".join(PLAIN[:3])).authenticity < 0.6


def test_the_sum_by_hand() -> None:
    """40 words: one number is 2.5 in 100, of 6; one boilerplate 2.5 in 100, over 2, full."""
    assert total(Counter({"number": 1, "boilerplate": 1}), 40) == pytest.approx(0.4 * 2.5 / 6 - 1.2)
    assert total(Counter({"number": 1}), 5) == pytest.approx(0.4 * 4 / 6)  # counts as 25 words
    assert usual(25, True) == pytest.approx(0.275)
    assert usual(500, False) == pytest.approx(0.2)
    assert squash(0) == 0.5
    assert squash(0.3) == pytest.approx(1 / (1 + exp(-0.3)))


@pytest.mark.parametrize("signal", SPECIFIC + EMPTY, ids=lambda signal: signal.name)
def test_no_signal_decides_alone(signal: object) -> None:
    """Full, any one of them moves a long neutral text by less than 0.27."""
    name = getattr(signal, "name", "")
    alone = squash(total(Counter({name: 1000}), 100))
    assert abs(alone - 0.5) < 0.27
    assert alone == squash(total(Counter({name: 2000}), 100))


@pytest.mark.parametrize(
    ("text", "signal", "words"),
    [
        ("The pump holds 40 litres.", "number", ["40"]),
        ("The pump holds 40 litres.", "unit", ["40 litres"]),
        ("It costs $1,200 or 5% more.", "unit", ["1,200", "5"]),
        ("It rained on 12 March.", "date", ["12"]),
        ("It was built in 1987 by hand.", "date", ["1987"]),
        ("Then I met Anna Berg in Oslo.", "name", ["Anna", "Oslo"]),
        ("Call getUserById or set MAX_SIZE and db.pool_size.", "identifier",
         ["getUserById", "MAX_SIZE", "db.pool_size"]),
        ("She said “the bridge is closed today” twice.", "quotation",
         ["“the bridge is closed today”"]),
        ("It may perhaps be true.", "hedges", ["may perhaps"]),
        ("I saw it because it’s worth noting.", "machine phrase", ["it’s worth noting"]),
        ("We use cookies here.", "boilerplate", ["use cookies"]),
        ("So thank you for the pie.", "politeness", ["thank you for"]),
    ],
)  # fmt: skip
def test_what_is_found(text: str, signal: str, words: list[str]) -> None:
    assert found(text, signal) == words


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("See section 5 and page 12 of it.", "number"),
        ("5.2 Regular Assessments", "number"),
        ("1. Open the door\n2. Close the door", "number"),
        ("He may come. They sat in the boat for a very long while and it could rain.", "hedges"),
        ("The committee meets today.", "name"),
        ("Der Hund jagt die Katze durch den Garten und das Haus.", "name"),
        ('He wrote "ok" on it.', "quotation"),
    ],
)
def test_what_is_not_counted(text: str, signal: str) -> None:
    assert found(text, signal) == []


def test_a_longer_phrase_hides_the_shorter_one_in_it() -> None:
    assert found("it should be noted that rain fell", "filler") == ["it should be noted that"]


def test_every_phrase_of_the_lexicon_is_found() -> None:
    for signal in SPECIFIC + EMPTY:
        for phrase in filter(None, map(str.strip, signal.phrases.splitlines())):
            names = signals(f"zz {phrase} zz")
            assert signal.name in names, (signal.name, phrase)


def test_no_phrase_has_two_signals() -> None:
    phrases = [
        line.strip()
        for signal in SPECIFIC + EMPTY
        for line in signal.phrases.splitlines()
        if line.strip()
    ]
    assert [phrase for phrase, count in Counter(phrases).items() if count > 1] == []


@given(
    st.lists(st.sampled_from(PLAIN), min_size=1, max_size=12),
    st.lists(st.sampled_from(BOILERPLATE), min_size=1, max_size=8),
)
def test_adding_boilerplate_does_not_raise_authenticity(said: list[str], added: list[str]) -> None:
    assert score(" ".join(said + added)).authenticity <= score(" ".join(said)).authenticity


@pytest.mark.parametrize(
    "text",
    [
        "Der Vorstand trifft sich einmal im Monat im kleinen Saal des Vereinsheims. Wer den Saal "
        "mieten möchte, meldet sich beim Hausmeister und gibt den Schlüssel danach zurück.",
        "Le comité se réunit une fois par mois dans la petite salle de la maison commune. Celui "
        "qui veut louer la salle s'adresse au gardien et rend ensuite la clé.",
        "El comité se reúne una vez al mes en la sala pequeña del edificio. Quien quiera alquilar "
        "la sala debe hablar con el portero y devolver la llave después.",
        "Комитет собирается раз в месяц в малом зале. Кто хочет снять зал, обращается к сторожу и "
        "потом возвращает ключ на место.",
        "委员会每月在小会议厅开会一次。想租用会议厅的人要先联系管理员，用完以后把钥匙还回去。",
        "委員会は毎月一回、小さな会議室で開かれます。部屋を借りたい人は管理人に連絡してください。",
        "समिति महीने में एक बार छोटे सभागार में मिलती है। जो सभागार किराए पर लेना चाहे वह चौकीदार से मिले।",
        "تجتمع اللجنة مرة في الشهر في القاعة الصغيرة. "
        "من يريد استئجار القاعة يتصل بالحارس ثم يعيد المفتاح.",
        "위원회는 한 달에 한 번 작은 회의실에서 모입니다. "
        "회의실을 빌리려는 사람은 관리인에게 연락하십시오.",
    ],
    ids="de fr es ru zh ja hi ar ko".split(),
)  # fmt: skip
def test_other_languages_are_neutral(text: str) -> None:
    quality = score(text)
    assert 0.4 <= quality.authenticity <= 0.6
    assert quality.stub_type is None
    assert quality.overall > 0.5
