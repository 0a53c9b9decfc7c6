-- What search reads beside the passages themselves.

-- The passages that hold a term, packed: a row has up to some hundred of them in ascending order,
-- as stores/postgres/postings_codec.py reads them. New passages have higher numbers, so a commit
-- appends. Term 0, which no word has, gives every passage's length.
CREATE TABLE posting (
  tenant text COLLATE "C" NOT NULL,
  repository bigint NOT NULL,
  part smallint NOT NULL,               -- the resolution; 3 for a chunk that is a whole document
  term integer NOT NULL,
  first integer NOT NULL,               -- the number of its first passage
  last integer NOT NULL,
  wide boolean NOT NULL,                -- counts of two bytes each instead of one
  data bytea NOT NULL,
  PRIMARY KEY (tenant, repository, part, term, first)
) PARTITION BY HASH (tenant);
ALTER TABLE posting ALTER COLUMN data SET STORAGE EXTERNAL;
SELECT make_partitions('posting');

-- Lanes are read from indexes alone: passages are long.
DROP INDEX passage_seen;
CREATE INDEX passage_seen ON passage (tenant, repository, resolution, born, died) INCLUDE (number);
CREATE INDEX passage_ended ON passage (tenant, repository, resolution, died)
  INCLUDE (number, born) WHERE died < 2147483647;
CREATE INDEX passage_whole ON passage (tenant, repository, born, died)
  INCLUDE (number) WHERE resolution = 2 AND node_id = element_id;
CREATE INDEX passage_by_element ON passage (tenant, repository, element_id, resolution);

-- Vectors have numbers, so that sets of them are sets of integers.
CREATE SEQUENCE embedding_number;
ALTER TABLE embedding ADD COLUMN number bigint NOT NULL DEFAULT nextval('embedding_number');
CREATE INDEX embedding_by_number ON embedding (tenant, repository, space, number);
CREATE INDEX embedding_numbers ON embedding (tenant, repository, space, text_hash) INCLUDE (number);
