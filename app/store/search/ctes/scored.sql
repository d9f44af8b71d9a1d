-- Computes the BM25 scores of the chunks that the terms yield as candidates.
-- Columns: scored: chunk_no, score.
-- part text  the text leg
-- part filtered  filters on documents
-- part strict  phrases and required words
-- part excluding  words and phrases that no hit may contain
-- part exclusions  chunks that are excluded from the hits
-- part hidden  postings of chunks that are not visible
-- part synonym_phrases  synonyms of several words
-- if text
candidates AS NOT MATERIALIZED (
    SELECT {{posting_chunk h.item}} AS chunk_no,
           sum({{posting_score h}}) AS score
    FROM (
        {{term_postings t.generates}}
-- if synonym_phrases
        UNION ALL
        SELECT t.weight, t.per_token, p.item FROM phrase_postings AS p JOIN terms AS t ON t.lexeme = p.lexemes
-- end
    ) AS h
    WHERE true
-- if filtered
      AND (NOT (SELECT small FROM scope) OR {{posting_chunk h.item}} IN (SELECT a.chunk_no FROM filtered_chunks AS a))
-- end
-- if strict
      AND (NOT (SELECT nominated FROM strict_scope) OR {{posting_chunk h.item}} IN (SELECT r.chunk_no FROM strict_chunks AS r))
-- end
    GROUP BY {{posting_chunk h.item}}
),
-- unless filtered or strict or excluding
-- materialised only with terms that generate no candidates, since the sums are then read twice
additive AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM terms AS t WHERE NOT t.generates) AS exist
),
generated AS MATERIALIZED (
    SELECT c.chunk_no, c.score FROM candidates AS c WHERE (SELECT exist FROM additive)
),
additions AS MATERIALIZED (
    SELECT n.chunk_no,
           sum({{posting_score h}}) AS score
    FROM (
        {{term_postings NOT t.generates}}
    ) AS h
    JOIN generated AS n ON n.chunk_no = {{posting_chunk h.item}}
    GROUP BY n.chunk_no
),
-- end
scored AS (
    SELECT o.chunk_no, o.score
    FROM (
-- if filtered or strict or excluding
        SELECT c.chunk_no, c.score FROM candidates AS c
-- end
-- unless filtered or strict or excluding
        SELECT c.chunk_no, c.score FROM candidates AS c WHERE NOT (SELECT exist FROM additive)
        UNION ALL
        SELECT n.chunk_no, n.score + coalesce(a.score, 0) FROM generated AS n LEFT JOIN additions AS a ON a.chunk_no = n.chunk_no
-- end
    ) AS o
    WHERE true
-- if exclusions
      AND o.chunk_no NOT IN (SELECT x.chunk_no FROM excluded_chunks AS x)
-- end
-- if hidden
      AND NOT o.chunk_no <@ (SELECT h.numbers FROM hidden AS h)
-- end
)
-- end
