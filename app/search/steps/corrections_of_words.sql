-- Finds the stored lexemes of words that differ from an unknown word by one typing error. A word is unknown if each of
-- the user's text-search configurations makes lexemes of it, and none of them is stored. A stop word of any of them is
-- therefore known. Only the edits of unknown words are analysed.
-- Columns: word, lexemes (by descending document frequency), idf (of the first, the smallest).
-- part restricted  a lexeme is stored if a chunk contains it which the caller sees
-- part counted  the same, and frequencies are counted among the chunks that the caller sees
-- :seen_configs text[]  text-search configurations of the chunks that the caller sees
-- :seen_chunks bigint[]  how many chunks have each
-- :words text[]  the words
-- :words_folded text[]  the same with accents folded
-- :words_plain text[]  the same with accents kept
-- :edits_folded text[]  the edits of each word as one text, accents folded
-- :edits_plain text[]  the same with accents kept
-- :limit bigint  maximum number of lexemes of a word
WITH
-- if restricted or counted
{{visible_chunks}},
-- end
configs AS MATERIALIZED (
-- if counted
    SELECT s.* FROM unnest(:seen_configs, :seen_chunks) AS s (config, chunks)
-- end
-- unless counted
    SELECT s.config, s.chunks FROM stepwell.text_statistics AS s WHERE s.user_id = :user_id AND s.chunks > 0
-- end
),
given AS MATERIALIZED (
    SELECT g.*
    FROM unnest(:words, :words_folded, :words_plain, :edits_folded, :edits_plain)
        AS g (word, word_folded, word_plain, edits_folded, edits_plain)
),
own AS MATERIALIZED (
    SELECT g.word, t.lexeme IS NULL OR (coalesce(l.df, 0) > 0
-- if restricted or counted
           AND coalesce({{lexeme_is_visible t.lexeme COLLATE "C"}}, false)
-- end
           ) AS known
    FROM given AS g
    CROSS JOIN configs AS c
    LEFT JOIN LATERAL unnest(to_tsvector(CAST(c.config AS regconfig), {{text_for c.config, g.word_folded, g.word_plain}})) AS t ON true
    LEFT JOIN LATERAL (
        {{document_frequency t.lexeme COLLATE "C"}}
    ) AS l ON true
),
edited AS MATERIALIZED (
    SELECT DISTINCT g.word, t.lexeme COLLATE "C" AS lexeme
    FROM given AS g
    CROSS JOIN configs AS c
    CROSS JOIN LATERAL unnest(to_tsvector(CAST(c.config AS regconfig), {{text_for c.config, g.edits_folded, g.edits_plain}})) AS t
    WHERE g.word IN (SELECT o.word FROM own AS o GROUP BY o.word HAVING NOT bool_or(o.known))
),
-- in one scan of the index: a word has hundreds of edits, and hardly any is stored
known AS MATERIALIZED (
-- if counted
    SELECT b.lexeme, count(*) AS df
    FROM stepwell.postings AS b
    CROSS JOIN LATERAL {{chunks_of_postings b.items}} AS i
    WHERE b.user_id = :user_id AND b.lexeme = ANY (ARRAY(SELECT e.lexeme FROM edited AS e))
      AND i.chunk_no IN (SELECT s.chunk_no FROM visible_chunks AS s)
    GROUP BY b.lexeme
-- end
-- unless counted
    SELECT l.lexeme, l.df
    FROM stepwell.lexemes AS l
    WHERE l.user_id = :user_id AND l.lexeme = ANY (ARRAY(SELECT e.lexeme FROM edited AS e))
-- end
)
SELECT f.word, array_agg(f.lexeme ORDER BY f.df DESC, f.lexeme) AS lexemes, min({{idf u, f}}) AS idf
FROM (SELECT CAST(sum(c.chunks) AS float8) AS chunks FROM configs AS c) AS u
CROSS JOIN (
    SELECT s.word, s.lexeme, s.df, row_number() OVER (PARTITION BY s.word ORDER BY s.df DESC, s.lexeme) AS place
    FROM (
        SELECT e.word, e.lexeme, k.df
        FROM edited AS e
        JOIN known AS k ON k.lexeme = e.lexeme
-- if restricted
        OFFSET 0
-- end
    ) AS s
-- if restricted
    WHERE {{lexeme_is_visible s.lexeme}}
-- end
) AS f
WHERE f.df > 0 AND f.place <= :limit
GROUP BY f.word
