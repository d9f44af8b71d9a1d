-- Selects the chunks that share a name with a source; names in the query are left out. The weight is w / (1 + ln n): w
-- is the source's weight, and n the number of chunks that contain the name, from :rarest to :commonest.
-- Columns: shared_names: entity_id, chunks, source_no, weight; shared: chunk_no, entity_id, weight, chunks, source_no.
-- part restricted  the caller sees texts that mention an entity of hidden metadata, but not this entity
-- :most_names bigint  maximum number of shared names
-- :rarest bigint  minimum number of chunks that contain a shared name
-- :commonest bigint  maximum number of chunks that contain a shared name
shared_names AS MATERIALIZED (
    SELECT b.entity_id, b.chunks, b.source_no, b.weight
    FROM (
        SELECT DISTINCT ON (h.entity_id) h.entity_id, n.chunks, h.chunk_no AS source_no, h.weight / (1 + ln(n.chunks)) AS weight
        FROM (
            SELECT m.entity_id, s.chunk_no, s.weight
            FROM sources AS s
            CROSS JOIN LATERAL (
                SELECT o.entity_id FROM stepwell.mentions AS o
                WHERE o.user_id = :user_id AND o.chunk_no = s.chunk_no OFFSET 0
            ) AS m
            WHERE m.entity_id NOT IN (SELECT q.entity_id FROM query_names AS q)
-- if restricted
              AND (SELECT true FROM stepwell.entities AS e WHERE e.user_id = :user_id AND e.entity_id = m.entity_id LIMIT 1)
-- end
        ) AS h
        CROSS JOIN LATERAL (
            SELECT count(*) AS chunks
            FROM (SELECT DISTINCT o.chunk_no FROM stepwell.mentions AS o
                  WHERE o.user_id = :user_id AND o.entity_id = h.entity_id LIMIT :commonest + 1) AS l
        ) AS n
        WHERE n.chunks BETWEEN :rarest AND :commonest
        ORDER BY h.entity_id, h.weight DESC, h.chunk_no
    ) AS b
    ORDER BY b.weight DESC, b.entity_id
    LIMIT :most_names
),
shared AS MATERIALIZED (
    SELECT DISTINCT ON (m.chunk_no) m.chunk_no, s.entity_id, s.weight, s.chunks, s.source_no
    FROM shared_names AS s
    CROSS JOIN LATERAL (
        SELECT o.chunk_no FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.entity_id = s.entity_id OFFSET 0
    ) AS m
    ORDER BY m.chunk_no, s.weight DESC, s.entity_id
)
