"""A Markdown text in; the span and the values of its YAML front matter out.

Front matter is written by strangers: anchors, tags, depth and size are limited, so that no file
can expand into more than it is. A block that is not valid is reported and left to be text.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass, field

import yaml

from sourcebook.model import Json, Metadata
from sourcebook.sources.scrub import scrub

# A line after the opening one that is blank makes it a thematic break, as Pandoc has it.
_OPEN = re.compile(r"---[ \t]*+(?>\r\n?|\n)(?![ \t]*+[\r\n])")
_CLOSE = re.compile(r"(?:(?<=[\r\n])|\A)(?:---|\.\.\.)[ \t]*+(?=[\r\n]|\Z)")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
_MAX_LENGTH = 64 * 1024
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`text[start:end]` is the YAML, `body` where the document goes on."""

    start: int = 0
    end: int = 0
    body: int = 0
    values: Metadata = field(default_factory=dict)
    problem: str | None = None


class _Refused(Exception):
    """A construct that this reader does not take, at a line counted from 0."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def front_matter(text: str) -> FrontMatter:
    """The front matter at the start of the text; an empty one if there is none."""
    opened = _OPEN.match(text)
    closed = _CLOSE.search(text, opened.end()) if opened else None
    if opened is None or closed is None:
        return FrontMatter()
    start, end, body = opened.end(), closed.start(), closed.end()
    if end - start > _MAX_LENGTH:
        return FrontMatter(start, end, body, problem="front matter is longer than 64 kB")
    try:
        return FrontMatter(start, end, body, _values(text[start:end]))
    except _Refused as refusal:
        return FrontMatter(start, end, body, problem=_problem(str(refusal), refusal.line))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = str(getattr(error, "problem", None) or getattr(error, "reason", "not readable"))
        return FrontMatter(start, end, body, problem=_problem(what, mark.line if mark else 0))
    except (ValueError, OverflowError):  # the scanner's own: a character or a version too large
        return FrontMatter(start, end, body, problem=_problem("a number is too large", 0))


def _problem(what: str, line: int) -> str:
    return f"front matter is not valid YAML (line {line + 2}: {what})"


def _values(source: str) -> dict[str, Json]:
    _check(source)
    loader = yaml.SafeLoader(source)
    try:
        node = loader.get_single_node()
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise _Refused("it is not a list of keys and values", 0)
        return _mapping(loader, node)
    finally:
        loader.dispose()


def _check(source: str) -> None:
    """Look at the events alone, before anything is built of them."""
    depth = 0
    for event in yaml.parse(source, Loader=yaml.SafeLoader):
        line = event.start_mark.line
        if getattr(event, "anchor", None) is not None:
            raise _Refused("anchors and aliases are not accepted", line)
        if getattr(event, "tag", None) not in (None, "!"):
            raise _Refused("tags are not accepted", line)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise _Refused("it is nested too deeply", line)


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[str, Json]:
    """Keys stay as they are written: YAML would make `on` true and `2024` a number."""
    values: dict[str, Json] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _Refused("a key is not a single word or phrase", key.start_mark.line)
        values[scrub(key.value)] = _value(loader, value)
    return values


def _value(loader: yaml.SafeLoader, node: yaml.Node) -> Json:
    if isinstance(node, yaml.MappingNode):
        return _mapping(loader, node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, item) for item in node.value]
    assert isinstance(node, yaml.ScalarNode)
    return _scalar(loader, node)


def _scalar(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Json:
    """Only what JSON calls a number is one: `12:30` is no 750 and `0123` no 83."""
    written = scrub(node.value)
    kind = node.tag.rpartition(":")[2]
    if kind in ("int", "float"):
        if not _JSON_NUMBER.fullmatch(written):
            return written
        number = int(written) if kind == "int" else float(written)
        return number if math.isfinite(number) else written
    if kind not in ("bool", "null", "timestamp"):
        return written
    try:
        value = loader.construct_object(node)
    except (ValueError, OverflowError):  # a date that no calendar has
        return written
    return value.isoformat() if isinstance(value, datetime.date) else value
