from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.errors import InvalidInput
from sourcebook.querying.prepare import normalize, prepare


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("What's the max fence height??", "What is the max fence height?"),
        ("I can’t  find\tit!!!", "I cannot find it!"),
        ("They won't; we've tried", "They will not; we have tried"),
        ("“Common Area”", '"Common Area"'),
        ("Straße ﬁne", "Straße fine"),
        ("a\x00b\x1b[31m", "a b [31m"),
        ("the dog's bowl", "the dog's bowl"),
    ],
)
def test_normalize(text: str, normalized: str) -> None:
    assert normalize(text) == normalized


def test_terms_are_stems_without_stop_words_or_repeats() -> None:
    query = prepare("Who pays for the damages to damaged common areas?")
    assert query.terms == ("pay", "damag", "common", "area")
    assert query.keywords == ("pays", "damages", "damaged", "common", "areas")


def test_stop_words_stay_where_there_is_nothing_else() -> None:
    assert prepare("to be or not to be").terms == ("to", "be", "or", "not")


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('the "common areas" rule', (("common", "area"),)),
        ('"a" and "b c"', (("a",), ("b", "c"))),
        ('an "unbalanced quote', ()),
        ("ERR_CONN-42", (("err_conn-42",),)),
        ("what is ERR_CONN-42?", (("err_conn-42",),)),
        ("effects of COVID-19 on markets", ()),
        ('""', ()),
        ("plain words", ()),
    ],
)
def test_phrases_and_identifiers(text: str, phrases: tuple[tuple[str, ...], ...]) -> None:
    assert prepare(text).phrases == phrases


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_an_empty_query_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="the query is empty"):
        prepare(text)


@given(st.text(min_size=1))
def test_any_text_is_safe(text: str) -> None:
    if text.strip():
        query = prepare(text)
        assert all(query.terms)
        assert all(term for phrase in query.phrases for term in phrase)
