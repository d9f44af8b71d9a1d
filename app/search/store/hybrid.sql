-- Ranks a user's chunks for a query by vector similarity and BM25, and returns the best with their content.
--
-- One statement computes two legs, their fusion and the content; `hybrid_search.HYBRID` lists its CTEs. The vector leg
-- ranks by cosine distance, through the HNSW index, or exactly if the scope is small enough that this is cheaper. The
-- text leg ranks by BM25 over the posting blocks of `index_documents.sql`. Filters, exclude_chunk_ids, required and
-- excluded words apply to both legs before they are cut to `candidates`. Order: score, better single rank, id.
--
-- For the BM25 score of a hit that the text leg did not find, `setweight` labels the terms' lexemes with A, and
-- `ts_filter` drops all others but words of titles, which have this label, too. The join with the terms drops those.
--
-- Parts that a query does not need are omitted, because planning them costs as much as running them.
-- Columns: one row per hit (a single row with chunk_id null if there is none), whose first columns are the fields of
--   `search_types.Candidate` in their order; each row repeats the report
--   (corpus_chunks, scope_chunks, exact, vector_found, text_found, best_cosine), and the first row has the
--   terms, without those that no chunk contains and a language of the collection ignores. best_cosine is the largest
--   score of the vector leg; weight_vector and weight_text are the chosen weights, if they depend on the language of the
--   query.
-- part vector  the vector leg
-- part text  the text leg
-- part languages  the weights depend on the language of the query
-- part strict  phrases and required words
-- part restricted  the frequency of a term is 0 if the caller sees no chunk that contains it; with filters
-- :with_content boolean  false returns empty content
SELECT b.chunk_id, b.document_id, d.source_id, d.title, d.uri,
       CASE WHEN :with_content THEN b.content ELSE '' END AS content,
       b.chunk_index, b.start_offset, b.end_offset, b.heading_path, d.metadata,
       nullif(width_bucket((b.start_offset + b.end_offset) / 2, d.page_starts), 0) AS page,
       b.score, b.rrf_score, b.convex_score, b.vector_score,
-- if text
       CASE WHEN b.text_rank IS NOT NULL THEN CAST(b.text_score AS float8)
            ELSE (SELECT CAST(coalesce(sum({{posting_score h}}), 0) AS float8)
                  FROM (
                      SELECT t.weight, t.per_token, {{posting b, w.positions}} AS item
                      FROM unnest(ts_filter(setweight(b.tsv, 'A', (SELECT array_agg(t.lexeme) FROM terms AS t)), '{a}')) AS w
                      JOIN terms AS t ON t.lexeme = w.lexeme COLLATE "C"
                      OFFSET 0
                  ) AS h) END AS text_score,
-- end
-- unless text
       CAST(NULL AS float8) AS text_score,
-- end
       b.vector_rank, b.text_rank,
-- if vector
       CASE WHEN b.vector_rank IS NOT NULL THEN b.vector_score
            ELSE (SELECT 1 - (e.embedding <=> (SELECT q.vector FROM query_vector AS q)) FROM stepwell.embeddings AS e
                  WHERE e.user_id = :user_id AND e.chunk_no = b.chunk_no) END AS cosine,
-- end
-- unless vector
       CAST(NULL AS float8) AS cosine,
-- end
       b.vector_scaled, b.text_scaled, b.config,
-- if strict
       u.chunks AS corpus_chunks, s.chunks AS scope_chunks, (s.small OR (SELECT few FROM strict_size)) AS exact,
-- end
-- unless strict
       u.chunks AS corpus_chunks, s.chunks AS scope_chunks, s.small AS exact,
-- end
-- if languages
       (SELECT w.vector FROM leg_weights AS w) AS weight_vector, (SELECT w.text FROM leg_weights AS w) AS weight_text,
-- end
       z.vector_found, z.text_found, z.best AS best_cosine,
       CASE WHEN b.place IS NULL OR b.place = 1 THEN (
            SELECT coalesce(jsonb_agg(jsonb_build_array(t.lexeme, t.df, t.idf, t.times,
-- if text
                   CASE WHEN cardinality(u.configs) > 1 THEN (SELECT k.places FROM kept_words AS k WHERE k.lexeme = t.lexeme) END
-- end
-- unless text
                   NULL
-- end
                   ) ORDER BY t.idf DESC, t.lexeme), '[]')
-- if restricted
            FROM (
                SELECT o.lexeme, f.df, CASE WHEN f.df = o.df THEN o.idf ELSE {{idf u, g}} END AS idf, o.times, o.ignoring
                FROM terms AS o
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN o.lexeme LIKE '% %' OR o.lexeme IN (SELECT a.lexeme FROM terms_in_scope AS a) THEN o.df ELSE 0 END AS df
                ) AS f
                CROSS JOIN LATERAL (SELECT f.df + o.ignoring AS df) AS g
            ) AS t WHERE t.df > 0 OR t.ignoring = 0) END AS terms
-- end
-- unless restricted
            FROM terms AS t WHERE t.df > 0 OR t.ignoring = 0) END AS terms
-- end
FROM corpus AS u
CROSS JOIN scope AS s
CROSS JOIN leg_scores AS z
LEFT JOIN best AS b ON true
LEFT JOIN LATERAL (
    SELECT o.source_id, o.title, o.uri, o.metadata, o.page_starts
    FROM stepwell.documents AS o WHERE o.user_id = :user_id AND o.document_id = b.document_id LIMIT 1
) AS d ON true
ORDER BY b.place
