-- Finds the documents linked to an entity, with the strength of the link.
-- strength = 4 if the entity is the title + 3 if it is an attendee + 2 if it is in other metadata + ln(1 + number of
-- mentions in the text).
-- Columns: document_id, title, uri, created_at, mentions (counts by kind, as JSON), strength; ordered by strength,
--   descending.
-- :entity_id uuid  the entity
-- :after_strength float8  strength of the last row of the previous page; null: first page
-- :after_id uuid  document_id of that row
-- :limit bigint  maximum number of documents
WITH mention_counts AS MATERIALIZED (
    SELECT m.document_id, m.kind,
           CASE m.kind WHEN 'text' THEN sum(m.count) ELSE 1 END AS count
    FROM stepwell.mentions AS m
    WHERE m.user_id = :user_id AND m.entity_id = :entity_id
    GROUP BY m.document_id, m.kind
),
linked AS MATERIALIZED (
    SELECT c.document_id, jsonb_object_agg(c.kind, c.count) AS mentions,
           CAST(round(CAST(sum(stepwell.link_strength(c.kind, c.count)) AS numeric), 6) AS float8) AS strength
    FROM mention_counts AS c
    GROUP BY c.document_id
),
page AS MATERIALIZED (
    SELECT l.document_id, l.mentions, l.strength FROM linked AS l
    WHERE :after_strength IS NULL OR l.strength < :after_strength
       OR (l.strength = :after_strength AND l.document_id > :after_id)
    ORDER BY l.strength DESC, l.document_id
    LIMIT :limit
)
SELECT s.document_id, d.title, d.uri, d.created_at, s.mentions, s.strength
FROM page AS s
JOIN stepwell.documents AS d ON d.user_id = :user_id AND d.document_id = s.document_id
ORDER BY s.strength DESC, s.document_id
