-- Every statement that the PostgreSQL store runs, but those of search, under the names of `sqlite.sql`,
-- where each is explained; here stands only what is different. `:tenant` is in all of them, and the
-- transaction says it too (postgres/walls.sql): two walls. Values of `?` come a row at a time, behind
-- the tenant; those of `:1`, `:2` … are whole columns of rows.

-- fragment: mine
$.tenant = :tenant AND $.repository = :repository

-- fragment: alive
$.died = 2147483647

-- fragment: visible
$.born <= :revision AND $.died > :revision

-- fragment: readable
(:readable::text IS NULL OR $.labels IS NULL
  OR $.labels IN (SELECT json_array_elements_text(:readable::json)))

-- fragment: readable_today
{readable $} AND (:readable::text IS NULL OR EXISTS (
  SELECT 1 FROM (
    SELECT latest.labels FROM node latest
    WHERE {mine latest} AND latest.id = $.element_id
      AND latest.element_id = $.element_id AND latest.parent_id IS NULL
    ORDER BY latest.born DESC LIMIT 1) AS today
  WHERE {readable today}))

-- fragment: readable_node
EXISTS (SELECT 1 FROM node shown WHERE {mine shown} AND shown.id = $
  AND {visible shown} AND {readable shown})

-- fragment: readable_link
(:readable::text IS NULL OR ({readable_node $.source_id} AND {readable_node $.target_id}
  AND {readable_node $.element_id}))

-- fragment: unembedded
NOT EXISTS (
  SELECT 1 FROM embedding v WHERE {mine v} AND v.space = :space AND v.text_hash = $.text_hash)

-- fragment: free
NOT EXISTS (
  SELECT 1 FROM claim c
  WHERE {mine c} AND c.space = :space AND c.text_hash = $.text_hash AND c.until > :now)
AND NOT EXISTS (
  SELECT 1 FROM failure f
  WHERE {mine f} AND f.space = :space AND f.text_hash = $.text_hash
    AND (f.dead = 1 OR f.next_try > :now))

-- fragment: not_given_up
NOT EXISTS (
  SELECT 1 FROM failure f
  WHERE {mine f} AND f.space = :space AND f.text_hash = $.text_hash AND f.dead = 1)

-- fragment: in_lane
($.resolution = :resolution
  OR (:resolution = 0 AND $.resolution = 2 AND $.node_id = $.element_id))

-- fragment: node_columns
$.id, $.element_id, $.kind, $.version_id, $.content_hash, $.parent_id, $.position, $.title,
$.source, $.start, $."end", $.section_path, $.page, $.metadata

-- fragment: checked_node
-- A node with what its checksum was made of, and the checksum.
{node_columns $}, $.content, $.labels, $.born, $.checksum

-- fragment: is_relation
$.type NOT IN ('contains', 'follows', 'responds-to')

-- fragment: not_stated
NOT EXISTS (
  SELECT 1 FROM link o
  WHERE {mine o} AND o.source_id = $.source_id AND o.target_id = $.target_id
    AND o.type = $.type AND o.metadata = $.metadata AND {visible o} AND {readable_link o})

-- fragment: as_text
CASE json_typeof($.value) WHEN 'string' THEN $.value #>> '{}' WHEN 'null' THEN NULL
  ELSE $.value::text END

-- fragment: still_there
-- A text that some passage has.
EXISTS (SELECT 1 FROM passage p WHERE {mine p} AND p.text_hash = $.text_hash)


-- === repositories and revisions ==================================================================

-- name: alone
-- Commits of one repository wait for each other, whether it is there yet or not; those of others do
-- not (unless two names have the same hash of 64 bits).
SELECT pg_advisory_xact_lock(hashtextextended(:whose, 7))

-- name: repository
SELECT number FROM repository
WHERE tenant = :tenant AND organization = :organization AND name = :name

-- name: repositories
SELECT tenant, organization, name FROM repository
WHERE head > 0 AND (:tenant::text IS NULL OR tenant = :tenant)
ORDER BY tenant, organization, name

-- name: add_repository
INSERT INTO repository (tenant, organization, name) VALUES (:tenant, :organization, :name)
ON CONFLICT (tenant, organization, name) DO NOTHING

-- name: head
SELECT head, published FROM repository WHERE tenant = :tenant AND number = :repository

-- name: set_head
UPDATE repository SET head = :revision, last_passage = coalesce(:last_passage, last_passage),
  last_term = coalesce(:last_term, last_term)
WHERE tenant = :tenant AND number = :repository

-- name: add_revision
INSERT INTO revision (tenant, repository, number, at, message, counts)
VALUES (:tenant, :repository, :revision, :at, :message, :counts)

-- name: revision_time
SELECT at FROM revision r WHERE {mine r} AND r.number = :revision

-- name: revision_as_of
SELECT r.number FROM revision r
JOIN repository p ON p.tenant = r.tenant AND p.number = r.repository
WHERE {mine r} AND r.at <= :at AND r.number <= p.head ORDER BY r.number DESC LIMIT 1

-- name: log
SELECT r.number, r.at, r.message, r.counts, r.dropped IS NOT NULL FROM revision r
JOIN repository p ON p.tenant = r.tenant AND p.number = r.repository
WHERE {mine r} AND r.number <= p.head ORDER BY r.number DESC LIMIT nullif(:limit, -1)

-- name: request
SELECT result FROM request r WHERE {mine r} AND r.id = :id

-- name: add_request
INSERT INTO request (tenant, repository, id, result) VALUES (:tenant, :repository, :id, :result)
ON CONFLICT DO NOTHING


-- === baselines ===================================================================================

-- name: baselines
SELECT b.id, b.revision, b.created_at, b.id IS NOT DISTINCT FROM r.published
FROM baseline b JOIN repository r ON r.tenant = b.tenant AND r.number = b.repository
WHERE {mine b} AND b.revision <= r.head ORDER BY b.revision, b.id

