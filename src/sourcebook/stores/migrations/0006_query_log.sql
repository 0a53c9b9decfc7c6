-- What was asked, for monitoring. No part of the history: no revision makes these rows or shows them,
-- and the oldest are deleted when there are too many.
CREATE TABLE query_log (
  row INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL REFERENCES repository (id),
  at TEXT NOT NULL,                     -- UTC, ISO 8601 with microseconds: sorts as text
  kind TEXT NOT NULL,                   -- search, agent, context
  text TEXT,                            -- null where the settings say not to keep it
  text_hash TEXT NOT NULL,              -- of the normalised text: equal questions are one
  revision INTEGER NOT NULL,
  mode TEXT NOT NULL,
  rerank TEXT NOT NULL,
  status TEXT NOT NULL,
  relevance REAL,                       -- of the first hit
  results INTEGER NOT NULL,             -- hits, of these found by …
  found_by_both INTEGER NOT NULL,
  dense_only INTEGER NOT NULL,
  sparse_only INTEGER NOT NULL,
  candidates INTEGER NOT NULL,
  latency_ms REAL NOT NULL
);
CREATE INDEX query_log_order ON query_log (repository, row);
