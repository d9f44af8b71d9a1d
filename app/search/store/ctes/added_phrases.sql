-- Selects the chunks that contain added phrases, as postings, and computes the idf of each phrase, up to its limit.
-- Only the newest chunks that contain the rarest lexeme of a phrase are tested. A phrase counts as occurring once in a
-- chunk.
-- Columns: phrase_postings: lexemes (separated by spaces), item; phrase_terms: lexemes, df, idf, times.
-- part added_phrases  phrases that steps have added
-- :phrase_lexemes text[]  the lexemes of each phrase, separated by spaces
-- :phrase_configs text[]  the text-search configuration in which a phrase has them
-- :phrase_queries text[]  the phrase as a tsquery
-- :phrase_times float8[]  number of occurrences in the query that it counts as
-- :phrase_idfs float8[]  the largest idf that it may have; null for no limit
-- :phrase_chunks bigint  maximum number of chunks that are tested for each phrase
-- if added_phrases
phrase_postings AS MATERIALIZED (
    SELECT p.lexemes, p.most, p.times, {{posting c, ARRAY[1]}} AS item
    FROM unnest(:phrase_lexemes, :phrase_configs, :phrase_queries, :phrase_idfs, :phrase_times) AS p (lexemes, config, query, most, times)
    CROSS JOIN LATERAL (
        SELECT w.lexeme COLLATE "C" AS lexeme
        FROM unnest(string_to_array(p.lexemes, ' ')) AS w (lexeme)
        LEFT JOIN LATERAL (
            {{document_frequency w.lexeme COLLATE "C"}}
        ) AS l ON true
        ORDER BY coalesce(l.df, 0), w.lexeme
        LIMIT 1
    ) AS r
    CROSS JOIN LATERAL (
        SELECT {{posting_chunk i.item}} AS chunk_no
        FROM (
            {{posting_blocks r.lexeme}}
        ) AS b
        CROSS JOIN unnest(b.items) AS i (item)
        ORDER BY i.item DESC
        LIMIT :phrase_chunks
    ) AS n
    CROSS JOIN LATERAL (
        SELECT o.chunk_no, o.length
        FROM stepwell.chunks AS o
        WHERE o.user_id = :user_id AND o.chunk_no = n.chunk_no AND o.config = p.config AND o.tsv @@ CAST(p.query AS tsquery)
        OFFSET 0
    ) AS c
),
phrase_terms AS MATERIALIZED (
    SELECT f.lexemes, f.df, least({{idf u, f}}, f.most) AS idf, f.times
    FROM corpus AS u
    CROSS JOIN (
        SELECT p.lexemes, count(*) AS df, max(p.most) AS most, max(p.times) AS times FROM phrase_postings AS p GROUP BY p.lexemes
    ) AS f
)
-- end
