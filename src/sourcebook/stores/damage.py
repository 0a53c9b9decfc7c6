"""What reads found damaged lately: noted by whatever notices it, reported by the answer that was
being worked out.

A read that finds a row that does not match its checksum leaves it out and notes it here. A note is
of a moment, so that what was repaired since is not reported any more.
"""

from __future__ import annotations

import logging
import threading
import time

from sourcebook.model import DamagedPart

_log = logging.getLogger(__name__)
_MOST = 10_000
"""Notes that are kept of all repositories."""


class DamageNotes:
    def __init__(self) -> None:
        self._notes: dict[tuple[int, DamagedPart], float] = {}
        self._lock = threading.Lock()

    def add(self, repository: int, element_id: str, part: str) -> None:
        """Note that a part of a document was found damaged now."""
        key = (repository, DamagedPart(element_id, part))
        with self._lock:
            if key not in self._notes:
                _log.error("the stored %s of %r is damaged", part, element_id)
            self._notes.pop(key, None)
            self._notes[key] = time.monotonic()
            if len(self._notes) > _MOST:
                del self._notes[next(iter(self._notes))]

    def since(self, repository: int, moment: float) -> list[DamagedPart]:
        """What was noted of a repository at that time.monotonic() or later, in a fixed order."""
        with self._lock:
            found = [
                part
                for (where, part), at in self._notes.items()
                if where == repository and at >= moment
            ]
        return sorted(found)
