"""Sections from heading blocks, with offsets read off the text by hand."""

from sourcebook.chunking.outline import Section, outline
from sourcebook.model import Block

TEXT = "intro\n# A\na text\n### B\nb text\n## C\n# D\nd text\n"


def block(kind: str, words: str, level: int = 0) -> Block:
    start = TEXT.index(words)
    title = words.lstrip("# ") if kind == "heading" else ""
    return Block(kind, start, start + len(words), level, title)  # type: ignore[arg-type]


BLOCKS = (
    block("prose", "intro"),
    block("heading", "# A", 1),
    block("prose", "a text"),
    block("heading", "### B", 3),
    block("prose", "b text"),
    block("heading", "## C", 2),
    block("heading", "# D", 1),
    block("prose", "d text"),
)


def test_sections_end_before_the_next_heading_of_their_level_or_a_higher_one() -> None:
    assert outline(TEXT, BLOCKS) == [
        Section("A", 1, 6, 34, None, ("A",), 9),
        Section("B", 3, 17, 29, 0, ("A", "B"), 22),
        Section("C", 2, 30, 34, 0, ("A", "C"), 34),
        Section("D", 1, 35, 45, None, ("D",), 38),
    ]


def test_a_section_holds_its_own_words() -> None:
    first = outline(TEXT, BLOCKS)[0]
    assert TEXT[first.start : first.end] == "# A\na text\n### B\nb text\n## C"
    assert TEXT[first.start : first.heading_end] == "# A"


def test_text_without_headings_has_no_sections() -> None:
    assert outline(TEXT, BLOCKS[:1]) == []
    assert outline("", []) == []


def test_a_heading_without_a_title_is_named_by_its_text() -> None:
    text = "A  long\nname"
    assert outline(text, [Block("heading", 0, 12, 1)])[0].title == "A long name"


def test_many_headings_take_linear_time() -> None:
    blocks = [Block("heading", i, i + 1, 1 + i % 2) for i in range(100_000)]
    sections = outline("h" * 100_000, blocks)
    assert len(sections) == 100_000
    assert sections[99_999].parent == 99_998
