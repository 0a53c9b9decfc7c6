-- Who embeds what at the moment, what could not be embedded, and what it cost. No part of the
-- history: no revision makes these rows or shows them. All times are UTC, ISO 8601 with
-- microseconds: they sort as text.

CREATE TABLE claim (                    -- a lease: nobody else embeds the text before it runs out
  space INTEGER NOT NULL REFERENCES space (row) ON DELETE CASCADE,
  text_hash TEXT NOT NULL,
  worker TEXT NOT NULL,
  until TEXT NOT NULL,
  PRIMARY KEY (space, text_hash)
) WITHOUT ROWID;

CREATE TABLE failure (                  -- a text that an attempt failed on; gone once it has a vector
  space INTEGER NOT NULL REFERENCES space (row) ON DELETE CASCADE,
  text_hash TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  error TEXT NOT NULL,                  -- of the last attempt
  at TEXT NOT NULL,                     -- of the last attempt
  next_try TEXT NOT NULL,
  dead INTEGER NOT NULL,                -- 1: not tried again until somebody asks for it
  PRIMARY KEY (space, text_hash)
) WITHOUT ROWID;

CREATE TABLE usage (                    -- a row a stored batch; older ones are summed up by day
  row INTEGER PRIMARY KEY,
  space INTEGER NOT NULL REFERENCES space (row) ON DELETE CASCADE,
  at TEXT NOT NULL,
  worker TEXT NOT NULL,                 -- empty: the sum of a day
  texts INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  seconds REAL NOT NULL,
  cost REAL                             -- in US dollars; null where the price is not known
);
CREATE INDEX usage_order ON usage (space, at);

-- What has no vector is found in these two alone: the vectors themselves fill a page each few, so
-- that a look through their table reads all of it.
CREATE INDEX vector_key ON vector (space, text_hash);
DROP INDEX passage_by_text;
CREATE INDEX passage_by_text ON passage (repository, text_hash, length, died);
