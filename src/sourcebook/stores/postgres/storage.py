"""What the store takes on the server, table by table, and which of its statements take long; and
what the server is told of it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import errors, sql

from sourcebook.model import Json

_TABLES = """
SELECT t.name, sum(pg_table_size(p.relid))::bigint, sum(pg_indexes_size(p.relid))::bigint,
  sum(coalesce(s.n_live_tup, 0))::bigint, sum(coalesce(s.n_dead_tup, 0))::bigint,
  max(greatest(s.last_vacuum, s.last_autovacuum))::text
FROM (
  SELECT c.oid, c.relname::text AS name FROM pg_class c
  WHERE c.relnamespace = 'sourcebook'::regnamespace AND c.relkind IN ('r', 'p')
    AND NOT c.relispartition) t
CROSS JOIN LATERAL pg_partition_tree(t.oid) p
LEFT JOIN pg_stat_all_tables s ON s.relid = p.relid
WHERE p.isleaf GROUP BY t.name ORDER BY 2 DESC, 1
"""
_INDEXES = """
SELECT c.relname::text, pg_relation_size(c.oid)::bigint
FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE c.relnamespace = 'sourcebook'::regnamespace AND c.relkind = 'i' AND a.amname = 'hnsw'
ORDER BY 2 DESC
"""
_SLOW = """
SELECT left(regexp_replace(s.query, '\\s+', ' ', 'g'), 200), s.calls,
  round(s.mean_exec_time::numeric, 1), round(s.max_exec_time::numeric, 1)
FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
WHERE d.datname = current_database() AND s.mean_exec_time > 100
ORDER BY s.total_exec_time DESC LIMIT 5
"""

_ESTIMATED = """
EXPLAIN (FORMAT JSON) SELECT 1 FROM {} p WHERE p.repository = {}
"""
_PARTITION = """
SELECT p.number FROM generate_series(0, 7) p(number)
WHERE satisfies_hash_partition('sourcebook.passage'::regclass, 8, p.number, %s::text)
"""
_WRITTEN = ("content", "node", "link", "passage", "facet", "term", "posting")
"""Tables that a commit adds to, which are partitioned alike."""
_FEW = 0.1
"""Of the passages that are there: a plan for so few is another one."""
_LONGEST_S = 60


def learn_sizes(db: psycopg.Connection[Any], tenant: str, repository: int, passages: int) -> None:
    """Where the planner takes a repository for much smaller than it is, as it does with a new one,
    it is told of it now: it would read all rows of it for each that is wanted, until the server's
    own upkeep comes round. Only the owner can do it. Nobody is waited for longer than a moment,
    and nothing stays with the connection, which a pooler may share."""
    with db.transaction():
        db.execute(f"SET LOCAL statement_timeout = '{_LONGEST_S}s'".encode())
        db.execute("SET LOCAL lock_timeout = '1s'")
        (number,) = db.execute(_PARTITION, (tenant,)).fetchone() or (0,)
        # Of one partition, by the repository alone: the tenant would be counted twice.
        table = sql.Identifier("sourcebook", f"passage_{number}")
        asked = sql.SQL(_ESTIMATED).format(table, sql.Literal(repository))
        [([explained],)] = db.execute(asked).fetchall()
        if explained["Plan"]["Plan Rows"] >= _FEW * passages:
            return
        names = ["facet_value", *(f"{table}_{number}" for table in _WRITTEN)]
        tables = sql.SQL(", ").join(sql.Identifier("sourcebook", name) for name in names)
        db.execute(sql.SQL("ANALYZE (SKIP_LOCKED) {}").format(tables))


def storage(db: psycopg.Connection[Any]) -> dict[str, Json]:
    """`slow` is None where the server keeps no account of statements (pg_stat_statements)."""
    tables = [
        {
            "table": name,
            "bytes": table,
            "index_bytes": index,
            "rows": live,
            "dead_rows": dead,
            "vacuumed_at": vacuumed,
        }
        for name, table, index, live, dead, vacuumed in db.execute(_TABLES).fetchall()
    ]
    return {
        "kind": "postgresql",
        "bytes": sum(each["bytes"] + each["index_bytes"] for each in tables),
        "tables": tables,
        "vector_indexes": [
            {"index": name, "bytes": size} for name, size in db.execute(_INDEXES).fetchall()
        ],
        "slow": _slow(db),
    }


def _slow(db: psycopg.Connection[Any]) -> list[dict[str, Json]] | None:
    try:
        rows = db.execute(_SLOW).fetchall()
    except (
        errors.UndefinedTable,
        errors.InsufficientPrivilege,
        errors.ObjectNotInPrerequisiteState,
    ):
        return None
    return [
        {"query": query, "calls": calls, "mean_ms": float(mean), "max_ms": float(most)}
        for query, calls, mean, most in rows
    ]