-- name: add_baseline
INSERT INTO baseline (tenant, repository, id, revision, created_at)
VALUES (:tenant, :repository, :id, :revision, :at)

-- name: publish
UPDATE repository SET published = :id WHERE tenant = :tenant AND number = :repository


-- === what differs between two revisions ==========================================================

-- name: nodes_between
SELECT {checked_node n} FROM node n
WHERE {mine n} AND n.born > :low AND n.born <= :revision
  AND {visible n} AND {readable n} AND (:kind::text IS NULL OR n.kind = :kind)
ORDER BY n.id

-- name: nodes_ended_between
SELECT {checked_node n} FROM node n
WHERE {mine n} AND n.died > :revision AND n.died <= :high AND n.died < 2147483647
  AND {visible n} AND {readable n} AND (:kind::text IS NULL OR n.kind = :kind)
ORDER BY n.id

-- name: relations_between
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE {mine l} AND l.born > :low AND l.born <= :revision
  AND {visible l} AND {is_relation l} AND {readable_link l} AND {not_stated l at :low}
UNION
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE :readable::text IS NOT NULL AND {mine l}
  AND {visible l} AND {is_relation l} AND {readable_link l} AND {not_stated l at :low}
ORDER BY 3, 1, 2, 4

-- name: relations_ended_between
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE {mine l} AND l.died > :revision AND l.died <= :high AND l.died < 2147483647
  AND {visible l} AND {is_relation l} AND {readable_link l} AND {not_stated l at :high}
UNION
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE :readable::text IS NOT NULL AND {mine l}
  AND {visible l} AND {is_relation l} AND {readable_link l} AND {not_stated l at :high}
ORDER BY 3, 1, 2, 4


-- === retention ===================================================================================

-- fragment: forgotten
{mine $} AND $.died < 2147483647 AND NOT EXISTS (
  SELECT 1 FROM revision kept
  WHERE {mine kept} AND kept.dropped IS NULL AND kept.number >= $.born AND kept.number < $.died)

-- name: dropped
SELECT at FROM revision r WHERE {mine r} AND r.number = :revision AND r.dropped IS NOT NULL

-- name: last_dropped
SELECT number, at FROM revision r WHERE {mine r} AND r.dropped IS NOT NULL
ORDER BY r.number DESC LIMIT 1

-- name: nearest_kept
SELECT number, at FROM revision r WHERE {mine r} AND r.dropped IS NULL
ORDER BY abs(r.number - :revision), r.number DESC LIMIT 1

-- name: kept_count
SELECT count(*) FROM revision r WHERE {mine r} AND r.dropped IS NULL

-- name: drop_revisions
UPDATE revision r SET dropped = :at
WHERE {mine r} AND r.dropped IS NULL AND r.number < :bound
  AND r.number <> (SELECT head FROM repository WHERE tenant = :tenant AND number = :repository)
  AND r.number NOT IN (SELECT b.revision FROM baseline b WHERE {mine b})
RETURNING r.number

-- name: remember_versions
INSERT INTO dropped_version AS d (tenant, repository, version_id, start, "end", born, died, labels)
SELECT n.tenant, n.repository, n.version_id, n.start, n."end", min(n.born), max(n.died), max(n.labels)
FROM node n WHERE {forgotten n}
GROUP BY n.tenant, n.repository, n.version_id, n.start, n."end"
ON CONFLICT (tenant, repository, version_id, start, "end") DO UPDATE SET
  born = least(d.born, excluded.born), died = greatest(d.died, excluded.died),
  labels = coalesce(d.labels, excluded.labels)

-- name: remember_last_passage
-- The counter in the row of the repository never goes back.
SELECT 1

-- name: drop_nodes
DELETE FROM node AS n WHERE {forgotten n}

-- name: drop_links
DELETE FROM link AS l WHERE {forgotten l}

-- name: drop_passages
DELETE FROM passage AS p WHERE {forgotten p}

-- name: drop_facets
DELETE FROM facet AS f WHERE {mine f} AND NOT EXISTS (
  SELECT 1 FROM passage p WHERE {mine p} AND p.number = f.passage)

-- name: drop_facet_values
DELETE FROM facet_value AS v WHERE {mine v} AND NOT EXISTS (
  SELECT 1 FROM facet f WHERE {mine f} AND f.pair = v.number)

-- name: drop_texts
DELETE FROM content AS c WHERE {mine c} AND NOT EXISTS (
  SELECT 1 FROM node n WHERE {mine n} AND n.content = c.hash)

-- name: drop_quality
DELETE FROM quality AS q WHERE {mine q} AND NOT EXISTS (
  SELECT 1 FROM node n WHERE {mine n} AND n.version_id = q.version_id)

-- name: drop_vectors
DELETE FROM embedding AS v WHERE {mine v} AND NOT {still_there v}

-- name: drop_token_vectors
DELETE FROM token_vectors AS t WHERE {mine t} AND NOT {still_there t}

-- name: drop_claims
DELETE FROM claim AS c WHERE {mine c} AND NOT {still_there c}

-- name: drop_failures
DELETE FROM failure AS f WHERE {mine f} AND NOT {still_there f}

-- name: dropped_version
SELECT d.start, d."end", d.born, d.died FROM dropped_version d
WHERE {mine d} AND d.version_id = :version AND {readable d}
ORDER BY d.born DESC, d.start

-- name: shown
SELECT n.born, nullif(n.died, 2147483647), {checked_node n} FROM node n
WHERE {mine n} AND n.version_id = :version AND {readable_today n}
ORDER BY n.born DESC, n.number DESC


-- === structured reads ============================================================================

