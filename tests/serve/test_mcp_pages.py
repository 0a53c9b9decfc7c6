"""Cursors, pages of whole items, pieces of long texts: for any input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from sourcebook.errors import InvalidInput
from sourcebook.serve.mcp_pages import Place, cursor, fitting, piece_end, place, shortened, size
from sourcebook.serve.mcp_schema import schema_of

places = st.builds(Place, st.integers(0, 2**53 - 1), st.none() | st.text())
questions = st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=4)


@given(places, questions)
def test_a_cursor_names_its_place(where: Place, question: dict[str, Any]) -> None:
    assert place(cursor(where, question), question) == where


@given(places, questions, questions)
def test_a_cursor_is_of_one_question(
    where: Place, question: dict[str, Any], other: dict[str, Any]
) -> None:
    if question != other:
        with pytest.raises(InvalidInput):
            place(cursor(where, question), other)


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        place(text, {})
    assert refused.value.field == "cursor"


def test_without_a_cursor_it_begins_at_the_start() -> None:
    assert place(None, {"query": "a"}) == Place(0, None)


@pytest.mark.parametrize(
    ("costs", "room", "count"),
    [([], 10, 0), ([4, 4, 4], 10, 2), ([5, 5], 10, 2), ([11], 10, 0), ([1, 20, 1], 10, 1)],
)
def test_whole_items_that_fit(costs: list[int], room: int, count: int) -> None:
    assert fitting(costs, room) == count


@given(st.text(min_size=1), st.integers(1, 200))
def test_pieces_make_the_whole(text: str, room: int) -> None:
    pieces, at = [], 0
    while at < len(text):
        end = piece_end(text, at, room)
        assert end > at
        pieces.append(text[at:end])
        at = end
    assert "".join(pieces) == text
    # One letter may take twelve bytes, and the letter that goes beyond the room is still taken.
    assert all(size(piece) - 2 < room + 12 for piece in pieces)


@pytest.mark.parametrize(
    ("text", "room", "first"),
    [
        ("one two\n\nthree four", 14, "one two\n\n"),
        ("one two\nthree four", 13, "one two\n"),
        ("one two three four", 13, "one two three"[:8]),
        ("onetwothreefour", 6, "onetwo"),
        ("short", 100, "short"),
    ],
)
def test_a_piece_ends_where_one_would_stop_reading(text: str, room: int, first: str) -> None:
    assert text[: piece_end(text, 0, room)] == first


items = st.dictionaries(
    st.sampled_from(["text", "context", "metadata", "title"]),
    st.text(max_size=400) | st.dictionaries(st.text(max_size=5), st.text(max_size=40)),
)


@given(items)
def test_an_item_is_cut_to_its_size_and_says_where(item: dict[str, Any]) -> None:
    whole = {**item, "node_id": "n" * 30}
    made = shortened(whole, 300)
    assert made["node_id"] == whole["node_id"]
    assert size({key: value for key, value in made.items() if key != "shortened"}) <= 300
    assert made["shortened"] == sorted(key for key in whole if made[key] != whole[key])


def test_an_item_that_fits_is_left_alone() -> None:
    item = {"node_id": "n", "text": "größer"}
    assert shortened(item, 300) == {**item, "shortened": []}


def test_size_counts_bytes_as_they_may_travel() -> None:
    assert size("a") == 3
    assert size("ö") == 8  # "\u00f6"
    assert size("😀") == 14
    assert size({"a": [1, None]}) == len(json.dumps({"a": [1, None]}))


class Inner(BaseModel):
    """Inside."""

    title: str
    n: int = 3


class Outer(BaseModel):
    title: Inner
    more: list[Inner] = []


def test_a_schema_has_no_references_and_keeps_fields_called_title() -> None:
    inner = {
        "type": "object",
        "description": "Inside.",
        "properties": {"title": {"type": "string"}, "n": {"type": "integer", "default": 3}},
        "required": ["title"],
    }
    assert schema_of(Outer) == {
        "type": "object",
        "properties": {
            "title": inner,
            "more": {"type": "array", "items": inner, "default": []},
        },
        "required": ["title"],
    }
