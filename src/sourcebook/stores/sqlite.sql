-- Every statement that the SQLite store runs. `-- name:` starts a statement, `-- fragment:` a piece
-- that statements share: `{visible p}` is the fragment `visible` with `$` replaced by the alias `p`,
-- and `{visible p at :other}` is the same at another revision.

-- fragment: visible
-- The one definition of what a revision shows.
$.born <= :revision AND ($.died IS NULL OR $.died > :revision)

-- fragment: in_lane
-- The passages of a resolution; a document that is one passage is its own chunk and document.
$.resolution IN (:resolution, CASE :resolution WHEN 0 THEN 2 END)
AND ($.resolution = :resolution OR $.node_id = $.element_id)

-- fragment: node_columns
-- In the order of the fields of Node.
$.id, $.element_id, $.kind, $.version_id, $.content_hash, $.parent_id, $.position, $.title,
$.source, $.start, $."end", $.section_path, $.page, $.metadata

-- fragment: is_relation
-- Not one that only says how a document is made up.
$.type NOT IN ('contains', 'follows', 'responds-to')

-- fragment: as_text
-- A JSON value as filters compare it.
CASE $.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST($.value AS TEXT) END


-- === repositories and revisions ==================================================================

-- name: repository
-- The number of a scope's repository.
SELECT id FROM repository
WHERE tenant = :tenant AND organization = :organization AND name = :name

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
SELECT number FROM revision
WHERE repository = :repository AND at <= :at ORDER BY number DESC LIMIT 1

-- name: log
-- Newest first; a limit of -1 is no limit.
SELECT number, at, message, counts FROM revision
WHERE repository = :repository ORDER BY number DESC LIMIT :limit

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
WHERE b.repository = :repository ORDER BY b.revision, b.id

-- name: add_baseline
INSERT INTO baseline (repository, id, revision, created_at)
VALUES (:repository, :id, :revision, :at)

-- name: publish
-- One row changes, so readers see the old baseline or the new one, never none.
UPDATE repository SET published = :id WHERE id = :repository


-- === structured reads ============================================================================

-- name: node
-- One node as a revision shows it.
SELECT {node_columns n} FROM node n
WHERE n.repository = :repository AND n.id = :id AND {visible n}

-- name: versions
-- Every row of a version, newest first.
SELECT {node_columns n} FROM node n
WHERE n.repository = :repository AND n.version_id = :version
ORDER BY n.born DESC, n.row DESC

-- name: nodes
-- A page of visible nodes. Each filter, {"key", "values"} in a JSON list, must match a column or a
-- metadata key; a list in the metadata matches by any of its items.
SELECT {node_columns n} FROM node n
WHERE n.repository = :repository AND n.id > :after AND {visible n}
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
SELECT content FROM node
WHERE repository = :repository AND version_id = :version
  AND id = :id AND start = :start AND "end" = :end
ORDER BY born DESC, row DESC LIMIT 1

-- name: content
SELECT text FROM content WHERE repository = :repository AND hash = :hash

-- name: links
-- The visible links at either end of a node.
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE l.repository = :repository AND (l.source_id = :id OR l.target_id = :id) AND {visible l}
ORDER BY l.type, l.source_id, l.target_id, l.row

-- name: children
-- What a node contains, in the order of the text.
SELECT {node_columns n} FROM link l
CROSS JOIN node n ON n.repository = l.repository AND n.id = l.target_id
WHERE l.repository = :repository AND l.source_id = :id AND l.type = 'contains'
  AND {visible l} AND {visible n}
ORDER BY n.start, n."end" DESC, n.id LIMIT :limit

-- name: relations
-- Links at either end of a JSON list of nodes that do not come from the structure of a document. Both
-- ends may state one, so it may be there twice.
SELECT l.source_id, l.target_id, l.type, l.metadata FROM json_each(:ids) wanted
CROSS JOIN link l ON l.repository = :repository AND l.source_id = wanted.value
WHERE {visible l} AND {is_relation l}
UNION
SELECT l.source_id, l.target_id, l.type, l.metadata FROM json_each(:ids) wanted
CROSS JOIN link l ON l.repository = :repository AND l.target_id = wanted.value
WHERE {visible l} AND {is_relation l}
ORDER BY 3, 1, 2, 4 LIMIT :limit

