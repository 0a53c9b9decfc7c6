"""A question in, passages ranked by PostgreSQL's own full-text search out: `ts_rank_cd`.

Only where the settings say so. A passage must hold every word of the question, and no statistics
count, so it finds less than BM25 and ranks it otherwise; it is there for those who have it today.
The words are a column of the passage that the database fills itself.
"""

from __future__ import annotations

from typing import Any

import psycopg

from sourcebook.model import Match, PreparedQuery
from sourcebook.ports import Within
from sourcebook.stores.labels import View
from sourcebook.stores.postgres.search_lanes import Rows
from sourcebook.stores.postgres.search_statements import Packed, Session, readable, run

_COLUMN = """
ALTER TABLE passage ADD COLUMN IF NOT EXISTS words tsvector
GENERATED ALWAYS AS (to_tsvector('english', title || ' ' || heading || ' ' || body)) STORED
"""
_INDEX = "CREATE INDEX IF NOT EXISTS passage_words ON passage USING gin (words)"


def add_words(db: psycopg.Connection[Any]) -> None:
    """Once, by the owner of the tables; the passages that are there are written anew."""
    there = "SELECT 1 FROM pg_attribute WHERE attrelid = 'passage'::regclass AND attname = 'words'"
    if db.execute(there).fetchone() is None:
        db.execute(_COLUMN)
        db.execute(_INDEX)


def search_words(
    session: Session, view: View, query: PreparedQuery, k: int, within: Within, rows: Rows | None
) -> list[Match]:
    asked = {
        "text": query.text,
        "k": max(k, 0),
        "resolution": within.resolution,
        "revision": within.revision,
        "readable": readable(view),
        "numbers": None if rows is None else Packed(rows),
    }
    return [Match(*row) for row in run(session, "ranked_by_words", view.repository, asked)]
