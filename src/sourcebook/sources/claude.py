"""One conversation of a Claude export in; one document with a turn for each message out.

Messages come as a list. Newer exports name each one's parent, so that answers given again and
edited questions are branches; without parents the order of the list is the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sourcebook.model import Document, Json
from sourcebook.sources.chatgpt_content import anything
from sourcebook.sources.conversation import (
    BadRecord,
    Conversation,
    Message,
    arrange,
    as_json,
    build,
    check_length,
    fenced,
    many,
    when,
    word,
)
from sourcebook.sources.raw import Raw
from sourcebook.sources.scrub import scrub

Part = dict[str, Json]
_SPEAKERS = {"human": "user"}
_NO_PARENT = "00000000-0000-4000-8000-000000000000"
"""What the first message names as its parent."""
_SHORT = 200
_LONGEST_KIND = 40


@dataclass(slots=True)
class _Damage:
    """What was met on the way and is told in the end."""

    unusable: int = 0
    orphans: int = 0
    doubles: int = 0
    unknown: set[str] = field(default_factory=set)

    def notes(self) -> list[str]:
        kinds = ", ".join(kind[:_LONGEST_KIND] for kind in sorted(self.unknown)[:5])
        told = [
            (self.unusable, f"{many(self.unusable, 'message')} that cannot be used left out"),
            (self.orphans, f"{many(self.orphans, 'message')} whose parent is lost put in line"),
            (self.doubles, f"{many(self.doubles, 'message')} with an id that was used before"),
            (self.unknown, f"content of an unknown kind ({kinds}), taken as far as it has words"),
        ]
        return [note for count, note in told if count]


def conversation(raw: Raw, record: Part, number: int) -> tuple[Document, list[str]]:
    """The document and what had to be left out or repaired; raises BadRecord."""
    listed = record.get("chat_messages")
    if not isinstance(listed, list):
        raise BadRecord("its chat_messages are not a list")
    check_length(listed)
    damage = _Damage()
    found = _by_id(listed, damage)
    messages = {key: said for key, part in found.items() if (said := _message(part, damage))}
    parents = _parents(found, damage)
    below: dict[str | None, list[str]] = {}
    for key, parent in parents.items():
        below.setdefault(parent, []).append(key)
    current = record.get("current_leaf_message_uuid")
    known = current if isinstance(current, str) and current in found else None
    order = arrange(below, parents, known, lambda key: when(found[key].get("created_at")) or "")
    document = build(raw, _about(raw, record, number), order, messages)
    notes = damage.notes()
    if order.repaired:
        notes.append(f"{many(order.repaired, 'circle')} of messages cut open")
    return document, notes


def _about(raw: Raw, record: Part, number: int) -> Conversation:
    project = record.get("project")
    return Conversation(
        format="claude",
        element_id=word(record.get("uuid")) or f"{raw.source}#{number}",
        title=word(record.get("name")),
        created=when(record.get("created_at")),
        updated=when(record.get("updated_at")),
        own={
            "summary": word(record.get("summary")),
            "project": word(project.get("name")) if isinstance(project, dict) else "",
            "default_model": word(record.get("model")),
        },
    )


# --- the tree ------------------------------------------------------------------------------------


def _by_id(listed: list[Json], damage: _Damage) -> dict[str, Part]:
    found: dict[str, Part] = {}
    for number, part in enumerate(listed, 1):
        if not isinstance(part, dict):
            damage.unusable += 1
            continue
        own = part.get("uuid")
        key = own if isinstance(own, str) and own else f"message {number}"
        if key in found:
            damage.doubles += 1
            key = f"{key}#{number}"
        found[key] = part
    return found


def _parents(found: Mapping[str, Part], damage: _Damage) -> dict[str, str | None]:
    """Each message's parent; where no message names another one, the one before it."""
    named = {key: part.get("parent_message_uuid") for key, part in found.items()}
    linear = not any(isinstance(name, str) and name in found for name in named.values())
    parents: dict[str, str | None] = {}
    before: str | None = None
    for key, name in named.items():
        if isinstance(name, str) and name in found:
            parents[key] = name
        elif linear:
            parents[key] = before
        else:
            lost = before is not None and name is not None and name != _NO_PARENT
            parents[key] = before if lost else None
            damage.orphans += lost
        before = key
    return parents


# --- the messages --------------------------------------------------------------------------------


def _message(part: Part, damage: _Damage) -> Message | None:
    sender = word(part.get("sender")) or "unknown"
    role = _SPEAKERS.get(sender, sender)
    content = _list(part, "content")
    pieces = [_piece(piece, damage) for piece in content]
    attached = _list(part, "attachments")
    names = [name for file in (*attached, *_list(part, "files")) if (name := _name(file))]
    told = [piece for piece in content if _kind(piece) == "text" and _string(piece, "text")]
    plain = "" if told else _string(part, "text")
    text = _joined(*pieces, plain, *(_extract(file) for file in attached))
    text = scrub(text).strip() or "\n".join(f"[file: {name}]" for name in names)
    if not text:
        return None
    metadata = {
        "role": role,
        "model": word(part.get("model")),
        "content_types": list(dict.fromkeys(filter(None, map(_kind, content)))),
        "attachments": names,
    }
    at = when(part.get("created_at"))
    return Message(role, text, at, {key: value for key, value in metadata.items() if value})


def _kind(piece: Json) -> str:
    return word(piece.get("type")) if isinstance(piece, dict) else ""


def _piece(piece: Json, damage: _Damage) -> str:
    kind = _kind(piece)
    if kind in ("text", "thinking"):
        return _string(piece, kind)
    if kind == "tool_use":
        return _joined(f"[tool: {word(piece.get('name')) or 'unknown'}]", _input(piece))
    if kind == "tool_result":
        return fenced(anything(piece.get("content")))
    if kind == "token_budget":
        return ""
    damage.unknown.add(kind or "not named")
    return anything(piece) or (f"[{kind}]" if kind else "")


def _input(piece: Part) -> str:
    """What a tool was given: short values on a line each, long texts as blocks of their own."""
    given = piece.get("input")
    if not isinstance(given, dict):
        return given.strip() if isinstance(given, str) else ""
    lines, blocks = [], []
    for key, value in given.items():
        text = value.strip() if isinstance(value, str) else as_json(value)
        if "\n" in text or len(text) > _SHORT:
            blocks.append(fenced(text))
        elif text:
            lines.append(f"{word(key)}: {text}")
    return _joined("\n".join(lines), *blocks)


def _extract(file: Json) -> str:
    """An attachment's own text under its name."""
    text = _string(file, "extracted_content") if isinstance(file, dict) else ""
    return f"[file: {_name(file) or 'without a name'}]\n\n{text}" if text else ""


def _name(file: Json) -> str:
    return word(file.get("file_name")) or word(file.get("name")) if isinstance(file, dict) else ""


def _list(part: Part, key: str) -> list[Json]:
    found = part.get(key)
    return found if isinstance(found, list) else []


def _string(part: Part, key: str) -> str:
    found = part.get(key)
    return found.strip() if isinstance(found, str) else ""


def _joined(*pieces: str) -> str:
    return "\n\n".join(piece for piece in pieces if piece)
