-- Retention: revisions that were dropped are remembered as dropped, and their rows are gone.
ALTER TABLE revision ADD COLUMN dropped TEXT;   -- when retention dropped it; null while it is kept
CREATE INDEX revision_kept ON revision (repository, number) WHERE dropped IS NULL;

-- The last passage row that was given out when rows were dropped: a number is never given out again,
-- since readers in other processes may still hold it.
ALTER TABLE repository ADD COLUMN last_passage INTEGER NOT NULL DEFAULT 0;

CREATE TABLE dropped_version (          -- what a citation of it is told
  repository INTEGER NOT NULL REFERENCES repository (id),
  version_id TEXT NOT NULL,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  born INTEGER NOT NULL,
  died INTEGER NOT NULL,
  labels TEXT,                          -- who might read it
  PRIMARY KEY (repository, version_id, start, "end")
) WITHOUT ROWID;

-- What lies between two revisions is found without a look at all the rest.
CREATE INDEX node_died ON node (repository, died) WHERE died IS NOT NULL;
CREATE INDEX link_born ON link (repository, born);
CREATE INDEX link_died ON link (repository, died) WHERE died IS NOT NULL;
