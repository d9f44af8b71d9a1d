-- Finds the chunks that may contain one of some names, through the postings of the rarest lexeme of each name. In
-- languages whose index keeps accents, the texts are searched for a word, since names match without accents; that of a
-- document's first chunk includes the title.
-- Columns: chunk_no; null if a name has no indexed lexeme, in which case any chunk may contain it.
-- part elsewhere  texts are searched for words
-- :user_id text  owner of the rows
-- :names text[]  words of each name, accents folded
-- :accented text[]  words, of which the texts in languages that keep accents are searched for any
-- :anywhere text[]  words, of which all texts are searched for any
WITH configs AS MATERIALIZED (
    SELECT s.config FROM stepwell.text_statistics AS s WHERE s.user_id = :user_id AND s.chunks > 0
),
rarest AS MATERIALIZED (
    SELECT DISTINCT {{rarest_lexeme s.config, g.name}} AS lexeme
    FROM unnest(:names) AS g (name)
    CROSS JOIN configs AS s
    WHERE s.config IN ('english', 'simple')
),
candidates AS (
    SELECT {{posting_chunk unnest(p.items)}} AS chunk_no
    FROM rarest AS r
    CROSS JOIN LATERAL (
        {{posting_blocks r.lexeme COLLATE "C"}}
    ) AS p
    UNION ALL
    SELECT CAST(NULL AS bigint) FROM rarest AS r WHERE r.lexeme IS NULL
-- if elsewhere
    UNION ALL
    SELECT c.chunk_no
    FROM stepwell.chunks AS c
    CROSS JOIN LATERAL (
        SELECT concat_ws(E'\n', c.content, (
            SELECT d.title FROM stepwell.documents AS d
            WHERE d.user_id = :user_id AND d.document_id = c.document_id AND c.chunk_index = 0)) AS content
        OFFSET 0
    ) AS t
    CROSS JOIN LATERAL (SELECT {{folded_text t.content}} AS folded OFFSET 0) AS f
    WHERE c.user_id = :user_id AND (
        EXISTS (SELECT FROM unnest(:anywhere) AS a (word) WHERE position(a.word IN f.folded) > 0)
        OR c.config NOT IN ('english', 'simple')
           AND EXISTS (SELECT FROM unnest(:accented) AS a (word) WHERE position(a.word IN f.folded) > 0))
-- end
)
SELECT DISTINCT n.chunk_no FROM candidates AS n
