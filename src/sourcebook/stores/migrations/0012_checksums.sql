-- A CRC-32 of each row that is served (see checksums.py), so that damage is noticed by every read.
ALTER TABLE node ADD COLUMN checksum INTEGER;
ALTER TABLE passage ADD COLUMN checksum INTEGER;         -- of the words and what leads to them
ALTER TABLE passage ADD COLUMN terms_checksum INTEGER;   -- of what full-text search reads
ALTER TABLE vector ADD COLUMN checksum INTEGER;
ALTER TABLE token_vectors ADD COLUMN checksum INTEGER;
ALTER TABLE quality ADD COLUMN checksum INTEGER;

UPDATE node SET checksum = checksum_of_columns(x'', id, element_id, kind, version_id, content_hash,
  parent_id, position, title, source, start, "end", section_path, page, metadata, content, labels,
  born);
UPDATE passage SET
  checksum = checksum_of_columns(tokens, node_id, element_id, resolution, text_hash, digest, title,
    heading, context, body, summary, length, labels, born),
  terms_checksum = checksum_of_terms(node_id, element_id, ancestors, text_hash, terms);
UPDATE vector SET checksum = checksum_of_bytes(data);
UPDATE token_vectors SET checksum = checksum_of_bytes(data);
UPDATE quality SET checksum = checksum_of_columns(x'', version_id, analyzer, scores);
