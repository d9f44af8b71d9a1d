-- Finds which single words of a text are names, and which pairs of its words are names or begin longer ones, so that
-- only longer word sequences that begin with such a pair need be looked up. LATERAL with LIMIT forces look-ups by key.
-- The keys that begin with a pair and a space are those up to the pair and the next character, the exclamation mark.
-- Columns: opening.
-- :user_id text  owner of the rows
-- :words bytea[]  single words
-- :pairs bytea[]  pairs of words, with a space between them
SELECT g.opening
FROM unnest(:words) AS g (opening)
CROSS JOIN LATERAL (
    SELECT FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = g.opening LIMIT 1
) AS n
UNION ALL
SELECT g.opening
FROM unnest(:pairs) AS g (opening)
CROSS JOIN LATERAL (
    SELECT FROM stepwell.entity_names AS o
    WHERE o.user_id = :user_id AND o.name_key >= g.opening AND o.name_key < g.opening || '!'::bytea LIMIT 1
) AS n
