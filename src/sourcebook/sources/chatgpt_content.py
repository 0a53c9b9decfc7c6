"""One message's `content` of a ChatGPT export in; the words that were said out.

The kinds of content are those seen in exports since 2023. A kind that is not known is kept as far
as it has words, and the message says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from sourcebook.model import Json
from sourcebook.sources.conversation import as_json, fenced, word

_PLAIN_KEYS = ("title", "name", "url", "text", "content", "summary", "result")
"""Where content of other kinds has its words."""
_LABELS = re.compile(r"^(?:type|content_type|language|response_format_name|(?:.*_)?u?u?id)$")
_MAX_STRINGS = 10_000
Names = Mapping[str, str]
"""Of attachments, by their ids."""


def said(content: Json, recipient: str = "", names: Names | None = None) -> tuple[str, bool]:
    """The text, and whether all of the content was understood."""
    if isinstance(content, str):
        return content.strip(), True
    if not isinstance(content, dict):
        return anything(content), content is None
    kind = content.get("content_type")
    if not isinstance(kind, str) or kind not in _KINDS:
        placeholder = f"[{word(kind)}]" if word(kind) else ""
        return anything(content) or placeholder, not content
    if recipient.startswith("canmore.") and (canvas := _canvas(content)):
        return canvas, True
    text = _KINDS[kind](content, names or {})
    rest = "" if text else anything(content)
    return text or rest, not rest


def _text(content: dict[str, Json], names: Names) -> str:
    return _parts(content, names) or _string(content, "text")


def _parts(content: dict[str, Json], names: Names) -> str:
    parts = content.get("parts")
    return _joined(*(_part(part, names) for part in parts)) if isinstance(parts, list) else ""


def _part(part: Json, names: Names) -> str:
    if isinstance(part, str):
        return part.strip()
    if not isinstance(part, dict):
        return "" if part is None else as_json(part)
    kind = word(part.get("content_type"))
    text = _string(part, "text")
    if "image" in kind:
        return _joined(f"[image: {_image_name(part, names)}]".replace(": ]", "]"), text)
    if "audio" in kind or "video" in kind:
        return text or ("[audio]" if "audio" in kind else "[video]")
    return text or anything(part) or f"[{kind or 'something without words'}]"


def _image_name(part: dict[str, Json], names: Names) -> str:
    """The name it was given, or what it was made from, or its id."""
    pointer = word(part.get("asset_pointer")).rpartition("://")[2]
    metadata = part.get("metadata")
    dalle = metadata.get("dalle") if isinstance(metadata, dict) else None
    prompt = word(dalle.get("prompt")) if isinstance(dalle, dict) else ""
    return names.get(pointer) or prompt or pointer


def _code(content: dict[str, Json], names: Names) -> str:
    language = word(content.get("language"))
    plain = language in ("", "unknown") or not language.replace("+", "").isalnum()
    return fenced(_words(content, names), "" if plain else language)


def _output(content: dict[str, Json], names: Names) -> str:
    return fenced(_words(content, names))


def _words(content: dict[str, Json], names: Names) -> str:
    text = content.get("text")
    return text if isinstance(text, str) and text.strip() else _text(content, names)


def _thoughts(content: dict[str, Json], names: Names) -> str:
    thoughts = content.get("thoughts")
    found = thoughts if isinstance(thoughts, list) else []
    return _joined(*(_thought(thought) for thought in found)) or _fields(content, names)


def _thought(thought: Json) -> str:
    if not isinstance(thought, dict):
        return thought.strip() if isinstance(thought, str) else ""
    return _joined(_string(thought, "summary"), _string(thought, "content"))


def _fields(content: dict[str, Json], names: Names) -> str:
    return _joined(*(_string(content, key) for key in _PLAIN_KEYS), _parts(content, names))


def _context(content: dict[str, Json], _names: Names) -> str:
    """What the user told of themselves, or what the model remembered."""
    keys = ("user_profile", "user_instructions", "model_set_context")
    return _joined(*(_string(content, key) for key in keys))


def _canvas(content: dict[str, Json]) -> str:
    """A document that the assistant writes beside the chat: its name and its text."""
    try:
        order = json.loads(_words(content, {}))
    except (ValueError, RecursionError):
        return ""
    if not isinstance(order, dict) or not isinstance(order.get("content"), str):
        return ""
    group, _, language = word(order.get("type")).partition("/")
    body = order["content"].strip()
    text = fenced(body, language if language.isalnum() else "") if group == "code" else body
    return _joined(word(order.get("name")), text)


_KINDS: dict[str, Callable[[dict[str, Json], Names], str]] = {
    "text": _text,
    "multimodal_text": _text,
    "code": _code,
    "execution_output": _output,
    "thoughts": _thoughts,
    "reasoning_recap": _fields,
    "tether_quote": _fields,
    "tether_browsing_display": _fields,
    "system_error": _fields,
    "user_editable_context": _context,
    "model_editable_context": _context,
}


def _string(value: dict[str, Json], key: str) -> str:
    found = value.get(key)
    return found.strip() if isinstance(found, str) else ""


def _joined(*pieces: str) -> str:
    return "\n\n".join(piece for piece in pieces if piece)


def anything(value: Json) -> str:
    """Every text inside a value except ids and names of kinds, in order, once."""
    return _joined(*dict.fromkeys(text.strip() for text in _strings(value)))


def _strings(value: Json) -> Iterator[str]:
    """The strings inside a value however deep, without recursion."""
    todo = [value]
    found = 0
    while todo and found < _MAX_STRINGS:
        item = todo.pop()
        if isinstance(item, str):
            found += 1
            yield item
        elif isinstance(item, dict):
            todo += [item[key] for key in reversed(item) if not _LABELS.search(key)]
        elif isinstance(item, list):
            todo += reversed(item)
