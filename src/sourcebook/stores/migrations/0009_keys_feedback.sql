-- Who may read and write over a network, and what people said of answers. No part of the history: no
-- revision makes these rows or shows them.

CREATE TABLE api_key (
  id TEXT PRIMARY KEY,                  -- public: the first part of the key
  hash TEXT NOT NULL,                   -- SHA-256 of the secret part, which is not kept
  name TEXT NOT NULL,
  tenant TEXT NOT NULL,
  organization TEXT NOT NULL,
  repositories TEXT,                    -- JSON list of names; null: all of the organization
  roles TEXT,                           -- JSON list of labels; null: all of them
  rights TEXT NOT NULL CHECK (rights IN ('read', 'write', 'admin')),
  created_at TEXT NOT NULL,             -- UTC, ISO 8601 with microseconds, as all times here
  expires_at TEXT,
  revoked_at TEXT,
  last_used_at TEXT                     -- written once a minute at most
) WITHOUT ROWID;
CREATE INDEX api_key_of_tenant ON api_key (tenant, created_at);

CREATE TABLE feedback (
  row INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL REFERENCES repository (id),
  at TEXT NOT NULL,
  query TEXT NOT NULL,
  node_id TEXT NOT NULL,
  element_id TEXT NOT NULL,             -- from here to text_hash: the citation
  version_id TEXT NOT NULL,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  text_hash TEXT NOT NULL,
  read_context TEXT NOT NULL,           -- JSON: selector, revision, baseline_id, as_of
  judgment TEXT NOT NULL CHECK (judgment IN ('helpful', 'not_helpful', 'clicked')),
  note TEXT NOT NULL,
  key_id TEXT,                          -- of the API key that it came with
  request_id TEXT                       -- a judgment is taken once by the client's request id
);
CREATE INDEX feedback_order ON feedback (repository, row);
CREATE UNIQUE INDEX feedback_request ON feedback (repository, coalesce(key_id, ''), request_id)
  WHERE request_id IS NOT NULL;
