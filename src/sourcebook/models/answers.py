"""What a model service sent in; out come JSON that is JSON, and what an error says, for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NoReturn

from sourcebook.model import Json

_EXCERPT = 200


def strict_json(data: str | bytes, *, unique: bool = False) -> Json:
    """ValueError for all that is not JSON, also NaN and nesting without end; with `unique` also
    for an object that gives a name twice: nobody knows which of its values is meant."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(
            data, parse_constant=refuse, object_pairs_hook=_unique if unique else None
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("a name twice")
    return named


def said(body: bytes, without_key: Callable[[str], str] = str) -> tuple[str, str]:
    """What an error's body says, for people, and the parameter that it is about. The key goes
    before the rest is cut, or a part of it could stay."""
    try:
        found = strict_json(body)
    except ValueError:
        return "", ""
    error = found.get("error", found) if isinstance(found, dict) else {}
    details = error if isinstance(error, dict) else {"message": error}
    message, parameter = (details.get(name) for name in ("message", "param"))
    text = f": {one_line(without_key(message))}" if isinstance(message, str) and message else ""
    return text, parameter if isinstance(parameter, str) else ""


def one_line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds; the header holds them or a date. What cannot be read is no wish."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return 0.0
