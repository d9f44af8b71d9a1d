-- Lists the names in some chunks, with the first key and the number of chunks that contain each. Look-ups are LATERAL
-- with LIMIT or OFFSET 0, so that one plan serves all binds.
-- Columns: name, name_key, chunks (at most `counted`), chunk_id (the first of the given chunks that contains the name).
-- :chunk_ids uuid[]  the chunks, best first
-- :counted bigint  limit of counting the mentions of a name
SELECT DISTINCT ON (m.entity_id) e.name, convert_from(k.name_key, 'UTF8') AS name_key, CAST(n.chunks AS integer) AS chunks, g.chunk_id
FROM unnest(:chunk_ids) WITH ORDINALITY AS g (chunk_id, place)
CROSS JOIN LATERAL (
    SELECT o.chunk_no FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
) AS c
CROSS JOIN LATERAL (
    SELECT DISTINCT o.entity_id FROM stepwell.mentions AS o WHERE o.user_id = :user_id AND o.chunk_no = c.chunk_no OFFSET 0
) AS m
CROSS JOIN LATERAL (
    SELECT o.name FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = m.entity_id LIMIT 1
) AS e
CROSS JOIN LATERAL (
    SELECT o.name_key, o.place FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.entity_id = m.entity_id OFFSET 0
) AS k
CROSS JOIN LATERAL (
    SELECT count(*) AS chunks
    FROM (SELECT DISTINCT o.chunk_no FROM stepwell.mentions AS o
          WHERE o.user_id = :user_id AND o.entity_id = m.entity_id LIMIT :counted) AS l
) AS n
ORDER BY m.entity_id, g.place, k.place, k.name_key
