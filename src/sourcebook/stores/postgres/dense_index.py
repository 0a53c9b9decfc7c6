"""A space in, an index of its vectors out (HNSW), built beside the running store.

One index a space, over half-precision images, since vectors of different spaces never meet and may
have other dimensions; on the one partition that holds the tenant. It is built without blocking
writers, outside any transaction, by the owner of the tables: searches use it as soon as it is
there, and compare vectors one by one until then.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from sourcebook.stores.postgres.dense_search import EXACT, index_name

LINKS, BUILDING = 16, 64
"""m and ef_construction."""
_OVERHEAD = 600
"""Bytes that a vector's place in the graph takes beside the vector, roughly."""
_MEMORY = 64 << 20, 8 << 30
"""What a build may use at least and at most: one that does not fit in memory takes many times as
long."""


def build_index(db: psycopg.Connection[Any], tenant: str, space: int) -> bool:
    """Whether it is there: a space that can be searched one by one needs none. The connection is
    the owner's, and commits each statement by itself (autocommit)."""
    db.execute("SELECT set_config('sourcebook.tenant', %s, false)", (tenant,))
    row = db.execute(
        _SPACE, {"tenant": tenant, "space": space, "name": index_name(space)}
    ).fetchone()
    if row is None or row[1] <= EXACT:
        return False
    dimensions, vectors, valid = row
    if valid:
        return True
    drop_index(db, space)
    (partition,) = db.execute(_PARTITION, {"tenant": tenant, "space": space}).fetchone() or ("",)
    memory = min(max(vectors * (2 * dimensions + _OVERHEAD), _MEMORY[0]), _MEMORY[1])
    db.execute("SELECT set_config('maintenance_work_mem', %s, false)", (f"{memory >> 10}kB",))
    statement = sql.SQL(
        "CREATE INDEX CONCURRENTLY {name} ON {partition} USING hnsw"
        " ((vector::halfvec({dimensions})) halfvec_ip_ops)"
        " WITH (m = {links}, ef_construction = {building}) WHERE space = {space}"
    )
    db.execute(
        statement.format(
            name=sql.Identifier(index_name(space)),
            partition=sql.Identifier(partition),
            dimensions=sql.Literal(dimensions),
            links=sql.Literal(LINKS),
            building=sql.Literal(BUILDING),
            space=sql.SQL(str(int(space))),
        )
    )
    return True


def drop_index(db: psycopg.Connection[Any], space: int) -> None:
    """Also what a build that was stopped left behind."""
    name = sql.Identifier(index_name(space))
    db.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(name))


_SPACE = """
SELECT s.dimensions, s.vectors, (
  SELECT i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
  WHERE c.relname = %(name)s AND c.relnamespace = current_schema()::regnamespace)
FROM space s WHERE s.tenant = %(tenant)s AND s.number = %(space)s
"""
_PARTITION = """
SELECT c.relname FROM embedding e JOIN pg_class c ON c.oid = e.tableoid
WHERE e.tenant = %(tenant)s AND e.space = %(space)s LIMIT 1
"""
