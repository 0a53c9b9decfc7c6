"""Readable text of pages, and pages made to hurt."""

from __future__ import annotations

import time

import pytest

from sourcebook.model import Document, Skipped
from sourcebook.sources import read_text


def read(html: str) -> Document | Skipped:
    (found,) = read_text(html, source="site/barn.html", format="html")
    return found


def document(html: str) -> Document:
    found = read(html)
    assert isinstance(found, Document)
    return found


def pieces(html: str) -> list[tuple[str, str]]:
    found = document(html)
    return [(block.kind, found.text[block.start : block.end]) for block in found.blocks]


def test_a_page() -> None:
    page = """<!doctype html><html><head><title> Barn &amp; keys </title>
        <meta name="Author" content="Ida  Holm"><meta name=viewport content=x>
        <style>p {}</style><script>var a = "<p>no</p>"</script></head>
        <body><nav><a href=/>Home</a></nav><h1>The <em>barn</em></h1>
        <p>One   two<br>three &lt; four</p>Loose <b>words</b>
        <ul><li>a<ul><li>b</ul><li><p>c</p></ul>
        <pre>\n  x = 1\n    y</pre><!-- no --><blockquote>said</blockquote>
        <dl><dt>term<dd>meaning</dl><noscript>no</noscript><svg><text>no</text></svg>
        <h3>Deep</h3><div>in<div>ner</div>after</div></body></html>"""
    found = document(page)
    assert found.title == "Barn & keys"
    assert found.metadata == {"author": "Ida Holm"}
    assert pieces(page) == [
        ("heading", "The barn"),
        ("prose", "One two\nthree < four"),
        ("prose", "Loose words"),
        ("list_item", "a"),
        ("list_item", "b"),
        ("list_item", "c"),
        ("code", "  x = 1\n    y"),
        ("prose", "said"),
        ("prose", "term"),
        ("prose", "meaning"),
        ("heading", "Deep"),
        ("prose", "in"),
        ("prose", "ner"),
        ("prose", "after"),
    ]
    assert [(b.level, b.title) for b in found.blocks if b.kind == "heading"] == [
        (1, "The barn"),
        (3, "Deep"),
    ]


def test_a_table_is_one_block_of_rows() -> None:
    assert pieces(
        "<table><caption>Hours</caption><thead><tr><th>Day<th>Open</thead>"
        "<tr><td><p>Sat</p><td>9<br>12<tr><td><td>late<tr><td></table>"
    ) == [("table", "Hours\nDay | Open\nSat | 9 12\n | late")]


def test_a_table_used_for_layout_is_taken_apart() -> None:
    assert pieces(
        "<table><tr><td>menu<td><h2>News</h2>Today<table><tr><td>a<td>b</table>end</table>"
    ) == [
        ("table", "menu"),
        ("heading", "News"),
        ("prose", "Today"),
        ("table", "a | b"),
        ("prose", "end"),
    ]


def test_two_breaks_part_paragraphs_and_code_keeps_its_lines() -> None:
    assert pieces("a<br><br>b<pre><div>x</div><div>y</div></pre>") == [
        ("prose", "a"),
        ("prose", "b"),
        ("code", "x\ny"),
    ]


@pytest.mark.parametrize(
    ("html", "title"),
    [("<h1>Head</h1>x", "Head"), ("<h2>Head</h2>x", "barn"), ("<title> </title><p>x", "barn")],
)
def test_title(html: str, title: str) -> None:
    assert document(html).title == title


def test_a_page_without_text_is_reported() -> None:
    assert read("<html><script>x</script><nav>y</nav>") == Skipped(
        "site/barn.html", "the file holds no text"
    )


def test_a_text_given_as_text_is_not_decoded_again() -> None:
    assert pieces("<meta charset=windows-1251><p>é") == [("prose", "é")]


DEEP = 100_000


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * DEEP + "words" + "</div>" * DEEP,
        "<ul><li>" * DEEP + "words",
        "<span>" * DEEP + "</x>" * DEEP + "words",
        "<p>" + "".join(f"<font c={i}>" for i in range(3000)) + "<p>words" * 3000,
        "<a><div></a>" * 20_000 + "words",
        "<table>" + "words<b>" * 20_000,
    ],
    ids=["div", "list", "end tags", "formatting", "adoption", "foster"],
)
def test_deep_nesting_keeps_the_words(html: str) -> None:
    began = time.process_time()
    assert "words" in document(html).text
    assert time.process_time() - began < 30


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<pre>" * DEEP + "words", "its tags are nested too deeply"),
        ("<table><tr><td>" * DEEP + "words", "its tags are nested too deeply"),
        (
            f"<a {' '.join(f'a{i}' for i in range(DEEP))}>words",
            "a tag in it has too many attributes",
        ),
        (
            f"<a b=='c {' '.join(f'a{i}' for i in range(DEEP))}'>w",
            "a tag in it has too many attributes",
        ),
    ],
    ids=["pre", "table", "attributes", "hidden attributes"],
)
def test_what_no_parser_can_do_in_time_is_refused(html: str, reason: str) -> None:
    began = time.process_time()
    assert read(html) == Skipped("site/barn.html", reason)
    assert time.process_time() - began < 30


def test_a_long_attribute_is_no_reason_to_refuse() -> None:
    assert pieces(f"<img src='data:{'ab cd ' * 50_000}'>words") == [("prose", "words")]
