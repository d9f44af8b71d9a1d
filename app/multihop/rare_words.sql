-- Finds chunks that share a rare word with a source chunk and contain words of the query that the source lacks, with
-- their similarity to the query vector.
--
-- A rare word is a lexeme in :rarest to :commonest_word chunks without digits and punctuation, of at least three letters or
-- two characters of other scripts, neither a word of the query nor a lexeme of the source's :skipped text. A chunk and a
-- source have the weight w * idf / ln N * o / r. w is the source's weight, N the number of chunks, and idf is that of
-- BM25 for the rarest word that they share. r is the weight of all words of the query that the source lacks, and o the
-- weight of the words among these that the chunk contains. A chunk has the weight of its best source. Only the pairs of
-- a chunk and a source with the largest w * idf, at most :most_compared, are compared with the query, and only the best
-- chunks, at most :most_chunks, are returned.
-- Columns: those of `store.py`, one row a chunk; the name is the lexeme.
-- part filtered  filters on documents
-- part restricted  `chunks` counts those that the caller sees
-- :leading_chunk_ids uuid[]  ids of the source chunks
-- :leading_weights float8[]  weights of the source chunks, 0 to 1
-- :skipped text[]  for each source, indexed text whose words are skipped there
-- :words text[]  lexemes of the query
-- :word_weights float8[]  their weights, 0 for one that no chunk contains
-- :corpus float8  number of the user's chunks
-- :rarest bigint  minimum number of chunks that contain a rare word
-- :commonest_word bigint  maximum number of chunks that contain a rare word
-- :most_compared bigint  maximum number of pairs that are compared
-- :most_chunks bigint  maximum number of chunks
-- :embedding vector  query vector; null: none
-- :exclude_chunk_ids uuid[]  chunks to exclude
WITH query_vector AS MATERIALIZED (
    {{query_vector}}
),
sources AS MATERIALIZED (
    SELECT s.chunk_no, s.chunk_id, g.weight, s.lexemes, s.skipped, m.lacked, m.lacked_weights, m.lacking, m.any_lacked
    FROM unnest(:leading_chunk_ids, :leading_weights, :skipped) AS g (chunk_id, weight, skipped)
    CROSS JOIN LATERAL (
        SELECT o.chunk_no, o.chunk_id, tsvector_to_array(o.tsv) AS lexemes,
               tsvector_to_array(to_tsvector(CAST(o.config AS regconfig), g.skipped)) AS skipped
        FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
    ) AS s
    CROSS JOIN LATERAL (
        SELECT array_agg(w.word) AS lacked, array_agg(w.weight) AS lacked_weights, sum(w.weight) AS lacking,
               CAST(string_agg({{lexeme_query w.word}}, ' | ') AS tsquery) AS any_lacked
        FROM unnest(:words, :word_weights) AS w (word, weight)
        WHERE w.weight > 0 AND NOT w.word = ANY (s.lexemes)
    ) AS m
    WHERE m.lacking > 0
),
rare_words AS MATERIALIZED (
    SELECT t.lexeme, l.df AS chunks, s.chunk_no AS source_no,
           s.weight * ln(1 + greatest(:corpus - l.df + 0.5, 0) / (l.df + 0.5)) / ln(greatest(:corpus, 3)) AS weight
    FROM sources AS s
    CROSS JOIN LATERAL unnest(s.lexemes) AS t (lexeme)
    CROSS JOIN LATERAL (
        SELECT o.df FROM stepwell.lexemes AS o
        WHERE o.user_id = :user_id AND o.lexeme = t.lexeme AND o.df BETWEEN :rarest AND :commonest_word LIMIT 1
    ) AS l
    WHERE t.lexeme !~ '[-0-9_./@:]' AND char_length(t.lexeme) > 1 AND octet_length(t.lexeme) > 2
      AND NOT t.lexeme = ANY (:words) AND NOT t.lexeme = ANY (s.skipped)
),
pairs AS MATERIALIZED (
    SELECT DISTINCT ON (p.chunk_no, w.source_no) p.chunk_no, w.source_no, w.lexeme, w.chunks, w.weight
    FROM rare_words AS w
    CROSS JOIN LATERAL (
        SELECT {{posting_chunk i.item}} AS chunk_no
        FROM stepwell.postings AS o CROSS JOIN unnest(o.items) AS i (item)
        WHERE o.user_id = :user_id AND o.lexeme = w.lexeme OFFSET 0
    ) AS p
    WHERE p.chunk_no <> w.source_no
    ORDER BY p.chunk_no, w.source_no, w.weight DESC, w.lexeme
),
linked AS MATERIALIZED (
    SELECT DISTINCT ON (p.chunk_no) p.chunk_no, c.chunk_id, c.document_id, p.lexeme, p.chunks, s.chunk_id AS source,
           p.weight * c.covered / s.lacking AS weight
    FROM (SELECT a.* FROM pairs AS a ORDER BY a.weight DESC, a.chunk_no, a.source_no LIMIT :most_compared) AS p
    JOIN sources AS s ON s.chunk_no = p.source_no
    CROSS JOIN LATERAL (
        SELECT o.chunk_id, o.document_id,
               (SELECT sum(s.lacked_weights[array_position(s.lacked, t.lexeme)]) FROM unnest(tsvector_to_array(o.tsv)) AS t (lexeme) WHERE t.lexeme = ANY (s.lacked)) AS covered
        FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = p.chunk_no AND o.tsv @@ s.any_lacked LIMIT 1
    ) AS c
    WHERE NOT c.chunk_id = ANY (:exclude_chunk_ids)
-- if filtered
      AND {{document_passes c}}
-- end
    ORDER BY p.chunk_no, p.weight * c.covered / s.lacking DESC, p.lexeme, s.chunk_no
)
SELECT c.chunk_id, c.document_id, v.similarity, c.weight, 'rare' AS signal, c.lexeme AS name, c.source AS source_chunk_id,
-- if restricted
       (SELECT CAST(count(*) AS integer)
        FROM stepwell.postings AS b
        CROSS JOIN LATERAL {{chunks_of_postings b.items}} AS i
        CROSS JOIN LATERAL (
            SELECT FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = i.chunk_no LIMIT 1
        ) AS s
        WHERE b.user_id = :user_id AND b.lexeme = c.lexeme) AS chunks,
-- end
-- unless restricted
       CAST(c.chunks AS integer) AS chunks,
-- end
       1 AS steps, false AS heading
FROM (SELECT l.* FROM linked AS l ORDER BY l.weight DESC, l.chunk_no LIMIT :most_chunks) AS c
CROSS JOIN LATERAL (
    {{similarity_to_query c}}
) AS v
ORDER BY c.chunk_id
