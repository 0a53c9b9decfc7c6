"""The named statements of `postgres.sql`, as psycopg takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcebook.stores.queries import load

_NAMED = re.compile(r"(?<!:):(\w+)")


def converted(statement: str) -> str:
    """`:name` and `?` as psycopg writes them; a `::` stays a cast."""
    return _NAMED.sub(r"%(\1)s", statement.replace("%", "%%")).replace("?", "%s")


STATEMENTS: Mapping[str, str] = {
    name: converted(statement) for name, statement in load("postgres.sql").items()
}
