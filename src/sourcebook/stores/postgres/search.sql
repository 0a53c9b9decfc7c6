-- The statements of search. Parameters and fragments are written as in ../sqlite.sql; `:tenant` and
-- `:repository` are in every one.

-- fragment: visible
$.born <= :revision AND $.died > :revision

-- fragment: readable
(:readable::text[] IS NULL OR $.labels IS NULL OR $.labels = ANY (:readable::text[]))

-- fragment: mine
$.tenant = :tenant AND $.repository = :repository

-- fragment: in_lane
-- The passages of a resolution; a document that is one passage is its own chunk and document.
($.resolution = :resolution
  OR (:resolution = 0 AND $.resolution = 2 AND $.node_id = $.element_id))


-- === lanes =======================================================================================

-- name: lane
-- The passages of one resolution that a revision shows.
SELECT p.number FROM passage p WHERE {mine p} AND {in_lane p} AND {visible p} AND {readable p}

-- name: lane_since
-- Those that the earlier revision :other does not show.
SELECT p.number FROM passage p
WHERE {mine p} AND {in_lane p} AND {visible p} AND {readable p} AND p.born > :other

-- name: lane_until
-- Those that the later revision :other does not show.
SELECT p.number FROM passage p
WHERE {mine p} AND {in_lane p} AND {visible p} AND {readable p}
  AND p.died <= :other AND p.died < 2147483647

-- name: dropped
SELECT 1 FROM revision r WHERE {mine r} AND r.number = :revision AND r.dropped IS NOT NULL


-- === what narrows a search =======================================================================

-- name: facet
-- The passages behind :after whose metadata has one of these values.
SELECT f.passage FROM facet_value v
JOIN facet f ON f.tenant = v.tenant AND f.repository = v.repository AND f.pair = v.number
WHERE {mine v} AND {mine f} AND md5(v.key) = md5(:key) AND v.key = :key
  AND md5(v.value) = ANY (ARRAY(SELECT md5(w) FROM unnest(:values::text[]) w))
  AND v.value = ANY (:values::text[]) AND f.passage > :after

-- name: inside
-- The passages in some nodes, of any resolution: those of their documents whose ancestors they are.
SELECT p.number FROM passage p
WHERE {mine p} AND {visible p} AND p.ancestors && :parents::text[]
  AND p.element_id IN (SELECT n.element_id FROM node n WHERE {mine n} AND n.id = ANY (:parents))


-- === full-text ===================================================================================

-- name: terms
SELECT t.text, t.id FROM term t WHERE {mine t} AND t.text = ANY (:texts)

-- name: blocks
-- The blocks of a list of terms, each from the one on that holds a passage behind its `after`.
SELECT p.term, p.wide, p.data FROM unnest(:terms::integer[], :afters::integer[]) w(term, after)
JOIN posting p ON p.term = w.term AND p.last > w.after
WHERE {mine p} AND p.part = :part
ORDER BY p.term, p.first

-- name: tails
-- The last block of each of a list of terms.
SELECT w.term, t.first, t.wide, t.bytes
FROM unnest(:terms::integer[]) w(term)
CROSS JOIN LATERAL (
  SELECT p.first, p.wide, octet_length(p.data) AS bytes FROM posting p
  WHERE {mine p} AND p.part = :part AND p.term = w.term
  ORDER BY p.first DESC LIMIT 1) t

-- name: append_blocks
UPDATE posting p SET last = w.last, data = p.data || w.data
FROM unnest(:terms::integer[], :firsts::integer[], :lasts::integer[], :data::bytea[])
  w(term, first, last, data)
WHERE {mine p} AND p.part = :part AND p.term = w.term AND p.first = w.first

-- name: add_blocks
INSERT INTO posting (tenant, repository, part, term, first, last, wide, data)
SELECT :tenant, :repository, :part, w.term, w.first, w.last, w.wide, w.data
FROM unnest(
  :terms::integer[], :firsts::integer[], :lasts::integer[], :widths::boolean[], :data::bytea[])
  w(term, first, last, wide, data)

