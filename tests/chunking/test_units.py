"""Units that are too long, taken apart step by step; a token is a word or a character."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sourcebook.chunking.units import Seam, Unit, fragments, stretches
from sourcebook.model import Block


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def cut(text: str, most: int, count=words) -> list[tuple[str, Seam]]:
    unit = Unit(0, len(text), "code", Seam.PARAGRAPH)
    return [(text[u.start : u.end], u.seam) for u, _ in fragments(text, unit, most, count)]


def test_lines_come_first() -> None:
    assert cut("a, b c\nd e\n\nf", 3) == [
        ("a, b c", Seam.PARAGRAPH),
        ("d e", Seam.LINE),
        ("f", Seam.LINE),
    ]


def test_then_sentences_and_clauses_of_the_lines_that_are_too_long() -> None:
    assert cut("One two three. Four, five; six seven\neight nine", 3) == [
        ("One two three.", Seam.PARAGRAPH),
        ("Four,", Seam.LINE),
        ("five;", Seam.CLAUSE),
        ("six seven", Seam.CLAUSE),
        ("eight nine", Seam.LINE),
    ]


def test_then_words_in_groups() -> None:
    text = " ".join("abcdefghi")
    assert cut(text, 8) == [
        ("a b", Seam.PARAGRAPH),
        ("c d", Seam.WORD),
        ("e f", Seam.WORD),
        ("g h", Seam.WORD),
        ("i", Seam.WORD),
    ]


def test_then_anywhere_but_not_inside_a_cluster() -> None:
    assert [piece for piece, _ in cut("abce\u0301fgh", 4, characters)] == ["abc", "e\u0301", "fgh"]


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=80), st.integers(2, 20))
def test_nothing_is_lost_and_all_fits(text: str, most: int) -> None:
    pieces = [piece for piece, _ in cut(text, most, characters)]
    assert all(len(piece) <= most for piece in pieces if piece.strip())
    assert "".join("".join(p.split()) for p in pieces) == "".join(text.split())


def test_a_stretch_is_a_heading_with_its_own_text() -> None:
    text = "x. y.\nA\nB\nz.\nC"
    blocks = [
        Block("prose", 0, 5),
        Block("heading", 6, 7, 1),
        Block("heading", 8, 9, 2),
        Block("prose", 10, 12),
        Block("heading", 13, 14, 2),
    ]
    found = [[text[u.start : u.end] for u in part] for part in stretches(text, blocks)]
    assert found == [["x. y."], ["B", "z."], ["C"]]
