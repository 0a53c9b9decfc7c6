"""Words, sentences and links of a text, in any script, where they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.quality.reading import LIMIT, read
from sourcebook.quality.words import WORD, find


def words(text: str) -> list[str]:
    reading = read(text)
    return [text[start:end] for start, end in zip(reading.starts, reading.ends, strict=True)]


def sentences(text: str) -> list[str]:
    reading = read(text)
    return [text[slice(*reading.span(first, after))] for first, after in reading.sentences]


@given(st.text(max_size=400))
def test_words_stand_where_a_match_finds_them(text: str) -> None:
    reading = read(text)
    if not (reading.media or reading.links or reading.urls):
        assert [*zip(reading.starts, reading.ends, strict=True)] == [
            found.span() for found in WORD.finditer(text)
        ]
    assert [n for first, after in reading.sentences for n in range(first, after)] == list(
        range(len(reading.words))
    )


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_ascii_has_the_same_words_by_the_faster_pattern(text: str) -> None:
    assert find(text) == WORD.findall(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 4.2.1, and/or 1,200!", ["It's", "4.2.1", "and/or", "1,200"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("我们在北京。", ["我们", "在北", "京"]),
        ("안녕하세요 여러분", ["안녕하세요", "여러분"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),
        ("[the guide](https://a.b/c) ![alt](x.png) www.a.b end", ["the", "guide", "end"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Berg came. J. Smith left!", ["Dr. Berg came", "J. Smith left"]),
        ("One thing.\n\nAnother", ["One thing", "Another"]),
        ("A list:\n- first item\n- second item", ["A list", "first item", "second item"]),
        ("会议开始。请带文件。", ["会议开始", "请带文件"]),
        ("wrapped\nline of text", ["wrapped\nline of text"]),
        ("...", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "media", "links", "urls"),
    [
        ("![a b](c.png)", 1, 0, 0),
        ("[![a](b.png)](https://c.d)", 1, 0, 0),
        ('<img src="a.png" alt="b">', 1, 0, 0),
        ("[Image: a cat]", 1, 0, 0),
        ("IMG_2041.jpg", 1, 0, 0),
        ("[a](b) and [[c]]", 0, 2, 0),
        ("<https://a.b/c.png> http://d.e", 0, 0, 2),
        ("[not a link] and p < 0.05 > 0", 0, 0, 0),
    ],
)
def test_markup(text: str, media: int, links: int, urls: int) -> None:
    reading = read(text)
    assert (len(reading.media), len(reading.links), len(reading.urls)) == (media, links, urls)


def test_english_and_code_are_told() -> None:
    assert read("The gate of the house is open.").english
    assert not read("Das Tor des Hauses steht offen, und der Hund schläft.").english
    assert read("int x = a_b; { return x_y; }").code
    assert not read("The gate (see below) is open; the door = closed, as we said before.").code


def test_only_the_beginning_is_read() -> None:
    assert len(read("a " * LIMIT).text) == LIMIT
