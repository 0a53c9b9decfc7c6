"""ChatGPT exports: every message once, the current branch first, and nothing lost silently."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebook.model import Document, Skipped, Turn
from sourcebook.sources import read, read_text
from tests.sources.test_invariants import check

Json = Any


def message(role: str, content: Json, at: float | None = None, **more: Json) -> dict[str, Json]:
    name = more.pop("name", None)
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    author = {"role": role, "name": name}
    return {"author": author, "create_time": at, "content": content, **more}


def tree(*nodes: tuple[str, str | None, Json]) -> dict[str, Json]:
    """A mapping from (id, parent, message); children are listed in the order given."""
    mapping: dict[str, Json] = {
        key: {"id": key, "parent": parent, "children": [], "message": said}
        for key, parent, said in nodes
    }
    for key, parent, _ in nodes:
        if parent in mapping:
            mapping[parent]["children"].append(key)
    return mapping


def chat(mapping: Json, **more: Json) -> dict[str, Json]:
    return {"conversation_id": "c1", "title": "A chat", "mapping": mapping, **more}


def found(value: Json, **options: Any) -> list[Document | Skipped]:
    return list(read_text(json.dumps(value), source="chats.json", **options))


def one(value: Json) -> Document:
    (document,) = found(value)
    assert isinstance(document, Document)
    check(document)
    return document


def turns(document: Document) -> list[tuple[Turn, str]]:
    return [(b.turn, document.text[b.start : b.end]) for b in document.blocks if b.turn]


def texts(document: Document) -> list[str]:
    return [text for _, text in turns(document)]


def said(content: Json, **more: Json) -> str:
    return one(chat(tree(("m", None, message("assistant", content, **more))))).text


def test_a_conversation_is_one_document_with_its_times() -> None:
    mapping = tree(
        ("root", None, None),
        ("hidden", "root", message("system", "")),
        ("q", "hidden", message("user", "Which bird hums?", 86400.0)),
        ("a", "q", message("assistant", "A hummingbird.", 86401.5, metadata={"model_slug": "m1"})),
        ("q2", "a", message("user", "Thanks.")),
    )
    document = one(
        [chat(mapping, create_time=86400, update_time=172800.25, current_node="q2", gizmo_id="g1")]
    )
    assert (document.kind, document.format) == ("conversation", "chatgpt")
    assert (document.element_id, document.title, document.source) == ("c1", "A chat", "chats.json")
    assert document.text == "Which bird hums?\n\nA hummingbird.\n\nThanks."
    assert document.metadata == {
        "app": "chatgpt",
        "created_at": "1970-01-02T00:00:00+00:00",
        "updated_at": "1970-01-03T00:00:00.250000+00:00",
        "date": "1970-01-02",
        "model": ["m1"],
        "roles": ["user", "assistant"],
        "gizmo_id": "g1",
    }
    user = {"role": "user", "content_type": "text"}
    assert [turn for turn, _ in turns(document)] == [
        Turn("q", "user", "1970-01-02T00:00:00+00:00", None, user),
        Turn(
            "a",
            "assistant",
            "1970-01-02T00:00:01.500000+00:00",
            "q",
            {"role": "assistant", "model": "m1", "content_type": "text"},
        ),
        Turn("q2", "user", None, "a", user),
    ]


BRANCHES = tree(
    ("root", None, None),
    ("q", "root", message("user", "First wording", 1.0)),
    ("a", "q", message("assistant", "Old answer", 9.0)),
    ("a2", "q", message("assistant", "New answer", 2.0)),
    ("q2", "a2", message("user", "And then?", 3.0)),
    ("edited", "root", message("user", "Second wording", 4.0)),
    ("b", "edited", message("assistant", "Answer to that", 5.0)),
)


def test_other_branches_come_last_and_are_marked() -> None:
    document = one(chat(BRANCHES, current_node="q2"))
    rows = [(t.id, t.reply_to, t.metadata.get("branch")) for t, _ in turns(document)]
    assert rows == [
        ("q", None, None),
        ("a2", "q", None),
        ("q2", "a2", None),
        ("a", "q", "alternative"),
        ("edited", None, "alternative"),
        ("b", "edited", "alternative"),
    ]


def test_without_a_current_message_the_newest_leaf_is_current() -> None:
    current = [t.id for t, _ in turns(one(chat(BRANCHES))) if "branch" not in t.metadata]
    assert current == ["q", "a"]  # its answer was given at 9


def test_a_lost_current_message_is_told() -> None:
    document, warning = found(chat(BRANCHES, current_node="gone"))
    assert isinstance(document, Document)
    assert document.text.startswith("First wording\n\nOld answer\n\n")
    reason = "conversation 1: its current message is not there, so the newest branch was taken"
    assert warning == Skipped("chats.json", reason, taken=True)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"content_type": "text", "parts": ["one", "", "two"]}, "one\n\ntwo"),
        ({"content_type": "code", "language": "sql", "text": "SELECT 1"}, "```sql\nSELECT 1\n```"),
        ({"content_type": "code", "language": "unknown", "text": "x = 1\n"}, "```\nx = 1\n```"),
        ({"content_type": "code", "text": "```\na\n```"}, "````\n```\na\n```\n````"),
        ({"content_type": "execution_output", "text": "42"}, "```\n42\n```"),
        ({"content_type": "execution_output", "parts": ["42"]}, "```\n42\n```"),
        ({"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "C"}]}, "S\n\nC"),
        ({"content_type": "reasoning_recap", "content": "Thought for 5 s"}, "Thought for 5 s"),
        (
            {"content_type": "tether_quote", "url": "u.org", "title": "T", "text": "words"},
            "T\n\nu.org\n\nwords",
        ),
        ({"content_type": "tether_browsing_display", "result": "found", "summary": ""}, "found"),
        ({"content_type": "system_error", "name": "Oops", "text": "it broke"}, "Oops\n\nit broke"),
        (
            {
                "content_type": "user_editable_context",
                "user_profile": "P",
                "user_instructions": "I",
            },
            "P\n\nI",
        ),
        ("plain words", "plain words"),
    ],
)
def test_each_kind_of_content_keeps_its_words(content: Json, text: str) -> None:
    assert said(content) == text


def test_images_and_sound_are_named() -> None:
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"},
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://f2"},
        {"content_type": "image_asset_pointer", "metadata": {"dalle": {"prompt": "a red kite"}}},
        {"content_type": "image_asset_pointer"},
        {"content_type": "audio_transcription", "text": "spoken words"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "x"},
        "Look.",
    ]
    content = {"content_type": "multimodal_text", "parts": parts}
    files = {"attachments": [{"id": "f1", "name": "roof.jpg"}]}
    mapping = tree(("m", None, message("user", content, metadata=files)))
    ((turn, text),) = turns(one(chat(mapping)))
    assert text.split("\n\n") == [
        *("[image: roof.jpg]", "[image: f2]", "[image: a red kite]", "[image]"),
        *("spoken words", "[audio]", "Look."),
    ]
    assert turn.metadata["attachments"] == ["roof.jpg"]


def test_a_message_that_is_only_a_file_is_kept() -> None:
    assert said("", metadata={"attachments": [{"id": "1", "name": "a.pdf"}]}) == "[file: a.pdf]"


def test_tools_are_named_and_calls_keep_their_recipient() -> None:
    mapping = tree(
        ("c", None, message("assistant", {"content_type": "code", "text": "1"}, recipient="py")),
        ("o", "c", message("tool", {"content_type": "execution_output", "text": "1"}, name="py")),
        ("t", "o", message("tool", "done")),
    )
    rows = turns(one(chat(mapping)))
    assert [turn.speaker for turn, _ in rows] == ["assistant", "tool:py", "tool"]
    assert [turn.metadata.get("recipient") for turn, _ in rows] == ["py", None, None]


def test_a_canvas_is_its_document() -> None:
    order = {"name": "plan", "type": "code/python", "content": "a = 1\nb = 2"}
    content = {"content_type": "code", "language": "json", "text": json.dumps(order)}
    assert said(content, recipient="canmore.create_textdoc") == (
        "plan\n\n```python\na = 1\nb = 2\n```"
    )
    assert said(content).startswith("```json\n{")


def test_unknown_content_is_kept_and_told() -> None:
    content = {"content_type": "hologram", "layers": [{"caption": "a blue whale"}], "size": 3}
    document, warning = found(chat(tree(("m", None, message("user", content)))))
    assert isinstance(document, Document)
    assert document.text == "a blue whale"
    assert isinstance(warning, Skipped)
    assert warning.taken
    assert "unknown kind (hologram)" in warning.reason
    (empty, _) = found(chat(tree(("m", None, message("user", {"content_type": "smell"})))))
    assert isinstance(empty, Document)
    assert empty.text == "[smell]"


def test_hidden_words_are_kept_and_marked() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    document = one(chat(tree(("s", None, message("system", "Be brief.", metadata=hidden)))))
    assert turns(document)[0][0].metadata["hidden"] is True


def test_messages_without_words_are_counted_unless_they_are_placeholders() -> None:
    mapping = tree(
        ("s", None, message("system", "")),
        ("e", "s", message("assistant", "")),
        ("n", "e", message("assistant", 7)),
        ("l", "n", "not a message"),
        ("q", "l", message("user", "Words")),
    )
    document, warning = found(chat(mapping))
    assert isinstance(document, Document)
    assert texts(document) == ["Words"]
    assert warning == Skipped(
        "chats.json",
        "conversation 1: 1 message that cannot be used left out; 1 message without text left out",
        taken=True,
    )


def test_broken_records_are_told_and_the_rest_goes_on() -> None:
    good = chat(tree(("m", None, message("user", "Kept"))))
    records = [
        *(5, {"title": "no mapping"}, good, {"mapping": []}, good),
        *({"mapping": {}}, None, {"mapping": {"x": {"message": message("user", "No id")}}}),
    ]
    results = found(records)
    reasons = [item.reason for item in results if isinstance(item, Skipped)]
    assert reasons == [
        "conversation 1: not an object",
        "conversation 2: there is no mapping or chat_messages in it",
        "conversation 4: its mapping is not an object",
        "conversation 5: the id 'c1' was used before; the first one was kept",
        "conversation 6: there are no messages with text",
        "conversation 7: not an object",
    ]
    documents = [item for item in results if isinstance(item, Document)]
    assert [(d.element_id, d.title) for d in documents] == [
        ("c1", "A chat"),
        ("chats.json#8", "No id"),
    ]


def test_circles_are_cut_and_lost_parents_begin_a_branch() -> None:
    mapping = tree(
        ("t", "b", message("user", "tail", 3.0)),
        ("a", "b", message("user", "first", 1.0)),
        ("b", "a", message("assistant", "second", 2.0)),
        ("o", "gone", message("user", "orphan", 0.5)),
        ("self", "self", message("user", "own parent", 0.1)),
    )
    document, warning = found(chat(mapping))
    assert isinstance(document, Document)
    check(document)
    assert sorted(texts(document)) == ["first", "orphan", "own parent", "second", "tail"]
    answers = {turn.id: turn.reply_to for turn, _ in turns(document)}
    assert answers["t"] == "b"
    assert answers["o"] is None
    assert [answers["a"], answers["b"]].count(None) == 1
    assert isinstance(warning, Skipped)
    assert "1 branch with a lost beginning" in warning.reason
    assert "2 circles of messages cut open" in warning.reason


def test_a_child_that_forgot_its_parent_is_found_by_the_list() -> None:
    mapping = tree(("q", None, message("user", "Q")), ("a", "q", message("assistant", "A")))
    mapping["a"]["parent"] = None
    assert turns(one(chat(mapping)))[1][0].reply_to == "q"


def test_an_answer_reaches_over_messages_without_words() -> None:
    mapping = tree(
        ("q", None, message("user", "Q")),
        ("e", "q", message("assistant", "")),
        ("n", "e", None),
        ("a", "n", message("assistant", "A")),
    )
    assert [turn.reply_to for turn, _ in turns(one(chat(mapping)))] == [None, "q"]


def test_a_chain_of_100000_messages_is_no_problem() -> None:
    nodes: list[tuple[str, str | None, Json]] = [("0", None, None)]
    nodes += [(str(i), str(i - 1), message("user", f"word{i}")) for i in range(1, 100_001)]
    document = one(chat(tree(*nodes)))
    assert len(document.blocks) == 100_000
    assert document.blocks[-1].turn is not None
    assert document.blocks[-1].turn.reply_to == "99999"


def test_strings_that_no_store_can_hold_are_replaced() -> None:
    document = one(chat(tree(("m\ud800", None, message("user", "a\0b\udfff"))), title="\ud800x"))
    assert (document.text, document.title) == ("a\ufffdb\ufffd", "\ufffdx")
    assert turns(document)[0][0].id == "m\ufffd"


@pytest.mark.parametrize("at", [1e300, -1e300, True, "soon", [], 10**30, float("nan")])
def test_impossible_times_are_no_times(at: Json) -> None:
    document = one(chat(tree(("m", None, message("user", "x", at))), create_time=at))
    assert turns(document)[0][0].at is None
    assert "date" not in document.metadata


def test_what_the_caller_says_outranks_the_export() -> None:
    (document,) = found(chat(BRANCHES, create_time=1), metadata={"date": "today"})
    assert isinstance(document, Document)
    assert document.metadata["date"] == "today"


def plain_words(content: Json) -> bool:
    """An independent look for words, in the fields where these exports have them."""
    pieces = [*content.get("parts", []), content.get("text", "")]
    pieces += [t["content"] for t in content.get("thoughts", [])]
    return any(isinstance(piece, str) and piece.strip() for piece in pieces)


@pytest.mark.parametrize(
    "name", ["chatgpt_realazthat", "chatgpt_fixture_chatlore", "chatgpt_fixture_aggregator"]
)
def test_counts_agree_with_real_exports(data_dir: Path, name: str) -> None:
    path = data_dir / "chat_exports" / f"{name}.json"
    records = json.loads(path.read_text())
    expected = {}
    for record in records:
        messages = [n["message"] for n in record.get("mapping", {}).values() if n["message"]]
        roles = Counter(m["author"]["role"] for m in messages if plain_words(m["content"]))
        if roles:
            expected[record.get("conversation_id") or record.get("id")] = roles
    results = list(read(path, source=path.name))
    documents = [item for item in results if isinstance(item, Document)]
    for document in documents:
        check(document)
    assert expected == {
        d.element_id: Counter(turn.metadata["role"] for turn, _ in turns(d)) for d in documents
    }
    refused = [item for item in results if isinstance(item, Skipped) and not item.taken]
    assert len(documents) + len(refused) == len(records)
    assert len(results) == len(records)  # no warnings


keys = st.sampled_from(
    """id parent children message mapping current_node author role name content content_type parts
    text thoughts create_time metadata attachments title recipient conversation_id conversations
    chat_messages uuid sender type input parent_message_uuid extracted_content""".split()
)
words = st.sampled_from(
    ["a", "b", "", "text", "code", "multimodal_text", "tool_use", "canmore.x", "2024-01-01"]
)
scalars = st.none() | st.booleans() | st.floats() | st.integers() | words | st.text(max_size=3)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys | st.sampled_from(["a", "b"]), inner, max_size=6)
    ),
    max_leaves=25,
)
nodes = st.dictionaries(
    st.sampled_from("abcde"),
    st.fixed_dictionaries(
        {"parent": st.sampled_from("abcde") | anything, "children": anything},
        optional={
            "message": anything
            | st.fixed_dictionaries({"content": anything, "author": anything, "metadata": anything})
        },
    ),
    max_size=5,
)


@settings(deadline=None, max_examples=400)
@given(st.lists(st.fixed_dictionaries({"mapping": nodes | anything}) | anything, max_size=3))
def test_nothing_in_a_record_raises(records: Json) -> None:
    for item in found(records):
        if isinstance(item, Document):
            check(item)
            ids = [turn.id for turn, _ in turns(item)]
            assert len(ids) == len(set(ids))
            assert {turn.reply_to for turn, _ in turns(item)} <= {None, *ids}
        else:
            assert item.reason


def test_names_of_turns_stay_apart_whatever_the_ids_are() -> None:
    keys = ["a#3", "a", " a", "a ", "a#4"]
    document = one(chat(tree(*((key, None, message("user", "x")) for key in keys))))
    names = [turn.id for turn, _ in turns(document)]
    assert len(set(names)) == len(keys)


def test_a_kind_without_end_does_not_make_a_reason_without_end() -> None:
    said = message("user", {"content_type": "k" * 100_000, "words": "w"})
    _, note = found(chat(tree(("a", None, said))))
    assert isinstance(note, Skipped)
    assert len(note.reason) < 300


def test_a_conversation_without_end_is_refused() -> None:
    (refused,) = found(chat({str(n): {} for n in range(200_001)}))
    assert refused == Skipped("chats.json", "conversation 1: it has more than 200,000 messages")
