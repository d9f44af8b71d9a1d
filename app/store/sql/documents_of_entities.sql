-- Finds the documents linked to entities or to their members, with the strength of the link. Membership is followed
-- three levels deep, which also ends cycles.
-- Columns: document_id, entity_id (the given entity with the best score among those linked to the document), score (of
--   that entity), strength (sum over all links of the document, one term per kind and count of mentions); ordered by
--   score, then strength, descending.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  the entities
-- :scores float8[]  score of each entity
-- :most bigint  maximum number of documents
WITH RECURSIVE walked (parent_id, entity_id, score, level) AS (
    SELECT g.entity_id, g.entity_id, g.score, 0 FROM unnest(:entity_ids, :scores) AS g (entity_id, score)
    UNION
    SELECT w.parent_id, m.member_id, w.score, w.level + 1
    FROM walked AS w
    JOIN stepwell.entity_members AS m ON m.user_id = :user_id AND m.entity_id = w.entity_id
    WHERE w.level < 3
),
heads AS MATERIALIZED (
    SELECT DISTINCT ON (w.entity_id) w.entity_id, w.parent_id, w.score FROM walked AS w ORDER BY w.entity_id, w.score DESC, w.level, w.parent_id
),
links AS MATERIALIZED (
    SELECT m.document_id, l.parent_id, l.score, m.strength
    FROM heads AS l
    CROSS JOIN LATERAL (
        SELECT k.document_id, sum(stepwell.link_strength(k.kind, k.count)) AS strength
        FROM (
            SELECT o.document_id, o.kind, CASE o.kind WHEN 'text' THEN sum(o.count) ELSE 1 END AS count
            FROM stepwell.mentions AS o
            WHERE o.user_id = :user_id AND o.entity_id = l.entity_id
            GROUP BY o.document_id, o.kind
        ) AS k
        GROUP BY k.document_id
    ) AS m
)
SELECT b.document_id, b.parent_id AS entity_id, b.score, b.strength
FROM (
    SELECT DISTINCT ON (l.document_id) l.document_id, l.parent_id, l.score,
           sum(l.strength) OVER (PARTITION BY l.document_id) AS strength
    FROM links AS l
    ORDER BY l.document_id, l.score DESC, l.strength DESC, l.parent_id
) AS b
ORDER BY b.score DESC, b.strength DESC, b.document_id
LIMIT :most
