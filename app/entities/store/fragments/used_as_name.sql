-- Tells whether an entity is the title of a document and named in the text of another one; null if it is not. LIMIT
-- forces look-ups by key, independent of the planner's statistics.
-- $row  alias of a row with entity_id
(SELECT true FROM stepwell.mentions AS t
     WHERE t.user_id = :user_id AND t.entity_id = $row.entity_id AND t.kind = 'title' LIMIT 1)
    AND (SELECT true FROM stepwell.mentions AS m
         WHERE m.user_id = :user_id AND m.entity_id = $row.entity_id AND m.kind = 'text'
           AND (SELECT true FROM stepwell.mentions AS t
                WHERE t.user_id = :user_id AND t.entity_id = $row.entity_id AND t.kind = 'title'
                  AND t.document_id = m.document_id LIMIT 1) IS NULL
         LIMIT 1)
