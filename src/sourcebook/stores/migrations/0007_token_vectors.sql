-- The coded token vectors of a text, for late interaction: made in the same pass as its vector.
CREATE TABLE token_vectors (
  space INTEGER NOT NULL REFERENCES space (row),
  text_hash TEXT NOT NULL,
  data BLOB NOT NULL,                   -- a fixed number of bytes a token: see models/late.py
  PRIMARY KEY (space, text_hash)
);
