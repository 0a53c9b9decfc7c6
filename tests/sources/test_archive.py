"""Zip files within bounds, and the exports that come as zip or as JSON."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebook.errors import UnreadableSource
from sourcebook.model import Document, Skipped
from sourcebook.sources import archive, jsonstream, read, read_text
from sourcebook.sources.archive import open_archive
from sourcebook.sources.jsonstream import items

Json = Any
MB = 1024 * 1024


def zipped(members: dict[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return made.getvalue()


def chatgpt(key: str, words: str = "Hello") -> dict[str, Json]:
    content = {"content_type": "text", "parts": [words]}
    said = {"author": {"role": "user"}, "content": content}
    return {"id": key, "mapping": {"m": {"message": said, "parent": None, "children": []}}}


def claude(key: str) -> dict[str, Json]:
    return {"uuid": key, "chat_messages": [{"uuid": "1", "sender": "human", "text": "Hello"}]}


def found(data: bytes | str, source: str = "x/export.zip") -> list[Document | Skipped]:
    return list(read_text(data, source=source))


def reason(data: bytes | str, source: str = "x/export.zip") -> str:
    (item,) = found(data, source)
    assert isinstance(item, Skipped)
    assert not item.taken
    return item.reason


def ids(results: list[Document | Skipped]) -> list[str]:
    return [item.element_id for item in results if isinstance(item, Document)]


# --- exports -------------------------------------------------------------------------------------


def test_the_zip_of_an_export_gives_its_conversations(tmp_path: Path) -> None:
    data = zipped(
        {
            "conversations.json": json.dumps([chatgpt("a"), claude("b")]),
            "chat.html": "<html>",
            "audio/a.wav": b"RIFF",
            "image.png": b"png",
            "other.png": b"png",
            "__MACOSX/conversations.json": "{}",
        }
    )
    (tmp_path / "e.zip").write_bytes(data)
    first, second, warning = read(tmp_path / "e.zip", source="x/e.zip", metadata={"k": 1})
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.element_id, first.format, first.source) == ("a", "chatgpt", "x/e.zip")
    assert (second.element_id, second.format, second.source) == ("b", "claude", "x/e.zip")
    assert first.metadata["k"] == 1
    assert warning == Skipped(
        "x/e.zip",
        "4 files beside the conversations not read (2 .png, 1 .html, 1 .wav)",
        taken=True,
    )


def test_a_split_export_in_a_folder_is_read_in_its_order() -> None:
    parts: dict[str, str | bytes] = {
        f"my/conversations-{n}.json": json.dumps([chatgpt(f"c{n}")]) for n in (10, 2, 0)
    }
    assert ids(found(zipped(parts))) == ["c0", "c2", "c10"]


def test_damage_in_one_part_leaves_the_others() -> None:
    data = zipped(
        {
            "conversations-000.json": json.dumps([chatgpt("a")])[:-1],
            "conversations-001.json": json.dumps([chatgpt("b"), chatgpt("a")]),
        }
    )
    first, damage, second, twice = found(data)
    assert ids([first, second]) == ["a", "b"]
    assert isinstance(damage, Skipped)
    assert damage.reason.startswith("conversations-000.json: not valid JSON at line 1 column ")
    assert isinstance(twice, Skipped)
    assert twice.reason == "conversation 3: the id 'a' was used before; the first one was kept"


def test_a_zip_without_conversations_says_what_is_understood() -> None:
    assert reason(zipped({"a.txt": "x"})) == (
        "the zip file holds no conversations.json; of zip files the data exports of ChatGPT and "
        "Claude are understood: unpack others and give the files inside"
    )
    assert reason(zipped({})).startswith("the zip file holds no conversations.json")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", "not a chat export: of JSON the conversations.json of ChatGPT and Claude are"),
        ("[1, 2]", "not a chat export"),
        ("7", "not a chat export"),
        ("[" + "{}," * 200 + "{}]", "not a chat export"),
        ("[]", "there are no conversations"),
        (" \n ", "the file is empty"),
        ('[\n {"mapping": }]', "not valid JSON at line 2 column 14: Expecting value; correct the"),
        ("[1 2]", "not valid JSON at line 1 column 4: a comma or a closing bracket is missing"),
        ("[1,]", "not valid JSON at line 1 column 4: Expecting value"),
        ("[1", "not valid JSON at line 1 column 3: a comma or a closing bracket is missing"),
        ('{"a": 1}\n{"a": 2}\n', "not valid JSON at line 2 column 1: more follows after the end"),
        ("[" * 100_000, "not valid JSON at line 1 column 2: nested too deeply"),
        ('{"a":' * 100_000, "not valid JSON at line 1 column 1: nested too deeply"),
        ("[" + "9" * 5000 + "]", "not valid JSON at line 1 column 2: nested too deeply, or with a"),
        ("hello", "not valid JSON at line 1 column 1: Expecting value"),
    ],
)
def test_other_json_is_refused_with_a_reason(text: str, expected: str) -> None:
    assert reason(text, "a.json").startswith(expected)
    assert len(reason(text, "a.json")) < 300


def test_rows_are_sent_to_the_format_for_rows() -> None:
    assert "rows of JSON belong in a .jsonl file" in reason('{"a": 1}\n{"a": 2}\n', "a.json")
    assert "rows of your own belong in a .jsonl file" in reason('[{"text": "x"}]', "a.json")


def test_bytes_that_are_no_utf8_are_refused() -> None:
    assert reason(b'["caf\xe9"]', "a.json") == (
        "not valid UTF-8 near byte 5; convert the file to UTF-8"
    )
    assert reason(b"\x89PNG\r\n\x1a\n\0\0", "a.json") == "binary content (PNG image)"


def test_json_in_utf16_and_in_one_object_is_read() -> None:
    text = json.dumps({"conversations": [chatgpt("a"), claude("b")]})
    assert ids(found(text.encode("utf-16"), "a.json")) == ["a", "b"]
    assert ids(found(json.dumps(chatgpt("a")), "a.json")) == ["a"]


def test_a_named_program_takes_only_its_own() -> None:
    text = json.dumps([chatgpt("a"), claude("b")])
    for format, key in (("chatgpt", "a"), ("claude", "b")):
        results = list(read_text(text, source="x", format=format))
        assert ids(results) == [key]
        assert len(results) == 2


def test_conversations_before_damage_are_kept() -> None:
    first, damage = found(json.dumps([chatgpt("a"), chatgpt("b")])[:-5], "a.json")
    assert ids([first]) == ["a"]
    assert isinstance(damage, Skipped)


def test_conversations_are_given_as_they_are_read() -> None:
    """The second half of the stream is never asked for."""

    class Half(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert self.tell() < 4 * MB
            return super().read(size)

    data = json.dumps([chatgpt(str(n), "x" * MB) for n in range(8)]).encode()
    assert next(items(Half(data)))["id"] == "0"


def test_endless_broken_records_are_given_up() -> None:
    results = found("[" + json.dumps(chatgpt("a")) + ",0" * 20_000 + "]", "a.json")
    assert len(results) == 10_002
    assert results[-1] == Skipped(
        "a.json", "more than 10,000 records cannot be used; the rest was not read"
    )


# --- the stream of items -------------------------------------------------------------------------


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@settings(deadline=None, max_examples=200)
@given(st.lists(values, max_size=6), st.sampled_from([None, 1]), st.integers(1, 9))
def test_items_are_those_of_json_wherever_the_text_is_cut(
    value: list[Json], indent: int | None, piece: int
) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonstream, "_PIECE", piece)
        patch.setattr(jsonstream, "_SNIFF", 3)
        assert list(items(io.BytesIO(text.encode()))) == value


@settings(deadline=None, max_examples=200)
@given(st.lists(values, max_size=3), st.integers(0, 40), st.text(st.characters(), max_size=3))
def test_damaged_json_is_valid_or_refused_as_json_says(
    value: list[Json], at: int, other: str
) -> None:
    text = json.dumps(value)
    text = (text[:at] + other + text[at + 1 :]).encode(errors="replace").decode()
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    try:
        got = list(items(io.BytesIO(text.encode())))
    except UnreadableSource:
        got = None
    assert got == (expected if expected is None or isinstance(expected, list) else [expected])


def test_a_record_may_be_long_but_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(["a", "b" * 3 * MB, "c"]).encode()
    assert [len(item) for item in items(io.BytesIO(text))] == [1, 3 * MB, 1]
    monkeypatch.setattr(jsonstream, "MAX_ITEM", 2 * MB)
    with pytest.raises(UnreadableSource, match="the record at line 1 column 7 is larger than 2 MB"):
        list(items(io.BytesIO(text)))


def test_a_record_of_too_many_parts_is_refused() -> None:
    text = b"[[" + b"[]," * 2_900_000 + b"[]]]"
    with pytest.raises(UnreadableSource, match="has too many parts"):
        list(items(io.BytesIO(text)))


def test_a_record_of_too_many_values_is_refused() -> None:
    text = b"[[" + b"1," * 4_500_000 + b"1]]"
    with pytest.raises(UnreadableSource, match="has too many parts"):
        list(items(io.BytesIO(text)))


# --- bounds --------------------------------------------------------------------------------------


def test_a_bomb_is_refused_before_it_is_read() -> None:
    bomb = zipped({"conversations.json": b" " * (60 * MB)})
    assert len(bomb) < 100_000
    assert "unpacks to more than 200 times its size" in reason(bomb)


def test_a_zip_of_more_than_two_gigabytes_is_refused() -> None:
    """It only declares the size: reading would not even begin."""
    data = bytearray(zipped({"conversations.json": "[]"}))
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = (2 * 1024**3 + 1).to_bytes(4, "little")
    assert "unpacks to more than 2 GB" in reason(bytes(data))


def test_large_media_beside_the_conversations_is_no_matter() -> None:
    data = zipped({"conversations.json": json.dumps([chatgpt("a")]), "v.mp4": b"0" * (60 * MB)})
    assert ids(found(data)) == ["a"]


def test_too_many_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 2)
    data = zipped({"conversations.json": "[]", "b": "", "c": ""})
    assert reason(data) == "the zip file holds more than 2 files; give it in smaller parts"


def test_too_many_conversation_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_WANTED", 2)
    data = zipped({f"conversations-{n}.json": "[]" for n in range(3)} | {"a.png": b"x"})
    assert reason(data) == "the zip file holds more than 2 files to read; give it in smaller parts"


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_ordinary_packing_is_read(packing: int) -> None:
    """The others give memory away: four bytes of LZMA ask for a dictionary of 4 GB."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", packing) as file:
        file.writestr("conversations.json", json.dumps([chatgpt("a")]))
    assert "packed in an unusual way" in reason(made.getvalue())


