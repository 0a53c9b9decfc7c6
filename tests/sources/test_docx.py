"""Word files: styles, counted numbers, tracked changes, tables, pages, and files not to be read."""

from __future__ import annotations

import io
import random
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from docx import Document as new_document
from docx.enum.text import WD_BREAK
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from lxml import etree

from sourcebook.model import Document, Skipped
from sourcebook.sources import read, read_text
from sourcebook.sources.docx_styles import spelled

LONG = "The Owner shall keep the building and the garden in good repair at all times. " * 4


def saved(word: Any) -> bytes:
    buffer = io.BytesIO()
    word.save(buffer)
    return buffer.getvalue()


def document(data: bytes) -> Document:
    (found,) = read_text(data, source="files/rules.docx")
    assert isinstance(found, Document), found
    return found


def refusal(data: bytes, name: str = "a.docx") -> str:
    (found,) = read_text(data, source=name)
    assert isinstance(found, Skipped)
    return found.reason


def blocks(found: Document) -> list[tuple[str, int, str]]:
    return [(b.kind, b.level, found.text[b.start : b.end]) for b in found.blocks]


def changed(data: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    """The same file with one part rewritten."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    return buffer.getvalue()


def body(xml: str) -> Document:
    """A document with these paragraphs only."""
    word = new_document()
    for element in parse_xml(f"<w:body {nsdecls('w')}>{xml}</w:body>"):
        word.element.body.insert(len(word.element.body) - 1, element)
    return document(saved(word))


def numbered(word: Any, levels: list[tuple[str, str]], style_prefix: str = "") -> None:
    """Numbering 77 with (format, text) for each level."""
    xml = "".join(
        f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{f}"/>'
        + (f'<w:pStyle w:val="{style_prefix}{n + 1}"/>' if style_prefix else "")
        + f'<w:lvlText w:val="{t}"/></w:lvl>'
        for n, (f, t) in enumerate(levels)
    )
    root = word.part.numbering_part.element
    abstract = f'<w:abstractNum {nsdecls("w")} w:abstractNumId="77">{xml}</w:abstractNum>'
    root.insert(0, parse_xml(abstract))
    root.append(
        parse_xml(f'<w:num {nsdecls("w")} w:numId="77"><w:abstractNumId w:val="77"/></w:num>')
    )


def in_list(paragraph: Any, level: int | None) -> None:
    ilvl = "" if level is None else f'<w:ilvl w:val="{level}"/>'
    xml = f'<w:numPr {nsdecls("w")}>{ilvl}<w:numId w:val="77"/></w:numPr>'
    paragraph._p.get_or_add_pPr().append(parse_xml(xml))


def test_paragraphs_by_style() -> None:
    word = new_document()
    word.add_paragraph("House Rules", style="Title")
    word.add_heading("Doors", 1)
    word.add_paragraph("Keep them shut.")
    word.add_heading("Front", 2)
    word.add_paragraph("With a key", style="List Bullet")
    found = document(saved(word))
    assert blocks(found) == [
        ("heading", 1, "House Rules"),
        ("heading", 1, "Doors"),
        ("prose", 0, "Keep them shut."),
        ("heading", 2, "Front"),
        ("list_item", 0, "With a key"),
    ]
    assert found.format == "docx"
    assert [b.page for b in found.blocks] == [None] * 5


def test_a_style_based_on_a_heading_and_an_outline_level_are_headings() -> None:
    word = new_document()
    style = word.styles.add_style("Clause", 1)
    style.base_style = word.styles["Heading 3"]
    word.add_paragraph("Based", style="Clause")
    plain = word.add_paragraph("Outlined")
    plain._p.get_or_add_pPr().append(parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="1"/>'))
    word.add_paragraph("Text.")
    assert blocks(document(saved(word)))[:2] == [
        ("heading", 3, "Based"),
        ("heading", 2, "Outlined"),
    ]


def test_automatic_numbers_are_counted_again() -> None:
    word = new_document()
    numbered(word, [("upperRoman", "ARTICLE %1"), ("decimal", "%1.%2"), ("lowerLetter", "(%3)")])
    for level, text in [
        (0, "Name"),
        (1, "Seat"),
        (1, "Aim"),
        (2, "One"),
        (2, "Two"),
        (0, "Members"),
        (1, "Classes"),
    ]:
        paragraph = word.add_heading(text, level + 1)
        in_list(paragraph, level)
    assert [text for _, _, text in blocks(document(saved(word)))] == [
        "ARTICLE I Name", "I.1 Seat", "I.2 Aim", "(a) One", "(b) Two", "ARTICLE II Members",
        "II.1 Classes",
    ]  # fmt: skip


def test_a_level_may_be_bound_to_a_style() -> None:
    word = new_document()
    numbered(word, [("decimal", "%1."), ("decimal", "%1.%2")], style_prefix="Heading")
    for level, text in [(1, "Doors"), (2, "Front"), (2, "Rear"), (1, "Roof")]:
        in_list(word.add_heading(text, level), None)
    assert [text for _, _, text in blocks(document(saved(word)))] == [
        "1. Doors", "1.1 Front", "1.2 Rear", "2. Roof",
    ]  # fmt: skip


def test_a_list_has_its_numbers_and_starts_again_where_word_says_so() -> None:
    word = new_document()
    numbered(word, [("decimal", "%1)")])
    root = word.part.numbering_part.element
    root.append(
        parse_xml(
            f'<w:num {nsdecls("w")} w:numId="78"><w:abstractNumId w:val="77"/><w:lvlOverride '
            'w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
        )
    )
    for text in ("a", "b"):
        in_list(word.add_paragraph(text), 0)
    for text in ("c", "d"):
        paragraph = word.add_paragraph(text)
        in_list(paragraph, 0)
        paragraph._p.pPr.numPr.numId.val = 78
    assert blocks(document(saved(word))) == [
        ("list_item", 0, text) for text in ("1) a", "2) b", "1) c", "2) d")
    ]


@pytest.mark.parametrize(
    ("count", "format", "text"),
    [
        (4, "upperRoman", "IV"),
        (1999, "lowerRoman", "mcmxcix"),
        (27, "lowerLetter", "aa"),
        (3, "upperLetter", "C"),
        (7, "decimalZero", "07"),
        (12, "decimal", "12"),
        (0, "upperRoman", "0"),
    ],
)
def test_how_counts_are_spelled(count: int, format: str, text: str) -> None:
    assert spelled(count, format) == text


def test_numbered_paragraphs_without_heading_styles_are_recognised() -> None:
    word = new_document()
    numbered(word, [("decimal", "%1."), ("decimal", "%1.%2")])
    for level, text in [(0, "DOORS"), (1, f"Front. {LONG}"), (1, f"Rear. {LONG}"), (0, "ROOF")]:
        in_list(word.add_paragraph(text), level)
    found = document(saved(word))
    titles = [(b.level, b.title) for b in found.blocks if b.kind == "heading"]
    assert titles == [(1, "1. DOORS"), (2, "1.1 Front"), (2, "1.2 Rear"), (1, "2. ROOF")]


def test_a_long_paragraph_in_a_heading_style_is_parted() -> None:
    word = new_document()
    numbered(word, [("decimal", "%1.")])
    in_list(word.add_heading(f"Repair. {LONG}", 1), 0)
    in_list(word.add_heading(LONG, 1), 0)
    assert blocks(document(saved(word))) == [
        ("heading", 1, "1. Repair."), ("prose", 0, LONG.strip()),
        ("heading", 1, "2."), ("prose", 0, LONG.strip()),
    ]  # fmt: skip


def test_tracked_changes_and_links() -> None:
    found = body(
        "<w:p><w:r><w:t>Keep </w:t></w:r><w:ins><w:r><w:t>this </w:t></w:r></w:ins>"
        "<w:del><w:r><w:tab/><w:delText>not this</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>nor this</w:t></w:r></w:moveFrom>"
        "<w:hyperlink><w:r><w:t>and that</w:t></w:r></w:hyperlink>"
        "<w:r><w:noBreakHyphen/></w:r></w:p>"
    )
    assert found.text == "Keep this and that-"


def test_tables_are_rows_and_cells() -> None:
    word = new_document()
    table = word.add_table(2, 2)
    for cell, text in zip(table._cells, ["Lot", "Dues", "A1\nnorth", ""], strict=True):
        cell.text = text
    one = word.add_table(1, 1)
    one.cell(0, 0).text = "Boxed words."
    assert blocks(document(saved(word))) == [
        ("table", 0, "Lot | Dues\nA1 north |"),
        ("prose", 0, "Boxed words."),
    ]


def test_contents_headers_and_footers_are_left_out() -> None:
    word = new_document()
    word.sections[0].header.paragraphs[0].text = "Running title"
    word.sections[0].footer.paragraphs[0].text = "Page 1"
    word.styles.add_style("toc 1", 1)
    word.add_paragraph("1 Doors 4", style="toc 1")
    start = '<w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> TOC \\o "1-3"</w:instrText>'
    xml = (
        f"<w:p {nsdecls('w')}><w:r>{start}</w:r><w:r><w:fldChar w:fldCharType='separate'/></w:r>"
        "<w:r><w:t>Entry 5</w:t></w:r></w:p>",
        f"<w:p {nsdecls('w')}><w:r><w:t>Entry 6</w:t></w:r></w:p>",
        f"<w:p {nsdecls('w')}><w:r><w:fldChar w:fldCharType='end'/></w:r>"
        "<w:r><w:t>After</w:t></w:r></w:p>",
    )
    for one in xml:
        word.element.body.insert(len(word.element.body) - 1, parse_xml(one))
    word.add_paragraph("Text.")
    assert document(saved(word)).text == "After\n\nText."


def test_pages_come_from_breaks() -> None:
    word = new_document()
    word.add_paragraph("one")
    word.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    word.add_paragraph("two")
    assert [b.page for b in document(saved(word)).blocks] == [1, 2]
    rendered = body(
        "<w:p><w:r><w:t>one</w:t><w:br w:type='page'/></w:r></w:p>"
        "<w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>"
        "<w:p><w:r><w:t>two </w:t><w:lastRenderedPageBreak/><w:t>and three</w:t></w:r></w:p>"
        "<w:p><w:r><w:t>three</w:t></w:r></w:p>"
    )
    assert [b.page for b in rendered.blocks] == [1, 2, 2, 3]


def test_footnotes_come_last() -> None:
    word = new_document()
    word.add_paragraph("Text")._p.append(
        parse_xml(f'<w:r {nsdecls("w")}><w:footnoteReference w:id="2"/></w:r>')
    )
    word.add_paragraph("More.")
    notes = (
        f"<w:footnotes {nsdecls('w')}><w:footnote w:id='2'><w:p><w:r><w:t>A note.</w:t></w:r></w:p>"
        "</w:footnote><w:footnote w:id='3'><w:p><w:r><w:t>Unused.</w:t></w:r></w:p></w:footnote>"
        "</w:footnotes>"
    )
    buffer = io.BytesIO(saved(word))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("word/footnotes.xml", notes)
    assert document(buffer.getvalue()).text == "Text[1]\n\nMore.\n\n[1] A note."


def test_what_the_file_says_of_itself() -> None:
    word = new_document()
    word.core_properties.title = "House Rules"
    word.core_properties.author = "Anna Berg"
    word.add_paragraph("Text.")
    found = document(saved(word))
    assert (found.title, found.metadata["author"]) == ("House Rules", "Anna Berg")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*", found.metadata["created"])


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    whole = saved(new_document())
    assert refusal(whole) == "the file holds no text"
    assert "damaged" in refusal(whole[:2000])
    assert "old Word file" in refusal(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.doc")
    assert "soffice --headless --convert-to docx" in refusal(b"\xd0\xcf\x11\xe0", "a.doc")
    assert "password" in refusal(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("mimetype", "x")
    assert "no word/document.xml" in refusal(empty.getvalue())


def test_the_content_tells_a_word_file_without_its_ending() -> None:
    word = new_document()
    word.add_paragraph("Text.")
    for name in ("a.doc", "a.docm"):
        (found,) = read_text(saved(word), source=name)
        assert isinstance(found, Document)


def zipped(xml: bytes, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        archive.writestr("word/document.xml", xml)
    return buffer.getvalue()


NAMESPACE = b'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OPEN, CLOSE = b"<w:document " + NAMESPACE + b"><w:body>", b"</w:body></w:document>"


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        (b"<a>" + b" " * (200 << 20) + b"</a>", "far more than a text"),
        (
            b'<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;&x;">]>'
            + (OPEN + b"<w:p><w:r><w:t>&y;</w:t></w:r></w:p>" + CLOSE),
            "entities",
        ),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "entities"),
        (OPEN + b"<w:p>" * 100_000, "damaged"),
        (OPEN + b"<w:p/>" * 3_500_000 + CLOSE, "too large"),
        (OPEN + b"<w:p><w:r/></w:p>" * 330_000 + CLOSE, "no text"),
    ],
    ids=["bomb", "entities", "outside", "deep", "tags", "many"],
)
def test_bombs_are_refused_in_time(xml: bytes, reason: str) -> None:
    began = time.process_time()
    packing = zipfile.ZIP_DEFLATED if len(xml) > 100 << 20 else zipfile.ZIP_STORED
    assert reason in refusal(zipped(xml, packing))
    assert time.process_time() - began < 10


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_part_packed_in_an_unusual_way_is_refused(packing: int) -> None:
    sound = OPEN + b"<w:p><w:r><w:t>words</w:t></w:r></w:p>" + CLOSE
    data = bytearray(zipped(sound, packing))
    assert "damaged" in refusal(bytes(data))
    data[60:70] = b"\xff" * 10
    assert "damaged" in refusal(bytes(data))


RUN = "<w:r><w:t>x</w:t></w:r>"
BEGIN = '<w:fldChar w:fldCharType="begin"/>'
SPACE = f'<w:instrText xml:space="preserve">{" " * 150}</w:instrText>'
IN_LIST = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'


@pytest.mark.parametrize(
    ("xml", "parts"),
    [
        (
            "<w:tbl><w:tr><w:tc>"
            + ("<w:p>" * 100 + RUN * 100_000 + "</w:p>" * 100)
            + "</w:tc></w:tr></w:tbl>",
            {},
        ),
        (f"<w:p>{BEGIN * 100}{RUN * 240_000}</w:p>", {}),
        (f"<w:p>{BEGIN}{SPACE * 60_000}{RUN}</w:p>", {}),
        (
            f"<w:p>{IN_LIST}{RUN}</w:p>" * 20_000,
            {
                "numbering": '<w:abstractNum w:abstractNumId="1">'
                + "".join(f'<w:lvl w:ilvl="{n}"/>' for n in range(50_000))
                + '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
            },
        ),
        (
            "".join(
                f'<w:p><w:pPr><w:pStyle w:val="s{n}"/></w:pPr>{RUN}</w:p>' for n in range(50_000)
            ),
            {
                "styles": "".join(
                    f'<w:style w:styleId="s{n}"><w:basedOn w:val="s{n + 1}"/></w:style>'
                    for n in range(50_000)
                )
            },
        ),
    ],
    ids=["paragraphs in paragraphs", "open fields", "instructions", "levels", "styles"],
)
def test_what_could_cost_the_square_of_a_size_does_not(xml: str, parts: dict[str, str]) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", OPEN + xml.encode() + CLOSE)
        for name, inside in parts.items():
            root = NAMESPACE.decode()
            archive.writestr(f"word/{name}.xml", f"<w:root {root}>{inside}</w:root>")
    began = time.process_time()
    assert len(document(buffer.getvalue()).text) < 1_000_000
    assert time.process_time() - began < 8


def test_a_paragraph_in_a_cell_is_read_once() -> None:
    inner = "<w:p><w:r><w:t>inner</w:t></w:r></w:p>"
    box = f"<w:r><w:pict><w:txbxContent>{inner}</w:txbxContent></w:pict></w:r>"
    table = f"<w:tbl><w:tr><w:tc><w:p>{inner}{box}</w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>"
    assert body(table).text == "inner inner |"


def sample() -> bytes:
    word = new_document()
    numbered(word, [("decimal", "%1."), ("decimal", "%1.%2")])
    for level, text in [(0, "DOORS"), (1, "Front. It is shut."), (1, "Rear. It is open.")]:
        in_list(word.add_paragraph(text), level)
    word.add_heading("Table", 1)
    word.add_table(2, 2).cell(0, 0).text = "cell"
    word.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    return saved(word)


def mutated(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    how = chance.randrange(3)
    if how == 0:
        for _ in range(chance.choice((1, 5, 50))):
            made[chance.randrange(len(made))] = chance.randrange(256)
    elif how == 1:
        del made[chance.randrange(len(made)) :]
    else:
        a, b, c = sorted(chance.randrange(len(made)) for _ in range(3))
        made[a:c] = made[b:c] + made[a:b]
    return bytes(made)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_end_in_a_document_or_a_reason(seed: int) -> None:
    chance = random.Random(seed)
    data = sample()
    for _ in range(75):
        found = list(read_text(mutated(data, chance), source="a.docx", format="docx"))
        assert found
        assert all(isinstance(item, Document) or item.reason for item in found)


@pytest.mark.parametrize("part", ["word/document.xml", "word/numbering.xml", "word/styles.xml"])
def test_strange_xml_ends_in_a_document_or_a_reason(part: str) -> None:
    """Well-formed files whose elements and values are not those that Word writes."""
    chance = random.Random(1)
    data = sample()
    for _ in range(100):

        def shuffle(xml: bytes) -> bytes:
            root = etree.fromstring(xml)
            elements = list(root.iter())
            for _ in range(20):
                one, other = chance.choice(elements), chance.choice(elements)
                for key in one.attrib:
                    one.set(key, chance.choice(["", "-1", "99999999999", "x", "%9", "٣", "0"]))
                if one is not root and other not in one.iter():
                    other.append(one)
            return etree.tostring(root)

        found = list(read_text(changed(data, part, shuffle), source="a.docx"))
        assert all(isinstance(item, Document) or item.reason for item in found)


def test_the_real_old_file_has_a_clear_outcome(data_dir: Path) -> None:
    path = data_dir / "hoa/discovery_west/ccr_discovery_west.doc"
    (found,) = read(path, source=path.name)
    assert isinstance(found, Skipped)
    assert "save it as .docx or PDF" in found.reason
