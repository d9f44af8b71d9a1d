-- Finds the chunks to which names in source chunks and in the query lead, with their similarity to the query vector.
--
-- `store.NAMES` lists the CTEs. named: the query contains the title of the chunk's document, or a heading that only the
-- chunk's section has. linked: the text of a source contains that title or heading. shared: the chunk and a source
-- contain the same rare name; the weight is multiplied by the cosine similarity to the query. Filters and exclusions
-- apply to the chunks found. Look-ups by id are LATERAL with LIMIT or OFFSET 0, so that no join reads all of a user's
-- rows and one plan serves all binds.
-- Columns: those of `store.py`, one row a link, and one without a link for a chunk that is only compared.
-- part filtered  filters on documents
-- :unknown_similarity float8  similarity of a chunk that cannot be compared with the query
-- :exclude_chunk_ids uuid[]  chunks to exclude
SELECT c.chunk_id, c.document_id, v.similarity,
       CASE l.signal WHEN 'shared' THEN l.weight * greatest(coalesce(v.similarity, :unknown_similarity), 0) ELSE l.weight END AS weight,
       l.signal, (SELECT e.name FROM stepwell.entities AS e WHERE e.user_id = :user_id AND e.entity_id = l.entity_id) AS name,
       (SELECT o.chunk_id FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = l.source_no) AS source_chunk_id,
       CAST(l.chunks AS integer) AS chunks, l.steps, l.heading
FROM result_chunks AS f
CROSS JOIN LATERAL (
    SELECT o.chunk_id, o.document_id FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = f.chunk_no LIMIT 1
) AS c
CROSS JOIN LATERAL (
    {{similarity_to_query f}}
) AS v
LEFT JOIN result_links AS l ON l.chunk_no = f.chunk_no
WHERE NOT c.chunk_id = ANY (:exclude_chunk_ids)
-- if filtered
  AND {{document_passes c}}
-- end
ORDER BY c.chunk_id, l.steps NULLS FIRST, l.signal DESC
