"""Rows of JSON lines: ids, reasons, streaming."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from sourcebook.model import Document, Skipped
from sourcebook.sources import jsonl, read, read_text


def rows(*lines: object) -> list[Document | Skipped]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return list(read_text(text, source="c.jsonl", format="jsonl"))


def test_a_row_is_a_document() -> None:
    (found,) = rows({"_id": "d1", "title": "T", "text": "a\n\nb", "metadata": {"k": [1, {"x": 2}]}})
    assert isinstance(found, Document)
    assert (found.element_id, found.title, found.text) == ("d1", "T", "a\n\nb")
    assert (found.source, found.format) == ("c.jsonl", "jsonl")
    assert [(b.start, b.end) for b in found.blocks] == [(0, 1), (3, 4)]
    assert found.metadata == {"k": [1, {"x": 2}]}


@pytest.mark.parametrize(
    ("row", "element_id"),
    [
        ({"_id": 7, "text": "x"}, "7"),
        ({"id": "i", "text": "x"}, "i"),
        ({"_id": "a", "id": "b", "text": "x"}, "a"),
        ({"text": "x"}, "c.jsonl:1"),
        ({"_id": "", "text": "x"}, "c.jsonl:1"),
        ({"_id": None, "text": "x"}, "c.jsonl:1"),
    ],
)
def test_ids(row: dict[str, object], element_id: str) -> None:
    (found,) = rows(row)
    assert isinstance(found, Document)
    assert found.element_id == element_id


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{", "not valid JSON (Expecting property name enclosed in double quotes at column 2)"),
        ("[1]", "not a JSON object"),
        ({"text": 3}, "text is not a string"),
        ({"title": 3, "text": "x"}, "title is not a string"),
        ({"_id": "x"}, "there is no text"),
        ({"text": " \n "}, "there is no text"),
        ({"_id": True, "text": "x"}, "_id is neither a string nor a whole number"),
        ({"metadata": [], "text": "x"}, "metadata is not an object"),
        ({"_id": "first", "text": "x"}, "the id 'first' was used before; the first row was kept"),
        ('{"a": ' + "9" * 5000 + "}", "not usable JSON (a number too long, or nested too deeply)"),
        ('{"a": ' + "[" * 99_999, "not usable JSON (a number too long, or nested too deeply)"),
        ('{"text": "x", "metadata": {"a": ' + "[" * 90 + "]" * 90 + "}}",
         "the metadata is nested too deeply"),
    ],
)  # fmt: skip
def test_a_bad_row_is_reported_and_the_rest_goes_on(row: object, reason: str) -> None:
    first, skipped, last = rows({"_id": "first", "text": "a"}, row, {"_id": "last", "text": "b"})
    assert isinstance(first, Document)
    assert first.text == "a"
    assert skipped == Skipped("c.jsonl", f"line 2: {reason}")
    assert isinstance(last, Document)


def test_bytes_that_are_no_utf8_are_reported_for_their_line() -> None:
    data = b'{"text": "a"}\n{"text": "caf\xe9"}\n{"text": "b"}'
    _, skipped, _ = read_text(data, source="c.jsonl", format="jsonl")
    assert skipped == Skipped("c.jsonl", "line 2: not valid UTF-8 at byte 13 of the line")


def test_a_title_alone_is_enough() -> None:
    (found,) = rows({"_id": "x", "title": "Only a\ttitle", "text": ""})
    assert isinstance(found, Document)
    assert (found.title, found.text) == ("Only a title", "Only a title")


def test_what_no_store_can_hold_is_replaced() -> None:
    (found,) = rows('{"_id": "\\ud800", "text": "a\\u0000b\\udfff", "metadata": {"n": 1e999}}')
    assert isinstance(found, Document)
    assert (found.element_id, found.text) == ("\ufffd", "a\ufffdb\ufffd")
    assert found.metadata == {"n": None}


def test_blank_lines_are_passed_over_and_counted() -> None:
    (found,) = rows("", "  \r", {"text": "x"}, "")
    assert isinstance(found, Document)
    assert found.element_id == "c.jsonl:3"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_marked_encoding(encoding: str) -> None:
    data = '{"text": "é"}\n{"text": "–"}\n'.encode(encoding)
    assert [d.text for d in read_text(data, source="c", format="jsonl")] == ["é", "–"]  # type: ignore[union-attr]


def test_a_row_above_the_limit_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "_MAX_ROW", 100)
    long = json.dumps({"text": "x" * 1000})
    found = rows({"_id": "a", "text": "x"}, long, {"_id": "b", "text": "x"})
    assert [type(item) for item in found] == [Document, Skipped, Document]


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    text = "words of a passage " * 20
    with path.open("w") as file:
        file.writelines(f'{{"_id": "{i}", "text": "{text}"}}\n' for i in range(50_000))
    tracemalloc.start()
    count = sum(1 for _ in read(path, source="large.jsonl"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 50_000
    assert peak < 8_000_000 < path.stat().st_size / 2


def test_a_file_that_is_no_rows_is_given_up() -> None:
    found = rows({"_id": "a", "text": "x"}, *["no row"] * 200_000)
    assert len(found) == 1 + 10_001 + 1
    assert found[-1] == Skipped(
        "c.jsonl",
        "more than 10,000 lines cannot be used, and hardly any can; "
        "the rest from line 10003 on was not read",
    )


def test_many_bad_rows_among_as_many_good_ones_are_all_told() -> None:
    pairs = [line for n in range(10_500) for line in ({"_id": str(n), "text": "x"}, "no row")]
    found = rows(*pairs)
    assert sum(isinstance(item, Document) for item in found) == 10_500
    assert sum(isinstance(item, Skipped) for item in found) == 10_500


def test_an_id_without_end_does_not_make_a_reason_without_end() -> None:
    row = {"_id": "x" * 100_000, "text": "t"}
    _, double = rows(row, row)
    assert isinstance(double, Skipped)
    assert len(double.reason) < 300
