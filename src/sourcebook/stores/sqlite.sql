-- Every statement that the SQLite store runs. `-- name:` starts a statement, `-- fragment:` a piece
-- that statements share: `{visible p}` is the fragment `visible` with `$` replaced by the alias `p`,
-- and `{visible p at :other}` is the same at another revision.

-- fragment: visible
-- The one definition of what a revision shows.
$.born <= :revision AND ($.died IS NULL OR $.died > :revision)

-- fragment: readable
-- The one definition of what a reader may see: what has no labels, or a list of them that is among
-- the reader's. `:readable` is null for who sees everything.
(:readable IS NULL OR $.labels IS NULL OR $.labels IN (SELECT value FROM json_each(:readable)))

-- fragment: readable_today
-- Whether a row that is found by its version may be read: its own labels and those that its document
-- has today must let the reader in. Today's are those of the document's newest row, also where the
-- document has ended.
{readable $} AND (:readable IS NULL OR EXISTS (
  SELECT 1 FROM (
    SELECT latest.labels FROM node latest
    WHERE latest.repository = :repository AND latest.id = $.element_id
      AND latest.element_id = $.element_id AND latest.parent_id IS NULL
    ORDER BY latest.born DESC LIMIT 1) AS today
  WHERE {readable today}))

-- fragment: readable_node
-- Whether the node of an id, given as an expression, is there for the reader.
EXISTS (SELECT 1 FROM node shown WHERE shown.repository = :repository AND shown.id = $
  AND {visible shown} AND {readable shown})

-- fragment: readable_link
-- A link shows both its ends and the document that states it. To a reader with roles an end that is
-- hidden and one that is not there are the same.
(:readable IS NULL OR ({readable_node $.source_id} AND {readable_node $.target_id}
  AND {readable_node $.element_id}))

-- fragment: unembedded
-- A text that has no vector in a space, by an index that holds no vectors: their table is as large
-- as they are, and a look through it is a hundred times as slow.
NOT EXISTS (
  SELECT 1 FROM vector v INDEXED BY vector_key
  WHERE v.space = :space AND v.text_hash = $.text_hash)

-- fragment: free
-- A text that nobody holds and that may be tried now.
NOT EXISTS (
  SELECT 1 FROM claim c WHERE c.space = :space AND c.text_hash = $.text_hash AND c.until > :now)
AND NOT EXISTS (
  SELECT 1 FROM failure f WHERE f.space = :space AND f.text_hash = $.text_hash
    AND (f.dead OR f.next_try > :now))

-- fragment: not_given_up
NOT EXISTS (
  SELECT 1 FROM failure f WHERE f.space = :space AND f.text_hash = $.text_hash AND f.dead)

-- fragment: in_lane
-- The passages of a resolution; a document that is one passage is its own chunk and document.
$.resolution IN (:resolution, CASE :resolution WHEN 0 THEN 2 END)
AND ($.resolution = :resolution OR $.node_id = $.element_id)

-- fragment: node_columns
-- In the order of the fields of Node.
$.id, $.element_id, $.kind, $.version_id, $.content_hash, $.parent_id, $.position, $.title,
$.source, $.start, $."end", $.section_path, $.page, $.metadata

-- fragment: checked_node
-- A node with what its checksum was made of, and the checksum.
{node_columns $}, $.content, $.labels, $.born, $.checksum

-- fragment: is_relation
-- Not one that only says how a document is made up.
$.type NOT IN ('contains', 'follows', 'responds-to')

-- fragment: not_stated
-- No document states that relationship, to the reader.
NOT EXISTS (
  SELECT 1 FROM link o
  WHERE o.repository = :repository AND o.source_id = $.source_id AND o.target_id = $.target_id
    AND o.type = $.type AND o.metadata = $.metadata AND {visible o} AND {readable_link o})

-- fragment: as_text
-- A JSON value as filters compare it.
CASE $.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST($.value AS TEXT) END


-- === repositories and revisions ==================================================================

-- name: repository
-- The number of a scope's repository.
SELECT id FROM repository
WHERE tenant = :tenant AND organization = :organization AND name = :name

-- name: repositories
-- Of a tenant, or of all, that have a revision.
SELECT tenant, organization, name FROM repository
WHERE head > 0 AND (:tenant IS NULL OR tenant = :tenant)
ORDER BY tenant, organization, name

-- name: add_repository
-- Made by the first write to a scope.
INSERT OR IGNORE INTO repository (tenant, organization, name)
VALUES (:tenant, :organization, :name)

-- name: head
-- The last revision and the published baseline of a repository.
SELECT head, published FROM repository WHERE id = :repository

-- name: set_head
-- The last statement of a commit.
UPDATE repository SET head = :revision WHERE id = :repository

-- name: add_revision
INSERT INTO revision (repository, number, at, message, counts)
VALUES (:repository, :revision, :at, :message, :counts)

-- name: revision_time
-- When a revision was committed: the next one must be later.
SELECT at FROM revision WHERE repository = :repository AND number = :revision

-- name: revision_as_of
-- Times rise with numbers within a repository, so the first row met from the end is the answer.
-- A repository that is being copied has revisions behind its head, which nobody sees yet.
SELECT number FROM revision
WHERE repository = :repository AND at <= :at
  AND number <= (SELECT head FROM repository WHERE id = :repository)
ORDER BY number DESC LIMIT 1

-- name: log
-- Newest first; a limit of -1 is no limit.
SELECT number, at, message, counts, dropped IS NOT NULL FROM revision
WHERE repository = :repository
  AND number <= (SELECT head FROM repository WHERE id = :repository)
ORDER BY number DESC LIMIT :limit

-- name: request
-- What an earlier commit with this request id gave.
SELECT result FROM request WHERE repository = :repository AND id = :id

-- name: add_request
-- The first result stays.
INSERT OR IGNORE INTO request (repository, id, result) VALUES (:repository, :id, :result)


-- === baselines ===================================================================================

-- name: baselines
-- Oldest first, each with whether it is the published one.
SELECT b.id, b.revision, b.created_at, b.id IS r.published
FROM baseline b JOIN repository r ON r.id = b.repository
WHERE b.repository = :repository AND b.revision <= r.head ORDER BY b.revision, b.id

-- name: add_baseline
INSERT INTO baseline (repository, id, revision, created_at)
VALUES (:repository, :id, :revision, :at)

