"""One conversation of a ChatGPT export in; one document with a turn for each message out.

The export keeps a conversation as a tree: `mapping` from ids to nodes with a parent, children and
perhaps a message. Damage in the tree is repaired and told; only a conversation without any usable
message is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sourcebook.model import Document, Json
from sourcebook.sources.chatgpt_content import said
from sourcebook.sources.conversation import (
    BadRecord,
    Conversation,
    Message,
    arrange,
    build,
    check_length,
    many,
    when,
    word,
)
from sourcebook.sources.raw import Raw
from sourcebook.sources.scrub import scrub

Node = dict[str, Json]
_LONGEST_KIND = 40
_HIDDEN = "is_visually_hidden_from_conversation"


@dataclass(slots=True)
class _Damage:
    """What was met on the way and is told in the end."""

    unusable: int = 0
    wordless: int = 0
    orphans: int = 0
    unknown: set[str] = field(default_factory=set)

    def notes(self) -> list[str]:
        kinds = ", ".join(kind[:_LONGEST_KIND] for kind in sorted(self.unknown)[:5])
        told = [
            (self.unusable, f"{many(self.unusable, 'message')} that cannot be used left out"),
            (self.wordless, f"{many(self.wordless, 'message')} without text left out"),
            (self.orphans, f"{many(self.orphans, 'branch', 'branches')} with a lost beginning"),
            (self.unknown, f"content of an unknown kind ({kinds}), taken as far as it has words"),
        ]
        return [note for count, note in told if count]


def conversation(raw: Raw, record: dict[str, Json], number: int) -> tuple[Document, list[str]]:
    """The document and what had to be left out or repaired; raises BadRecord."""
    mapping = record.get("mapping")
    if not isinstance(mapping, dict):
        raise BadRecord("its mapping is not an object")
    check_length(mapping)
    damage = _Damage()
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    damage.unusable = len(mapping) - len(nodes)
    messages = _messages(nodes, damage)
    parents = _parents(nodes, damage)
    current = record.get("current_node")
    known = current if isinstance(current, str) and current in nodes else None
    order = arrange(_below(nodes, parents), parents, known, lambda node: _time(nodes[node]))
    document = build(raw, _about(raw, record, number), order, messages)
    notes = damage.notes()
    if current is not None and known is None:
        notes.append("its current message is not there, so the newest branch was taken")
    if order.repaired:
        notes.append(f"{many(order.repaired, 'circle')} of messages cut open")
    return document, notes


def _about(raw: Raw, record: dict[str, Json], number: int) -> Conversation:
    own_id = word(record.get("conversation_id")) or word(record.get("id"))
    return Conversation(
        format="chatgpt",
        element_id=own_id or f"{raw.source}#{number}",
        title=word(record.get("title")),
        created=when(record.get("create_time")),
        updated=when(record.get("update_time")),
        own={
            "gizmo_id": word(record.get("gizmo_id")),
            "default_model": word(record.get("default_model_slug")),
            "archived": record.get("is_archived") is True,
        },
    )


# --- the tree ------------------------------------------------------------------------------------


def _parents(nodes: Mapping[str, Node], damage: _Damage) -> dict[str, str | None]:
    """Each node's parent: the one that it names, else one that lists it as a child."""
    listed = {child: key for key, node in nodes.items() for child in _children(node)}
    parents: dict[str, str | None] = {}
    for key, node in nodes.items():
        parent = node.get("parent")
        named = isinstance(parent, str) and parent in nodes
        parents[key] = parent if named else listed.get(key)
        damage.orphans += parent is not None and parents[key] is None
    return parents


def _below(
    nodes: Mapping[str, Node], parents: Mapping[str, str | None]
) -> dict[str | None, list[str]]:
    """The children of each node, in the order in which it lists them."""
    below: dict[str | None, dict[str, None]] = {}
    for key, node in nodes.items():
        for child in _children(node):
            if child in parents and parents[child] == key:
                below.setdefault(key, {})[child] = None
    for key, parent in parents.items():
        below.setdefault(parent, {})[key] = None
    return {key: list(children) for key, children in below.items()}


def _children(node: Node) -> list[str]:
    children = node.get("children")
    return [c for c in children if isinstance(c, str)] if isinstance(children, list) else []


def _time(node: Node) -> str:
    message = node.get("message")
    return (when(message.get("create_time")) or "") if isinstance(message, dict) else ""


# --- the messages --------------------------------------------------------------------------------


def _messages(nodes: Mapping[str, Node], damage: _Damage) -> dict[str, Message]:
    messages = {}
    for key, node in nodes.items():
        message = node.get("message")
        if isinstance(message, dict):
            found = _message(message, damage)
            if found:
                messages[key] = found
        else:
            damage.unusable += message is not None
    return messages


def _message(message: Node, damage: _Damage) -> Message | None:
    author = _object(message, "author")
    role = word(author.get("role")) or "unknown"
    name = word(author.get("name"))
    about = _object(message, "metadata")
    recipient = word(message.get("recipient"))
    files = _attachments(about)
    content = message.get("content")
    text, understood = said(content, recipient, dict(files))
    text = scrub(text).strip() or "\n".join(f"[file: {name}]" for _, name in files)
    kind = word(content.get("content_type")) if isinstance(content, dict) else ""
    if not text:
        damage.wordless += not understood
        return None
    if not understood:
        damage.unknown.add(kind or "not named")
    metadata = {
        "role": role,
        "model": word(about.get("model_slug")),
        "content_type": kind,
        "recipient": "" if recipient == "all" else recipient,
        "attachments": [name for _, name in files],
        "hidden": about.get(_HIDDEN) is True,
    }
    speaker = f"{role}:{name}" if role == "tool" and name else role
    at = when(message.get("create_time"))
    return Message(speaker, text, at, {key: value for key, value in metadata.items() if value})


def _attachments(about: Node) -> list[tuple[str, str]]:
    """Ids and names."""
    found = about.get("attachments")
    files = [f for f in found if isinstance(f, dict)] if isinstance(found, list) else []
    pairs = [(word(f.get("id")), word(f.get("name")) or word(f.get("id"))) for f in files]
    return [(key, name) for key, name in pairs if name]


def _object(value: Node, key: str) -> Node:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
