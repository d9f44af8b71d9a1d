-- Finds the words that the user's texts contain only after a minus sign, such as the names of options. Case matters.
-- A limited number of the chunks that contain a word is read.
-- Columns: word.
-- :words text[]  the words, without their sign
-- :words_folded text[]  the same as they are indexed, accents folded
-- :words_plain text[]  the same as they are indexed, accents kept
-- :most_read bigint  maximum number of chunks of a word that are read
WITH wanted AS MATERIALIZED (
    SELECT DISTINCT g.word, t.lexeme COLLATE "C" AS lexeme
    FROM unnest(:words, :words_folded, :words_plain) AS g (word, folded, plain)
    CROSS JOIN stepwell.text_statistics AS s
    CROSS JOIN LATERAL unnest(to_tsvector(CAST(s.config AS regconfig), {{text_for s.config, g.folded, g.plain}})) AS t
    WHERE s.user_id = :user_id AND s.chunks > 0
),
found AS (
    SELECT w.word, c.content
    FROM wanted AS w
    CROSS JOIN LATERAL (
        SELECT c.content
        FROM (
            {{posting_blocks w.lexeme}}
        ) AS b
        CROSS JOIN LATERAL {{chunks_of_postings b.items}} AS i
        CROSS JOIN LATERAL (
            SELECT o.content FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = i.chunk_no LIMIT 1
        ) AS c
        LIMIT :most_read
    ) AS c
)
SELECT f.word
FROM found AS f
GROUP BY f.word
HAVING bool_or(f.content ~ ('(^|[\s("''`])-' || f.word || '($|[^\w-])'))
   AND NOT bool_or(f.content ~ ('(^|[^\w-])' || f.word || '($|[^\w-])'))