-- name: publish
-- One row changes, so readers see the old baseline or the new one, never none.
UPDATE repository SET published = :id WHERE id = :repository


-- === what differs between two revisions ==========================================================

-- name: nodes_between
-- Nodes that revision :revision shows and the earlier :low does not. Found by their birth.
SELECT {checked_node n} FROM node n
WHERE n.repository = :repository AND n.born > :low AND n.born <= :revision
  AND {visible n} AND {readable n} AND (:kind IS NULL OR n.kind = :kind)
ORDER BY n.id

-- name: nodes_ended_between
-- Nodes that revision :revision shows and the later :high does not. Found by their end.
SELECT {checked_node n} FROM node n
WHERE n.repository = :repository AND n.died > :revision AND n.died <= :high
  AND {visible n} AND {readable n} AND (:kind IS NULL OR n.kind = :kind)
ORDER BY n.id

-- name: relations_between
-- Relationships that revision :revision states and the earlier :low does not, whichever document
-- states them. To a reader with roles one may come or go without being written anew, when a document
-- gets another label; so all are compared.
SELECT DISTINCT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE l.repository = :repository AND l.born > :low AND l.born <= :revision
  AND {visible l} AND {is_relation l} AND {readable_link l} AND {not_stated l at :low}
UNION
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE :readable IS NOT NULL AND l.repository = :repository
  AND {visible l} AND {is_relation l} AND {readable_link l} AND {not_stated l at :low}
ORDER BY 3, 1, 2, 4

-- name: relations_ended_between
-- Relationships that revision :revision states and the later :high does not.
SELECT DISTINCT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE l.repository = :repository AND l.died > :revision AND l.died <= :high
  AND {visible l} AND {is_relation l} AND {readable_link l} AND {not_stated l at :high}
UNION
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE :readable IS NOT NULL AND l.repository = :repository
  AND {visible l} AND {is_relation l} AND {readable_link l} AND {not_stated l at :high}
ORDER BY 3, 1, 2, 4


-- === retention ===================================================================================

-- fragment: forgotten
-- A row that has ended and that no kept revision shows. (The index has kept revisions alone: the other
-- way a row that lived long would be compared with each of those that were dropped.)
$.repository = :repository AND $.died IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM revision AS kept INDEXED BY revision_kept
  WHERE kept.repository = :repository AND kept.dropped IS NULL
    AND kept.number >= $.born AND kept.number < $.died)

-- name: dropped
-- When retention dropped a revision; no row while it is kept.
SELECT at FROM revision
WHERE repository = :repository AND number = :revision AND dropped IS NOT NULL

-- name: last_dropped
SELECT number, at FROM revision
WHERE repository = :repository AND dropped IS NOT NULL ORDER BY number DESC LIMIT 1

-- name: nearest_kept
-- The later one of two that are as near.
SELECT number, at FROM revision WHERE repository = :repository AND dropped IS NULL
ORDER BY abs(number - :revision), number DESC LIMIT 1

-- name: kept_count
SELECT count(*) FROM revision WHERE repository = :repository AND dropped IS NULL

-- name: drop_revisions
-- All before one, but never head, and never one that a baseline names.
UPDATE revision SET dropped = :at
WHERE repository = :repository AND dropped IS NULL AND number < :bound
  AND number <> (SELECT head FROM repository WHERE id = :repository)
  AND number NOT IN (SELECT revision FROM baseline WHERE repository = :repository)
RETURNING number

-- name: remember_versions
-- Which versions go, and between which revisions they were seen.
INSERT INTO dropped_version (repository, version_id, start, "end", born, died, labels)
SELECT n.repository, n.version_id, n.start, n."end", min(n.born), max(n.died), max(n.labels)
FROM node n WHERE {forgotten n} GROUP BY n.version_id, n.start, n."end"
ON CONFLICT DO UPDATE SET born = min(born, excluded.born), died = max(died, excluded.died),
  labels = coalesce(labels, excluded.labels)

-- name: remember_last_passage
UPDATE repository SET last_passage = (SELECT coalesce(max(row), 0) FROM passage)
WHERE id = :repository AND last_passage < (SELECT coalesce(max(row), 0) FROM passage)

-- name: drop_nodes
DELETE FROM node AS n WHERE {forgotten n}

-- name: drop_links
DELETE FROM link AS l WHERE {forgotten l}

-- name: drop_passages
DELETE FROM passage AS p WHERE {forgotten p}

-- name: drop_facets
DELETE FROM facet WHERE repository = :repository
  AND NOT EXISTS (SELECT 1 FROM passage p WHERE p.row = facet.passage)

-- name: drop_texts
DELETE FROM content WHERE repository = :repository
  AND hash NOT IN (SELECT n.content FROM node n WHERE n.repository = :repository)

-- name: drop_quality
DELETE FROM quality WHERE repository = :repository AND NOT EXISTS (
  SELECT 1 FROM node n WHERE n.repository = :repository AND n.version_id = quality.version_id)

-- name: drop_vectors
-- The space's own count of vectors stays: it tells readers that more have come, so it only grows.
DELETE FROM vector WHERE space IN (SELECT row FROM space WHERE repository = :repository)
  AND NOT EXISTS (SELECT 1 FROM passage p
    WHERE p.repository = :repository AND p.text_hash = vector.text_hash)

-- name: drop_token_vectors
DELETE FROM token_vectors WHERE space IN (SELECT row FROM space WHERE repository = :repository)
  AND NOT EXISTS (SELECT 1 FROM passage p
    WHERE p.repository = :repository AND p.text_hash = token_vectors.text_hash)

-- name: drop_claims
DELETE FROM claim WHERE space IN (SELECT row FROM space WHERE repository = :repository)
  AND NOT EXISTS (SELECT 1 FROM passage p
    WHERE p.repository = :repository AND p.text_hash = claim.text_hash)

-- name: drop_failures
DELETE FROM failure WHERE space IN (SELECT row FROM space WHERE repository = :repository)
  AND NOT EXISTS (SELECT 1 FROM passage p
    WHERE p.repository = :repository AND p.text_hash = failure.text_hash)

-- name: dropped_version
SELECT d.start, d."end", d.born, d.died FROM dropped_version d
WHERE d.repository = :repository AND d.version_id = :version AND {readable d}
ORDER BY d.born DESC, d.start

