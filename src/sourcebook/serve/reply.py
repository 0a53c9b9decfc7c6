"""What a command gives back, and how it reaches stdout: one JSON document, or text for people.

Commands return a Reply instead of printing, so that one place decides on form, encoding and what
happens when the reader of a pipe has gone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from sourcebook.errors import SourcebookError
from sourcebook.serve.render import console

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON allows as it is but a terminal obeys."""


@dataclass(frozen=True, slots=True)
class Reply:
    """`show` prints the same answer for people; `status` is the exit status."""

    data: Any
    show: Callable[[Console], None]
    as_json: bool = False
    status: int = 0

    def emit(self) -> int:
        if self.as_json:
            write_json(self.data)
        else:
            _tolerate_odd_characters()
            self.show(console())
        sys.stdout.flush()
        return self.status


def write_json(data: Any) -> None:
    """UTF-8 whatever the locale is. A lone surrogate, as in an odd file name, leaves as the
    escape that JSON has for it."""
    _reconfigure(encoding="utf-8", errors="backslashreplace")
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write(_UNSAFE_IN_JSON.sub(lambda m: f"\\u{ord(m[0]):04x}", text) + "\n")


def error_document(
    code: str, message: str, field: str | None, suggestions: list[str]
) -> dict[str, Any]:
    """The shape of an error on every surface."""
    error = {"code": code, "message": message, "field": field, "suggestions": suggestions}
    return {"error": error}


def describe(error: SourcebookError) -> dict[str, Any]:
    return error_document(error.code, str(error), error.field, [])


def _tolerate_odd_characters() -> None:
    """A terminal that cannot show a character shows a mark for it; it is no reason to fail."""
    _reconfigure(errors="replace")


def _reconfigure(**options: str) -> None:
    change = getattr(sys.stdout, "reconfigure", None)
    if change is not None:
        change(**options)
