-- Computes which share of the idf of some words the facts of entities, or texts about them, cover.
-- Columns: entity_id, covered (0 to 1), for the entities that cover any word.
-- :user_id text  owner of the rows
-- :words text  the words, accents folded
-- :entity_ids uuid[]  the entities
-- :texts text[]  a text about each entity, accents folded
WITH corpus AS MATERIALIZED (
    SELECT CAST(coalesce(sum(s.chunks), 0) AS float8) AS chunks FROM stepwell.text_statistics AS s WHERE s.user_id = :user_id
),
terms AS MATERIALIZED (
    SELECT w.lexeme COLLATE "C" AS lexeme, ln(1 + (u.chunks - coalesce(l.df, 0) + 0.5) / (coalesce(l.df, 0) + 0.5)) AS idf
    FROM corpus AS u
    CROSS JOIN unnest(tsvector_to_array(to_tsvector('english', :words))) AS w (lexeme)
    LEFT JOIN LATERAL (
        SELECT o.df FROM stepwell.lexemes AS o WHERE o.user_id = :user_id AND o.lexeme = w.lexeme COLLATE "C" LIMIT 1
    ) AS l ON true
),
texts AS MATERIALIZED (
    SELECT g.entity_id, tsvector_to_array(to_tsvector('english', g.text)) AS lexemes
    FROM unnest(:entity_ids, :texts) AS g (entity_id, text)
)
SELECT x.entity_id, sum(t.idf) / (SELECT sum(o.idf) FROM terms AS o) AS covered
FROM texts AS x
CROSS JOIN terms AS t
WHERE t.lexeme = ANY (x.lexemes) OR EXISTS (
    SELECT FROM stepwell.entity_words AS o
    WHERE o.user_id = :user_id AND o.lexeme = t.lexeme AND o.entity_id = x.entity_id)
GROUP BY x.entity_id
