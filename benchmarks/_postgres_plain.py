"""The same passages searched the plain way: pgvector and `ts_rank_cd`, combined in one statement.

What a document on hybrid retrieval would have one write: the 40 nearest vectors, 40 passages that
full-text finds, 0.7 and 0.3 of their scores. Two readings of its full-text part: as written, where
a passage must hold every word of the question and any 40 of them do; and such that questions find
something, where one word is enough and the 40 best by `ts_rank_cd` are taken. It is given the
vector index of our store, so that a second one need not be built, and plain columns to filter by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

_TABLE = """
CREATE TABLE knowledge_chunks AS
SELECT p.number AS id, e.number AS vector_number, p.body AS content,
  (substr(p.node_id, 2)::int %% 100)::text AS percent,
  (substr(p.node_id, 2)::int %% 10)::text AS tenth, '0'::text AS "all",
  to_tsvector('english', p.body) AS fts_vector
FROM passage p JOIN embedding e ON e.tenant = p.tenant AND e.repository = p.repository
  AND e.space = %(space)s AND e.text_hash = p.text_hash
WHERE p.tenant = %(tenant)s
"""
_HYBRID = """
WITH question AS MATERIALIZED (SELECT {words} AS words),
near AS MATERIALIZED (
  SELECT e.number, 1 + ((e.vector::halfvec({dimensions})) <#> %(query)s::halfvec({dimensions}))
    AS distance
  FROM embedding e WHERE e.tenant = %(tenant)s AND e.space = {space} {near_filter}
  ORDER BY (e.vector::halfvec({dimensions})) <#> %(query)s::halfvec({dimensions}) LIMIT 40),
vector_results AS (
  SELECT k.id, 1 - n.distance AS v_score FROM near n
  JOIN knowledge_chunks k ON k.vector_number = n.number),
fts_results AS (
  SELECT k.id, greatest(0, least(1, ts_rank_cd(k.fts_vector, q.words) * 10)) AS f_score
  FROM knowledge_chunks k, question q WHERE k.fts_vector @@ q.words {filter} {order} LIMIT 40),
combined AS (
  SELECT coalesce(v.id, f.id) AS id,
    coalesce(v.v_score, 0) * 0.7 + coalesce(f.f_score, 0) * 0.3 AS hybrid_score
  FROM vector_results v FULL OUTER JOIN fts_results f ON v.id = f.id)
SELECT c.id, c.hybrid_score, k.content FROM combined c
JOIN knowledge_chunks k ON k.id = c.id ORDER BY c.hybrid_score DESC LIMIT 10
"""
_ALL_WORDS = "plainto_tsquery('english', %(text)s)"
_ANY_WORD = f"replace({_ALL_WORDS}::text, '&', '|')::tsquery"
READINGS = {"as written": (_ALL_WORDS, ""), "one word is enough": (_ANY_WORD, "ORDER BY 2 DESC")}


class Plain:
    def __init__(self, db: psycopg.Connection[Any], tenant: str, space: int, dimensions: int):
        self._db, self._tenant, self._space, self._dimensions = db, tenant, space, dimensions

    def build(self) -> None:
        self._db.execute(_TABLE, {"space": self._space, "tenant": self._tenant})
        for statement in (
            "ALTER TABLE knowledge_chunks ADD PRIMARY KEY (id)",
            "CREATE INDEX ON knowledge_chunks USING gin (fts_vector)",
            "CREATE INDEX ON knowledge_chunks (vector_number)",
            "CREATE INDEX ON knowledge_chunks (percent)",
            "CREATE INDEX ON knowledge_chunks (tenth)",
            "ANALYZE knowledge_chunks",
        ):
            self._db.execute(statement)
        self._db.commit()

    def statement(self, reading: str, filtered: str | None) -> str:
        words, order = READINGS[reading]
        kept = f"AND k.{filtered} = %(value)s" if filtered else ""
        near = (
            f"AND EXISTS (SELECT 1 FROM knowledge_chunks k WHERE k.vector_number = e.number {kept})"
            if filtered
            else ""
        )
        return _HYBRID.format(
            words=words, order=order, filter=kept, near_filter=near, space=self._space,
            dimensions=self._dimensions,
        )  # fmt: skip

    def search(
        self, reading: str, text: str, vector: np.ndarray, filtered: tuple[str, str] | None
    ) -> list[int]:
        """The iterative scan is on, or a filter would leave next to nothing."""
        key, value = filtered or (None, None)
        self._db.execute("SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)")
        values = self.values(text, vector, value)
        rows = self._db.execute(self.statement(reading, key), values, prepare=False).fetchall()
        self._db.commit()
        return [row[0] for row in rows]

    def answered(self, asked: Sequence[str]) -> float:
        """For how many of the questions full-text, as written, finds anything."""
        statement = (
            "SELECT EXISTS (SELECT 1 FROM knowledge_chunks WHERE fts_vector @@"
            " plainto_tsquery('english', %s))"
        )
        found = [self._db.execute(statement, (text,)).fetchone() for text in asked]
        return sum(bool(row and row[0]) for row in found) / len(asked)

    def values(self, text: str, vector: np.ndarray, value: str | None) -> dict[str, object]:
        query = "[" + ",".join(map(repr, vector.tolist())) + "]"
        return {"text": text, "query": query, "tenant": self._tenant, "value": value}