-- name: node
SELECT {checked_node n} FROM node n WHERE {mine n} AND n.id = :id AND {visible n} AND {readable n}

-- name: versions
SELECT {checked_node n} FROM node n
WHERE {mine n} AND n.version_id = :version AND {readable_today n}
ORDER BY n.born DESC, n.number DESC

-- name: nodes
-- JSON functions refuse a NUL: metadata that holds one matches by its columns alone.
SELECT {checked_node n} FROM node n
WHERE {mine n} AND n.id > :after AND {visible n} AND {readable n}
  AND (:kind::text IS NULL OR n.kind = :kind)
  AND NOT EXISTS (
    SELECT 1 FROM json_array_elements(CASE WHEN position('\u0000' IN :filters::text) > 0
      THEN '[{"key": "", "values": []}]' ELSE :filters::text END::json) f(value)
    WHERE NOT coalesce(CASE f.value ->> 'key'
        WHEN 'id' THEN n.id
        WHEN 'element_id' THEN n.element_id
        WHEN 'kind' THEN n.kind
        WHEN 'version_id' THEN n.version_id
        WHEN 'content_hash' THEN n.content_hash
        WHEN 'parent_id' THEN n.parent_id
        WHEN 'title' THEN n.title
        WHEN 'source' THEN n.source
        WHEN 'page' THEN n.page::text
      END IN (SELECT json_array_elements_text(f.value -> 'values')), false)
    AND NOT EXISTS (
      SELECT 1 FROM json_each(CASE WHEN position('\u0000' IN n.metadata) > 0
        THEN '{}' ELSE n.metadata END::json) m
      WHERE m.key = f.value ->> 'key' AND (
        {as_text m} IN (SELECT json_array_elements_text(f.value -> 'values'))
        OR EXISTS (
          SELECT 1 FROM json_array_elements(
            CASE json_typeof(m.value) WHEN 'array' THEN m.value ELSE '[]' END) i(value)
          WHERE {as_text i} IN (SELECT json_array_elements_text(f.value -> 'values'))))))
ORDER BY n.id LIMIT :limit

-- name: content_of
SELECT n.content FROM node n
WHERE {mine n} AND n.version_id = :version
  AND n.id = :id AND n.start = :start AND n."end" = :end AND {readable n}
ORDER BY n.born DESC, n.number DESC LIMIT 1

-- name: content
SELECT c.text FROM content c WHERE {mine c} AND c.hash = :hash

-- name: contents_of
SELECT n.content, n.version_id, n.id, n.start, n."end" FROM node n
WHERE {mine n} AND n.version_id = ANY (:versions::text[]) AND {readable n}
ORDER BY n.born, n.number

-- name: contents
SELECT c.hash, c.text FROM content c WHERE {mine c} AND c.hash = ANY (:hashes::text[])

-- name: links
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE {mine l} AND (l.source_id = :id OR l.target_id = :id)
  AND {visible l} AND {readable_link l}
ORDER BY l.type, l.source_id, l.target_id, l.metadata

-- name: children
SELECT {checked_node n} FROM link l
JOIN node n ON {mine n} AND n.id = l.target_id
WHERE {mine l} AND l.source_id = :id AND l.type = 'contains'
  AND {visible l} AND {visible n} AND {readable n}
ORDER BY n.start, n."end" DESC, n.id LIMIT :limit

-- name: relations
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE {mine l} AND l.source_id = ANY (:ids::text[])
  AND {visible l} AND {is_relation l} AND {readable_link l}
UNION
SELECT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE {mine l} AND l.target_id = ANY (:ids::text[])
  AND {visible l} AND {is_relation l} AND {readable_link l}
ORDER BY 3, 1, 2, 4 LIMIT :limit

-- name: relations_among
SELECT DISTINCT l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE {mine l} AND l.source_id = ANY (:ids::text[]) AND l.target_id = ANY (:ids::text[])
  AND {visible l} AND {is_relation l} AND {readable_link l}
ORDER BY 3, 1, 2, 4 LIMIT :limit

-- name: counts
SELECT n.kind, count(*) FROM node n WHERE {mine n} AND {visible n} AND {readable n} GROUP BY n.kind
UNION ALL
SELECT 'passages', count(*) FROM passage p WHERE {mine p} AND {visible p} AND {readable p}
UNION ALL
SELECT 'links', count(*) FROM link l WHERE {mine l} AND {visible l} AND {readable_link l}

-- name: passages
SELECT {checked_node n}, p.number, p.node_id, p.element_id, p.resolution, p.body,
  p.context, p.title, p.heading, p.summary, p.text_hash, p.digest, p.length, p.labels, p.born,
  p.tokens, p.checksum
FROM passage p JOIN node n ON {mine n} AND n.id = p.node_id AND n.element_id = p.element_id
WHERE {mine p} AND p.number = ANY (:rows::integer[])
  AND {visible p} AND {visible n} AND {readable p} AND {readable n}

-- name: lane_size
SELECT count(*) FROM passage p
WHERE {mine p} AND {in_lane p} AND {visible p} AND {readable p}

-- name: has_standing
SELECT EXISTS (
  SELECT 1 FROM facet_value v JOIN facet f ON {mine f} AND f.pair = v.number
  WHERE {mine v} AND v.key = ANY (:keys::text[]))
OR EXISTS (SELECT 1 FROM link l WHERE {mine l} AND l.type = 'supersedes')


-- === vectors =====================================================================================

-- name: spaces
SELECT number, id, provider, model, dimensions, chunker, state FROM space s
WHERE {mine s} AND s.state <> 'dropped' ORDER BY s.number

-- name: space_vectors
SELECT vectors FROM space s WHERE {mine s} AND s.number = :space

-- name: add_space
INSERT INTO space (tenant, repository, id, provider, model, dimensions, chunker, state)
VALUES (:tenant, :repository, :id, :provider, :model, :dimensions, :chunker, :state)