-- name: shown
-- Every row of a version with the revisions that show it, newest first.
SELECT n.born, n.died, {checked_node n} FROM node n
WHERE n.repository = :repository AND n.version_id = :version AND {readable_today n}
ORDER BY n.born DESC, n.row DESC


-- === structured reads ============================================================================

-- name: node
-- One node as a revision shows it.
SELECT {checked_node n} FROM node n
WHERE n.repository = :repository AND n.id = :id AND {visible n} AND {readable n}

-- name: versions
-- Every row of a version, newest first.
SELECT {checked_node n} FROM node n INDEXED BY node_by_version
WHERE n.repository = :repository AND n.version_id = :version AND {readable_today n}
ORDER BY n.born DESC, n.row DESC

-- name: nodes
-- A page of visible nodes. Each filter, {"key", "values"} in a JSON list, must match a column or a
-- metadata key; a list in the metadata matches by any of its items.
SELECT {checked_node n} FROM node n
WHERE n.repository = :repository AND n.id > :after AND {visible n} AND {readable n}
  AND (:kind IS NULL OR n.kind = :kind)
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:filters) f WHERE NOT EXISTS (
      SELECT 1 FROM json_each(f.value, '$.values') w WHERE w.value =
        CASE json_extract(f.value, '$.key')
          WHEN 'id' THEN n.id
          WHEN 'element_id' THEN n.element_id
          WHEN 'kind' THEN n.kind
          WHEN 'version_id' THEN n.version_id
          WHEN 'content_hash' THEN n.content_hash
          WHEN 'parent_id' THEN n.parent_id
          WHEN 'title' THEN n.title
          WHEN 'source' THEN n.source
          WHEN 'page' THEN CAST(n.page AS TEXT)
        END
      UNION ALL
      SELECT 1 FROM json_each(n.metadata) m
      WHERE m.key = json_extract(f.value, '$.key') AND (
        {as_text m} IN (SELECT value FROM json_each(f.value, '$.values'))
        OR EXISTS (
          SELECT 1 FROM json_each(CASE m.type WHEN 'array' THEN m.value ELSE '[]' END) i
          WHERE {as_text i} IN (SELECT value FROM json_each(f.value, '$.values'))))))
ORDER BY n.id LIMIT :limit

-- name: content_of
-- The document text that a node's offsets point into: newest row first.
SELECT n.content FROM node n INDEXED BY node_by_version
WHERE n.repository = :repository AND n.version_id = :version
  AND n.id = :id AND n.start = :start AND n."end" = :end AND {readable n}
ORDER BY n.born DESC, n.row DESC LIMIT 1

-- name: content
SELECT text FROM content WHERE repository = :repository AND hash = :hash

-- name: contents_of
-- The same for all places in some versions, the newest row last.
SELECT n.content, n.version_id, n.id, n.start, n."end" FROM json_each(:versions) v
CROSS JOIN node n INDEXED BY node_by_version
  ON n.repository = :repository AND n.version_id = v.value AND {readable n}
ORDER BY n.born, n.row

-- name: contents
SELECT c.hash, c.text FROM json_each(:hashes) h
CROSS JOIN content c ON c.repository = :repository AND c.hash = h.value

-- name: links
-- The visible links at either end of a node, in the order of what they say: that of the rows would tell
-- since when a document was there before its label let the reader see it.
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE l.row IN (
    SELECT row FROM link INDEXED BY link_by_source
    WHERE repository = :repository AND source_id = :id
    UNION
    SELECT row FROM link INDEXED BY link_by_target
    WHERE repository = :repository AND target_id = :id)
  AND {visible l} AND {readable_link l}
ORDER BY l.type, l.source_id, l.target_id, l.metadata

-- name: children
-- What a node contains, in the order of the text.
SELECT {checked_node n} FROM link l INDEXED BY link_by_source
CROSS JOIN node n ON n.repository = l.repository AND n.id = l.target_id
WHERE l.repository = :repository AND l.source_id = :id AND l.type = 'contains'
  AND {visible l} AND {visible n} AND {readable n}
ORDER BY n.start, n."end" DESC, n.id LIMIT :limit

-- name: relations
-- Links at either end of a JSON list of nodes that do not come from the structure of a document. Both
-- ends may state one, so it may be there twice.
SELECT l.source_id, l.target_id, l.type, l.metadata FROM json_each(:ids) wanted
CROSS JOIN link l INDEXED BY link_by_source
  ON l.repository = :repository AND l.source_id = wanted.value
WHERE {visible l} AND {is_relation l} AND {readable_link l}
UNION
SELECT l.source_id, l.target_id, l.type, l.metadata FROM json_each(:ids) wanted
CROSS JOIN link l INDEXED BY link_by_target
  ON l.repository = :repository AND l.target_id = wanted.value
WHERE {visible l} AND {is_relation l} AND {readable_link l}
ORDER BY 3, 1, 2, 4 LIMIT :limit

-- name: relations_among
-- The same, where both ends are in the list.
SELECT DISTINCT l.source_id, l.target_id, l.type, l.metadata FROM json_each(:ids) wanted
CROSS JOIN link l INDEXED BY link_by_source
  ON l.repository = :repository AND l.source_id = wanted.value
WHERE l.target_id IN (SELECT value FROM json_each(:ids)) AND {visible l} AND {is_relation l}
  AND {readable_link l}
ORDER BY 3, 1, 2, 4 LIMIT :limit

-- name: counts
-- How many rows of each kind a revision shows.
SELECT n.kind, count(*) FROM node n
WHERE n.repository = :repository AND {visible n} AND {readable n} GROUP BY n.kind
UNION ALL
SELECT 'passages', count(*) FROM passage p
WHERE p.repository = :repository AND {visible p} AND {readable p}
UNION ALL
SELECT 'links', count(*) FROM link l
WHERE l.repository = :repository AND {visible l} AND {readable_link l}

-- name: passages
-- Passages by row, each with the node that it shows. The order is the caller's to restore.
SELECT {checked_node n}, p.row, p.node_id, p.element_id, p.resolution, p.body,
  p.context, p.title, p.heading, p.summary, p.text_hash, p.digest, p.length, p.labels, p.born,
  p.tokens, p.checksum
FROM json_each(:rows) wanted
CROSS JOIN passage p ON p.row = wanted.value
CROSS JOIN node n ON n.repository = p.repository AND n.id = p.node_id AND n.element_id = p.element_id
WHERE p.repository = :repository AND {visible p} AND {visible n}
  AND {readable p} AND {readable n}


