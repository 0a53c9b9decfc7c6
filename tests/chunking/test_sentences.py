"""Sentences as spans: nothing lost, nothing slow."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.chunking.sentences import LIMIT, sentences, whole


def split(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in sentences(text, 0, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith came. He sat.", ["Dr. Smith came.", "He sat."]),
        ("One.\n\nTwo", ["One.", "Two"]),
        ("你好。再见！好？", ["你好。", "再见！", "好？"]),
        ("यह है। वह है।", ["यह है।", "वह है।"]),
        ("  \n ", []),
        ("", []),
    ],
)
def test_examples(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_wrapped_lines_stay_together_and_short_ones_do_not() -> None:
    wrapped = "The committee met again on Monday and it could\nnot agree on anything that day."
    assert split(wrapped) == [wrapped]
    verses = "Roses are red\nViolets are blue\nand this line is a good deal longer than they"
    assert split(verses) == verses.split("\n")


def test_long_lines_are_paragraphs() -> None:
    lines = ["word " * 30 + "end", "more " * 30 + "end"]
    text = "\n".join(lines)
    assert split(text) == lines
    assert [first for *_, first in sentences(text, 0, len(text))] == [True, True]


def test_only_the_asked_part_is_read() -> None:
    text = "Before. Here it is. After."
    assert [text[a:b] for a, b, _ in sentences(text, 8, 19)] == ["Here it is."]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_every_character_is_in_one_sentence(text: str) -> None:
    spans = list(sentences(text, 0, len(text)))
    assert all(a < b for a, b, _ in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    assert "".join("".join(text[a:b].split()) for a, b, _ in spans) == "".join(text.split())


@pytest.mark.parametrize("pattern", ["!?", "a", "a b ", "A. ", ")!", "e.g. ", "。", "\n", " "])
def test_a_megabyte_of_anything_is_split_in_time(pattern: str) -> None:
    text = (pattern * 1_000_000)[:1_000_000]
    began = time.process_time()
    spans = list(sentences(text, 0, len(text)))
    assert time.process_time() - began < 20
    assert all(end - start <= LIMIT for start, end, _ in spans)


@pytest.mark.parametrize("cluster", ["e\u0301", "👩\u200d🔬", "👍\U0001f3fd", "\r\n", "❤\ufe0f"])
def test_a_cluster_is_not_cut(cluster: str) -> None:
    text = "ab" + cluster + "cd"
    assert [whole(text, at) for at in range(3, 2 + len(cluster))] == [2] * (len(cluster) - 1)
    assert whole(text, 2 + len(cluster)) == 2 + len(cluster)
