-- Checksums of rows, as in the embedded store. Rows that are there have none and are not compared: the
-- server has checksums of its own, of pages.
ALTER TABLE node ADD COLUMN checksum bigint;
ALTER TABLE passage ADD COLUMN checksum bigint;
ALTER TABLE passage ADD COLUMN terms_checksum bigint;
ALTER TABLE embedding ADD COLUMN checksum bigint;
ALTER TABLE token_vectors ADD COLUMN checksum bigint;
ALTER TABLE quality ADD COLUMN checksum bigint;