-- === search ======================================================================================

-- What makes up an index is read in few steps, each of which gives many values as one: at every step
-- Python lets its other threads in, and waits for its turn again. Blobs are put together as if they
-- were text, which only newer versions of SQLite do whole: `connections.sqlite_suits` tries it.

-- name: lane
-- The passages of one resolution that a revision shows: JSON lists of their nodes, their rows, and
-- how many bytes their terms take.
SELECT json_group_array(p.node_id), json_group_array(p.row), json_group_array(length(p.terms))
FROM passage p
WHERE p.repository = :repository AND {in_lane p} AND {visible p} AND {readable p}

-- name: lane_difference
-- What one revision shows of a resolution and another one does not.
SELECT json_group_array(p.node_id), json_group_array(p.row), json_group_array(length(p.terms))
FROM passage p
WHERE p.repository = :repository AND {in_lane p} AND {visible p} AND {readable p}
  AND NOT ({visible p at :other})

-- name: lane_columns
-- What search needs of a JSON list of rows, in their order: JSON lists, and the terms of all.
SELECT json_group_array(p.element_id), json_group_array(p.ancestors), json_group_array(p.text_hash),
  CAST(group_concat(p.terms, '') AS BLOB), json_group_array(p.terms_checksum)
FROM json_each(:rows) wanted CROSS JOIN passage p ON p.row = wanted.value
WHERE p.repository = :repository

-- name: lane_size
-- How many passages of one resolution a revision shows.
SELECT count(*) FROM passage p
WHERE p.repository = :repository AND {in_lane p} AND {visible p} AND {readable p}

-- name: has_standing
-- Whether any revision says something of a document's standing: metadata under one of a JSON list of
-- keys, or that one supersedes another.
SELECT EXISTS (
  SELECT 1 FROM json_each(:keys) wanted
  CROSS JOIN facet f ON f.repository = :repository AND f.key = wanted.value)
OR EXISTS (SELECT 1 FROM link WHERE repository = :repository AND type = 'supersedes')

-- name: facet
-- The passages that have this value.
SELECT passage FROM facet WHERE repository = :repository AND key = :key AND value = :value

-- name: tokens
-- Term ids of title, heading and body in order, with -1 between the fields.
SELECT tokens, node_id, element_id, resolution, text_hash, digest, title, heading, context, body,
  summary, length, labels, born, checksum
FROM passage WHERE row = :passage

-- name: terms_of
-- What full-text search reads of a JSON list of rows, with its checksum.
SELECT p.terms_checksum, p.node_id, p.element_id, p.ancestors, p.text_hash, p.terms
FROM json_each(:rows) wanted CROSS JOIN passage p ON p.row = wanted.value

-- name: space_vectors
-- How many vectors a space holds: tells a reader that more have come.
SELECT vectors FROM space WHERE row = :space

-- name: space_dimensions
SELECT dimensions FROM space WHERE row = :space

-- name: whole_space
-- Some of a space's vectors, beginning after a text hash: a JSON list of hashes, and all the vectors.
SELECT json_group_array(text_hash), CAST(group_concat(data, '') AS BLOB), json_group_array(checksum)
FROM (
  SELECT text_hash, data, checksum FROM vector WHERE space = :space AND text_hash > :after
  ORDER BY text_hash LIMIT :most)

-- name: vectors
-- Those of a JSON list of text hashes, as far as they are there.
-- (CROSS keeps the order: the other way round reads the whole table for each hash.)
SELECT json_group_array(v.text_hash), CAST(group_concat(v.data, '') AS BLOB),
  json_group_array(v.checksum)
FROM json_each(:hashes) h CROSS JOIN vector v ON v.space = :space AND v.text_hash = h.value


-- === vectors =====================================================================================

-- name: spaces
SELECT row, id, provider, model, dimensions, chunker, state FROM space
WHERE repository = :repository AND state <> 'dropped' ORDER BY row

-- name: add_space
INSERT INTO space (repository, id, provider, model, dimensions, chunker, state)
VALUES (:repository, :id, :provider, :model, :dimensions, :chunker, :state)

-- name: drop_space
-- The row stays, so that its number is never another space's: readers keep vectors by it.
UPDATE space SET state = 'dropped', vectors = 0, id = 'dropped ' || row WHERE row = :space

-- name: retire_spaces
-- Of all but one; a space that is being built goes on being built.
UPDATE space SET state = 'retired'
WHERE repository = :repository AND state = 'active' AND row <> :space

-- name: activate_space
UPDATE space SET state = 'active' WHERE repository = :repository AND row = :space

-- name: pending
-- Texts without a vector, once each: what head shows first, then the short ones. Found by two indexes
-- alone; their words are read for what is asked for.
WITH ranked AS (
  SELECT p.text_hash, min(p.row) AS row, min(p.died IS NOT NULL) AS ended, p.length AS length
  FROM passage p INDEXED BY passage_by_text
  WHERE p.repository = :repository AND {unembedded p}
  GROUP BY p.text_hash
  ORDER BY ended, length, p.text_hash LIMIT :limit
)
SELECT r.text_hash, p.context, p.body FROM ranked r JOIN passage p ON p.row = r.row
ORDER BY r.ended, r.length, r.text_hash

-- name: unembedded
-- Of a JSON list of hashes, in no order.
SELECT w.text_hash FROM (SELECT value AS text_hash FROM json_each(:hashes)) w
WHERE {unembedded w}

-- name: count_pending
SELECT count(DISTINCT p.text_hash) FROM passage p INDEXED BY passage_by_text
WHERE p.repository = :repository AND {unembedded p}

-- name: add_vector
-- The same text has one vector: the first one stays.
INSERT OR IGNORE INTO vector (space, text_hash, data, checksum)
VALUES (:space, :text_hash, :data, :checksum)

-- name: add_token_vectors
INSERT OR IGNORE INTO token_vectors (space, text_hash, data, checksum)
VALUES (:space, :text_hash, :data, :checksum)

-- name: hold_space
-- Nothing to do here, where one writes at a time; else nobody drops the space before the commit.
SELECT 1

-- name: empty_vector
DELETE FROM vector WHERE space = :space

-- name: empty_token_vectors
DELETE FROM token_vectors WHERE space = :space

