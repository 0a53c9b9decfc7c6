"""What happens to a request in, one JSON line on stderr out: never a key, never document text, and
the words of a question only where the settings ask for them.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

_NOTES = "sourcebook.notes"
Scope = MutableMapping[str, Any]


def note(scope: Scope, **told: Any) -> None:
    """Something that the line about this request will say."""
    scope.setdefault(_NOTES, {}).update(told)


def noted(scope: Scope) -> dict[str, Any]:
    return dict(scope.get(_NOTES, {}))


def line(event: str, told: dict[str, Any]) -> None:
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    print(json.dumps({"at": at, "event": event, **told}), file=sys.stderr, flush=True)


def trouble(scope: Scope, error: BaseException) -> None:
    """Our own fault: which error it was and where, but not its message, which may quote a text."""
    frames = [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    request_id = noted(scope).get("request_id")
    line("error", {"request_id": request_id, "error": type(error).__name__, "frames": frames})


class Lines(logging.Handler):
    """What libraries log, in the same form. Of an exception only its class: its message and its
    frames are not ours to judge."""

    def emit(self, record: logging.LogRecord) -> None:
        told = {"level": record.levelname.lower(), "logger": record.name}
        if record.exc_info and record.exc_info[0]:
            told["error"] = record.exc_info[0].__name__
        line("log", told | {"message": record.getMessage().splitlines()[0][:500]})


def configure() -> None:
    """Warnings and worse of the HTTP server and what stands beside it."""
    root = logging.getLogger()
    root.handlers = [Lines()]
    root.setLevel(logging.WARNING)
