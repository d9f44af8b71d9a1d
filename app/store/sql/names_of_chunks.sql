-- Which names stand in these chunks, and in how many chunks each?
-- Columns: name, name_key, chunks (at most `counted`), chunk_id (the earliest of those given that holds it).
-- :user_id text  whose chunks
-- :chunk_ids uuid[]  the chunks, best first
-- :counted bigint  chunks up to which a name's mentions are counted
SELECT DISTINCT ON (m.entity_id) e.name, convert_from(k.name_key, 'UTF8') AS name_key, CAST(n.chunks AS integer) AS chunks, g.chunk_id
FROM unnest(:chunk_ids) WITH ORDINALITY AS g (chunk_id, place)
JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_id = g.chunk_id
JOIN stepwell.mentions AS m ON m.user_id = :user_id AND m.chunk_no = c.chunk_no
JOIN stepwell.entities AS e ON e.user_id = :user_id AND e.entity_id = m.entity_id
JOIN stepwell.entity_names AS k ON k.user_id = :user_id AND k.entity_id = m.entity_id
CROSS JOIN LATERAL (
    SELECT count(*) AS chunks
    FROM (SELECT DISTINCT o.chunk_no FROM stepwell.mentions AS o
          WHERE o.user_id = :user_id AND o.entity_id = m.entity_id LIMIT :counted) AS l
) AS n
ORDER BY m.entity_id, g.place
