-- Lists a user's groups of synonyms as JSON lines.
-- Columns: line.
SELECT CAST(g.value AS text) AS line
FROM stepwell.tenants AS t
CROSS JOIN jsonb_array_elements(t.synonyms) WITH ORDINALITY AS g (value, place)
WHERE t.user_id = :user_id
ORDER BY g.place
