-- Selects the lexemes of the words of a query with their idf among the user's chunks.
-- :words text  words of the query, accents folded
SELECT w.lexeme COLLATE "C" AS lexeme, {{idf u, l}} AS idf
FROM (
    SELECT CAST(coalesce(sum(s.chunks), 0) AS float8) AS chunks FROM stepwell.text_statistics AS s WHERE s.user_id = :user_id
) AS u
CROSS JOIN unnest(tsvector_to_array(to_tsvector('english', :words))) AS w (lexeme)
LEFT JOIN LATERAL (
    {{document_frequency w.lexeme COLLATE "C"}}
) AS l ON true
