"""A file of golden questions in, checked questions out; what is wrong in it is one sentence with
its line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sourcebook.errors import InvalidInput
from sourcebook.history import parse_read_context
from sourcebook.model import Filter, Json, ReadContext

_LISTS = ("must_include", "any_of", "must_not_include")
_KEYS = ("id", "query", *_LISTS, "read_context", "answerable", "filters")
_IGNORED = frozenset({"note", "topic", "near", "model", "through"})
"""For those who write the questions."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    query: str
    wanted: tuple[tuple[str, ...], ...] = ()
    """Each of these must be found, by any of its names."""
    must_not_include: tuple[str, ...] = ()
    read_context: ReadContext = ReadContext()
    answerable: bool = True
    filters: tuple[Filter, ...] = ()


def read_questions(file: Path) -> list[Question]:
    found: dict[str, Question] = {}
    for number, line in enumerate(_text(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            question = _question(_row(line))
            if question.id in found:
                raise InvalidInput(f"the id {question.id!r} is there twice; give each its own")
        except InvalidInput as error:
            raise InvalidInput(f"{file}, line {number}: {error}", field="path") from None
        found[question.id] = question
    if not found:
        raise InvalidInput(
            f'{file} holds no question; write one a line, such as {{"id": "1", "query": "…", '
            '"must_include": ["…"]}',
            field="path",
        )
    return list(found.values())


def _text(file: Path) -> str:
    """A byte order mark is passed over."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8; save it as UTF-8 text", field="path") from None


def _row(line: str) -> Mapping[str, Json]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidInput("not a whole JSON object; a question stands on one line") from None
    if not isinstance(row, dict):
        raise InvalidInput('not a JSON object such as {"id": "1", "query": "…"}')
    return row


def _question(row: Mapping[str, Json]) -> Question:
    if unknown := row.keys() - _IGNORED - set(_KEYS):
        raise InvalidInput(f"the key {min(unknown)!r} is not known; known are {', '.join(_KEYS)}")
    for key in ("id", "query"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise InvalidInput(f"{key!r} is needed and must be a text")
    must, any_of, must_not = (_names(row, key) for key in _LISTS)
    answerable = row.get("answerable", True)
    if not isinstance(answerable, bool):
        raise InvalidInput("'answerable' must be true or false")
    if not answerable and (must or any_of):
        raise InvalidInput("a question that is not answerable cannot say what must be found")
    context = row.get("read_context", "head")
    if not isinstance(context, str):
        raise InvalidInput("'read_context' must be a text such as \"published\"")
    return Question(
        id=row["id"],
        query=row["query"],
        wanted=(*((name,) for name in must), *([any_of] if any_of else [])),
        must_not_include=must_not,
        read_context=parse_read_context(context),
        answerable=answerable,
        filters=_filters(row.get("filters", {})),
    )


def _names(row: Mapping[str, Json], key: str) -> tuple[str, ...]:
    names = row.get(key, [])
    if not isinstance(names, list) or not all(isinstance(n, str) and n.strip() for n in names):
        raise InvalidInput(f"{key!r} must be a list of ids, headings or file names")
    return tuple(dict.fromkeys(names))


def _filters(given: Json) -> tuple[Filter, ...]:
    """One value or several of which any will do, as metadata has them."""
    if not isinstance(given, dict):
        raise InvalidInput('\'filters\' must be an object such as {"department": "finance"}')
    return tuple(Filter(key, _values(key, value)) for key, value in given.items())


def _values(key: str, value: Json) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, str | bool | int | float) for each in values):
        raise InvalidInput(f"the filter {key!r} must have a value or a list of values")
    return tuple(json.dumps(each) if isinstance(each, bool) else str(each) for each in values)
