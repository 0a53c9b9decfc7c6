"""Times as the store writes them: UTC, ISO 8601 with microseconds, so that they sort as text."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from sourcebook.errors import InvalidInput

_TICK = timedelta(microseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def later(moment: datetime, last: str | None) -> str:
    """The stamp of `moment`, or of the first instant after `last` where the clock stands still or
    has been set back: a revision is always later than the one before it."""
    if last is None:
        return stamp(moment)
    return stamp(max(moment, datetime.fromisoformat(last) + _TICK))


def parse(text: str) -> str:
    """The stamp of what someone wrote. Without a zone it is UTC. A date alone means the end of
    that day in UTC, since whoever asks for a day wants what was there when it was over."""
    text = text.strip()
    try:
        moment = _day_end(text) or datetime.fromisoformat(text)
        return stamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"as_of is not a time: {text[:60]!r}; write for example 2026-03-31, "
            "2026-03-31T18:00:00Z or 2026-03-31T18:00:00+02:00",
            field="as_of",
        ) from error


def _day_end(text: str) -> datetime | None:
    try:
        return datetime.combine(date.fromisoformat(text), time.max, UTC)
    except ValueError:
        return None
