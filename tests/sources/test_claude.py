"""Claude exports: messages in order or by their parents, with what was attached to them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebook.model import Document, Skipped, Turn
from sourcebook.sources import read, read_text
from tests.sources.test_chatgpt import anything
from tests.sources.test_invariants import check

Json = Any


def chat(*messages: Json, **more: Json) -> dict[str, Json]:
    return {"uuid": "u1", "name": "A chat", "chat_messages": list(messages), **more}


def message(key: str, sender: str, text: str, **more: Json) -> dict[str, Json]:
    return {"uuid": key, "sender": sender, "text": text, **more}


def found(value: Json) -> list[Document | Skipped]:
    return list(read_text(json.dumps(value), source="c.json"))


def one(value: Json) -> Document:
    (document,) = found(value)
    assert isinstance(document, Document)
    check(document)
    return document


def turns(document: Document) -> list[Turn]:
    return [block.turn for block in document.blocks if block.turn]


def said(**fields: Json) -> str:
    return one(chat({"uuid": "m", "sender": "assistant", **fields})).text


def test_a_list_without_parents_is_a_line_of_messages() -> None:
    document = one(
        chat(
            message("1", "human", "Name a cat.", created_at="2025-06-01T12:00:00.000000Z"),
            message("2", "assistant", "Biscuit.", created_at="2025-06-01T14:00:00+02:00"),
            message("3", "assistant", "   "),
            message("4", "human", "Good."),
            created_at="2025-06-01T12:00:00Z",
            updated_at="2025-06-02T12:00:00Z",
            summary="Cats",
        )
    )
    assert (document.kind, document.format) == ("conversation", "claude")
    assert (document.element_id, document.title) == ("u1", "A chat")
    assert document.text == "Name a cat.\n\nBiscuit.\n\nGood."
    assert document.metadata == {
        "app": "claude",
        "created_at": "2025-06-01T12:00:00+00:00",
        "updated_at": "2025-06-02T12:00:00+00:00",
        "date": "2025-06-01",
        "roles": ["user", "assistant"],
        "summary": "Cats",
    }
    noon = "2025-06-01T12:00:00+00:00"
    assert turns(document) == [
        Turn("1", "user", noon, None, {"role": "user"}),
        Turn("2", "assistant", noon, "1", {"role": "assistant"}),
        Turn("4", "user", None, "2", {"role": "user"}),
    ]


def branched(**more: Json) -> dict[str, Json]:
    none = "00000000-0000-4000-8000-000000000000"
    return chat(
        message("q", "human", "Q", parent_message_uuid=none, created_at="2025-01-01T00:00:00Z"),
        message("a", "assistant", "A", parent_message_uuid="q", created_at="2025-01-01T00:01:00Z"),
        message("b", "assistant", "B", parent_message_uuid="q", created_at="2025-01-01T00:02:00Z"),
        message("c", "human", "C", parent_message_uuid="b", created_at="2025-01-01T00:03:00Z"),
        message("e", "human", "E", parent_message_uuid=none, created_at="2025-01-01T00:02:30Z"),
        **more,
    )


def test_branches_follow_the_parents() -> None:
    rows = [(t.id, t.reply_to, t.metadata.get("branch")) for t in turns(one(branched()))]
    assert rows == [
        ("q", None, None),
        ("b", "q", None),
        ("c", "b", None),
        ("a", "q", "alternative"),
        ("e", None, "alternative"),
    ]


def test_a_named_current_message_decides() -> None:
    assert one(branched(current_leaf_message_uuid="a")).text.startswith("Q\n\nA\n\n")


def test_a_message_whose_parent_is_lost_stays_in_line() -> None:
    record = branched()
    record["chat_messages"][3]["parent_message_uuid"] = "gone"
    document, warning = found(record)
    assert isinstance(document, Document)
    assert {t.id: t.reply_to for t in turns(document)}["c"] == "b"
    assert warning == Skipped(
        "c.json", "conversation 1: 1 message whose parent is lost put in line", taken=True
    )


def test_thinking_and_tools_are_part_of_the_message() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "I look it up."},
        {"type": "tool_use", "name": "repl", "input": {"n": 3, "code": "a\nb"}},
        {"type": "tool_result", "content": [{"type": "text", "text": "found"}]},
        {"type": "token_budget"},
    ]
    document = one(chat({"uuid": "m", "sender": "assistant", "text": "x", "content": content}))
    assert document.text == (
        "Hm.\n\nI look it up.\n\n[tool: repl]\n\nn: 3\n\n```\na\nb\n```\n\n```\nfound\n```"
    )
    kinds = ["thinking", "text", "tool_use", "tool_result", "token_budget"]
    assert turns(document)[0].metadata["content_types"] == kinds


def test_text_counts_where_the_content_has_none() -> None:
    assert said(text="T", content=[{"type": "thinking", "thinking": "H"}]) == "H\n\nT"
    assert said(text="T", content=[]) == "T"
    assert said(text="old", content=[{"type": "text", "text": "new"}]) == "new"


def test_attachments_are_kept_under_their_names() -> None:
    attached = [{"file_name": "a.rs", "extracted_content": "fn main() {}"}, {"file_name": "b.pdf"}]
    files = [{"file_name": "c.png"}]
    record = chat(message("m", "human", "See.", attachments=attached, files=files))
    document = one(record)
    assert document.text == "See.\n\n[file: a.rs]\n\nfn main() {}"
    assert turns(document)[0].metadata["attachments"] == ["a.rs", "b.pdf", "c.png"]
    assert said(text="", files=files) == "[file: c.png]"


def test_damage_is_told() -> None:
    document, warning, broken = found(
        [
            chat(
                5,
                message("m", "human", "One"),
                message("m", "human", "Two"),
                {"content": [{"type": "dream", "scene": "sheep"}, None]},
            ),
            {"uuid": "x", "chat_messages": None},
        ]
    )
    assert isinstance(document, Document)
    assert document.text == "One\n\nTwo\n\nsheep"
    assert [t.id for t in turns(document)] == ["m", "m#3", "message 4"]
    assert warning == Skipped(
        "c.json",
        "conversation 1: 1 message that cannot be used left out; 1 message with an id that was "
        "used before; content of an unknown kind (dream, not named), taken as far as it has words",
        taken=True,
    )
    assert broken == Skipped("c.json", "conversation 2: its chat_messages are not a list")


def test_counts_agree_with_an_export(data_dir: Path) -> None:
    path = data_dir / "chat_exports" / "claude_fixture_chatlore.json"
    records = json.loads(path.read_text())
    expected = {
        record["uuid"]: Counter(
            {"human": "user"}.get(m["sender"], m["sender"])
            for m in record["chat_messages"]
            if m["text"].strip() or any(c.get("text") for c in m.get("content", []))
        )
        for record in records
        if "chat_messages" in record
    }
    results = list(read(path, source=path.name))
    documents = [item for item in results if isinstance(item, Document)]
    assert expected == {d.element_id: Counter(t.speaker for t in turns(d)) for d in documents}
    assert len(results) == len(records)


messages = st.fixed_dictionaries(
    {},
    optional={
        "uuid": st.sampled_from("abc") | anything,
        "parent_message_uuid": st.sampled_from("abc") | anything,
        "sender": anything,
        "text": st.text(st.characters(), max_size=5) | anything,
        "content": st.lists(
            st.fixed_dictionaries(
                {"type": st.sampled_from(["text", "tool_use", "tool_result", "x"])},
                optional={"text": anything, "input": anything, "content": anything},
            ),
            max_size=3,
        )
        | anything,
        "attachments": anything,
        "created_at": anything,
    },
)


@settings(deadline=None, max_examples=300)
@given(st.lists(messages | anything, max_size=5), anything)
def test_nothing_in_a_record_raises(listed: Json, current: Json) -> None:
    for item in found(chat(*listed, current_leaf_message_uuid=current, uuid=current)):
        if isinstance(item, Document):
            check(item)
            ids = [turn.id for turn in turns(item)]
            assert len(ids) == len(set(ids))
            assert {turn.reply_to for turn in turns(item)} <= {None, *ids}


def test_a_kind_without_end_does_not_make_a_reason_without_end() -> None:
    piece = {"type": "k" * 100_000, "words": "w"}
    _, note = found(chat({"uuid": "m", "sender": "human", "content": [piece]}))
    assert isinstance(note, Skipped)
    assert len(note.reason) < 300


def test_a_conversation_without_end_is_refused() -> None:
    (refused,) = found(chat(*({} for _ in range(200_001))))
    assert refused == Skipped("c.json", "conversation 1: it has more than 200,000 messages")


def test_an_id_without_end_does_not_make_a_reason_without_end() -> None:
    same = chat(message("m", "human", "x"), uuid="u" * 100_000)
    _, double = found([same, same])
    assert isinstance(double, Skipped)
    assert len(double.reason) < 300
