"""A random generator and sound files in; one damaged file out, always the same for the same seed.

Every format is damaged as bytes; those with a structure also where their readers look: keys and
values of JSON, tags and attributes of XML, the members of a zip file, the numbers of a PDF.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

from tests.sources.fuzz_bytes import (
    PIECES,
    Change,
    change_bytes,
    change_numbers,
    inserter,
    recoded,
    spliced,
)
from tests.sources.fuzz_seeds import ENDINGS, seeds, unzipped

_ZIPS = {"chatgpt-zip": "json", "docx": "xml", "archi-zip": "xml"}
_LONG = 200_000
_DEEP = (20, 300, 1_100, 30_000)
_HOLE = "\ue000hole\ue000"
_STRINGS = ("", " ", "\0", "\ud800", "\udfff\ud800", "\u2028", "x" * _LONG, "0", "é", "\ufeff")
_NUMBERS = (0, -1, 1e308, float("nan"), float("inf"), -float("inf"), 10**400, 2**63, 0.1, True)
_ATTRIBUTE = re.compile(rb'([\w:.-]+)\s*=\s*("[^"]*"|\'[^\']*\')')
_TAG = re.compile(rb"<[^<>]*>")


def mutated(kind: str, random: Random) -> bytes:
    """One damaged file of a kind."""
    data = random.choice(seeds(kind))
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        data = random.choice(_changes(kind))(data, random)
    return data


def name(kind: str, random: Random) -> str:
    """A file name, now and then one that does not fit the content."""
    fits = random.random() < 0.95
    return f"a.{ENDINGS[kind] if fits else random.choice([*ENDINGS.values(), 'doc', 'bin'])}"


def _changes(kind: str) -> list[Change]:
    if kind in _ZIPS:
        return [change_bytes, _in_zip, _in_zip, _in_zip, _repacked]
    own = {"chatgpt": "json", "claude": "json", "jsonl": "json", "exchange": "xml", "archi": "xml"}
    family = own.get(kind, kind)
    changes = [change_bytes, inserter(family), recoded, spliced]
    if kind == "jsonl":
        return [*changes, *[_rows] * 3]
    aware = {"json": [_json] * 4, "xml": [_xml] * 4, "html": [_xml], "pdf": [change_numbers] * 3}
    return [*changes, *aware.get(family, [])]


# --- JSON ----------------------------------------------------------------------------------------


def _json(data: bytes, random: Random) -> bytes:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return change_bytes(data, random)
    for _ in range(random.choice((1, 2, 8))):
        value = _changed_value(value, random)
    written = json.dumps(value, ensure_ascii=True, skipkeys=True)
    deep = random.choice(_DEEP)
    left, right = random.choice((("[", "]"), ('{"a":', "}")))
    hole = json.dumps(_HOLE)
    return written.replace(hole, left * deep + "1" + right * deep).encode()


def _rows(data: bytes, random: Random) -> bytes:
    rows = data.split(b"\n")
    at = random.randrange(len(rows))
    rows[at] = random.choice((_json, change_bytes, inserter("json")))(rows[at], random)
    if random.random() < 0.3:
        rows.append(random.choice(rows))
    return random.choice((b"\n", b"\n", b"\r\n", b"\n\n")).join(rows)


def _changed_value(root: Any, random: Random) -> Any:
    """The value with one place in it changed."""
    places = list(_places(root))
    if not places:
        return random.choice(({}, [], 1, None, [root]))
    holder, key = random.choice(places)
    other_holder, other_key = random.choice(places)
    change = random.randrange(8)
    if change == 0:
        del holder[key]
    elif change == 1:
        holder[key] = random.choice((None, [], {}, [None], {"": []}, [[]], _HOLE))
    elif change == 2:
        holder[key] = random.choice(_NUMBERS)
    elif change == 3:
        holder[key] = random.choice(_STRINGS)
    elif change == 4:  # as ids that are used twice, and parents in circles
        holder[key] = json.loads(json.dumps(other_holder[other_key]))
    elif change == 5 and isinstance(holder, dict):
        holder[random.choice((*_STRINGS, str(other_key)))] = holder.pop(key)
    elif change == 6 and isinstance(holder, list):
        holder.reverse()
    else:
        holder[key] = [holder[key]]
    return root


def _places(root: Any) -> list[tuple[Any, Any]]:
    found, todo = [], [root]
    while todo and len(found) < 20_000:
        value = todo.pop()
        pairs = list(value.items()) if isinstance(value, dict) else []
        pairs = list(enumerate(value)) if isinstance(value, list) else pairs
        found += [(value, key) for key, _ in pairs]
        todo += [inner for _, inner in pairs]
    return found


# --- XML -----------------------------------------------------------------------------------------


def _xml(data: bytes, random: Random) -> bytes:
    tags = list(_TAG.finditer(data))
    if not tags:
        return change_bytes(data, random)
    tag, other = random.choice(tags), random.choice(tags)
    before, after = data[: tag.start()], data[tag.end() :]
    deep = random.choice(_DEEP)
    options: list[Callable[[], bytes]] = [
        lambda: before + after,
        lambda: before + tag[0] * 2 + after,
        lambda: before + other[0] + after,
        lambda: before + tag[0] + random.choice(PIECES["xml"]) + after,
        lambda: before + b"<a>" * deep + tag[0] + b"</a>" * deep + after,
        lambda: before + _attribute(tag[0], other[0], random) + after,
        lambda: before + _attribute(tag[0], other[0], random) + after,
        lambda: before + _attribute(tag[0], other[0], random) + after,
        lambda: before + _element(data, tag.start(), random) + data[tag.start() :],
    ]
    return random.choice(options)()


def _attribute(tag: bytes, other: bytes, random: Random) -> bytes:
    found = list(_ATTRIBUTE.finditer(tag))
    if not found:
        return tag[:-1] + b' id="x" id="x"' + tag[-1:]
    one = random.choice(found)
    values = [m[2] for m in _ATTRIBUTE.finditer(other)]
    values += [b'""', b'" "', b'"' + b"x" * _LONG + b'"', b'"&#xd;"', b'"-1"', b'"99999999999"']
    value = random.choice(values)
    if random.random() < 0.2:
        return tag[: one.start()] + tag[one.end() :]
    return tag[: one.start(2)] + value + tag[one.end(2) :]


def _element(data: bytes, start: int, random: Random) -> bytes:
    """Some elements of the file once more: ids come twice, the order is another."""
    ends = [m.end() for m in _TAG.finditer(data, start)][:60]
    return data[start : random.choice(ends)] if ends else b""


# --- zip files -----------------------------------------------------------------------------------


def _in_zip(data: bytes, random: Random) -> bytes:
    """One member damaged, the file around it sound."""
    try:
        parts = unzipped(data)
    except Exception:  # noqa: BLE001 - it is damaged already
        return change_bytes(data, random)
    if not parts:
        return change_bytes(data, random)
    at = random.randrange(len(parts))
    name, inside = parts[at]
    change = _json if name.endswith(".json") else _xml
    for _ in range(random.choice((1, 3))):
        inside = random.choice((change, change, change, change_bytes, recoded, spliced))(
            inside, random
        )
    parts[at] = (name, inside)
    return _packed(parts, zipfile.ZIP_DEFLATED)


def _repacked(data: bytes, random: Random) -> bytes:
    """The members in another order, packed in another way, twice, or under another name."""
    try:
        parts = unzipped(data)
    except Exception:  # noqa: BLE001 - it is damaged already
        return change_bytes(data, random)
    random.shuffle(parts)
    if parts and random.random() < 0.5:
        parts.append(random.choice(parts))
    if parts and random.random() < 0.5:
        names = (".", "a\0b", "../../x", "/", "é" * 300, "conversations.json", "x/model.xml")
        parts[0] = (random.choice(names), parts[0][1])
    ways = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    junk = random.randbytes(20) if random.random() < 0.1 else b""
    packed = junk + _packed(parts, random.choice(ways))
    return change_bytes(packed, random) if random.random() < 0.5 else packed


def _packed(parts: list[tuple[str, bytes]], way: int) -> bytes:
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", way) as archive:
        warnings.simplefilter("ignore")  # of a name that comes twice
        for name, data in parts:
            archive.writestr(name, data)
    return packed.getvalue()
