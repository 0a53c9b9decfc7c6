"""Tokens word by word against the tokenizer over the whole text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.models import words
from sourcebook.models.local import LocalEmbedder
from sourcebook.models.words import WordTokens

TOKENIZER = LocalEmbedder().tokenizer
TRICKY = "aé´ ́\u0300\u00ad\u200b\u200d\u2028\u3000\x00\x0b\x0c\x1c\x85\xa0\ufffd漢字.,-[]##\t\r\n"


def whole(texts: list[str]) -> list[list[int]]:
    return [one.ids for one in TOKENIZER.encode_batch(texts, add_special_tokens=False)]


@given(st.lists(st.text(st.sampled_from(TRICKY) | st.characters(exclude_categories=["Cs"]))))
def test_words_give_the_tokens_of_the_whole_text(texts: list[str]) -> None:
    tokens = WordTokens(TOKENIZER)
    assert tokens.ids(texts) == whole(texts)
    assert tokens.count(texts) == [len(ids) for ids in whole(texts)]


def test_special_tokens_in_a_text_are_words() -> None:
    texts = ["talks of [SEP] and [CLS] here"]
    assert WordTokens(TOKENIZER).ids(texts) == whole(texts)


def test_a_full_memory_is_begun_anew_and_answers_stay_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(words, "ROOM", 10)
    tokens = WordTokens(TOKENIZER)
    texts = ["supersession of covenants", "covenants run with the land", "supersession"]
    for text in texts * 2:
        assert tokens.ids([text]) == whole([text])
        assert sum(map(len, tokens._known)) <= 10