-- name: passage_numbers
SELECT p.number FROM passage p WHERE {mine p}

-- name: all_blocks
SELECT p.part, p.term, p.first, p.last, p.wide, p.data FROM posting p WHERE {mine p}

-- name: drop_blocks
DELETE FROM posting p USING unnest(:terms::integer[], :firsts::integer[]) w(term, first)
WHERE {mine p} AND p.part = :part AND p.term = w.term AND p.first = w.first

-- name: holding
-- Those of a list of passages whose words hold these bytes somewhere.
SELECT p.number, p.tokens FROM passage p
WHERE {mine p} AND p.number = ANY (:numbers) AND position(:phrase::bytea IN p.tokens) > 0

-- name: ranked_by_words
-- By the database's own full-text search; :numbers is null where nothing narrows it.
SELECT p.number, p.node_id, p.element_id, ts_rank_cd(p.words, q.words)::float8 AS rank
FROM passage p, plainto_tsquery('english', :text) q(words)
WHERE {mine p} AND {in_lane p} AND {visible p} AND {readable p} AND p.words @@ q.words
  AND (:numbers::bigint[] IS NULL OR p.number = ANY (:numbers::bigint[]))
ORDER BY rank DESC, p.node_id LIMIT :k

-- name: names
SELECT p.number, p.node_id, p.element_id FROM passage p
WHERE {mine p} AND p.number = ANY (:numbers)


-- === vectors =====================================================================================

-- name: space
SELECT s.vectors, s.dimensions FROM space s WHERE {mine s} AND s.number = :space

-- name: vector_numbers
-- The vector of every passage behind :after that has one.
SELECT p.number, e.number FROM passage p
JOIN embedding e ON e.tenant = p.tenant AND e.repository = p.repository
  AND e.text_hash = p.text_hash
WHERE {mine p} AND {mine e} AND e.space = :space AND p.number > :after

-- name: vector_numbers_of
-- The same of a list of passages.
SELECT p.number, e.number FROM passage p
JOIN embedding e ON e.tenant = p.tenant AND e.repository = p.repository
  AND e.text_hash = p.text_hash
WHERE {mine p} AND {mine e} AND e.space = :space AND p.number = ANY (:numbers)

-- name: vectors
SELECT e.number, e.vector, e.checksum FROM embedding e
WHERE {mine e} AND e.space = :space AND e.number = ANY (:numbers)

-- name: vectors_there
SELECT count(*) FROM embedding e
WHERE {mine e} AND e.space = :space AND e.number = ANY (:numbers)

-- name: nearest
-- By the index of the space, whose name and type are filled in.
SELECT e.number, ((e.vector::halfvec(<dimensions>)) <#> :query::halfvec(<dimensions>))::float8
FROM embedding e
WHERE {mine e} AND e.space = <space>
ORDER BY (e.vector::halfvec(<dimensions>)) <#> :query::halfvec(<dimensions>) LIMIT :most

-- name: search_deeply
-- For this transaction: how far the index is searched, and that it goes on as long as it is asked, if
-- that takes up to 16 times work_mem.
SELECT set_config('hnsw.ef_search', :deep, true),
  set_config('hnsw.iterative_scan', 'relaxed_order', true),
  set_config('hnsw.max_scan_tuples', :most, true),
  set_config('hnsw.scan_mem_multiplier', '16', true)

-- name: vector_index
-- Of the catalogue, so of no tenant.
SELECT i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relname = :name AND c.relnamespace = current_schema()::regnamespace

-- name: nearest_of
-- Of a list of vectors, exactly.
SELECT e.number, (e.vector <#> :query::vector)::float8 FROM embedding e
WHERE {mine e} AND e.space = :space AND e.number = ANY (:numbers)
ORDER BY 2 LIMIT :most

-- name: elements_of_vectors
-- The documents that have a passage with one of these vectors.
SELECT DISTINCT p.element_id FROM embedding e
JOIN passage p ON {mine p} AND p.text_hash = e.text_hash
WHERE {mine e} AND e.space = :space AND e.number = ANY (:numbers)
