-- Finds the names of origin `title` or `text` that are titles, or headings of several words.
-- Columns: name_key, entity_id.
SELECT n.name_key, n.entity_id
FROM {{names_by_key}}
WHERE e.origin IN ('title', 'text')
  AND ((SELECT true FROM stepwell.mentions AS m
        WHERE m.user_id = :user_id AND m.entity_id = n.entity_id AND m.kind = 'title' LIMIT 1)
    OR position(' '::bytea IN n.name_key) > 0 AND (SELECT true FROM stepwell.headings AS h
        WHERE h.user_id = :user_id AND h.entity_id = n.entity_id LIMIT 1))