-- name: relations_among
-- The same, where both ends are in the list.
SELECT DISTINCT l.source_id, l.target_id, l.type, l.metadata FROM json_each(:ids) wanted
CROSS JOIN link l ON l.repository = :repository AND l.source_id = wanted.value
WHERE l.target_id IN (SELECT value FROM json_each(:ids)) AND {visible l} AND {is_relation l}
ORDER BY 3, 1, 2, 4 LIMIT :limit

-- name: counts
-- How many rows of each kind a revision shows.
SELECT n.kind, count(*) FROM node n
WHERE n.repository = :repository AND {visible n} GROUP BY n.kind
UNION ALL
SELECT 'passages', count(*) FROM passage p WHERE p.repository = :repository AND {visible p}
UNION ALL
SELECT 'links', count(*) FROM link l WHERE l.repository = :repository AND {visible l}

-- name: passages
-- Passages by row, each with the node that it shows. The order is the caller's to restore.
SELECT {node_columns n}, n.content, p.row, p.node_id, p.element_id, p.resolution, p.body,
  p.context, p.title, p.heading, p.summary
FROM json_each(:rows) wanted
CROSS JOIN passage p ON p.row = wanted.value
CROSS JOIN node n ON n.repository = p.repository AND n.id = p.node_id AND n.element_id = p.element_id
WHERE p.repository = :repository AND {visible p} AND {visible n}


-- === search ======================================================================================

-- name: lane
-- The passages of one resolution that a revision shows.
SELECT p.row, p.node_id, p.element_id, p.ancestors, p.text_hash, p.terms FROM passage p
WHERE p.repository = :repository AND {in_lane p} AND {visible p}
ORDER BY p.node_id, p.row

-- name: lane_difference
-- What one revision shows of a resolution and another one does not.
SELECT p.row, p.node_id, p.element_id, p.ancestors, p.text_hash, p.terms FROM passage p
WHERE p.repository = :repository AND {in_lane p} AND {visible p}
  AND NOT ({visible p at :other})
ORDER BY p.node_id, p.row

-- name: lane_size
-- How many passages of one resolution a revision shows.
SELECT count(*) FROM passage p
WHERE p.repository = :repository AND {in_lane p} AND {visible p}

-- name: has_facet
SELECT EXISTS (SELECT 1 FROM facet WHERE repository = :repository AND key = :key)

-- name: facet
-- The passages that have this value.
SELECT passage FROM facet WHERE repository = :repository AND key = :key AND value = :value

-- name: term_id
SELECT id FROM term WHERE repository = :repository AND text = :text

-- name: tokens
-- Term ids of title, heading and body in order, with -1 between the fields.
SELECT tokens FROM passage WHERE row = :passage

-- name: space_vectors
-- How many vectors a space holds: tells a reader that more have come.
SELECT vectors FROM space WHERE row = :space

-- name: space_dimensions
SELECT dimensions FROM space WHERE row = :space

-- name: vectors
-- The vectors of a JSON list of text hashes, as far as they are there.
-- (CROSS keeps the order: the other way round reads the whole table for each hash.)
SELECT v.text_hash, v.data FROM json_each(:hashes) h
CROSS JOIN vector v ON v.space = :space AND v.text_hash = h.value


-- === vectors =====================================================================================

-- name: spaces
SELECT row, id, provider, model, dimensions, chunker, state FROM space
WHERE repository = :repository ORDER BY row

-- name: add_space
INSERT INTO space (repository, id, provider, model, dimensions, chunker, state)
VALUES (:repository, :id, :provider, :model, :dimensions, :chunker, :state)