def test_a_password_is_named_as_the_reason() -> None:
    data = bytearray(zipped({"conversations.json": "[]"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert reason(bytes(data)) == (
        "the zip file is protected by a password; unpack it and give the files inside"
    )


def test_members_are_read_and_counted() -> None:
    opened = open_archive(io.BytesIO(zipped({"a.xml": "<a/>", "b.png": "x", "d/": ""})))
    assert opened.names == ["a.xml", "b.png"]
    assert opened.read("a.xml") == b"<a/>"
    assert not opened.others
    assert open_archive(io.BytesIO(zipped({"a": "x"})), lambda name: False).others == {"": 1}


def test_names_that_climb_are_only_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    data = zipped({"../conversations.json": json.dumps([chatgpt("a")])})
    assert ids(found(data)) == ["a"]
    assert not list(tmp_path.glob("*.json"))


GOOD = zipped({"conversations.json": json.dumps([chatgpt("a", "word " * 50)]), "b.png": b"x"})


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=6))
def test_damaged_zips_never_raise(changes: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD)
    for at, value in changes:
        data[at] = value
    assert found(bytes(data))


def test_a_member_without_a_name_is_no_matter() -> None:
    assert reason(GOOD.replace(b"conversations.json", b"\0onversations.json")).startswith("the zip")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_a_zip_or_json_reader_raise(data: bytes) -> None:
    for source in ("a.zip", "a.json"):
        assert found(data, source)
        assert found(b"PK\x03\x04" + data, source)