-- name: drop_space
UPDATE space s SET state = 'dropped', vectors = 0, id = 'dropped ' || s.number
WHERE {mine s} AND s.number = :space

-- name: retire_spaces
UPDATE space s SET state = 'retired'
WHERE {mine s} AND s.state = 'active' AND s.number <> :space

-- name: activate_space
UPDATE space s SET state = 'active' WHERE {mine s} AND s.number = :space

-- name: hold_space
SELECT 1 FROM space s WHERE {mine s} AND s.number = :space FOR UPDATE

-- name: pending
WITH ranked AS (
  SELECT p.text_hash, min(p.number) AS number, min((p.died < 2147483647)::int) AS ended,
    min(p.length) AS length
  FROM passage p WHERE {mine p} AND {unembedded p}
  GROUP BY p.text_hash
  ORDER BY ended, length, p.text_hash LIMIT nullif(:limit, -1)
)
SELECT r.text_hash, p.context, p.body FROM ranked r
JOIN passage p ON {mine p} AND p.number = r.number
ORDER BY r.ended, r.length, r.text_hash

-- name: unembedded
SELECT w.text_hash FROM unnest(:hashes::text[]) w(text_hash) WHERE {unembedded w}

-- name: count_pending
SELECT count(DISTINCT p.text_hash) FROM passage p WHERE {mine p} AND {unembedded p}

-- name: add_vector
-- Not into a space that was dropped while the vector was made.
INSERT INTO embedding (tenant, repository, space, text_hash, vector, checksum)
SELECT s.tenant, s.repository, s.number, :text_hash, :data, :checksum FROM space s
WHERE {mine s} AND s.number = :space AND s.state <> 'dropped'
ON CONFLICT DO NOTHING

-- name: add_token_vectors
INSERT INTO token_vectors (tenant, repository, space, text_hash, data, checksum)
SELECT s.tenant, s.repository, s.number, :text_hash, :data, :checksum FROM space s
WHERE {mine s} AND s.number = :space AND s.state <> 'dropped'
ON CONFLICT DO NOTHING

-- name: empty_vector
DELETE FROM embedding v WHERE {mine v} AND v.space = :space

-- name: empty_token_vectors
DELETE FROM token_vectors v WHERE {mine v} AND v.space = :space

-- name: empty_claim
DELETE FROM claim v WHERE {mine v} AND v.space = :space

-- name: empty_failure
DELETE FROM failure v WHERE {mine v} AND v.space = :space

-- name: empty_usage
DELETE FROM usage v WHERE {mine v} AND v.space = :space

-- name: token_vectors
SELECT p.number, t.data, t.checksum, p.element_id FROM passage p
JOIN token_vectors t ON {mine t} AND t.space = :space AND t.text_hash = p.text_hash
WHERE {mine p} AND p.number = ANY (:rows::integer[]) AND {readable p}

-- name: count_vectors
UPDATE space s SET vectors = s.vectors + :added WHERE {mine s} AND s.number = :space


-- === who embeds what ==============================================================================

-- name: claimable
SELECT p.text_hash FROM passage p
WHERE {mine p} AND {unembedded p} AND {free p}
GROUP BY p.text_hash
ORDER BY min((p.died < 2147483647)::int), min(p.length), p.text_hash LIMIT :limit

-- name: take_claims
-- Workers skip what another one is taking at this moment, as FOR UPDATE SKIP LOCKED would: but a text
-- that nobody has claimed yet has no row that could be locked. What was taken a moment ago is seen
-- by the conflict.
WITH wanted AS MATERIALIZED (
  SELECT w.text_hash FROM unnest(:hashes::text[]) w(text_hash)
  WHERE {unembedded w} AND {free w} AND {still_there w}
), held AS MATERIALIZED (
  SELECT w.text_hash FROM wanted w
  WHERE pg_try_advisory_xact_lock(hashtextextended(w.text_hash, :space))
)
INSERT INTO claim AS c (tenant, repository, space, text_hash, worker, until)
SELECT :tenant, :repository, :space, h.text_hash, :worker, :until FROM held h
ON CONFLICT (tenant, repository, space, text_hash)
DO UPDATE SET worker = excluded.worker, until = excluded.until WHERE c.until <= :now
RETURNING text_hash

-- name: claimed_texts
-- Of any passage with that hash: it stands for the text. (The first of them would be looked for by going
-- through all passages, where the planner has not heard of the repository yet.)
SELECT w.text_hash, p.context, p.body,
  coalesce((
    SELECT f.attempts FROM failure f
    WHERE {mine f} AND f.space = :space AND f.text_hash = w.text_hash), 0)
FROM unnest(:hashes::text[]) w(text_hash)
CROSS JOIN LATERAL (
  SELECT p.context, p.body FROM passage p
  WHERE {mine p} AND p.text_hash = w.text_hash LIMIT 1) p

-- name: renew_claims
UPDATE claim c SET until = :until WHERE {mine c} AND c.space = :space AND c.worker = :worker

-- name: release_claims
DELETE FROM claim c WHERE {mine c} AND c.space = :space AND c.worker = :worker
  AND (:hashes::text[] IS NULL OR c.text_hash = ANY (:hashes::text[]))

-- name: end_claims
DELETE FROM claim c WHERE {mine c} AND c.space = :space AND c.text_hash = ANY (:hashes::text[])

-- name: end_failures
DELETE FROM failure f WHERE {mine f} AND f.space = :space AND f.text_hash = ANY (:hashes::text[])

-- name: attempts
SELECT w.text_hash,
  coalesce((
    SELECT f.attempts FROM failure f
    WHERE {mine f} AND f.space = :space AND f.text_hash = w.text_hash), 0)
