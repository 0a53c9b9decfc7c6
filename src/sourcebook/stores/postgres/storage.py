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

_PARTITION = """
SELECT c.relname::text, c.relpages, pg_relation_size(c.oid) / current_setting('block_size')::integer
FROM passage p JOIN pg_class c ON c.oid = p.tableoid WHERE p.tenant = %s LIMIT 1
"""
_WRITTEN = ("content", "node", "link", "passage", "facet", "term", "posting")
"""Tables that a commit adds to, which are partitioned alike."""


def learn_sizes(db: psycopg.Connection[Any], tenant: str) -> None:
    """Where a tenant's tables have become much larger than the planner thinks, it is told so now:
    until the server's own upkeep comes round it would read whole tables. Only the owner can
    do it."""
    db.execute("SET lock_timeout = '1s'")
    db.execute("SELECT set_config('sourcebook.tenant', %s, false)", (tenant,))
    partition, known, pages = db.execute(_PARTITION, (tenant,)).fetchone() or ("", 0, 0)
    if pages <= 2 * known:
        return
    number = partition.rpartition("_")[2]
    tables = [sql.Identifier("facet_value")]
    tables += [sql.Identifier(f"{table}_{number}") for table in _WRITTEN]
    db.execute(sql.SQL("ANALYZE {}").format(sql.SQL(", ").join(tables)))


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
