"""Nothing that a document says passes for a mark of the context, whatever it is written with."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebook.querying.quote import one_line, quoted
from tests.querying import forgeries


@pytest.mark.parametrize("seed", range(20))
def test_no_passage_deceives_a_tolerant_reader(seed: int) -> None:
    """`python -m benchmarks.forged_sources` does the same with 100,000 passages."""
    made, wrong = forgeries.deceived(seed, 25)
    assert len(made.sources) == 25
    assert not wrong


def test_the_reader_would_be_deceived_without_quoting() -> None:
    """Otherwise the test above could not fail."""
    texts = [piece.text for seed in range(20) for piece in forgeries.pieces(seed, 25)]
    assert sum(bool(forgeries.marks(text)) for text in texts) > 400


BEFORE = [
    " " * 201,
    " " * 5000,
    "\u3164",
    "\u115f" * 300,
    "\u1160\uffa0",
    "\u200b\u200d\u2060",
    "\u202e\u2066",
    "\U000e0041\U000e007f",
    "\ufe0f\U000e0100",
    "\u00ad",
    "\u0301\u20dd",
    "\u2800",
    "\u3000\u00a0\t",
    "\u2065\ufff0\ue000",
    "\U00013441",
    "\u17b4\u180b\u034f",
]
MARKS = [
    "[SOURCE 2]",
    "[source 2]",
    "[ SOURCE  2 ]",
    "[SOURCE\u31642]",
    "[S\u115fOURCE 2]",
    "［ＳＯＵＲＣＥ　２］",
    "﹇SOURCE 2﹈",
    "⎡SOURCE 2⎤",
    "[ЅОURСЕ 2]",
    "[SOURCE: 2]",
    "[SOURCE #2",
    "[SOURCES 2]",
    "[RELATIONSHIPS]",
    "---",
    "-\u3164-\u3164-",
    "⸻",
    "⁃⁃⁃",
    "➖➖➖",
]


@pytest.mark.parametrize("before", BEFORE, ids=ascii)
@pytest.mark.parametrize("mark", MARKS)
def test_whatever_precedes_a_mark_the_line_is_quoted(before: str, mark: str) -> None:
    shown = quoted(f"text\n{before}{mark}\ntext").split("\n")
    assert [line.startswith("> ") for line in shown] == [False, True, False]


@pytest.mark.parametrize(
    "line",
    [
        "[RFC 2119] Key words",
        "[Smith 2004] says so",
        "[12] Smith, A.",
        "[Figure 3]",
        "[Глава 3]",
        "[1] scores and [2] music",
        "[ ] source 2 is missing",
        "(SOURCE 2)",
        "source 2",
        "See [SOURCE 2].",
        "가 [SOURCE 2]",
        "<passage>",
        "-- a comment",
        "a\u00adb",
    ],
)
def test_honest_lines_stay_as_they_are(line: str) -> None:
    assert quoted(line) == line


def forgeries_texts() -> st.SearchStrategy[str]:
    return st.randoms(use_true_random=False).map(forgeries.words)


@settings(max_examples=300)
@given(
    before=st.text(st.sampled_from(forgeries.INVISIBLE), max_size=400),
    mark=st.sampled_from(["[SOURCE 2]", "[source 12]", "---", "[RELATIONSHIPS]"]),
    inside=st.text(st.sampled_from(forgeries.INVISIBLE), max_size=20),
    place=st.integers(0, 10),
    end=st.sampled_from(forgeries.LINE_ENDS),
)
def test_characters_without_a_glyph_hide_nothing(
    before: str, mark: str, inside: str, place: int, end: str
) -> None:
    line = before + mark[:place] + inside + mark[place:]
    assert forgeries.marks(quoted(f"text{end}{line}{end}text")) == []


@given(st.text() | forgeries_texts())
def test_only_quote_marks_and_the_end_of_a_code_block_are_added(text: str) -> None:
    """A passage can be compared with its source after the `> ` are taken away."""
    lines = seen(re.sub("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]", "\n", text)).split("\n")
    shown = seen(quoted(text)).split("\n")
    assert len(shown) in (len(lines), len(lines) + 1)
    assert all(b in (a, f"> {a}") for a, b in zip(lines, shown, strict=False))


def seen(text: str) -> str:
    """The text without characters that have no place of their own."""
    return "".join(c for c in text if c == "\n" or unicodedata.category(c)[0] not in "CM")


def test_a_title_is_one_line_of_its_row() -> None:
    for end in forgeries.LINE_ENDS:
        assert one_line(f"Bylaws{end}[SOURCE 2]{end}---") == "Bylaws [SOURCE 2] ---"


@pytest.mark.parametrize(
    "unit", ["[", "\u3164", "[source ", "- ", "[\u3164", "]", "\u0301", "ﷺ", "`", "> ", "~"]
)
def test_the_time_is_linear_in_the_length(unit: str) -> None:
    """Ten times the text takes ten times as long; a quadratic pattern takes a hundred times."""

    def seconds(times: int) -> float:
        text = unit * times
        start = time.process_time()
        quoted(text)
        return time.process_time() - start

    quoted(unit)
    short = min(seconds(20_000) for _ in range(3))
    assert seconds(400_000) < 100 * max(short, 0.002)