FROM unnest(:hashes::text[]) w(text_hash) WHERE {unembedded w}

-- name: add_failure
INSERT INTO failure (tenant, repository, space, text_hash, attempts, error, at, next_try, dead)
VALUES (:tenant, :repository, :space, :text_hash, :attempts, :error, :at, :next_try, :dead)
ON CONFLICT (tenant, repository, space, text_hash) DO UPDATE SET attempts = excluded.attempts,
  error = excluded.error, at = excluded.at, next_try = excluded.next_try, dead = excluded.dead

-- name: forget_failures
DELETE FROM failure f WHERE {mine f} AND f.space = :space

-- name: failures
SELECT f.text_hash, p.context, p.body, f.attempts, f.error, f.at, f.next_try, f.dead
FROM failure f
JOIN passage p ON {mine p} AND p.number = (
  SELECT min(same.number) FROM passage same
  WHERE {mine same} AND same.text_hash = f.text_hash AND {readable same})
WHERE {mine f} AND f.space = :space
ORDER BY f.dead DESC, CASE WHEN :readable::text IS NULL THEN f.at END DESC, f.text_hash
LIMIT :limit

-- name: next_free
SELECT min(w.at) FROM (
  SELECT c.text_hash, c.until AS at FROM claim c WHERE {mine c} AND c.space = :space
  UNION ALL
  SELECT f.text_hash, f.next_try FROM failure f WHERE {mine f} AND f.space = :space AND f.dead = 0
) w
WHERE {unembedded w} AND {still_there w}

-- name: work_state
SELECT r.head, s.vectors,
  (SELECT count(*) FROM claim c WHERE {mine c} AND c.space = :space),
  (SELECT count(*) FROM failure f WHERE {mine f} AND f.space = :space)
FROM space s JOIN repository r ON r.tenant = s.tenant AND r.number = s.repository
WHERE {mine s} AND s.number = :space

-- name: waiting
SELECT count(DISTINCT p.text_hash), min(p.number) FROM passage p
WHERE {mine p} AND {unembedded p} AND {not_given_up p}

-- name: waiting_readable
SELECT count(DISTINCT p.text_hash), min(p.number) FROM passage p
WHERE {mine p} AND {unembedded p} AND {not_given_up p} AND {readable p}

-- name: committed_at
SELECT r.at FROM passage p JOIN revision r ON {mine r} AND r.number = p.born
WHERE {mine p} AND p.number = :row

-- name: count_claims
SELECT count(*) FROM claim c WHERE {mine c} AND c.space = :space AND c.until > :now

-- name: count_failures
SELECT count(*) FILTER (WHERE f.dead = 0), count(*) FILTER (WHERE f.dead = 1) FROM failure f
WHERE {mine f} AND f.space = :space AND {still_there f}

-- name: add_usage
INSERT INTO usage (tenant, repository, space, at, worker, texts, tokens, seconds, cost)
VALUES (:tenant, :repository, :space, :at, :worker, :texts, :tokens, :seconds, :cost)
RETURNING number

-- name: sum_up_usage
INSERT INTO usage (tenant, repository, space, at, worker, texts, tokens, seconds, cost)
SELECT :tenant, :repository, u.space, min(u.at), '', sum(u.texts), sum(u.tokens), sum(u.seconds),
  sum(u.cost)
FROM usage u WHERE {mine u} AND u.space = :space AND u.at < :before AND u.number <= :last
GROUP BY u.space, substr(u.at, 1, 10)

-- name: drop_usage
DELETE FROM usage u WHERE {mine u} AND u.space = :space AND u.at < :before AND u.number <= :last

-- name: recent_usage
SELECT at, texts, seconds FROM usage u
WHERE {mine u} AND u.space = :space AND u.at >= :since AND u.worker <> ''

-- name: usage_by_model
SELECT s.provider, s.model, sum(u.texts)::bigint, sum(u.tokens)::bigint, sum(u.seconds), sum(u.cost)
FROM usage u JOIN space s ON {mine s} AND s.number = u.space
WHERE {mine u} GROUP BY s.provider, s.model ORDER BY s.provider, s.model


-- === what a language model answered ==============================================================

-- name: generated
SELECT g.key, g.text FROM generated g WHERE {mine g} AND g.key = ANY (:keys::text[])

