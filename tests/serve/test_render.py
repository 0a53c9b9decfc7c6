"""What people see: safe text, and the lines of a passage that matter."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sourcebook.querying.prepare import prepare
from sourcebook.serve.options import filters, metadata, typed
from sourcebook.serve.render import count, one_line, safe, table
from sourcebook.serve.snippets import LINES, snippet

DANGEROUS = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\u202e\u2066\u2028\ufeff"}


def paper(width: int = 60) -> Console:
    return Console(file=io.StringIO(), width=width, markup=False, highlight=False)


@given(st.text())
def test_safe_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    assert not (set(safe(text)) - {"\n"}) & DANGEROUS
    assert "\n" not in one_line(text)
    safe(text).encode("utf-8")


def test_control_characters_are_shown() -> None:
    assert safe("a\x1b[31m\x07\x9b\x7f\r\nb\tc") == "a␛[31m␇\ufffd␡\nb    c"
    assert safe("x\u202ey\u200bz\udc80") == "xyz?"


def test_a_snippet_shows_the_lines_with_the_words_asked_for() -> None:
    text = "Filler sentence without meaning. " * 40 + "The owls hunt here. " + "More filler. " * 80
    lines = snippet(text, prepare("where does an owl hunt?"), paper())
    assert len(lines) == LINES
    shown = " ".join(line.plain for line in lines)
    assert "The owls hunt here" in shown
    assert lines[0].plain.startswith("… ")
    assert lines[-1].plain.endswith(" …")
    assert all(line.cell_len <= 60 - 3 for line in lines)
    marked = {line.plain[s.start : s.end] for line in lines for s in line.spans}
    assert marked == {"owls", "hunt"}


def test_a_short_text_is_shown_whole() -> None:
    lines = snippet("  Owls hunt.\n\n\nBats sleep.\n", prepare("owls"), paper())
    assert [line.plain for line in lines] == ["Owls hunt.", "Bats sleep."]


def test_lines_inside_a_paragraph_are_joined_and_lists_are_not() -> None:
    text = "Hotels are paid up to\n140 euros a night, with\n£9.\n1. receipts\n- tickets\n4.5 Rules"
    lines = snippet(text, prepare("owls"), paper(100))
    assert [line.plain for line in lines] == [
        "Hotels are paid up to 140 euros a night, with £9.",
        "1. receipts",
        "- tickets",
        "4.5 Rules",
    ]


@given(st.text(max_size=400), st.integers(20, 200))
def test_any_text_has_a_snippet(text: str, width: int) -> None:
    lines = snippet(text, prepare("owls"), paper(width))
    assert len(lines) <= LINES


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("false", False), ("True", "True"), ("7", 7), ("-7", -7), ("07", "07"),
     ("+7", "+7"), ("1_000", "1_000"), ("1.5", "1.5"), ("٣", "٣"), ("", ""),
     ("9" * 5000, "9" * 5000)],
)  # fmt: skip
def test_values_of_metadata_are_typed(text: str, value: object) -> None:
    assert typed(text) == value
    assert type(typed(text)) is type(value)


def test_pairs_are_gathered() -> None:
    found = filters(["a=1", "b=x=y", "a=2", "a=1"])
    assert [(f.key, f.values) for f in found] == [("a", ("1", "2")), ("b", ("x=y",))]
    assert metadata(["a=b"], "policy", True) == {
        "a": "b", "document_type": "policy", "is_binding": True,
    }  # fmt: skip
    assert metadata(None, None, None) == {}


def test_a_table_fits_and_sets_numbers_right() -> None:
    out = paper(40)
    table(out, ("name", "number"), [("a" * 60, 1), ("b", 1000)])
    shown = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, shown)) <= 40
    last = [line.rstrip() for line in shown if line.rstrip().endswith(("1", "1000"))]
    assert len({len(line) for line in last}) == 1
    assert len(last) == 2


def test_counts_are_words() -> None:
    assert (count(1, "text waits", "texts wait"), count(2000, "chunk")) == (
        "1 text waits",
        "2,000 chunks",
    )
