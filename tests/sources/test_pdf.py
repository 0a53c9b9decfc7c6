"""PDF files: text in reading order, pages, headings, tables, and files that cannot be read."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from sourcebook.errors import UnreadableSource
from sourcebook.model import Document, Skipped
from sourcebook.sources import pdf as reader
from sourcebook.sources import read, read_text
from tests.sources.pdf_files import HEIGHT, cells, encrypted, lines, pdf

WORDS = "the owner of a lot keeps the fence and the garden in good repair at all times".split()


def document(data: bytes, name: str = "files/handbook.pdf") -> Document:
    found = [item for item in read_text(data, source=name) if isinstance(item, Document)]
    assert len(found) == 1
    return found[0]


def refusal(data: bytes) -> str:
    (found,) = read_text(data, source="a.pdf")
    assert isinstance(found, Skipped)
    return found.reason


def texts(found: Document, kind: str = "prose") -> list[str]:
    return [found.text[b.start : b.end] for b in found.blocks if b.kind == kind]


def outline(found: Document) -> list[tuple[int, str, int | None]]:
    return [(b.level, b.title, b.page) for b in found.blocks if b.kind == "heading"]


def filler(seed: int, count: int = 8) -> list[str]:
    """Lines of prose of one width; the last one ends the sentence."""
    chosen = random.Random(seed)
    made = [" ".join(chosen.choices(WORDS, k=14)) for _ in range(count)]
    return [made[0].capitalize(), *made[1:-1], f"{made[-1]} end{seed}."]


def test_wrapped_lines_make_paragraphs_and_broken_words_are_whole() -> None:
    def page(canvas: Canvas) -> None:
        y = lines(
            canvas, ["The gardener of the house main-", "tains a well-known garden with a well-"]
        )
        y = lines(canvas, ["known fence."], y=y)
        lines(canvas, ["Another paragraph is here."], y=y - 12)

    found = document(pdf(page))
    assert texts(found) == [
        "The gardener of the house maintains a well-known garden with a well-known fence.",
        "Another paragraph is here.",
    ]


def test_every_block_has_its_page_and_a_sentence_may_cross_pages() -> None:
    def first(canvas: Canvas) -> None:
        lines(canvas, ["One sentence is whole.", "", "Another one begins here and it"])

    found = document(
        pdf(first, lambda canvas: lines(canvas, ["goes on there.", "", "Third one."]) and None)
    )
    assert [(found.text[b.start : b.end], b.page) for b in found.blocks] == [
        ("One sentence is whole.", 1),
        ("Another one begins here and it goes on there.", 1),
        ("Third one.", 2),
    ]
    assert found.metadata["pages"] == 2


def test_running_titles_and_page_numbers_are_left_out() -> None:
    def page(number: int) -> object:
        def draw(canvas: Canvas) -> None:
            lines(canvas, [f"Handbook – Part {number}"], y=HEIGHT - 30)
            lines(canvas, filler(number))
            lines(canvas, [f"Page {number} of 5"], x=280, y=25)

        return draw

    found = document(pdf(*[page(number) for number in range(1, 6)]))  # type: ignore[arg-type]
    assert "Handbook" not in found.text
    assert "Page" not in found.text
    assert [f"end{n}." in found.text for n in range(1, 6)] == [True] * 5


def test_a_running_title_of_a_chapter_is_known_by_its_page_number() -> None:
    def page(number: int) -> object:
        def draw(canvas: Canvas) -> None:
            lines(canvas, [f"Words of chapter {'ABCDEF'[number]}  {number + 9}"], y=HEIGHT - 30)
            lines(canvas, filler(number))

        return draw

    found = document(pdf(*[page(number) for number in range(6)]))  # type: ignore[arg-type]
    assert "Words of chapter" not in found.text


def test_a_title_that_also_runs_on_every_page_is_kept_once() -> None:
    def page(number: int) -> object:
        def draw(canvas: Canvas) -> None:
            lines(canvas, ["House Rules"], y=HEIGHT - 40, size=20 if number == 0 else 9)
            lines(canvas, filler(number))

        return draw

    found = document(pdf(*[page(number) for number in range(5)]))  # type: ignore[arg-type]
    assert found.text.count("House Rules") == 1
    assert found.title == "House Rules"


def test_two_columns_are_read_one_after_the_other() -> None:
    left = [f"left {n} " + "word " * 6 for n in range(20)]
    right = [f"right {n} " + "word " * 6 for n in range(20)]

    def page(canvas: Canvas) -> None:
        lines(canvas, ["A Title That Spans Both Of The Columns Of This Page"], x=120, size=16)
        for at, (a, b) in enumerate(zip(left, right, strict=True)):  # row by row, as some write it
            lines(canvas, [a], x=60, y=HEIGHT - 150 - 12 * at)
            lines(canvas, [b], x=310, y=HEIGHT - 150 - 12 * at)

    text = document(pdf(page)).text
    places = [text.index(f"{side} {n} word") for side in ("left", "right") for n in range(20)]
    assert places == sorted(places)
    assert text.startswith("A Title That Spans")


def test_a_table_is_rows_and_cells() -> None:
    rows = [["Lot", "Owner", "Dues"], ["A1", "Anna Berg", "100"], ["A2", "Bo Lind", "2500"]]

    def page(canvas: Canvas) -> None:
        y = lines(canvas, filler(1))
        y = cells(canvas, rows, [72, 200, 350], y - 20)
        lines(canvas, filler(2), y=y - 20)

    found = document(pdf(page))
    assert [b.kind for b in found.blocks] == ["prose", "table", "prose"]
    assert texts(found, "table") == [
        "Lot | Owner | Dues\nA1 | Anna Berg | 100\nA2 | Bo Lind | 2500"
    ]


def test_a_cell_that_goes_on_stays_in_its_row() -> None:
    rows = [["Lot", "Owner"], ["A1", "Anna"], ["", "Berg"], ["A2", "Bo"]]
    found = document(pdf(lambda canvas: cells(canvas, rows, [72, 200], HEIGHT - 200) and None))
    assert texts(found, "table") == ["Lot | Owner\nA1 | Anna Berg\nA2 | Bo"]


def test_numbers_before_the_items_of_a_list_are_no_cells() -> None:
    rows = [["1.", "Keep the gate shut."], ["2.", "Feed the hens."], ["3.", "Go home."]]
    found = document(pdf(lambda canvas: cells(canvas, rows, [72, 110], HEIGHT - 200) and None))
    assert texts(found) == ["1. Keep the gate shut.", "2. Feed the hens.", "3. Go home."]


def test_headings_come_from_numbers() -> None:
    def page(canvas: Canvas) -> None:
        y = HEIGHT - 80
        for number, title in [("1", "Doors"), ("1.1", "Front"), ("1.2", "Rear"), ("2", "Roof")]:
            y = lines(canvas, [f"{number} {title}"], y=y, size=12, font="Helvetica-Bold")
            y = lines(canvas, filler(len(title)), y=y - 6) - 10

    found = document(pdf(page))
    assert outline(found) == [
        (1, "1 Doors", 1), (2, "1.1 Front", 1), (2, "1.2 Rear", 1), (1, "2 Roof", 1),
    ]  # fmt: skip
    assert found.title == "1 Doors"


def test_headings_come_from_the_font_where_there_are_no_numbers() -> None:
    def page(canvas: Canvas) -> None:
        y = lines(canvas, ["Handbook"], size=22)
        for title in ("Doors", "Windows"):
            y = lines(canvas, [title], y=y - 8, size=14)
            y = lines(canvas, ["Care"], y=y - 8, font="Helvetica-Bold")
            y = lines(canvas, filler(len(title)), y=y - 6)

    assert [(level, title) for level, title, _ in outline(document(pdf(page)))] == [
        (1, "Handbook"), (2, "Doors"), (3, "Care"), (2, "Windows"), (3, "Care"),
    ]  # fmt: skip


def test_bookmarks_decide_where_they_match() -> None:
    def page(title: str, level: int) -> object:
        def draw(canvas: Canvas) -> None:
            canvas.bookmarkPage(title)
            canvas.addOutlineEntry(title, title, level)
            y = lines(canvas, [title])
            lines(canvas, filler(level), y=y - 20)

        return draw

    pages = [page("Doors", 0), page("How to open", 1), page("Windows", 0)]
    assert outline(document(pdf(*pages))) == [  # type: ignore[arg-type]
        (1, "Doors", 1), (2, "How to open", 2), (1, "Windows", 3),
    ]  # fmt: skip


def test_entries_of_a_table_of_contents_are_no_headings() -> None:
    titles = ["1 Doors", "1.1 Front", "1.2 Rear", "2 Roof"]

    def contents(canvas: Canvas) -> None:
        y = lines(canvas, ["Contents"], size=14)
        for at, title in enumerate(titles):
            lines(canvas, [f"{title} {'.' * 60} {at + 2}"], y=y - 14 * at)

    def body(canvas: Canvas) -> None:
        y = HEIGHT - 80
        for title in titles:
            y = lines(canvas, [title], y=y, font="Helvetica-Bold")
            y = lines(canvas, filler(3), y=y - 6) - 10

    found = outline(document(pdf(contents, body)))
    assert [title for _, title, page in found if page == 2] == titles
    assert not [title for _, title, page in found if page == 1 and title != "Contents"]


def test_text_that_stands_across_is_kept_apart() -> None:
    def page(canvas: Canvas) -> None:
        lines(canvas, filler(1))
        canvas.rotate(90)
        canvas.drawString(300, -30, "arXiv margin note")

    found = document(pdf(page))
    assert texts(found)[1:] == ["arXiv margin note"]


def test_what_the_file_says_of_itself() -> None:
    def page(canvas: Canvas) -> None:
        canvas.setTitle("House  Rules")
        canvas.setAuthor("Anna Berg")
        lines(canvas, filler(1))

    found = document(pdf(page))
    assert (found.title, found.metadata["author"]) == ("House Rules", "Anna Berg")
    assert found.metadata["created"].count("-") == 2
    plain = document(pdf(lambda canvas: lines(canvas, filler(1)) and None))
    assert plain.title == "handbook"
    assert "author" not in plain.metadata


def test_a_scan_is_refused_with_advice() -> None:
    reason = refusal(pdf(*[lambda canvas: canvas.rect(50, 50, 200, 200)] * 3))
    assert reason == (
        "the PDF holds only images, no text (3 pages); run OCR on it, for example "
        "`ocrmypdf in.pdf out.pdf`, and ingest the result"
    )


def test_pages_without_text_are_named() -> None:
    blank = lambda canvas: canvas.rect(50, 50, 200, 200)  # noqa: E731
    data = pdf(lambda canvas: lines(canvas, filler(1)) and None, blank, blank)
    _, warning = read_text(data, source="a.pdf")
    assert isinstance(warning, Skipped)
    assert warning.taken
    assert "no text on pages 2, 3" in warning.reason


def test_files_that_cannot_be_read_say_why() -> None:
    whole = pdf(lambda canvas: lines(canvas, filler(1)) and None)
    assert "encrypted" in refusal(encrypted(lambda canvas: lines(canvas, filler(1)) and None))
    assert "damaged" in refusal(b"%PDF-1.7\n")
    assert "no PDF" in refusal(b"hello")
    assert refusal(b"") == "the file is empty"
    assert "damaged" in refusal(whole[:200])


def test_a_reader_that_ends_at_once_is_a_broken_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when PDFium crashes: the caller lives, the file is refused."""
    monkeypatch.setattr(reader, "_PROGRAM", Path("/nonexistent/program.py"))
    assert "damaged" in refusal(pdf(lambda canvas: lines(canvas, filler(1)) and None))


