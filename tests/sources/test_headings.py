"""Numbered headings and tables of contents in plain text."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebook.model import Block
from sourcebook.sources.contents import find_contents
from sourcebook.sources.headings import with_headings
from sourcebook.sources.numbering import numbered, roman
from sourcebook.sources.text import paragraphs

PROSE = "The Owner shall keep the building, the garden and the fences in good repair. " * 4


def blocks_of(text: str) -> list[Block]:
    return with_headings(text, paragraphs(text))


def outline(text: str) -> list[tuple[int, str]]:
    return [(b.level, b.title) for b in blocks_of(text) if b.kind == "heading"]


@pytest.mark.parametrize(
    ("line", "label", "title", "end"),
    [
        ("ARTICLE VII – MAINTENANCE", "ARTICLE VII", "MAINTENANCE", 25),
        ("Article 4", "Article 4", "", 9),
        ("Section 4.2.1 Fences", "Section 4.2.1", "Fences", 20),
        ("4.2.1\tFences", "4.2.1", "Fences", 12),
        ("§ 12 Notices", "§ 12", "Notices", 12),
        ("EXHIBIT A", "EXHIBIT A", "", 9),
        ("Appendix B: Tables", "Appendix B", "Tables", 18),
        ("CHAPTER 3", "CHAPTER 3", "", 9),
        ("PART II", "PART II", "", 7),
        ("4.2 Maintenance. The Owner shall mend it.", "4.2", "Maintenance", 16),
        ("Section 3. Voting Rights. Each lot has a vote.", "Section 3", "Voting Rights", 25),
    ],
)
def test_a_line_that_may_be_a_heading(line: str, label: str, title: str, end: int) -> None:
    found = numbered(line)
    assert found is not None
    assert (found.label, found.title, found.end) == (label, title, end)


@pytest.mark.parametrize(
    "line",
    [
        "Section 4.2 of this Declaration applies.",
        "Section 4.2(a) Fences",
        "4.2 the owner pays",
        "3rd Street",
        "12% Discount",
        "Part of the garden",
        "Articles are many",
        "5",
        "1.5 The owner shall mend the fence. He shall paint it.",
    ],
)
def test_a_line_that_is_none(line: str) -> None:
    assert numbered(line) is None


def test_roman_numbers_are_read_only_as_they_are_written() -> None:
    numbers = ("I", "IV", "IX", "XIV", "XL", "XC", "CXLVIII")
    assert [roman(n) for n in numbers] == [1, 4, 9, 14, 40, 90, 148]
    assert [roman(n) for n in ("IIII", "VX", "IC", "LL")] == [0, 0, 0, 0]


def test_articles_and_sections_with_run_in_titles() -> None:
    text = (
        f"ARTICLE I – NAME\n\n1.1 Name. {PROSE}\n\n1.2 Seat. {PROSE}\n\n"
        f"ARTICLE II\nMEMBERS\n\n2.1 Classes. {PROSE}\n\n2.1.1 Class A. {PROSE}\n\n"
        f"EXHIBIT A\n\nBylaws\n\n{PROSE}"
    )
    assert outline(text) == [
        (1, "ARTICLE I NAME"),
        (2, "1.1 Name"),
        (2, "1.2 Seat"),
        (1, "ARTICLE II MEMBERS"),
        (2, "2.1 Classes"),
        (3, "2.1.1 Class A"),
        (1, "EXHIBIT A Bylaws"),
    ]
    found = [text[b.start : b.end] for b in blocks_of(text) if b.kind == "heading"]
    assert found[1] == "1.1 Name."
    assert found[3] == "ARTICLE II\nMEMBERS"
    prose = [text[b.start : b.end] for b in blocks_of(text) if b.kind == "prose"]
    assert prose[0] == PROSE.strip()


def test_sections_begin_again_in_each_article() -> None:
    parts = [
        f"Article {a}\n\n" + "".join(f"Section {s}. Title {a}{s}.\n{PROSE}\n\n" for s in (1, 2, 3))
        for a in ("I", "II", "III")
    ]
    assert [level for level, _ in outline("".join(parts))] == [1, 2, 2, 2] * 3


def test_technical_numbers_with_short_lines() -> None:
    text = (
        f"1 Introduction\n{PROSE}\n1.1 Using the parser\n{PROSE}\n1.2 Limits\n{PROSE}\n"
        f"2 Reference\n{PROSE}\n"
    )
    assert outline(text) == [
        (1, "1 Introduction"),
        (2, "1.1 Using the parser"),
        (2, "1.2 Limits"),
        (1, "2 Reference"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1. Buy milk\n2. Buy eggs\n3. Call Anna\n4. Pay rent\n",
        "Notes\n\n1. Buy milk\n\n2. Buy eggs\n\n3. Call Anna\n",
        "1. We met on Monday. Rain.\n2. Anna came. She had a plan.\n3. We left. It rained.\n",
        f"{PROSE}as it is said in\nSection 4.2. The Owner shall also\nSection 4.3. Go\n{PROSE}",
        "The board has laid it down in the\nSection 4.1 Fences\nof its book and then also in the"
        "\nSection 4.2 Gates\nof that book, and so it is in the\nSection 4.3 Walls\nof it.",
        f"Article 5 is here.\n\n{PROSE}\n\n1.2 million people came.\n\n{PROSE}",
        "2019 Annual Report\n\n2020 Annual Report\n\n2021 Annual Report\n",
        "1. Redistributions of source code must retain the above\nnotice.\n\n"
        "2. Redistributions in binary form must reproduce the above\nnotice.\n\n"
        f"3. Neither the name of the holder nor that of the\nauthor.\n\n{PROSE}\n\n{PROSE}",
        "2.1 2.0+1.6.1 2001 PSF\n\n2.2 2.1.1 2002 PSF\n\n2.3 2.2 2003 PSF\n",
        f"PARTY FOR INDIRECT\n\nPARTY B\n\nPART\n\nSECTIONS\n\n{PROSE}",
        "3.2 Old\n\n1.1 New\n\n0.9 First\n",
    ],
)
def test_notes_and_lists_have_no_headings(text: str) -> None:
    assert blocks_of(text) == paragraphs(text)


def test_a_list_inside_a_section_does_not_count() -> None:
    inner = "1. Take the key\n2. Open the door\n3. Go in\n"
    text = f"1 Doors\n{PROSE}\n1.1 Front\n{PROSE}\n{inner}\n2 Windows\n{PROSE}\n2.1 Back\n{PROSE}\n"
    assert [title for _, title in outline(text)] == [
        "1 Doors",
        "1.1 Front",
        "2 Windows",
        "2.1 Back",
    ]


@pytest.mark.parametrize("leader", [" ........ ", "\t", "      ", " . . . . . . "])
def test_entries_of_a_table_of_contents_are_no_headings(leader: str) -> None:
    titles = ["1 Doors", "1.1 Front", "1.2 Rear", "2 Windows", "2.1 Back"]
    table = "".join(f"{title}{leader}{page}\n" for page, title in enumerate(titles, start=3))
    body = "".join(f"{title}\n{PROSE}\n\n" for title in titles)
    text = f"Contents\n{table}\n{body}"
    assert [title for _, title in outline(text)] == titles
    assert all(b.start > len(table) for b in blocks_of(text) if b.kind == "heading")


def test_a_table_of_contents_without_pages_ends_where_its_numbers_begin_again() -> None:
    titles = ["1 Doors", "2 Windows", "3 Roof"]
    text = "TABLE OF CONTENTS\n" + "\n".join(titles) + "\n\n"
    text += "\n\n".join(f"{title}\n{PROSE}" for title in titles)
    assert [title for _, title in outline(text)] == titles


def test_lost_numbers_come_back_from_the_table_of_contents() -> None:
    entries = [
        ("1.", "DOORS"),
        ("1.1", "Front."),
        ("1.2", "Side"),
        ("2.", "ROOF"),
        ("2.1", "Front."),
    ]
    table = "".join(f"{number}\t{title}\t{page}\n" for page, (number, title) in enumerate(entries))
    body = f"DOORS\nFront. \n{PROSE}\nSide. {PROSE}\nROOF\nFront.\n{PROSE}\n1. A list\n"
    text = f"Contents\n{table}\n\n{body}"
    assert outline(text) == [
        (1, "1. DOORS"), (2, "1.1 Front"), (2, "1.2 Side"), (1, "2. ROOF"), (2, "2.1 Front"),
    ]  # fmt: skip
    found = [text[b.start : b.end] for b in blocks_of(text) if b.kind == "heading"]
    assert found == ["DOORS", "Front.", "Side.", "ROOF", "Front."]


def test_a_table_of_numbers_is_no_table_of_contents() -> None:
    assert find_contents(["apples\t5", "pears\t3", "plums\t12"]) == []


def test_the_real_declaration_has_every_number_of_its_table_of_contents(data_dir: Path) -> None:
    """Counted apart from the code: lines of the file with a number, a tab, words, a tab, a page."""
    text = (data_dir / "hoa/discovery_west/ccr_discovery_west.txt").read_text()
    entries = re.findall(r"(?m)^(\d+(?:\.\d+)?)\.?\t(.*?)\.*\t\d+$", text)
    assert len(entries) == 176
    found = outline(text)
    titles = [title for _, title in found]
    numbers = [re.match(r"[\d.]+", title) for title in titles]
    matched = [n[0].rstrip(".") for n in numbers if n]
    assert [n for n, _ in entries if n not in matched] == []
    assert [n for n in matched if n.count(".") < 2] == [n for n, _ in entries]  # and in its order
    assert [n for n in matched if n.count(".") > 1] == [f"3.3.{n}" for n in range(1, 6)]
    levels = {title: level for level, title in found}
    assert levels["5. ASSESSMENTS"] == 1
    assert levels["11.3 Damage or Destruction by Owner"] == 2
    assert titles[-2:] == ["EXHIBIT A Legal Description of Property", "EXHIBIT B Bylaws"]


def test_the_golden_questions_name_sections_that_exist_once(data_dir: Path) -> None:
    golden = Path(__file__).parents[2] / "evals/golden/ccr.jsonl"
    rows = [json.loads(line) for line in golden.read_text().splitlines()]
    text = (data_dir / "hoa/discovery_west/ccr_discovery_west.txt").read_text()
    titles = [title for _, title in outline(text)]
    assert len(rows) == len({row["id"] for row in rows}) == 10
    for row in rows:
        assert [titles.count(section) for section in row["must_include"]] == [1] * len(
            row["must_include"]
        )


lines = st.lists(
    st.sampled_from(
        [
            *("1 Doors", "1.1 Front", "1.2 Rear. It is shut.", "2 Roof", "ARTICLE I", "Contents"),
            *("ARTICLE II – END", "EXHIBIT A", "1.1 Front ...... 4", "1 Doors\t2", "2 Roof\t9"),
            *("Section 1. Name.", "Name", "§ 4", "It rains.", "", "Side. It is"),
        ]
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=300)
@given(lines=lines, end=st.sampled_from(["\n", "\r\n", "\n\n", "\r"]))
def test_blocks_stay_in_order_and_keep_every_word(lines: list[str], end: str) -> None:
    text = end.join(lines)
    position, outside = 0, ""
    for block in blocks_of(text):
        assert position <= block.start < block.end <= len(text)
        assert text[block.start : block.end] == text[block.start : block.end].strip()
        outside += text[position : block.start]
        position = block.end
    assert not (outside + text[position:]).strip()


@pytest.mark.parametrize(
    "text",
    [
        "1.1 Title\n" * 100_000,
        "1.1 A\t1\n" * 100_000,
        "Contents\n" * 100_000,
        "1." * 2_000_000,
        "\n".join(f"{n}.1 Title {n}" for n in range(100_000)),
        "Section " * 300_000 + "\n1.1 A\n1.2 B\n1.3 C",
        ("1.1 A ." + " ." * 90 + " x\n") * 20_000,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    began = time.process_time()
    blocks_of(text)
    assert time.process_time() - began < 10


def many_rules() -> str:
    return "".join(f"{n}. Rule Abc\n\n" for n in range(1, 60_000))


def overlapping_tables() -> str:
    """From each dotted line a run of entries goes on to the end, and is no table of contents."""
    numbers = range(1, 8_000)
    return "\n".join(
        f"{n}.1 Aa ..... 5\n{n}.2.1 Title Bb\n{n}.2.2 Title Bb\n{n}.2.3 Title Bb" for n in numbers
    )


@pytest.mark.parametrize("make", [many_rules, overlapping_tables])
def test_long_lists_take_time_in_proportion(make: Callable[[], str]) -> None:
    text = make()
    began = time.process_time()
    blocks_of(text)
    assert time.process_time() - began < 10