-- name: empty_claim
DELETE FROM claim WHERE space = :space

-- name: empty_failure
DELETE FROM failure WHERE space = :space

-- name: empty_usage
DELETE FROM usage WHERE space = :space

-- name: token_vectors
-- Of a JSON list of passage rows, as far as they are there.
SELECT passage.row, t.data, t.checksum, passage.element_id
FROM json_each(:rows) r
CROSS JOIN passage ON passage.row = r.value AND passage.repository = :repository
  AND {readable passage}
CROSS JOIN token_vectors t ON t.space = :space AND t.text_hash = passage.text_hash

-- name: count_vectors
-- In the transaction that added them.
UPDATE space SET vectors = vectors + :added WHERE row = :space


-- === who embeds what ==============================================================================

-- name: claimable
-- As pending, without what somebody holds or what may not be tried now.
SELECT p.text_hash FROM passage p INDEXED BY passage_by_text
WHERE p.repository = :repository AND {unembedded p} AND {free p}
GROUP BY p.text_hash
ORDER BY min(p.died IS NOT NULL), p.length, p.text_hash LIMIT :limit

-- name: take_claims
-- Of a JSON list of hashes, those that may still be claimed, in no order. A claim whose time has run
-- out is replaced.
INSERT OR REPLACE INTO claim (space, text_hash, worker, until)
SELECT :space, w.text_hash, :worker, :until
FROM (SELECT value AS text_hash FROM json_each(:hashes)) w
WHERE {unembedded w} AND {free w}
  AND EXISTS (
    SELECT 1 FROM passage p WHERE p.repository = :repository AND p.text_hash = w.text_hash)
RETURNING text_hash

-- name: claimed_texts
-- The words of a JSON list of hashes, and how often each failed.
SELECT w.value, p.context, p.body,
  coalesce((
    SELECT f.attempts FROM failure f WHERE f.space = :space AND f.text_hash = w.value), 0)
FROM json_each(:hashes) w
CROSS JOIN passage p ON p.row = (
  SELECT min(same.row) FROM passage same
  WHERE same.repository = :repository AND same.text_hash = w.value)

-- name: renew_claims
UPDATE claim SET until = :until WHERE space = :space AND worker = :worker

-- name: release_claims
-- Those of a JSON list of hashes, or all of the worker's.
DELETE FROM claim WHERE space = :space AND worker = :worker
  AND (:hashes IS NULL OR text_hash IN (SELECT value FROM json_each(:hashes)))

-- name: end_claims
DELETE FROM claim WHERE space = :space AND text_hash IN (SELECT value FROM json_each(:hashes))

-- name: end_failures
DELETE FROM failure WHERE space = :space AND text_hash IN (SELECT value FROM json_each(:hashes))

-- name: attempts
-- Of a JSON list of hashes; those that have a vector by now are left out.
SELECT w.text_hash,
  coalesce((
    SELECT f.attempts FROM failure f WHERE f.space = :space AND f.text_hash = w.text_hash), 0)
FROM (SELECT value AS text_hash FROM json_each(:hashes)) w WHERE {unembedded w}

-- name: add_failure
INSERT OR REPLACE INTO failure (space, text_hash, attempts, error, at, next_try, dead)
VALUES (:space, :text_hash, :attempts, :error, :at, :next_try, :dead)

-- name: forget_failures
DELETE FROM failure WHERE space = :space

-- name: failures
-- What is given up first, then the newest, with the words of each. To a reader with roles not by time:
-- which text was tried first depends on what head shows to others.
SELECT f.text_hash, p.context, p.body, f.attempts, f.error, f.at, f.next_try, f.dead
FROM failure f
CROSS JOIN passage p ON p.row = (
  SELECT min(same.row) FROM passage same
  WHERE same.repository = :repository AND same.text_hash = f.text_hash AND {readable same})
WHERE f.space = :space
ORDER BY f.dead DESC, CASE WHEN :readable IS NULL THEN f.at END DESC, f.text_hash LIMIT :limit

-- name: next_free
-- When the next text that somebody holds, or that failed, can be claimed.
SELECT min(w.at) FROM (
  SELECT text_hash, until AS at FROM claim WHERE space = :space
  UNION ALL
  SELECT text_hash, next_try FROM failure WHERE space = :space AND NOT dead) w
WHERE {unembedded w}
  AND EXISTS (
    SELECT 1 FROM passage p WHERE p.repository = :repository AND p.text_hash = w.text_hash)

-- name: work_state
-- As long as none of this changes, there is no more to do than there was.
SELECT r.head, s.vectors,
  (SELECT count(*) FROM claim WHERE claim.space = s.row),
  (SELECT count(*) FROM failure WHERE failure.space = s.row)
FROM space s JOIN repository r ON r.id = s.repository WHERE s.row = :space

-- name: waiting
-- Texts that still wait for a vector, and the oldest passage of one of them.
SELECT count(DISTINCT p.text_hash), min(p.row) FROM passage p INDEXED BY passage_by_text
WHERE p.repository = :repository AND {unembedded p} AND {not_given_up p}

-- name: waiting_readable
-- The same, of what a reader with roles sees.
SELECT count(DISTINCT p.text_hash), min(p.row) FROM passage p INDEXED BY passage_by_text
WHERE p.repository = :repository AND {unembedded p} AND {not_given_up p} AND {readable p}

-- name: committed_at
-- When a passage was committed.
SELECT r.at FROM passage p JOIN revision r ON r.repository = p.repository AND r.number = p.born
WHERE p.row = :row AND p.repository = :repository

-- name: count_claims
SELECT count(*) FROM claim WHERE space = :space AND until > :now

-- name: count_failures
-- Those that are tried again, and those that are given up, of texts that are still there.
SELECT count(*) FILTER (WHERE NOT f.dead), count(*) FILTER (WHERE f.dead) FROM failure f
WHERE f.space = :space AND EXISTS (
  SELECT 1 FROM passage p WHERE p.repository = :repository AND p.text_hash = f.text_hash)

-- name: add_usage
INSERT INTO usage (space, at, worker, texts, tokens, seconds, cost)
VALUES (:space, :at, :worker, :texts, :tokens, :seconds, :cost)
RETURNING row

