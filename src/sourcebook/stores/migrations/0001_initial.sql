-- The versioned graph. A row with born and died is visible at revision r when
-- born <= r and (died is null or died > r). Nothing is overwritten but `died`, once.

CREATE TABLE repository (
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  organization TEXT NOT NULL,
  name TEXT NOT NULL,
  head INTEGER NOT NULL DEFAULT 0,
  published TEXT,                       -- the id of a baseline
  UNIQUE (tenant, organization, name)
);

CREATE TABLE revision (
  repository INTEGER NOT NULL REFERENCES repository (id),
  number INTEGER NOT NULL,
  at TEXT NOT NULL,                     -- UTC, ISO 8601 with microseconds: sorts as text
  message TEXT NOT NULL,
  counts TEXT NOT NULL,                 -- JSON: rows born and died, by kind
  PRIMARY KEY (repository, number)
) WITHOUT ROWID;

CREATE TABLE request (                  -- writes are idempotent by the client's request id
  repository INTEGER NOT NULL REFERENCES repository (id),
  id TEXT NOT NULL,
  result TEXT NOT NULL,                 -- JSON
  PRIMARY KEY (repository, id)
) WITHOUT ROWID;

CREATE TABLE baseline (
  repository INTEGER NOT NULL REFERENCES repository (id),
  id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (repository, id)
) WITHOUT ROWID;

CREATE TABLE content (                  -- the text of a document version, once
  row INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL REFERENCES repository (id),
  hash TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (repository, hash)
);

CREATE TABLE node (
  row INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL REFERENCES repository (id),
  id TEXT NOT NULL,
  element_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  version_id TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  recipe TEXT NOT NULL,
  parent_id TEXT,
  position INTEGER NOT NULL,
  title TEXT NOT NULL,
  source TEXT NOT NULL,
  content TEXT NOT NULL,                -- hash of the document text that the offsets point into
  start INTEGER NOT NULL,               -- offsets in characters (code points)
  "end" INTEGER NOT NULL,
  section_path TEXT NOT NULL,           -- JSON list
  page INTEGER,
  metadata TEXT NOT NULL,               -- JSON object
  born INTEGER NOT NULL,
  died INTEGER
);
CREATE INDEX node_by_id ON node (repository, id, born);
CREATE INDEX node_by_version ON node (repository, version_id);
CREATE INDEX node_live ON node (repository, element_id) WHERE died IS NULL;
CREATE INDEX node_live_source ON node (repository, source) WHERE died IS NULL AND parent_id IS NULL;

CREATE TABLE link (
  row INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL REFERENCES repository (id),
  element_id TEXT NOT NULL,             -- the document that states it
  source_id TEXT NOT NULL,
  target_id TEXT NOT NULL,
  type TEXT NOT NULL,
  metadata TEXT NOT NULL,
  born INTEGER NOT NULL,
  died INTEGER
);
CREATE INDEX link_by_source ON link (repository, source_id);
CREATE INDEX link_by_target ON link (repository, target_id);
CREATE INDEX link_live ON link (repository, element_id) WHERE died IS NULL;

CREATE TABLE passage (
  row INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL REFERENCES repository (id),
  node_id TEXT NOT NULL,
  element_id TEXT NOT NULL,
  resolution INTEGER NOT NULL,          -- 0 document, 1 section, 2 chunk
  ancestors TEXT NOT NULL,              -- JSON list of node ids, document first, the node itself last
  text_hash TEXT NOT NULL,              -- of the embedded text: keys the vector
  digest TEXT NOT NULL,                 -- of all that makes it this passage: equal digests are one row
  title TEXT NOT NULL,
  heading TEXT NOT NULL,
  context TEXT NOT NULL,
  body TEXT NOT NULL,
  summary INTEGER NOT NULL,
  length INTEGER NOT NULL,              -- bytes of the embedded text, to batch by
  terms BLOB NOT NULL,                  -- (term, title tf, heading tf, body tf) of each distinct term
  tokens BLOB NOT NULL,                 -- term ids of each field in order, for phrases
  born INTEGER NOT NULL,
  died INTEGER
);
CREATE INDEX passage_seen ON passage (repository, resolution, born, died);
CREATE INDEX passage_live ON passage (repository, element_id) WHERE died IS NULL;
CREATE INDEX passage_by_text ON passage (repository, text_hash);

CREATE TABLE facet (                    -- what filters match
  repository INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  passage INTEGER NOT NULL,
  PRIMARY KEY (repository, key, value, passage)
) WITHOUT ROWID;

CREATE TABLE term (
  repository INTEGER NOT NULL,
  text TEXT NOT NULL,
  id INTEGER NOT NULL,
  PRIMARY KEY (repository, text)
) WITHOUT ROWID;

CREATE TABLE space (
  row INTEGER PRIMARY KEY,
  repository INTEGER NOT NULL REFERENCES repository (id),
  id TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  chunker TEXT NOT NULL,
  state TEXT NOT NULL,
  vectors INTEGER NOT NULL DEFAULT 0,   -- how many it holds: tells a reader that more have come
  UNIQUE (repository, id)
);

CREATE TABLE vector (                   -- a passage without one is work to do
  space INTEGER NOT NULL REFERENCES space (row),
  text_hash TEXT NOT NULL,
  data BLOB NOT NULL,                   -- little-endian float32, unit length
  PRIMARY KEY (space, text_hash)
) WITHOUT ROWID;