def test_a_reader_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What it said before is taken, with a warning."""
    program = tmp_path / "program.py"
    about = '{"pages":2,"about":{},"outline":[]}'
    page = '{"size":[600,800],"runs":[["Hi.",9,9,50,20,10,0,0]]}'
    said = f"print({about!r}); print({page!r}, flush=True)"
    program.write_text(f"import sys, time\n{said}\ntime.sleep(60)\n")
    monkeypatch.setattr(reader, "_PROGRAM", program)
    monkeypatch.setattr(reader, "_SECONDS", 0)
    began = time.monotonic()
    found, *warnings = read_text(b"%PDF-1.7", source="a.pdf")
    assert time.monotonic() - began < 10
    assert isinstance(found, Document)
    assert found.text == "Hi."
    assert [w.reason for w in warnings if isinstance(w, Skipped)] == [
        "only the first 1 of 2 pages were read: the rest takes too long or is too large; "
        "split the PDF"
    ]


def test_a_book_takes_some_seconds() -> None:
    pages = [lambda canvas, n=n: lines(canvas, filler(n, 50)) and None for n in range(100)]
    began = time.monotonic()
    found = document(pdf(*pages))  # type: ignore[arg-type]
    assert time.monotonic() - began < 10
    assert found.blocks[-1].page == 100


def stream(content: str, more: str = "") -> str:
    return f"<<{more}/Length {len(content)}>>stream\n{content}\nendstream"


def test_a_page_that_unfolds_without_end_is_refused_in_time() -> None:
    """Each of 25 forms draws the next one four times."""
    form = "/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<<{}>>"
    objects = {
        1: "<</Type/Catalog/Pages 2 0 R>>",
        2: "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        "/Resources<</XObject<</X 10 0 R>>>>>>",
        4: stream("/X Do"),
        5: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        35: stream("BT /F 9 Tf 9 9 Td (hi) Tj ET", form.format("/Font<</F 5 0 R>>")),
    }
    for at in range(10, 35):
        objects[at] = stream("/X Do " * 4, form.format(f"/XObject<</X {at + 1} 0 R>>"))
    body = "".join(f"{number} 0 obj\n{text}\nendobj\n" for number, text in objects.items())
    began = time.monotonic()
    reason = refusal(f"%PDF-1.7\n{body}trailer<</Root 1 0 R>>\n%%EOF".encode())
    assert "too long to read or is too large" in reason
    assert time.monotonic() - began < 20


def drawn(texts: list[tuple[float, float, str]], box: str) -> bytes:
    """One page with each text at its place."""
    words = "".join(f"1 0 0 1 {x} {y} Tm ({text}) Tj " for x, y, text in texts)
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[{box}]/Contents 4 0 R"
        "/Resources<</Font<</F 5 0 R>>>>>>",
        stream(f"BT /F 10 Tf {words}ET"),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    body = "".join(f"{at} 0 obj\n{text}\nendobj\n" for at, text in enumerate(objects, 1))
    return f"%PDF-1.7\n{body}trailer<</Root 1 0 R>>\n%%EOF".encode()


DOTS = [(20.0, 800.0 - 12 * n, "a" + "." * 3000) for n in range(3)]
CONTENTS = [
    (x, 800.0 - 12 * n, text) for n in range(2500) for x, text in ((20, "1 Title"), (300, str(n)))
]
WIDE = [(20 + 40.0 * n, 800.0, "ab") for n in range(20_000)]
WIDE += [(60 + 40.0 * n, 788.0 - 12 * line, "ab") for line in range(300) for n in range(20)]


@pytest.mark.parametrize(
    ("texts", "box"),
    [(DOTS, "0 0 600 842"), (CONTENTS, "0 -40000 600 842"), (WIDE, "0 -4000 900000 842")],
    ids=["dots", "contents", "wide"],
)
def test_pages_that_could_cost_the_square_of_their_size(
    texts: list[tuple[float, float, str]], box: str
) -> None:
    began = time.monotonic()
    assert document(drawn(texts, box)).blocks
    assert time.monotonic() - began < 8


def test_numbers_without_end_are_no_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    about = '{"pages":1,"about":{},"outline":[]}'
    place = "NaN,-Infinity,Infinity,NaN,NaN,0,0"
    runs = ",".join(f'["Hi.",{place}]' for _ in range(20))
    page = f'{{"size":[NaN,Infinity],"runs":[{runs}]}}'
    program.write_text(f"print({about!r}); print({page!r})")
    monkeypatch.setattr(reader, "_PROGRAM", program)
    assert document(b"%PDF-1.7").text.count("Hi.") == 20


def test_a_lower_limit_of_the_caller_is_no_broken_file() -> None:
    """As where a service may use little processor time."""
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "from sourcebook.sources import read_text\n"
        "print(next(iter(read_text(sys.stdin.buffer.read(), source='a.pdf'))).text)"
    )
    made = pdf(lambda canvas: lines(canvas, ["Hello there."]) and None)  # type: ignore[arg-type,return-value]
    done = subprocess.run([sys.executable, "-c", code], input=made, capture_output=True, check=True)
    assert done.stdout == b"Hello there.\n"


def sample() -> bytes:
    def page(canvas: Canvas) -> None:
        canvas.bookmarkPage("a")
        canvas.addOutlineEntry("1 Doors", "a", 0)
        y = lines(canvas, ["1 Doors"], size=14)
        cells(
            canvas,
            [["a", "b"], ["c", "d"], ["e", "f"]],
            [72, 200],
            lines(canvas, filler(1), y=y) - 20,
        )

    return pdf(page, page)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, or cut off, or a piece moved."""
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


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files_end_in_a_document_or_a_reason(seed: int) -> None:
    chance = random.Random(seed)
    data = sample()
    for _ in range(10):
        found = list(read_text(mutated(data, chance), source="a.pdf", format="pdf"))
        assert found
        for item in found:
            assert isinstance(item, Document) or item.reason


def test_the_real_files_have_a_clear_outcome(data_dir: Path) -> None:
    folder = data_dir / "hoa/discovery_west"
    (rules,) = read(folder / "rules.pdf", source="rules.pdf")
    assert isinstance(rules, Document)
    assert rules.title == "Owners’ Association Rules and Regulations"
    assert [t[:2] for t in texts(rules)[:7]] == [f"{n}." for n in range(1, 8)]
    plain = (folder / "rules.txt").read_text().split()
    assert sorted(rules.text.split()) == sorted(plain)
    (scan,) = read(folder / "exhibit_a_scanned.pdf", source="scan.pdf")
    assert isinstance(scan, Skipped)
    assert "only images, no text (7 pages)" in scan.reason


def test_only_an_unreadable_source_is_raised() -> None:
    from sourcebook.sources.raw import Raw

    with pytest.raises(UnreadableSource):
        list(reader.read(Raw("a", io.BytesIO(b"%PDF-"))))
