-- Reads what distinguishes entities with the same name.
-- Columns: entity_id, role, description, teams (names of the entities that contain it, at most :most), similarity (cosine of
--   the query and of the role, description and facts; null without a vector).
-- :entity_ids uuid[]  the entities
-- :embedding vector  query vector; null: none
-- :most bigint  maximum number of teams of each entity
WITH query_vector AS MATERIALIZED (
    {{query_vector}}
)
SELECT e.entity_id, e.role, e.description,
       ARRAY(
           SELECT c.name
           FROM (
               SELECT o.entity_id FROM stepwell.entity_members AS o
               WHERE o.user_id = :user_id AND o.member_id = e.entity_id ORDER BY o.entity_id LIMIT :most
           ) AS m
           CROSS JOIN LATERAL (
               SELECT o.name FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = m.entity_id LIMIT 1
           ) AS c
           ORDER BY c.name
       ) AS teams,
       (
           SELECT 1 - (v.embedding <=> (SELECT q.vector FROM query_vector AS q))
           FROM stepwell.entity_vectors AS v WHERE v.user_id = :user_id AND v.entity_id = e.entity_id
       ) AS similarity
FROM unnest(:entity_ids) AS g (entity_id)
CROSS JOIN LATERAL (
    SELECT o.entity_id, o.role, o.description FROM stepwell.entities AS o
    WHERE o.user_id = :user_id AND o.entity_id = g.entity_id LIMIT 1
) AS e
