"""The store on PostgreSQL with pgvector.

What its parts agree on:

- A `Session` (session.py) is a transaction of one tenant: `run(name, values)` runs a named
  statement of `postgres.sql` and gives a cursor (`:tenant` is filled in; a list is an array),
  `run_many(name, rows)` runs it for every row, with the tenant before the row's values; `db` is the
  psycopg connection and `tenant` the name, for statements that are written elsewhere.
- `search.Searcher` answers `dense(session, view, space, vector, k, within)`,
  `sparse(session, view, query, k, within)`,
  `evidence(session, view, space, vector, query, passages, within)`,
  `coverage(session, view, space, within)` and `forget(repository, revisions)`, as
  `stores/search.py` does for SQLite: `view` is a `labels.View`, `space` the number of a space.
- `search.index_passages(session, repository, passages)` is called in the transaction of the commit
  with each batch of new passages, a list of (number, resolution, whole, terms): `whole` tells that
  the passage is all of its document (its node id is its element id), `terms` are the bytes of
  `postings.encode_counts`. `search.drop_passages(session, repository)` is called by retention,
  after passages were deleted.
"""