-- name: keep_generated
INSERT INTO generated (tenant, repository, key, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING


-- === the commit ==================================================================================

-- name: current
SELECT n.element_id, n.content_hash, n.recipe, n.source FROM node n
WHERE {mine n} AND n.element_id = ANY (:elements::text[]) AND {alive n} AND n.parent_id IS NULL

-- name: live_before
SELECT n.element_id, n.content_hash, n.recipe, n.source FROM node n
WHERE {mine n} AND {alive n} AND n.parent_id IS NULL AND n.born <= :revision
LIMIT :limit

-- name: live_elements
SELECT n.element_id, n.source FROM node n
WHERE {mine n} AND {alive n} AND n.parent_id IS NULL
  AND (:source::text IS NULL OR n.source = :source
    OR (n.source >= :source || '/' AND n.source < :source || '0'))
ORDER BY n.source, n.element_id

-- name: live_nodes
SELECT n.number, n.recipe, n.labels, {node_columns n} FROM node n
WHERE {mine n} AND n.element_id = :element AND {alive n}

-- name: live_links
SELECT l.number, l.source_id, l.target_id, l.type, l.metadata FROM link l
WHERE {mine l} AND l.element_id = :element AND {alive l}

-- name: live_passages
SELECT p.number, p.digest FROM passage p
WHERE {mine p} AND p.element_id = :element AND {alive p}

-- name: live_checked_nodes
SELECT n.number, {checked_node n} FROM node n
WHERE {mine n} AND n.element_id = ANY (:elements::text[]) AND {alive n}

-- name: live_checked_passages
SELECT p.number, p.node_id, p.element_id, p.resolution, p.ancestors, p.text_hash, p.digest, p.title,
  p.heading, p.context, p.body, p.summary, p.length, p.terms, p.tokens, p.labels, p.born,
  p.checksum, p.terms_checksum
FROM passage p WHERE {mine p} AND p.element_id = ANY (:elements::text[]) AND {alive p}

-- name: checked_vectors
SELECT v.space, v.text_hash, vector_send(v.vector), v.checksum, t.data, t.checksum
FROM embedding v
LEFT JOIN token_vectors t ON {mine t} AND t.space = v.space AND t.text_hash = v.text_hash
WHERE {mine v} AND v.text_hash = ANY (:hashes::text[])

-- name: mend_node
UPDATE node w SET id = :id, element_id = :element_id, kind = :kind, version_id = :version_id, content_hash =
  :content_hash, parent_id = :parent_id, position = :position, title = :title, source = :source,
  start = :start, "end" = :end, section_path = :section_path, page = :page, metadata =
  :metadata, content = :content, labels = :labels, born = :born, checksum = :checksum
WHERE {mine w} AND w.number = :row

-- name: mend_passage
UPDATE passage w SET node_id = :node_id, element_id = :element_id, resolution = :resolution, ancestors = :ancestors,
  text_hash = :text_hash, digest = :digest, title = :title, heading = :heading, context =
  :context, body = :body, summary = :summary, length = :length, terms = :terms, tokens =
  :tokens, labels = :labels, born = :born, checksum = :checksum, terms_checksum =
  :terms_checksum
WHERE {mine w} AND w.number = :row

-- name: delete_vector
DELETE FROM embedding v WHERE {mine v} AND v.space = :space AND v.text_hash = :text_hash

-- name: delete_token_vectors
DELETE FROM token_vectors v WHERE {mine v} AND v.space = :space AND v.text_hash = :text_hash

-- name: elements_of_texts
SELECT DISTINCT p.element_id FROM passage p
WHERE {mine p} AND p.text_hash = ANY (:hashes::text[])

-- name: last_rows
SELECT r.last_passage FROM repository r WHERE r.tenant = :tenant AND r.number = :repository

-- name: element_of_content
SELECT n.element_id FROM node n WHERE {mine n} AND n.content = :hash LIMIT 1

-- name: add_content
INSERT INTO content AS c (tenant, repository, hash, text)
VALUES (:tenant, :repository, :hash, :text)
ON CONFLICT (tenant, repository, hash) DO UPDATE SET text = excluded.text
WHERE c.text IS DISTINCT FROM excluded.text

-- name: add_node
INSERT INTO node (tenant, id, element_id, kind, version_id, content_hash, parent_id, position, title,
  source, start, "end", section_path, page, metadata, repository, recipe, content, labels, born,
  checksum)
SELECT :tenant, w.* FROM unnest(:1::text[], :2::text[], :3::text[], :4::text[], :5::text[],
  :6::text[], :7::integer[], :8::text[], :9::text[], :10::integer[], :11::integer[], :12::text[],
  :13::integer[], :14::text[], :15::bigint[], :16::text[], :17::text[], :18::text[],
  :19::integer[], :20::bigint[]) w

-- name: add_link
INSERT INTO link (tenant, repository, element_id, source_id, target_id, type, metadata, born)
SELECT :tenant, w.* FROM unnest(:1::bigint[], :2::text[], :3::text[], :4::text[], :5::text[],
  :6::text[], :7::integer[]) w

-- name: last_passage
SELECT last_passage FROM repository WHERE tenant = :tenant AND number = :repository

-- name: add_passage
INSERT INTO passage (tenant, number, repository, node_id, element_id, resolution, ancestors,
  text_hash, digest, title, heading, context, body, summary, length, terms, tokens, labels, born,
  checksum, terms_checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: labels
SELECT l.labels FROM label l WHERE {mine l}

-- name: add_label
INSERT INTO label (tenant, repository, labels) VALUES (:tenant, :repository, :labels)
ON CONFLICT DO NOTHING

-- name: add_facet_value
-- Pairs of key and value that are new to the repository, with the numbers that they get.
INSERT INTO facet_value (tenant, repository, key, value)
SELECT :tenant, :repository, w.key, w.value FROM unnest(:keys::text[], :values::text[]) w(key, value)
ON CONFLICT DO NOTHING RETURNING number, key, value

-- name: facet_values
-- All pairs of a key and a value with these hashes. Given as values they are hashed once more, and each
-- row is looked up in them; as the result of a SELECT they would be gone through for every row.
SELECT v.number, v.key, v.value FROM facet_value v
WHERE {mine v} AND md5(v.key) = ANY (:keys::text[]) AND md5(v.value) = ANY (:values::text[])

-- name: add_facet
INSERT INTO facet (tenant, repository, pair, passage)
SELECT :tenant, w.* FROM unnest(:1::bigint[], :2::bigint[], :3::integer[]) w

-- name: end_nodes
UPDATE node n SET died = :revision WHERE {mine n} AND n.number = ANY (:rows::bigint[])

-- name: end_links
UPDATE link l SET died = :revision WHERE {mine l} AND l.number = ANY (:rows::bigint[])

-- name: end_passages
UPDATE passage p SET died = :revision WHERE {mine p} AND p.number = ANY (:rows::integer[])

-- name: terms
SELECT t.text, t.id FROM term t WHERE {mine t} AND t.text = ANY (:texts::text[])

-- name: next_term
SELECT last_term + 1 FROM repository WHERE tenant = :tenant AND number = :repository

-- name: add_term
INSERT INTO term (tenant, repository, text, id)
SELECT :tenant, w.* FROM unnest(:1::bigint[], :2::text[], :3::integer[]) w


-- === quality =====================================================================================

-- name: unscored
SELECT n.number, {checked_node n} FROM node n
-- A lookup for each node: a join might read all of `quality` for every one.
WHERE {mine n} AND n.born >= :since AND n.number > :after AND (
  SELECT 1 FROM quality q
  WHERE {mine q} AND q.version_id = n.version_id AND q.analyzer = :analyzer LIMIT 1) IS NULL
ORDER BY n.number LIMIT :limit

-- name: add_quality
INSERT INTO quality (tenant, repository, version_id, analyzer, scores, checksum)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, repository, version_id, analyzer)
  DO UPDATE SET scores = excluded.scores, checksum = excluded.checksum

-- name: quality
SELECT q.version_id, q.scores, q.checksum FROM quality q
WHERE {mine q} AND q.version_id = ANY (:versions::text[]) AND q.analyzer = :analyzer


-- === monitoring ==================================================================================

-- name: log_query
INSERT INTO query_log (tenant,
  repository, at, kind, text, text_hash, revision, mode, rerank, status, relevance, results,
  found_by_both, dense_only, sparse_only, candidates, latency_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: prune_query_log
DELETE FROM query_log q WHERE {mine q} AND q.number <= (
  SELECT o.number FROM query_log o WHERE {mine o} ORDER BY o.number DESC LIMIT 1 OFFSET :kept)

-- name: query_log
SELECT at, kind, text, text_hash, revision, mode, rerank, status, relevance, results,
  found_by_both, dense_only, sparse_only, candidates, latency_ms
FROM query_log q
WHERE {mine q} AND (:since::text IS NULL OR q.at >= :since)
ORDER BY q.number DESC LIMIT :limit


-- === keys ========================================================================================

-- name: add_key
INSERT INTO api_key (id, hash, name, tenant, organization, repositories, roles, rights, created_at,
  expires_at)
VALUES (:id, :hash, :name, :tenant, :organization, :repositories, :roles, :rights, :created_at,
  :expires_at)

-- name: key
SELECT id, hash, name, tenant, organization, repositories, roles, rights, created_at, expires_at,
  revoked_at, last_used_at
FROM api_key WHERE id = :id

-- name: keys
SELECT id, hash, name, tenant, organization, repositories, roles, rights, created_at, expires_at,
  revoked_at, last_used_at
FROM api_key WHERE :tenant::text IS NULL OR tenant = :tenant ORDER BY created_at, id

-- name: revoke_key
UPDATE api_key SET revoked_at = :at
WHERE tenant = :tenant AND id = :id AND revoked_at IS NULL

-- name: touch_key
UPDATE api_key SET last_used_at = :at
WHERE id = :id AND (last_used_at IS NULL OR last_used_at <= :before)


-- === feedback ====================================================================================

-- name: add_feedback
INSERT INTO feedback (tenant, repository, at, query, node_id, element_id, version_id, start, "end",
  text_hash, read_context, judgment, note, key_id, request_id)
VALUES (:tenant, :repository, :at, :query, :node_id, :element_id, :version_id, :start, :end,
  :text_hash, :read_context, :judgment, :note, :key_id, :request_id)
ON CONFLICT DO NOTHING

-- name: feedback_of_request
SELECT at, query, node_id, element_id, version_id, start, "end", text_hash, read_context, judgment,
  note, key_id
FROM feedback f
WHERE {mine f} AND coalesce(f.key_id, '') = coalesce(:key_id::text, '')
  AND f.request_id = :request_id

-- name: feedback
SELECT f.at, f.query, f.node_id, f.element_id, f.version_id, f.start, f."end", f.text_hash,
  f.read_context, f.judgment, f.note, f.key_id
FROM feedback f
WHERE {mine f} AND (:readable::text IS NULL OR EXISTS (
  SELECT 1 FROM node n WHERE {mine n} AND n.version_id = f.version_id AND {readable_today n}))
ORDER BY f.number DESC LIMIT nullif(:limit, -1)


-- === moving to another store =====================================================================

-- name: export_revision
SELECT number, number, at, message, counts, dropped FROM revision x
WHERE {mine x} AND number > :a AND number <= :head ORDER BY number LIMIT :limit

-- name: export_request
SELECT id, id, result FROM request x
WHERE {mine x} AND id > :a AND id <> :state ORDER BY id LIMIT :limit

-- name: export_baseline
SELECT id, id, revision, created_at FROM baseline x
WHERE {mine x} AND id > :a AND revision <= :head ORDER BY id LIMIT :limit

-- name: export_label
SELECT labels, labels FROM label x
WHERE {mine x} AND labels > :a ORDER BY labels LIMIT :limit

-- name: export_dropped_version
SELECT version_id, start, "end", version_id, start, "end", born, died, labels FROM dropped_version x
WHERE {mine x} AND (version_id, start, "end") > (:a, :b, :c)
ORDER BY version_id, start, "end" LIMIT :limit

-- name: export_content
SELECT hash, hash, text FROM content x
WHERE {mine x} AND hash > :a ORDER BY hash LIMIT :limit

-- name: export_node
SELECT n.number, {node_columns n}, n.recipe, n.content, n.labels, n.born,
  CASE WHEN n.died <= :head AND n.died < 2147483647 THEN n.died END, n.checksum
FROM node n WHERE {mine n} AND n.number > :a AND n.born <= :head
ORDER BY n.number LIMIT :limit

-- name: export_link
SELECT l.number, l.element_id, l.source_id, l.target_id, l.type, l.metadata, l.born,
  CASE WHEN l.died <= :head AND l.died < 2147483647 THEN l.died END
FROM link l WHERE {mine l} AND l.number > :a AND l.born <= :head
ORDER BY l.number LIMIT :limit

-- name: export_term
SELECT text, text, id FROM term x
WHERE {mine x} AND text > :a ORDER BY text LIMIT :limit

-- name: export_passage
SELECT p.number, p.node_id, p.element_id, p.resolution, p.ancestors, p.text_hash, p.digest, p.title,
  p.heading, p.context, p.body, p.summary, p.length, p.terms, p.tokens, p.labels, p.born,
  CASE WHEN p.died <= :head AND p.died < 2147483647 THEN p.died END,
  p.checksum, p.terms_checksum
FROM passage p WHERE {mine p} AND p.number > :a AND p.born <= :head
ORDER BY p.number LIMIT :limit

-- name: export_facets
SELECT f.passage, v.key, v.value FROM facet f JOIN facet_value v ON {mine v} AND v.number = f.pair
WHERE {mine f} AND f.passage = ANY (:rows::integer[])
ORDER BY f.passage, v.key, v.value

-- name: export_space
SELECT number, id, provider, model, dimensions, chunker, state FROM space x
WHERE {mine x} AND number > :a AND state <> 'dropped' ORDER BY number LIMIT :limit

-- name: export_vector
SELECT s.id, v.text_hash, s.id, v.text_hash, vector_send(v.vector), t.data, v.checksum, t.checksum
FROM space s JOIN embedding v ON {mine v} AND v.space = s.number
LEFT JOIN token_vectors t ON {mine t} AND t.space = v.space AND t.text_hash = v.text_hash
WHERE {mine s} AND s.state <> 'dropped'
  AND s.id = :a AND v.text_hash > :b
ORDER BY v.text_hash LIMIT :limit

-- name: export_usage
SELECT u.number, s.id, u.at, u.worker, u.texts, u.tokens, u.seconds, u.cost
FROM usage u JOIN space s ON {mine s} AND s.number = u.space
WHERE {mine u} AND s.state <> 'dropped' AND u.number > :a
ORDER BY u.number LIMIT :limit

-- name: export_quality
SELECT version_id, analyzer, version_id, analyzer, scores FROM quality x
WHERE {mine x} AND (version_id, analyzer) > (:a, :b)
ORDER BY version_id, analyzer LIMIT :limit

-- name: export_generated
SELECT key, key, text FROM generated x
WHERE {mine x} AND key > :a ORDER BY key LIMIT :limit

-- name: export_feedback
SELECT number, at, query, node_id, element_id, version_id, start, "end", text_hash, read_context,
  judgment, note, key_id, request_id
FROM feedback x WHERE {mine x} AND number > :a ORDER BY number LIMIT :limit

-- name: export_query_log
SELECT number, at, kind, text, text_hash, revision, mode, rerank, status, relevance, results,
  found_by_both, dense_only, sparse_only, candidates, latency_ms
FROM query_log x WHERE {mine x} AND number > :a ORDER BY number LIMIT :limit

-- name: import_revision
INSERT INTO revision (tenant, repository, number, at, message, counts, dropped)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: import_request
INSERT INTO request (tenant, repository, id, result) VALUES (?, ?, ?, ?)

-- name: import_baseline
INSERT INTO baseline (tenant, repository, id, revision, created_at) VALUES (?, ?, ?, ?, ?)

-- name: import_label
INSERT INTO label (tenant, repository, labels) VALUES (?, ?, ?)

-- name: import_dropped_version
INSERT INTO dropped_version (tenant, repository, version_id, start, "end", born, died, labels)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: import_content
INSERT INTO content (tenant, repository, hash, text) VALUES (?, ?, ?, ?)

-- name: import_node
INSERT INTO node (tenant, repository, id, element_id, kind, version_id, content_hash, parent_id,
  position, title, source, start, "end", section_path, page, metadata, recipe, content, labels, born,
  died, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?::integer, 2147483647), ?)

-- name: import_link
INSERT INTO link (tenant, repository, element_id, source_id, target_id, type, metadata, born, died)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, coalesce(?::integer, 2147483647))

