-- Finds the documents linked to an entity, with the strength of the link.
-- strength = 4 if titled by it + 3 if attended by it + 2 if its metadata names it + ln(1 + how often its text does).
-- Columns: document_id, title, uri, created_at, mentions (counts by kind, as JSON), strength; the strongest first.
-- :user_id text
-- :entity_id uuid
-- :after_strength float8  null: from the beginning
-- :after_id uuid
-- :limit bigint
WITH counted AS MATERIALIZED (
    SELECT m.document_id, m.kind,
           CASE m.kind WHEN 'text' THEN sum(m.count) ELSE 1 END AS count
    FROM stepwell.mentions AS m
    WHERE m.user_id = :user_id AND m.entity_id = :entity_id
    GROUP BY m.document_id, m.kind
),
linked AS MATERIALIZED (
    SELECT c.document_id, jsonb_object_agg(c.kind, c.count) AS mentions,
           CAST(round(CAST(sum(stepwell.link_strength(c.kind, c.count)) AS numeric), 6) AS float8) AS strength
    FROM counted AS c
    GROUP BY c.document_id
),
shown AS MATERIALIZED (
    SELECT l.document_id, l.mentions, l.strength FROM linked AS l
    WHERE :after_strength IS NULL OR l.strength < :after_strength
       OR (l.strength = :after_strength AND l.document_id > :after_id)
    ORDER BY l.strength DESC, l.document_id
    LIMIT :limit
)
SELECT s.document_id, d.title, d.uri, d.created_at, s.mentions, s.strength
FROM shown AS s
JOIN stepwell.documents AS d ON d.user_id = :user_id AND d.document_id = s.document_id
ORDER BY s.strength DESC, s.document_id
