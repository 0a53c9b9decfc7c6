-- What an analyzer says of a node version. A version without a row is work to do; a new analyzer
-- scores anew and leaves the old rows.
CREATE TABLE quality (
  repository INTEGER NOT NULL REFERENCES repository (id),
  version_id TEXT NOT NULL,
  analyzer TEXT NOT NULL,
  scores TEXT NOT NULL,                 -- JSON object
  PRIMARY KEY (repository, version_id, analyzer)
) WITHOUT ROWID;
