-- Analyses words with a text-search configuration, and returns those that share a lexeme with the sought words.
-- Columns: word, lexemes.
-- :config text  the configuration's name
-- :words text[]  words as they are written
-- :indexed text[]  the same words as they are indexed
-- :sought text[]  words that are sought, as they are indexed
-- :lexemes text[]  further lexemes that are sought
WITH sought AS MATERIALIZED (
    SELECT :lexemes || coalesce(array_agg(l.lexeme), '{}') AS lexemes
    FROM unnest(:sought) AS w (word)
    CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector(CAST(:config AS regconfig), w.word))) AS l (lexeme)
)
SELECT a.word, a.lexemes
FROM (
    SELECT w.word, tsvector_to_array(to_tsvector(CAST(:config AS regconfig), w.indexed)) AS lexemes
    FROM unnest(:words, :indexed) AS w (word, indexed)
) AS a
WHERE a.lexemes && (SELECT s.lexemes FROM sought AS s)