-- name: import_passage
INSERT INTO passage (tenant, repository, number, node_id, element_id, resolution, ancestors,
  text_hash, digest, title, heading, context, body, summary, length, terms, tokens, labels, born,
  died, checksum, terms_checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?::integer, 2147483647), ?, ?)

-- name: import_usage
INSERT INTO usage (tenant, repository, space, at, worker, texts, tokens, seconds, cost)
VALUES (:tenant, :repository, :space, :at, :worker, :texts, :tokens, :seconds, :cost)

-- name: import_feedback
INSERT INTO feedback (tenant, repository, at, query, node_id, element_id, version_id, start, "end",
  text_hash, read_context, judgment, note, key_id, request_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: import_key
INSERT INTO api_key (id, hash, name, tenant, organization, repositories, roles, rights,
  created_at, expires_at, revoked_at, last_used_at)
VALUES (:id, :hash, :name, :tenant, :organization, :repositories, :roles, :rights, :created_at,
  :expires_at, :revoked_at, :last_used_at)
ON CONFLICT DO NOTHING

-- name: keep_copy_state
INSERT INTO request (tenant, repository, id, result)
VALUES (:tenant, :repository, :state, :result)
ON CONFLICT (tenant, repository, id) DO UPDATE SET result = excluded.result

-- name: finish_copy
UPDATE repository SET head = :head, published = :published,
  last_passage = (SELECT coalesce(max(p.number), 0) FROM passage p WHERE {mine p}),
  last_term = (SELECT coalesce(max(t.id), 0) FROM term t WHERE {mine t})
WHERE tenant = :tenant AND number = :repository AND head = 0

-- name: end_copy_state
DELETE FROM request r WHERE {mine r} AND r.id = :state

-- name: copied_passage
SELECT coalesce(max(p.number), 0) FROM passage p WHERE {mine p}
