"""Where the cuts fall when sizes and topics are given; each case can be priced by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sourcebook.chunking.assemble import plan
from sourcebook.chunking.runs import Stretch, taken
from sourcebook.chunking.units import Seam, Unit
from sourcebook.model import BlockKind, ChunkOptions

OPTIONS = ChunkOptions(min_tokens=8, target_tokens=12, max_tokens=20, overlap_tokens=0)


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def stretch(
    tokens: list[int],
    topics: dict[int, float] | None = None,
    kinds: dict[int, BlockKind] | None = None,
    seams: dict[int, Seam] | None = None,
) -> Stretch:
    units = [
        Unit(i, i + 1, (kinds or {}).get(i, "prose"), (seams or {}).get(i, Seam.SENTENCE))
        for i in range(len(tokens))
    ]
    strengths = [(topics or {}).get(i, 0.0) for i in range(len(tokens))]
    return Stretch(units, tokens, [0] * len(tokens), strengths)


@pytest.mark.parametrize(("topics", "cut"), [({2: 0.3, 3: 0.6}, 3), ({2: 0.6, 3: 0.3}, 2)])
def test_the_strongest_topic_boundary_is_taken(topics: dict[int, float], cut: int) -> None:
    assert plan(stretch([5] * 5, topics), OPTIONS) == [(0, cut), (cut, 5)]


def test_both_topic_boundaries_are_taken_if_all_parts_are_large_enough() -> None:
    assert plan(stretch([8] * 3, {1: 0.4, 2: 0.4}), OPTIONS) == [(0, 1), (1, 2), (2, 3)]


def test_the_minimum_comes_before_a_topic() -> None:
    assert plan(stretch([10, 9, 3], {2: 0.9}), OPTIONS) == [(0, 1), (1, 3)]


def test_a_better_seam_is_worth_a_little_size() -> None:
    assert plan(stretch([6] * 5, seams={3: Seam.WORD}), OPTIONS)[0] == (0, 2)
    assert plan(stretch([6] * 5, seams={2: Seam.WORD}), OPTIONS)[0] == (0, 3)


def test_a_heading_too_large_for_what_follows_stands_alone() -> None:
    tokens = [12, 10]
    assert plan(stretch(tokens, kinds={0: "heading"}), OPTIONS) == [(0, 1), (1, 2)]
    assert plan(stretch([9, 10], {1: 0.9}, kinds={0: "heading"}), OPTIONS) == [(0, 2)]


def test_a_forced_cut_leaves_room_for_the_overlap() -> None:
    options = ChunkOptions(min_tokens=1, target_tokens=20, max_tokens=20, overlap_tokens=4)
    assert plan(stretch([4] * 9), options) == [(0, 5), (5, 9)]
    assert len(plan(stretch([4] * 10), options)) == 3


def test_one_unit_that_nothing_can_cut_is_taken_as_it_is() -> None:
    assert plan(stretch([5, 30, 5]), OPTIONS) == [(0, 1), (1, 2), (2, 3)]


def test_markup_between_units_is_part_of_the_size() -> None:
    units, options = stretch([10, 9]).units, ChunkOptions(8, 20, 20, 0)
    assert plan(Stretch(units, [10, 9], [0, 1], [0.0, 0.0]), options) == [(0, 2)]
    assert plan(Stretch(units, [10, 9], [0, 2], [0.0, 0.0]), options) == [(0, 1), (1, 2)]


def test_topics_are_before_units_and_never_inside_them() -> None:
    text = "one two three\nfour five six\nseven"
    units = [Unit(0, 27, "code", Seam.PARAGRAPH), Unit(28, 33, "prose", Seam.PARAGRAPH)]
    options = ChunkOptions(min_tokens=1, target_tokens=3, max_tokens=4, overlap_tokens=0)
    part = taken(text, units, [6, 1], [0.4, 0.6], options, words)
    assert [text[u.start : u.end] for u in part.units] == text.split("\n")
    assert (part.tokens, part.topics) == ([3, 3, 1], [0.4, 0.0, 0.6])


def test_markup_between_units_is_counted() -> None:
    units = [Unit(0, 3, "prose", Seam.PARAGRAPH), Unit(11, 14, "prose", Seam.PARAGRAPH)]
    part = taken("one <br> x two", units, [1, 1], [0.0, 0.0], OPTIONS, words)
    assert part.gaps == [0, 2]