-- name: pending
-- Texts without a vector, once each: what head shows first, then the short ones. The anti-join runs
-- over two indexes alone, so that a space that is almost complete costs next to nothing.
WITH missing AS (
  SELECT DISTINCT text_hash FROM passage
  WHERE repository = :repository
    AND NOT EXISTS (
      SELECT 1 FROM vector v WHERE v.space = :space AND v.text_hash = passage.text_hash)
),
ranked AS (
  SELECT m.text_hash, min(p.row) AS row, min(p.died IS NOT NULL) AS ended, p.length AS length
  FROM missing m JOIN passage p ON p.repository = :repository AND p.text_hash = m.text_hash
  GROUP BY m.text_hash
  ORDER BY ended, length, m.text_hash LIMIT :limit
)
SELECT r.text_hash, p.context, p.body FROM ranked r JOIN passage p ON p.row = r.row
ORDER BY r.ended, r.length, r.text_hash

-- name: count_pending
SELECT count(DISTINCT text_hash) FROM passage
WHERE repository = :repository
  AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.space = :space AND v.text_hash = passage.text_hash)

-- name: add_vector
-- The same text has one vector: the first one stays.
INSERT OR IGNORE INTO vector (space, text_hash, data) VALUES (?, ?, ?)

-- name: add_token_vectors
INSERT OR IGNORE INTO token_vectors (space, text_hash, data) VALUES (?, ?, ?)

-- name: token_vectors
-- Of a JSON list of passage rows, as far as they are there.
SELECT passage.row, t.data
FROM json_each(:rows) r
CROSS JOIN passage ON passage.row = r.value AND passage.repository = :repository
CROSS JOIN token_vectors t ON t.space = :space AND t.text_hash = passage.text_hash

-- name: count_vectors
-- In the transaction that added them.
UPDATE space SET vectors = vectors + :added WHERE row = :space


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
SELECT content_hash, recipe, source FROM node
WHERE repository = :repository AND element_id = :element
  AND died IS NULL AND parent_id IS NULL

-- name: live_elements
-- Documents of a source or below it ('0' is the character after '/'), or all of them.
SELECT element_id, source FROM node
WHERE repository = :repository AND died IS NULL AND parent_id IS NULL
  AND (:source IS NULL OR source = :source
    OR (source >= :source || '/' AND source < :source || '0'))
ORDER BY source, element_id

-- name: live_nodes
SELECT n.row, n.recipe, {node_columns n} FROM node n
WHERE n.repository = :repository AND n.element_id = :element AND n.died IS NULL

-- name: live_links
SELECT row, source_id, target_id, type, metadata FROM link
WHERE repository = :repository AND element_id = :element AND died IS NULL

-- name: live_passages
SELECT row, digest FROM passage
WHERE repository = :repository AND element_id = :element AND died IS NULL

-- name: add_content
INSERT OR IGNORE INTO content (repository, hash, text) VALUES (?, ?, ?)

-- name: add_node
INSERT INTO node (id, element_id, kind, version_id, content_hash, parent_id, position, title,
  source, start, "end", section_path, page, metadata, repository, recipe, content, born)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_link
INSERT INTO link (repository, element_id, source_id, target_id, type, metadata, born)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: last_passage
-- Rows are numbered by the commit, which needs them for the facets.
SELECT coalesce(max(row), 0) FROM passage

-- name: add_passage
INSERT INTO passage (row, repository, node_id, element_id, resolution, ancestors, text_hash, digest,
  title, heading, context, body, summary, length, terms, tokens, born)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: add_facet
INSERT INTO facet (repository, key, value, passage) VALUES (?, ?, ?, ?)

-- name: end_node
UPDATE node SET died = ? WHERE row = ?

-- name: end_link
UPDATE link SET died = ? WHERE row = ?

-- name: end_passage
UPDATE passage SET died = ? WHERE row = ?

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
-- Node versions since a revision that this analyzer has not scored, oldest first.
SELECT {node_columns n} FROM node n
WHERE n.repository = :repository AND n.born >= :since
  AND NOT EXISTS (
    SELECT 1 FROM quality q
    WHERE q.repository = :repository AND q.version_id = n.version_id AND q.analyzer = :analyzer)
GROUP BY n.version_id ORDER BY min(n.row) LIMIT :limit

-- name: add_quality
INSERT OR REPLACE INTO quality (repository, version_id, analyzer, scores) VALUES (?, ?, ?, ?)

-- name: quality
SELECT q.version_id, q.scores FROM json_each(:versions) v
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