-- name: sum_up_usage
-- One row a day of what is older; those rows follow, so that what was summed up can go.
INSERT INTO usage (space, at, worker, texts, tokens, seconds, cost)
SELECT space, min(at), '', sum(texts), sum(tokens), sum(seconds), sum(cost) FROM usage
WHERE space = :space AND at < :before AND row <= :last GROUP BY substr(at, 1, 10)

-- name: drop_usage
DELETE FROM usage WHERE space = :space AND at < :before AND row <= :last

-- name: recent_usage
SELECT at, texts, seconds FROM usage WHERE space = :space AND at >= :since AND worker != ''

-- name: usage_by_model
SELECT s.provider, s.model, sum(u.texts), sum(u.tokens), sum(u.seconds), sum(u.cost)
FROM usage u JOIN space s ON s.row = u.space
WHERE s.repository = :repository GROUP BY s.provider, s.model ORDER BY s.provider, s.model


-- === what a language model answered ==============================================================

-- name: generated
-- The answers of a JSON list of keys, as far as they are there.
SELECT g.key, g.text FROM json_each(:keys) wanted
CROSS JOIN generated g ON g.repository = :repository AND g.key = wanted.value

-- name: keep_generated
-- The first answer stays: passages are made from it.
INSERT OR IGNORE INTO generated (repository, key, text) VALUES (?, ?, ?)


-- === the commit ==================================================================================

-- name: current
-- What decides whether a document is new: its text and how it was made.
SELECT n.element_id, n.content_hash, n.recipe, n.source FROM json_each(:elements) e
CROSS JOIN node n ON n.repository = :repository AND n.element_id = e.value
  AND n.died IS NULL AND n.parent_id IS NULL

-- name: live_before
SELECT n.element_id, n.content_hash, n.recipe, n.source FROM node n
WHERE n.repository = :repository AND n.died IS NULL AND n.parent_id IS NULL AND n.born <= :revision
LIMIT :limit

-- name: live_elements
-- Documents of a source or below it ('0' is the character after '/'), or all of them.
SELECT element_id, source FROM node
WHERE repository = :repository AND died IS NULL AND parent_id IS NULL
  AND (:source IS NULL OR source = :source
    OR (source >= :source || '/' AND source < :source || '0'))
ORDER BY source, element_id

-- name: live_nodes
SELECT n.row, n.recipe, n.labels, {node_columns n} FROM node n
WHERE n.repository = :repository AND n.element_id = :element AND n.died IS NULL

-- name: live_links
SELECT row, source_id, target_id, type, metadata FROM link
WHERE repository = :repository AND element_id = :element AND died IS NULL

-- name: live_passages
SELECT row, digest FROM passage
WHERE repository = :repository AND element_id = :element AND died IS NULL

-- name: live_checked_nodes
-- The live rows of a JSON list of documents, each with its number.
SELECT n.row, {checked_node n} FROM json_each(:elements) e
CROSS JOIN node n ON n.repository = :repository AND n.element_id = e.value AND n.died IS NULL

-- name: live_checked_passages
SELECT p.row, p.node_id, p.element_id, p.resolution, p.ancestors, p.text_hash, p.digest, p.title,
  p.heading, p.context, p.body, p.summary, p.length, p.terms, p.tokens, p.labels, p.born,
  p.checksum, p.terms_checksum
FROM json_each(:elements) e
CROSS JOIN passage p ON p.repository = :repository AND p.element_id = e.value AND p.died IS NULL

-- name: checked_vectors
-- The vectors of a JSON list of texts, in every space of the repository.
SELECT v.space, v.text_hash, v.data, v.checksum, t.data, t.checksum
FROM space s CROSS JOIN json_each(:hashes) h
CROSS JOIN vector v ON v.space = s.row AND v.text_hash = h.value
LEFT JOIN token_vectors t ON t.space = v.space AND t.text_hash = v.text_hash
WHERE s.repository = :repository

-- name: mend_node
-- Write a damaged row again as it was committed.
UPDATE node SET id = :id, element_id = :element_id, kind = :kind, version_id = :version_id, content_hash =
  :content_hash, parent_id = :parent_id, position = :position, title = :title, source = :source,
  start = :start, "end" = :end, section_path = :section_path, page = :page, metadata =
  :metadata, content = :content, labels = :labels, born = :born, checksum = :checksum
WHERE row = :row

-- name: mend_passage
UPDATE passage SET node_id = :node_id, element_id = :element_id, resolution = :resolution, ancestors = :ancestors,
  text_hash = :text_hash, digest = :digest, title = :title, heading = :heading, context =
  :context, body = :body, summary = :summary, length = :length, terms = :terms, tokens =
  :tokens, labels = :labels, born = :born, checksum = :checksum, terms_checksum =
  :terms_checksum
WHERE row = :row

-- name: delete_vector
DELETE FROM vector WHERE space = :space AND text_hash = :text_hash

-- name: delete_token_vectors
DELETE FROM token_vectors WHERE space = :space AND text_hash = :text_hash

-- name: elements_of_texts
-- The documents that have a passage with one of these texts.
SELECT DISTINCT p.element_id FROM json_each(:hashes) h
CROSS JOIN passage p ON p.repository = :repository AND p.text_hash = h.value

-- name: last_rows
-- The largest number of a node or a passage.
SELECT max((SELECT coalesce(max(row), 0) FROM node), (SELECT coalesce(max(row), 0) FROM passage))

-- name: element_of_content
-- One of the documents whose words are in a text.
SELECT n.element_id FROM node n WHERE n.repository = :repository AND n.content = :hash LIMIT 1

-- name: add_content
-- A text that is there under its hash stays, unless it is damaged.
INSERT INTO content (repository, hash, text) VALUES (:repository, :hash, :text)
ON CONFLICT DO UPDATE SET text = excluded.text WHERE text IS NOT excluded.text

