-- Computes the terms of the text leg with the factors of their BM25 scores, and which of them generate candidates.
--
-- Up to `candidate_postings` postings of the rarest terms generate candidates; more frequent terms only add to their
-- scores, unless the rarer terms could yield too few candidates (n terms yield at least 1/n of their postings as
-- candidates). Within this number, and always with filters or strict words, the score is the exact sum
-- (docs/decisions/0001).
-- In a collection of several languages, a word counts as contained in all chunks of the languages that ignore it. Its
-- idf is then small, even if few other chunks contain it.
-- Columns: analysed_words: config, chunks, lexeme, positions (in the query), times, last (the last position); kept_words:
--   lexeme, chunks (those of the languages that do not ignore the word), places (its positions); terms: lexeme, times, df,
--   idf, ignoring (chunks of the languages that ignore the word), weight, per_token, generates.
-- part text  the text leg
-- part filtered  filters on documents
-- part strict  phrases and required words
-- part added  terms that steps have added
-- part added_phrases  those of several words
-- part indexed  conditions of an expression
-- part excluding  words and phrases that no hit may contain
-- part exclusions  chunks that are excluded from the hits
-- part hidden  postings of chunks that are not visible
-- part counted  frequencies are counted among the chunks that the caller sees; with filters
-- part narrowed  the request has filters besides those of the caller
-- :seen_documents uuid[]  the documents that the caller sees
-- :words_folded text  words scored by BM25, accents folded
-- :words_plain text  words scored by BM25, accents kept
-- :added_lexemes text[]  added lexemes
-- :added_times float8[]  number of occurrences in the query that each counts as, less than 1
-- :added_idfs float8[]  the largest idf that each may have; null for no limit
-- :expansions text[]  lexemes that begin with a prefix of the query
-- :candidate_postings bigint  postings that may generate candidates of the text leg
-- :k1_plus_1 numeric  k1 + 1
-- :norm_by_length float8  k1 * b: what a chunk of average length adds to its norm
-- :candidates bigint  maximum number of chunks that a leg passes to the fusion
-- if text
analysed_words AS (
    SELECT g.config, g.chunks, t.lexeme COLLATE "C" AS lexeme, t.positions, cardinality(t.positions) AS times,
           t.positions[cardinality(t.positions)] AS last
    FROM corpus AS u
    CROSS JOIN LATERAL unnest(u.configs, u.config_chunks) AS g (config, chunks)
    CROSS JOIN LATERAL unnest(to_tsvector(CAST(g.config AS regconfig),
        {{text_for g.config, :words_folded, :words_plain}})) AS t
),
kept_words AS MATERIALIZED (
    SELECT r.lexeme, max(r.chunks) AS chunks, array_agg(DISTINCT r.place) AS places
    FROM (
        SELECT a.lexeme, p.place, sum(a.chunks) OVER (PARTITION BY p.place) AS chunks
        FROM analysed_words AS a
        CROSS JOIN LATERAL unnest(a.positions) AS p (place)
    ) AS r
    GROUP BY r.lexeme
),
query_words AS MATERIALIZED (
-- if added or indexed
    SELECT a.lexeme, max(a.times) AS times
    FROM (
-- end
-- if indexed
    SELECT x.lexeme COLLATE "C" AS lexeme, 1 AS times FROM unnest(:expansions) AS x (lexeme)
    UNION ALL
-- end
    SELECT w.lexeme, max(w.times) AS times FROM analysed_words AS w GROUP BY w.lexeme
-- if added
    UNION ALL
    SELECT r.lexeme COLLATE "C", r.times FROM unnest(:added_lexemes, :added_times) AS r (lexeme, times)
-- end
-- if added or indexed
    ) AS a
    GROUP BY a.lexeme
-- end
),
-- if counted
counted_chunks AS MATERIALIZED (
-- if narrowed
    SELECT e.chunk_no FROM stepwell.embeddings AS e WHERE e.user_id = :user_id AND e.document_id = ANY (:seen_documents)
-- end
-- unless narrowed
    SELECT a.chunk_no FROM filtered_chunks AS a
-- end
),
counted_lexemes AS MATERIALIZED (
    SELECT p.lexeme, count(*) AS df
    FROM (
        SELECT w.lexeme, unnest(b.items) AS item
        FROM query_words AS w
        CROSS JOIN LATERAL (
            SELECT o.items FROM stepwell.postings AS o WHERE o.user_id = :user_id AND o.lexeme = w.lexeme OFFSET 0
        ) AS b
        OFFSET 0
    ) AS p
    WHERE {{posting_chunk p.item}} IN (SELECT c.chunk_no FROM counted_chunks AS c)
    GROUP BY p.lexeme
),
-- end
terms AS MATERIALIZED (
    SELECT q.*, CAST(:k1_plus_1 * q.times * q.idf AS real) AS weight,
           sum(q.df) OVER rarest_first <= q.candidate_postings
           OR sum(q.df) OVER rarest_first - q.df <= q.needed * (row_number() OVER rarest_first - 1) AS generates
    FROM (
        SELECT w.lexeme, w.times, coalesce(l.df, 0) AS df,
-- if added
               CASE WHEN w.times < 1 THEN least({{idf u, f}}, y.idf) ELSE {{idf u, f}} END AS idf,
-- end
-- unless added
               {{idf u, f}} AS idf,
-- end
               CAST(:norm_by_length / nullif(u.average_length, 0) AS real) AS per_token,
-- if filtered or strict or excluding
               u.chunks * 1e6 AS candidate_postings,
-- end
-- unless filtered or strict or excluding
               :candidate_postings AS candidate_postings,
-- end
               :candidates
-- if exclusions
               + (SELECT count(*) FROM excluded_chunks)
-- end
-- if hidden
               + (SELECT h.chunks FROM hidden AS h)
-- end
               AS needed,
               i.ignoring
        FROM corpus AS u
        CROSS JOIN query_words AS w
-- if counted
        LEFT JOIN counted_lexemes AS l ON l.lexeme = w.lexeme
-- end
-- unless counted
        LEFT JOIN LATERAL (
            SELECT o.df FROM stepwell.lexemes AS o WHERE o.user_id = :user_id AND o.lexeme = w.lexeme LIMIT 1
        ) AS l ON true
-- end
-- if added
        LEFT JOIN unnest(:added_lexemes, :added_idfs) AS y (lexeme, idf) ON y.lexeme COLLATE "C" = w.lexeme
-- end
        CROSS JOIN LATERAL (
            SELECT CASE WHEN cardinality(u.configs) > 1
                        THEN u.chunks - coalesce((SELECT k.chunks FROM kept_words AS k WHERE k.lexeme = w.lexeme), u.chunks)
                        ELSE 0 END AS ignoring
        ) AS i
        CROSS JOIN LATERAL (SELECT least(u.chunks, coalesce(l.df, 0) + i.ignoring) AS df) AS f
    ) AS q
    WINDOW rarest_first AS (ORDER BY q.df, q.lexeme)
-- if added_phrases
    UNION ALL
    SELECT p.lexemes, p.times, p.df, p.idf, CAST(:norm_by_length / nullif(u.average_length, 0) AS real), 0, 0, 0,
           CAST(:k1_plus_1 * p.times * p.idf AS real), true
    FROM corpus AS u CROSS JOIN phrase_terms AS p
-- end
)
-- end
-- unless text
terms AS MATERIALIZED (
    SELECT CAST(NULL AS text) AS lexeme, 0 AS df, CAST(0 AS float8) AS idf, 0 AS times, 0 AS ignoring WHERE false
)
-- end
