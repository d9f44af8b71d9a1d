-- Computes the BM25 scores of the chunks that the terms yield as candidates.
-- Columns: candidates, generated, added, scored: chunk_no, score. `candidates` sums the terms that generate candidates. If
--   other terms add to them, `generated` is the same, materialised since it is read twice, and `added` has those chunks of
--   it to which they add, with the whole sums.
-- part text  the text leg
-- part filtered  filters on documents
-- part strict  phrases and required words
-- part excluding  words and phrases that no hit may contain
-- part added_phrases  phrases that steps have added
-- if text
candidates AS NOT MATERIALIZED (
    SELECT {{posting_chunk h.item}} AS chunk_no,
           sum({{posting_score h}}) AS score
    FROM (
        {{term_postings t.generates}}
-- if added_phrases
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
additive AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM terms AS t WHERE NOT t.generates) AS exist
),
generated AS MATERIALIZED (
    SELECT c.chunk_no, c.score FROM candidates AS c WHERE (SELECT exist FROM additive)
),
added AS MATERIALIZED (
    SELECT g.chunk_no,
           max(g.score) + sum({{posting_score h}}) AS score
    FROM (
        {{term_postings NOT t.generates}}
    ) AS h
    JOIN generated AS g ON g.chunk_no = {{posting_chunk h.item}}
    GROUP BY g.chunk_no
),
-- end
scored AS (
    SELECT s.chunk_no, s.score
    FROM (
-- if filtered or strict or excluding
        SELECT c.chunk_no, c.score FROM candidates AS c
-- end
-- unless filtered or strict or excluding
        SELECT c.chunk_no, c.score FROM candidates AS c WHERE NOT (SELECT exist FROM additive)
        UNION ALL
        SELECT g.chunk_no, coalesce(a.score, g.score) FROM generated AS g LEFT JOIN added AS a ON a.chunk_no = g.chunk_no
-- end
    ) AS s
    WHERE {{is_searched s}}
)
-- end
