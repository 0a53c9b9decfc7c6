"""What the readers of chat exports share: messages with their parents in, one document out.

A conversation is a tree, since a question can be edited and an answer given again. The branch
that is current comes first, the others follow and are marked as alternatives; every message keeps
the one it answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from datetime import UTC, datetime

from sourcebook.model import Block, Document, Json, Turn
from sourcebook.sources.raw import Raw
from sourcebook.sources.scrub import scrub

_GAP = "\n\n"
_TITLE_LENGTH = 80
_LONGEST_TIME = 40
_MAX_MESSAGES = 200_000
_LINE_ENDS = "\r\n"
_TICKS = re.compile("`{3,}")
_MILLISECONDS = 1e11
"""Seconds up to here are years up to 5138: a larger number counts milliseconds."""


class BadRecord(ValueError):
    """A conversation that cannot be taken in; the message says why."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it was said; `at` is ISO 8601 in UTC."""

    speaker: str
    text: str
    at: str | None
    metadata: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Order:
    """Ids of the current branch, then those of the other ones, and each one's parent."""

    current: list[str]
    others: list[str]
    parents: dict[str, str | None]
    repaired: int
    """Circles that were cut."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What an export says of one conversation, whichever program wrote it."""

    format: str
    element_id: str
    title: str
    created: str | None
    updated: str | None
    own: dict[str, Json]


def check_length(messages: Sized) -> None:
    if len(messages) > _MAX_MESSAGES:
        raise BadRecord(f"it has more than {_MAX_MESSAGES:,} messages")


def arrange(
    below: Mapping[str | None, Sequence[str]],
    parents: Mapping[str, str | None],
    current: str | None,
    newest: Callable[[str], str],
) -> Order:
    """The branches of a tree of any depth. Without a current node the newest leaf is taken."""
    above = dict(parents)
    seen: dict[str, None] = {}
    cut = 0
    for root in below.get(None, ()):
        _walk(root, below, seen)
    for node in parents:
        if node not in seen:
            top = _in_circle(node, above)
            above[top] = None
            cut += 1
            _walk(top, below, seen)
    if current is None or current not in above:
        leaves = [node for node in seen if not below.get(node)] or list(seen)
        current = max(reversed(leaves), key=newest, default=None)
    path = _path(current, above)
    on_path = set(path)
    return Order(path, [node for node in seen if node not in on_path], above, cut)


def _walk(top: str, below: Mapping[str | None, Sequence[str]], seen: dict[str, None]) -> None:
    todo = [top]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen[node] = None
            todo.extend(reversed(below.get(node, ())))


def _in_circle(node: str, above: Mapping[str, str | None]) -> str:
    """A node of the circle that going up from this one ends in."""
    passed = {node}
    while (parent := above[node]) is not None and parent not in passed:
        passed.add(parent)
        node = parent
    return node


def _path(node: str | None, above: Mapping[str, str | None]) -> list[str]:
    path = []
    while node is not None:
        path.append(node)
        node = above[node]
    return path[::-1]


def build(raw: Raw, about: Conversation, order: Order, messages: Mapping[str, Message]) -> Document:
    """The document of the messages; nodes of the tree without a message are passed over."""
    kept = [node for node in (*order.current, *order.others) if node in messages]
    if not kept:
        raise BadRecord("there are no messages with text")
    names = _unique(kept)
    answers = _answers(order, messages)
    current = set(order.current)
    blocks = []
    start = 0
    for node in kept:
        said = messages[node]
        branch = {} if node in current else {"branch": "alternative"}
        to = answers[node]
        turn = Turn(
            id=names[node],
            speaker=said.speaker,
            at=said.at,
            reply_to=None if to is None else names[to],
            metadata={**said.metadata, **branch},
        )
        blocks.append(Block("turn", start, start + len(said.text), turn=turn))
        start += len(said.text) + len(_GAP)
    return Document(
        element_id=about.element_id,
        title=about.title or _title(messages[kept[0]].text) or raw.name,
        text=_GAP.join(messages[node].text for node in kept),
        source=raw.source,
        format=about.format,
        blocks=tuple(blocks),
        metadata={**_metadata(about, [messages[node] for node in kept]), **raw.metadata},
        kind="conversation",
    )


def _answers(order: Order, messages: Mapping[str, Message]) -> dict[str, str | None]:
    """For each node the nearest one above it that has a message; parents come before children."""
    answers: dict[str, str | None] = {}
    for node in (*order.current, *order.others):
        parent = order.parents[node]
        answers[node] = parent if parent is None or parent in messages else answers[parent]
    return answers


def _unique(nodes: Iterable[str]) -> dict[str, str]:
    """A storable name for each node, its own where that is possible."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for number, node in enumerate(nodes, 1):
        name = scrub(node).strip() or f"message {number}"
        while name in taken:
            name = f"{name}#{number}"
        names[node] = name
        taken.add(name)
    return names


def _metadata(about: Conversation, messages: Sequence[Message]) -> dict[str, Json]:
    models = dict.fromkeys(m.metadata["model"] for m in messages if "model" in m.metadata)
    roles = dict.fromkeys(m.metadata["role"] for m in messages)
    found = {
        "app": about.format,
        "created_at": about.created,
        "updated_at": about.updated,
        "date": about.created[:10] if about.created else None,
        "model": list(models),
        "roles": list(roles),
        **about.own,
    }
    return {key: value for key, value in found.items() if value}


def _title(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip("`# \t")), "")
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"


def when(value: Json) -> str | None:
    """A moment in ISO 8601 and UTC, from seconds since 1970 or from text; else nothing."""
    try:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            seconds = value / 1000 if abs(value) > _MILLISECONDS else value
            return datetime.fromtimestamp(seconds, UTC).isoformat()
        if isinstance(value, str) and len(value) <= _LONGEST_TIME:
            moment = datetime.fromisoformat(value.strip())
            known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return known.astimezone(UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
    return None


def word(value: Json) -> str:
    """A name or an id on one line; nothing for what is no text."""
    return " ".join(scrub(value).split()) if isinstance(value, str) else ""


def fenced(code: str, language: str = "") -> str:
    """The text as a block of code; the fence is longer than any in it."""
    longest = max((len(run) for run in _TICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.strip(_LINE_ENDS)}\n{fence}" if code.strip() else ""


def as_json(value: Json) -> str:
    """A value as JSON text; nothing where it is nested too deeply."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


def many(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
