-- Computes which share of the idf of some words the facts of entities, or texts about them, cover.
-- Columns: entity_id, covered (0 to 1), for the entities that cover any word.
-- :words text  the words, accents folded
-- :entity_ids uuid[]  the entities
-- :texts text[]  a text about each entity, accents folded
WITH
terms AS MATERIALIZED (
    {{idf_of_words}}
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