-- name: add_node
INSERT INTO node (id, element_id, kind, version_id, content_hash, parent_id, position, title,
  source, start, "end", section_path, page, metadata, repository, recipe, content, labels, born,
  checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_link
INSERT INTO link (repository, element_id, source_id, target_id, type, metadata, born)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: last_passage
-- Rows are numbered by the commit, which needs them for the facets. No number is given out twice.
SELECT max((SELECT coalesce(max(row), 0) FROM passage),
  (SELECT coalesce(max(last_passage), 0) FROM repository))

-- name: add_passage
INSERT INTO passage (row, repository, node_id, element_id, resolution, ancestors, text_hash, digest,
  title, heading, context, body, summary, length, terms, tokens, labels, born,
  checksum, terms_checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: labels
-- Every list of labels that the repository ever had.
SELECT labels FROM label WHERE repository = :repository

-- name: add_label
INSERT OR IGNORE INTO label (repository, labels) VALUES (:repository, :labels)

-- name: add_facet
INSERT INTO facet (repository, key, value, passage) VALUES (?, ?, ?, ?)

-- name: end_nodes
UPDATE node SET died = :revision WHERE row IN (SELECT value FROM json_each(:rows))

-- name: end_links
UPDATE link SET died = :revision WHERE row IN (SELECT value FROM json_each(:rows))

-- name: end_passages
UPDATE passage SET died = :revision WHERE row IN (SELECT value FROM json_each(:rows))

-- name: terms
-- The ids of those of these terms that the repository knows. CROSS JOIN fixes the order of the
-- loops: a search in the index for each term asked for, not a list read for each term known.
SELECT t.text, t.id FROM json_each(:texts) wanted
CROSS JOIN term t ON t.repository = :repository AND t.text = wanted.value

-- name: next_term
SELECT coalesce(max(id), 0) + 1 FROM term WHERE repository = :repository

-- name: add_term
INSERT INTO term (repository, text, id) VALUES (?, ?, ?)


-- === quality =====================================================================================

-- name: unscored
-- Nodes since a revision whose version this analyzer has not scored, oldest first, from the row behind
-- :after on. Rows of later revisions come later, so the index of revisions has them in order.
SELECT n.row, {checked_node n} FROM node n
WHERE n.repository = :repository AND n.row > :after
  AND n.born >= max(:since, coalesce((SELECT m.born FROM node m WHERE m.row = :after), 0))
  AND NOT EXISTS (
    SELECT 1 FROM quality q
    WHERE q.repository = :repository AND q.version_id = n.version_id AND q.analyzer = :analyzer)
ORDER BY n.born, n.row LIMIT :limit

-- name: add_quality
INSERT OR REPLACE INTO quality (repository, version_id, analyzer, scores, checksum)
VALUES (?, ?, ?, ?, ?)

-- name: quality
SELECT q.version_id, q.scores, q.checksum FROM json_each(:versions) v
CROSS JOIN quality q
  ON q.repository = :repository AND q.version_id = v.value AND q.analyzer = :analyzer


-- === monitoring ==================================================================================

-- name: log_query
-- Behind the repository, in the order of the fields of Asked.
INSERT INTO query_log (
  repository, at, kind, text, text_hash, revision, mode, rerank, status, relevance, results,
  found_by_both, dense_only, sparse_only, candidates, latency_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: prune_query_log
-- What is older than the newest rows.
DELETE FROM query_log WHERE repository = :repository AND row <= (
  SELECT row FROM query_log WHERE repository = :repository ORDER BY row DESC LIMIT 1 OFFSET :kept)

-- name: query_log
-- Newest first.
SELECT at, kind, text, text_hash, revision, mode, rerank, status, relevance, results,
  found_by_both, dense_only, sparse_only, candidates, latency_ms
FROM query_log
WHERE repository = :repository AND (:since IS NULL OR at >= :since)
ORDER BY row DESC LIMIT :limit


-- === keys ========================================================================================

-- name: add_key
INSERT INTO api_key (id, hash, name, tenant, organization, repositories, roles, rights, created_at,
  expires_at)
VALUES (:id, :hash, :name, :tenant, :organization, :repositories, :roles, :rights, :created_at,
  :expires_at)

-- name: key
-- By its id alone: whose it is, is what is asked.
SELECT id, hash, name, tenant, organization, repositories, roles, rights, created_at, expires_at,
  revoked_at, last_used_at
FROM api_key WHERE id = :id

-- name: keys
-- Oldest first; of all tenants where none is given.
SELECT id, hash, name, tenant, organization, repositories, roles, rights, created_at, expires_at,
  revoked_at, last_used_at
FROM api_key WHERE :tenant IS NULL OR tenant = :tenant ORDER BY created_at, id

-- name: revoke_key
UPDATE api_key SET revoked_at = :at
WHERE tenant = :tenant AND id = :id AND revoked_at IS NULL

-- name: touch_key
-- Not if it was written within the minute before.
UPDATE api_key SET last_used_at = :at
WHERE id = :id AND (last_used_at IS NULL OR last_used_at <= :before)


-- === feedback ====================================================================================

-- name: add_feedback
-- The first one of a request id stays.
INSERT OR IGNORE INTO feedback (repository, at, query, node_id, element_id, version_id, start, "end",
  text_hash, read_context, judgment, note, key_id, request_id)
VALUES (:repository, :at, :query, :node_id, :element_id, :version_id, :start, :end,
  :text_hash, :read_context, :judgment, :note, :key_id, :request_id)

-- name: feedback_of_request
SELECT at, query, node_id, element_id, version_id, start, "end", text_hash, read_context, judgment,
  note, key_id
FROM feedback
WHERE repository = :repository AND coalesce(key_id, '') = coalesce(:key_id, '')
  AND request_id = :request_id

-- name: feedback
-- Newest first, of what the reader may see; a limit of -1 is no limit.
SELECT f.at, f.query, f.node_id, f.element_id, f.version_id, f.start, f."end", f.text_hash,
  f.read_context, f.judgment, f.note, f.key_id
FROM feedback f
WHERE f.repository = :repository AND (:readable IS NULL OR EXISTS (
  SELECT 1 FROM node n
  WHERE n.repository = :repository AND n.version_id = f.version_id AND {readable_today n}))
ORDER BY f.row DESC LIMIT :limit


-- === moving to another store =====================================================================
-- Rows as every store tells them: the key that they are ordered by first, then what they hold, as of
-- the revision :head. They go into a repository whose head is 0 until all of them are there.

-- name: export_revision
SELECT number, number, at, message, counts, dropped FROM revision
WHERE repository = :repository AND number > :a AND number <= :head ORDER BY number LIMIT :limit

-- name: export_request
SELECT id, id, result FROM request
WHERE repository = :repository AND id > :a AND id <> :state ORDER BY id LIMIT :limit

-- name: export_baseline
SELECT id, id, revision, created_at FROM baseline
WHERE repository = :repository AND id > :a AND revision <= :head ORDER BY id LIMIT :limit

-- name: export_label
SELECT labels, labels FROM label
WHERE repository = :repository AND labels > :a ORDER BY labels LIMIT :limit

-- name: export_dropped_version
SELECT version_id, start, "end", version_id, start, "end", born, died, labels FROM dropped_version
WHERE repository = :repository AND (version_id, start, "end") > (:a, :b, :c)
ORDER BY version_id, start, "end" LIMIT :limit

-- name: export_content
SELECT hash, hash, text FROM content
WHERE repository = :repository AND hash > :a ORDER BY hash LIMIT :limit

-- name: export_node
SELECT n.row, {node_columns n}, n.recipe, n.content, n.labels, n.born,
  CASE WHEN n.died <= :head THEN n.died END, n.checksum
FROM node n WHERE n.repository = :repository AND n.row > :a AND n.born <= :head
ORDER BY n.row LIMIT :limit

-- name: export_link
SELECT l.row, l.element_id, l.source_id, l.target_id, l.type, l.metadata, l.born,
  CASE WHEN l.died <= :head THEN l.died END
FROM link l WHERE l.repository = :repository AND l.row > :a AND l.born <= :head
ORDER BY l.row LIMIT :limit

-- name: export_term
SELECT text, text, id FROM term
WHERE repository = :repository AND text > :a ORDER BY text LIMIT :limit

-- name: export_passage
SELECT p.row, p.node_id, p.element_id, p.resolution, p.ancestors, p.text_hash, p.digest, p.title,
  p.heading, p.context, p.body, p.summary, p.length, p.terms, p.tokens, p.labels, p.born,
  CASE WHEN p.died <= :head THEN p.died END,
  p.checksum, p.terms_checksum
FROM passage p WHERE p.repository = :repository AND p.row > :a AND p.born <= :head
ORDER BY p.row LIMIT :limit

-- name: export_facets
-- Of a JSON list of passages, in order.
SELECT f.passage, f.key, f.value FROM facet f
WHERE f.repository = :repository AND f.passage IN (SELECT value FROM json_each(:rows))
ORDER BY f.passage, f.key, f.value

-- name: export_space
SELECT row, id, provider, model, dimensions, chunker, state FROM space
WHERE repository = :repository AND row > :a AND state <> 'dropped' ORDER BY row LIMIT :limit

-- name: export_vector
SELECT s.id, v.text_hash, s.id, v.text_hash, v.data, t.data, v.checksum, t.checksum
FROM space s JOIN vector v ON v.space = s.row
LEFT JOIN token_vectors t ON t.space = v.space AND t.text_hash = v.text_hash
WHERE s.repository = :repository AND s.state <> 'dropped'
  AND s.id = :a AND v.text_hash > :b
ORDER BY v.text_hash LIMIT :limit

-- name: export_usage
SELECT u.row, s.id, u.at, u.worker, u.texts, u.tokens, u.seconds, u.cost
FROM usage u JOIN space s ON s.row = u.space
WHERE s.repository = :repository AND s.state <> 'dropped' AND u.row > :a
ORDER BY u.row LIMIT :limit

-- name: export_quality
SELECT version_id, analyzer, version_id, analyzer, scores FROM quality
WHERE repository = :repository AND (version_id, analyzer) > (:a, :b)
ORDER BY version_id, analyzer LIMIT :limit

-- name: export_generated
SELECT key, key, text FROM generated
WHERE repository = :repository AND key > :a ORDER BY key LIMIT :limit

-- name: export_feedback
SELECT row, at, query, node_id, element_id, version_id, start, "end", text_hash, read_context,
  judgment, note, key_id, request_id
FROM feedback WHERE repository = :repository AND row > :a ORDER BY row LIMIT :limit

-- name: export_query_log
SELECT row, at, kind, text, text_hash, revision, mode, rerank, status, relevance, results,
  found_by_both, dense_only, sparse_only, candidates, latency_ms
FROM query_log WHERE repository = :repository AND row > :a ORDER BY row LIMIT :limit

-- name: import_revision
INSERT INTO revision (repository, number, at, message, counts, dropped) VALUES (?, ?, ?, ?, ?, ?)

-- name: import_request
INSERT INTO request (repository, id, result) VALUES (?, ?, ?)

-- name: import_baseline
INSERT INTO baseline (repository, id, revision, created_at) VALUES (?, ?, ?, ?)

-- name: import_label
INSERT INTO label (repository, labels) VALUES (?, ?)

-- name: import_dropped_version
INSERT INTO dropped_version (repository, version_id, start, "end", born, died, labels)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: import_content
INSERT INTO content (repository, hash, text) VALUES (?, ?, ?)

-- name: import_node
INSERT INTO node (repository, id, element_id, kind, version_id, content_hash, parent_id, position,
  title, source, start, "end", section_path, page, metadata, recipe, content, labels, born, died,
  checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: import_link
INSERT INTO link (repository, element_id, source_id, target_id, type, metadata, born, died)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: import_passage
INSERT INTO passage (repository, row, node_id, element_id, resolution, ancestors, text_hash, digest,
  title, heading, context, body, summary, length, terms, tokens, labels, born, died,
  checksum, terms_checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: import_usage
INSERT INTO usage (space, at, worker, texts, tokens, seconds, cost)
VALUES (:space, :at, :worker, :texts, :tokens, :seconds, :cost)

-- name: import_feedback
INSERT INTO feedback (repository, at, query, node_id, element_id, version_id, start, "end",
  text_hash, read_context, judgment, note, key_id, request_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: import_key
INSERT OR IGNORE INTO api_key (id, hash, name, tenant, organization, repositories, roles, rights,
  created_at, expires_at, revoked_at, last_used_at)
VALUES (:id, :hash, :name, :tenant, :organization, :repositories, :roles, :rights, :created_at,
  :expires_at, :revoked_at, :last_used_at)

-- name: keep_copy_state
-- How far the copy has come, under a name that no request has.
INSERT OR REPLACE INTO request (repository, id, result) VALUES (:repository, :state, :result)

-- name: finish_copy
UPDATE repository SET head = :head, published = :published
WHERE id = :repository AND head = 0

-- name: end_copy_state
DELETE FROM request WHERE repository = :repository AND id = :state

-- name: copied_passage
-- The last passage that was given a number.
SELECT max((SELECT coalesce(max(row), 0) FROM passage),
  (SELECT coalesce(max(last_passage), 0) FROM repository))
