-- Finds the documents linked to some entities or to their members, with the strength of each link. Membership is
-- followed three levels deep, which also ends cycles; a link through a member counts :decay times per level.
-- Columns: entity_id (the given entity), document_id, strength (sum over all links of the document, one term per kind
--   and count of mentions); ordered by entity, then strength, descending.
-- :user_id text  owner of the rows
-- :entity_ids uuid[]  the entities
-- :decay float8  factor of a link's strength for each level of membership
-- :most bigint  maximum number of documents of each entity
WITH RECURSIVE walked (given_id, entity_id, level) AS (
    SELECT g.entity_id, g.entity_id, 0 FROM unnest(:entity_ids) AS g (entity_id)
    UNION
    SELECT w.given_id, m.member_id, w.level + 1
    FROM walked AS w
    JOIN stepwell.entity_members AS m ON m.user_id = :user_id AND m.entity_id = w.entity_id
    WHERE w.level < 3
),
heads AS MATERIALIZED (
    SELECT w.given_id, w.entity_id, min(w.level) AS level FROM walked AS w GROUP BY w.given_id, w.entity_id
),
links AS MATERIALIZED (
    SELECT h.given_id, m.document_id, sum(m.strength * power(:decay, h.level)) AS strength
    FROM heads AS h
    CROSS JOIN LATERAL (
        SELECT k.document_id, sum(stepwell.link_strength(k.kind, k.count)) AS strength
        FROM (
            SELECT o.document_id, o.kind, CASE o.kind WHEN 'text' THEN sum(o.count) ELSE 1 END AS count
            FROM stepwell.mentions AS o
            WHERE o.user_id = :user_id AND o.entity_id = h.entity_id
            GROUP BY o.document_id, o.kind
        ) AS k
        GROUP BY k.document_id
    ) AS m
    GROUP BY h.given_id, m.document_id
)
SELECT b.given_id AS entity_id, b.document_id, b.strength
FROM (
    SELECT l.*, row_number() OVER (PARTITION BY l.given_id ORDER BY l.strength DESC, l.document_id) AS place FROM links AS l
) AS b
WHERE b.place <= :most
ORDER BY b.given_id, b.place
