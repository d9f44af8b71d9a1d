-- Finds which single words of a text are names, and which pairs of its words are names or begin longer ones, so that
-- only longer word sequences that begin with such a pair need be looked up. LATERAL with LIMIT forces look-ups by key.
-- Keys are made outside of these parts, as in `chunks_of_postings`; OFFSET keeps them there.
-- Keys that begin with a pair and a space sort before the pair and an exclamation mark, the character after the space.
-- Texts take less to send and to read than arrays of as many items.
-- Columns: opening.
-- :words text  single words, each in a line
-- :pairs text  pairs of words, with a space between them, each in a line
SELECT g.opening
FROM (
    SELECT w.opening, convert_to(w.opening, 'UTF8') AS name_key
    FROM string_to_table(:words, E'\n') AS w (opening) OFFSET 0
) AS g
CROSS JOIN LATERAL (
    SELECT FROM stepwell.entity_names AS o
    WHERE o.user_id = :user_id AND o.name_key = g.name_key LIMIT 1
) AS n
UNION ALL
SELECT g.opening
FROM (
    SELECT w.opening, convert_to(w.opening, 'UTF8') AS name_key, convert_to(w.opening || '!', 'UTF8') AS after
    FROM string_to_table(:pairs, E'\n') AS w (opening) OFFSET 0
) AS g
CROSS JOIN LATERAL (
    SELECT FROM stepwell.entity_names AS o
    WHERE o.user_id = :user_id AND o.name_key >= g.name_key AND o.name_key < g.after LIMIT 1
) AS n
