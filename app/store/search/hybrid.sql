-- Ranks a user's chunks for a query by vector similarity and BM25, and returns the best with their content.
--
-- One statement computes two legs, their fusion and the content. The vector leg ranks by cosine distance, through the
-- HNSW index, or exactly if the scope is small enough that this is cheaper. The text leg ranks by BM25 (k1 1.2, b 0.75,
-- Lucene's idf) over the posting blocks of `index_document.sql`. Filters, exclude_chunk_ids and excluded words apply to
-- both legs before they are cut to `candidates`. Up to `spend` postings of the rarest terms generate candidates; more
-- frequent terms only add to their scores, unless the rarer terms could yield too few candidates (n terms yield at
-- least 1/n of their postings as candidates). Within `spend`, and always with filters or strict words, the score is the
-- exact sum (docs/decisions/0001).
-- RRF is the sum of weight / (k + rank), ranks from 1; an absent leg adds nothing (Cormack et al. 2009). The convex
-- score is the weighted sum of the legs' scaled scores (Bruch et al. 2023). Order: score, better single rank, id.
--
-- Parts that a query does not need are omitted, because planning them costs as much as running them.
-- Columns: one row per hit (a single row with chunk_id null if there is none); each row repeats the report
--   (corpus_chunks, scope_chunks, exact, vector_found, text_found), and the first row has the terms.
-- part vector  the vector leg
-- part text  the text leg
-- part filtered  filters on documents
-- part strict  phrases and required words
-- part excluding  words and phrases that no hit may contain
-- part exclusions  chunks that are excluded from the hits
-- part hidden  postings of chunks that are not visible
-- part standing  instead of the hits, the scores and ranks of one chunk in both legs, also beyond the candidates:
--   vector_score, vector_rank (null without the leg), vector_exact (false if not all vectors were compared, so that the
--   rank is the best possible one), text_score and text_rank (null if no term yields the chunk as a candidate)
-- :user_id text  owner of the rows
-- :exact_floor bigint  scopes up to this many chunks are scanned exactly
-- :exact_factor float8  cost of a row visited in the HNSW graph, in rows of an exact scan
-- :stored bigint  estimate of the rows in the HNSW graph, those of other users included
-- :candidates bigint  maximum number of chunks that a leg passes to the fusion
-- :exclude_chunk_ids uuid[]  chunks to exclude
-- :spend bigint  postings that may generate candidates of the text leg
-- :strict_folded text[]  phrases and required words, accents folded
-- :strict_plain text[]  phrases and required words, accents kept
-- :excluded_folded text[]  words and phrases that no hit may contain, accents folded
-- :excluded_plain text[]  words and phrases that no hit may contain, accents kept
-- :words_folded text  words scored by BM25, accents folded
-- :words_plain text  words scored by BM25, accents kept
-- :weight_vector float8  weight of the vector leg, 0 if it does not run
-- :k float8  constant of RRF
-- :weight_text float8  weight of the text leg, 0 if it does not run
-- :convex boolean  true: order by the convex score; false: by RRF
-- :min_vector_score float8  minimum cosine similarity; null: none
-- :min_rrf_score float8  minimum RRF score; null: none
-- :limit bigint  maximum number of hits
-- :with_content boolean  false returns empty content
-- :chunk_id uuid  the chunk of `standing`
-- :most_compared bigint  maximum number of vectors that `standing` compares
WITH
-- if vector
query_vector AS MATERIALIZED (
    {{query_vector}}
),
-- end
corpus AS MATERIALIZED (
    SELECT CAST(coalesce(sum(s.chunks), 0) AS float8) AS chunks,
           CAST(coalesce(sum(s.tokens), 0) AS float8) / greatest(coalesce(sum(s.chunks), 0), 1) AS average_length,
           coalesce(array_agg(s.config), '{}') AS configs
    FROM stepwell.text_statistics AS s
    WHERE s.user_id = :user_id AND s.chunks > 0
),
costs AS MATERIALIZED (
    SELECT greatest(:exact_floor, CAST(sqrt(:exact_factor * :candidates * greatest(:stored, u.chunks)) AS bigint)) AS most
    FROM corpus AS u
),
-- if exclusions
excluded_chunks AS MATERIALIZED (
    SELECT c.chunk_no
    FROM stepwell.chunks AS c
    WHERE c.user_id = :user_id AND c.chunk_id = ANY (:exclude_chunk_ids)
),
-- end
-- if hidden
hidden AS MATERIALIZED (
    SELECT coalesce(range_agg(int8range(h.first_no, h.last_no, '[]')), '{}') AS numbers,
           CAST(coalesce(sum(h.last_no - h.first_no + 1), 0) AS bigint) AS chunks
    FROM stepwell.hidden_chunks AS h
    WHERE h.user_id = :user_id
),
-- end
-- if filtered
filtered_documents AS MATERIALIZED (
    SELECT d.document_id, d.chunk_count
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id
      AND {{passes_filters d}}
    LIMIT (SELECT most + 1 FROM costs)
),
scope AS MATERIALIZED (
    SELECT s.chunks, s.chunks <= c.most AS small
    FROM costs AS c CROSS JOIN (SELECT CAST(coalesce(sum(a.chunk_count), 0) AS bigint) AS chunks FROM filtered_documents AS a) AS s
),
filtered_chunks AS MATERIALIZED (
    SELECT e.chunk_no,
-- if vector
           e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
-- end
-- unless vector
           0 AS distance
-- end
    FROM filtered_documents AS a
    JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.document_id = a.document_id
    WHERE (SELECT small FROM scope)
),
-- end
-- unless filtered
scope AS MATERIALIZED (
    SELECT CAST(u.chunks AS bigint) AS chunks, u.chunks <= c.most AS small FROM costs AS c CROSS JOIN corpus AS u
),
-- end
-- phrases and required words: the user's postings nominate the chunks that have all of the words, and the text leg tests
-- these in the order of their scores; an index of the tsvectors would hold those of all users
-- if strict
strict_queries AS MATERIALIZED (
    SELECT p.config, CAST(string_agg('(' || CAST(p.query AS text) || ')', ' & ') AS tsquery) AS query
    FROM (
        {{phrase_queries :strict_folded, :strict_plain}}
    ) AS p
    GROUP BY p.config
),
-- the chunks of a configuration that drops all of the words need nothing, so that none can be left out
strict_scope AS MATERIALIZED (
    SELECT NOT EXISTS (SELECT unnest(u.configs) EXCEPT SELECT q.config FROM strict_queries AS q) AS nominated
    FROM corpus AS u
),
strict_words AS MATERIALIZED (
    SELECT q.config, w.lexeme COLLATE "C" AS lexeme, count(*) OVER of_config AS needed, row_number() OVER rarest_first AS place
    FROM strict_queries AS q
    CROSS JOIN LATERAL (
        SELECT DISTINCT t.lexeme
        FROM unnest(:strict_folded, :strict_plain) AS p (folded, plain)
        CROSS JOIN LATERAL unnest(to_tsvector(CAST(q.config AS regconfig), {{text_for q.config, p.folded, p.plain}})) AS t
    ) AS w
    LEFT JOIN LATERAL (
        SELECT o.df FROM stepwell.lexemes AS o WHERE o.user_id = :user_id AND o.lexeme = w.lexeme COLLATE "C" LIMIT 1
    ) AS l ON true
    WHERE (SELECT nominated FROM strict_scope)
    WINDOW of_config AS (PARTITION BY q.config), rarest_first AS (PARTITION BY q.config ORDER BY coalesce(l.df, 0), w.lexeme)
),
rarest_chunks AS MATERIALIZED (
    SELECT r.config, r.needed, {{posting_chunk unnest(p.items)}} AS chunk_no
    FROM strict_words AS r
    CROSS JOIN LATERAL (
        SELECT o.items FROM stepwell.postings AS o WHERE o.user_id = :user_id AND o.lexeme = r.lexeme OFFSET 0
    ) AS p
    WHERE r.place = 1
),
strict_chunks AS MATERIALIZED (
    SELECT r.chunk_no FROM rarest_chunks AS r WHERE r.needed = 1
    UNION ALL
    SELECT o.chunk_no
    FROM (
        SELECT r.config, r.needed, {{posting_chunk unnest(p.items)}} AS chunk_no
        FROM strict_words AS r
        CROSS JOIN LATERAL (
            SELECT o.items FROM stepwell.postings AS o WHERE o.user_id = :user_id AND o.lexeme = r.lexeme OFFSET 0
        ) AS p
        WHERE r.place > 1
    ) AS o
    WHERE (o.config, o.chunk_no) IN (SELECT r.config, r.chunk_no FROM rarest_chunks AS r)
    GROUP BY o.config, o.needed, o.chunk_no
    HAVING count(*) = o.needed - 1
),
-- end
-- if excluding
excluded_queries AS MATERIALIZED (
    {{phrase_queries :excluded_folded, :excluded_plain}}
),
-- end
-- the text leg
-- if text
query_words AS MATERIALIZED (
    SELECT t.lexeme COLLATE "C" AS lexeme, max(cardinality(t.positions)) AS times
    FROM corpus AS u
    CROSS JOIN LATERAL unnest(u.configs) AS g (config)
    CROSS JOIN LATERAL unnest(to_tsvector(CAST(g.config AS regconfig),
        {{text_for g.config, :words_folded, :words_plain}})) AS t
    GROUP BY t.lexeme
),
terms AS MATERIALIZED (
    SELECT q.*, CAST(2.2 * q.times * q.idf AS real) AS weight,
           sum(q.df) OVER rarest_first <= q.spend
           OR sum(q.df) OVER rarest_first - q.df <= q.needed * (row_number() OVER rarest_first - 1) AS generates
    FROM (
        SELECT w.lexeme, w.times, coalesce(l.df, 0) AS df,
               ln(1 + (u.chunks - coalesce(l.df, 0) + 0.5) / (coalesce(l.df, 0) + 0.5)) AS idf,
               CAST(0.9 / nullif(u.average_length, 0) AS real) AS per_token,
-- if filtered or strict or excluding
               u.chunks * 1e6 AS spend,
-- end
-- unless filtered or strict or excluding
               :spend AS spend,
-- end
               :candidates
-- if exclusions
               + (SELECT count(*) FROM excluded_chunks)
-- end
-- if hidden
               + (SELECT h.chunks FROM hidden AS h)
-- end
               AS needed
        FROM corpus AS u
        CROSS JOIN query_words AS w
        LEFT JOIN stepwell.lexemes AS l ON l.user_id = :user_id AND l.lexeme = w.lexeme
    ) AS q
    WINDOW rarest_first AS (ORDER BY q.df, q.lexeme)
),
candidates AS NOT MATERIALIZED (
    SELECT {{posting_chunk h.item}} AS chunk_no,
           sum({{posting_score h}}) AS score
    FROM (
        {{term_postings t.generates}}
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
),
text_leg AS MATERIALIZED (
    SELECT f.chunk_no, f.score, row_number() OVER (ORDER BY f.score DESC, f.chunk_no) AS rank
    FROM (
-- unless filtered or strict or excluding
        SELECT s.chunk_no, s.score FROM scored AS s ORDER BY s.score DESC, s.chunk_no LIMIT :candidates
-- end
-- if filtered or strict or excluding
        SELECT o.chunk_no, o.score
        FROM (SELECT s.chunk_no, s.score FROM scored AS s ORDER BY s.score DESC, s.chunk_no OFFSET 0) AS o
        WHERE true
-- if filtered
          AND ((SELECT small FROM scope) OR (
                SELECT {{document_passes c}}
                FROM stepwell.chunks AS c
                WHERE c.user_id = :user_id AND c.chunk_no = o.chunk_no))
-- end
-- if strict
          AND {{passes_strict o}}
-- end
-- if excluding
          AND NOT {{contains_excluded o}}
-- end
        LIMIT :candidates
-- end
    ) AS f
),
-- end
-- unless text
terms AS MATERIALIZED (
    SELECT CAST(NULL AS text) AS lexeme, 0 AS df, CAST(0 AS float8) AS idf, 0 AS times WHERE false
),
text_leg AS MATERIALIZED (
    SELECT CAST(NULL AS bigint) AS chunk_no, CAST(NULL AS real) AS score, CAST(NULL AS bigint) AS rank WHERE false
),
-- end
-- the vector leg: through the HNSW graph or exactly; the condition on `small` makes one of the two empty
-- if vector
nearest_by_index AS MATERIALIZED (
    SELECT e.chunk_no, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
    FROM stepwell.embeddings AS e
    WHERE e.user_id = :user_id AND NOT (SELECT small FROM scope)
-- if exclusions
      AND e.chunk_no NOT IN (SELECT x.chunk_no FROM excluded_chunks AS x)
-- end
-- if filtered
      AND {{document_passes e}}
-- end
-- if excluding
      AND NOT {{contains_excluded e}}
-- end
    ORDER BY e.embedding <=> (SELECT q.vector FROM query_vector AS q), e.chunk_no
    LIMIT :candidates
),
nearest_exactly AS MATERIALIZED (
    SELECT o.chunk_no, o.distance
    FROM (
        SELECT n.chunk_no, n.distance
        FROM (
-- if filtered
            SELECT a.chunk_no, a.distance FROM filtered_chunks AS a
-- end
-- unless filtered
            SELECT e.chunk_no, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
            FROM stepwell.embeddings AS e
            WHERE e.user_id = :user_id AND (SELECT small FROM scope)
            OFFSET 0
-- end
        ) AS n
-- if exclusions
        WHERE n.chunk_no NOT IN (SELECT x.chunk_no FROM excluded_chunks AS x)
-- end
        ORDER BY n.distance, n.chunk_no
-- unless excluding
        LIMIT :candidates
-- end
    ) AS o
-- if excluding
    WHERE NOT {{contains_excluded o}}
    LIMIT :candidates
-- end
),
vector_leg AS MATERIALIZED (
    SELECT n.chunk_no, 1 - n.distance AS score, row_number() OVER (ORDER BY n.distance, n.chunk_no) AS rank
    FROM (SELECT chunk_no, distance FROM nearest_by_index UNION ALL SELECT chunk_no, distance FROM nearest_exactly) AS n
),
-- end
-- unless vector
vector_leg AS MATERIALIZED (
    SELECT CAST(NULL AS bigint) AS chunk_no, CAST(NULL AS float8) AS score, CAST(NULL AS bigint) AS rank WHERE false
),
-- end
-- the fusion; materialised, so that chunk_no is a plain column and the join after it can use an index under RLS
fused AS MATERIALIZED (
    SELECT l.*, coalesce(:weight_vector / (:k + l.vector_rank), 0) + coalesce(:weight_text / (:k + l.text_rank), 0) AS rrf_score,
           :weight_vector * l.vector_scaled + :weight_text * l.text_scaled AS convex_score
    FROM (
        SELECT coalesce(v.chunk_no, t.chunk_no) AS chunk_no,
               v.score AS vector_score, v.rank AS vector_rank, t.score AS text_score, t.rank AS text_rank,
               CASE WHEN v.rank IS NULL THEN 0
                    ELSE coalesce((v.score - z.worst) / nullif(z.best - z.worst, 0), 1) END AS vector_scaled,
               CASE WHEN t.rank IS NULL THEN 0
                    ELSE coalesce(CAST(t.score AS float8) / nullif(z.best_text, 0), 1) END AS text_scaled
        FROM vector_leg AS v
        FULL OUTER JOIN text_leg AS t ON t.chunk_no = v.chunk_no
        CROSS JOIN (SELECT (SELECT min(score) FROM vector_leg) AS worst, (SELECT max(score) FROM vector_leg) AS best,
                           (SELECT max(score) FROM text_leg) AS best_text) AS z
    ) AS l
),
-- if standing
asked AS MATERIALIZED (
    SELECT c.chunk_no FROM stepwell.chunks AS c WHERE c.user_id = :user_id AND c.chunk_id = :chunk_id
),
-- if vector
asked_vector AS MATERIALIZED (
    SELECT e.chunk_no, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
    FROM asked AS a
    JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.chunk_no = a.chunk_no
),
compared AS (
-- if filtered
    SELECT a.chunk_no, CAST(NULL AS uuid) AS document_id, a.distance FROM filtered_chunks AS a
    UNION ALL
-- end
    SELECT o.chunk_no, o.document_id, o.distance
    FROM (
        SELECT e.chunk_no, e.document_id, e.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
        FROM stepwell.embeddings AS e
        WHERE e.user_id = :user_id
-- if filtered
          AND NOT (SELECT small FROM scope)
-- end
        LIMIT :most_compared
    ) AS o
),
-- end
-- if text
asked_text AS MATERIALIZED (
    SELECT s.chunk_no, s.score FROM asked AS a JOIN scored AS s ON s.chunk_no = a.chunk_no
-- if strict
    WHERE {{passes_strict s}}
-- end
),
-- end
standing AS (
    SELECT
-- if vector
           (SELECT 1 - t.distance FROM asked_vector AS t) AS vector_score,
           (SELECT 1 + count(*)
            FROM compared AS n
            WHERE n.distance <= (SELECT t.distance FROM asked_vector AS t)
              AND (n.distance < (SELECT t.distance FROM asked_vector AS t)
                   OR n.chunk_no < (SELECT a.chunk_no FROM asked AS a))
-- if exclusions
              AND n.chunk_no NOT IN (SELECT x.chunk_no FROM excluded_chunks AS x)
-- end
-- if filtered
              AND ((SELECT small FROM scope) OR {{document_passes n}})
-- end
-- if excluding
              AND NOT {{contains_excluded n}}
-- end
           ) AS vector_rank,
           (SELECT u.chunks <= :most_compared OR s.small FROM corpus AS u CROSS JOIN scope AS s) AS vector_exact,
-- end
-- unless vector
           CAST(NULL AS float8) AS vector_score, CAST(NULL AS bigint) AS vector_rank, true AS vector_exact,
-- end
-- if text
           (SELECT CAST(t.score AS float8) FROM asked_text AS t) AS text_score,
           (SELECT CASE WHEN EXISTS (SELECT FROM asked_text) THEN 1 + count(*) END
            FROM asked_text AS t
            JOIN scored AS o ON o.score > t.score OR (o.score = t.score AND o.chunk_no < t.chunk_no)
            WHERE true
-- if filtered
              AND ((SELECT small FROM scope) OR (
                    SELECT {{document_passes c}}
                    FROM stepwell.chunks AS c
                    WHERE c.user_id = :user_id AND c.chunk_no = o.chunk_no))
-- end
-- if strict
              AND {{passes_strict o}}
-- end
-- if excluding
              AND NOT {{contains_excluded o}}
-- end
           ) AS text_rank
-- end
-- unless text
           CAST(NULL AS float8) AS text_score, CAST(NULL AS bigint) AS text_rank
-- end
)
SELECT * FROM standing
-- end
-- unless standing
top_rows AS MATERIALIZED (
    SELECT f.*, s.score, round(s.score * 1e12) AS sort_key, least(f.vector_rank, f.text_rank) AS better_rank
    FROM fused AS f
    CROSS JOIN LATERAL (
        SELECT CASE WHEN :convex THEN f.convex_score ELSE f.rrf_score * (:k + 1) END
               / (:weight_vector + :weight_text) AS score
    ) AS s
    WHERE (:min_vector_score IS NULL OR f.vector_score >= :min_vector_score)
      AND (:min_rrf_score IS NULL OR f.rrf_score >= :min_rrf_score)
    ORDER BY sort_key DESC, better_rank
    FETCH FIRST (:limit) ROWS WITH TIES
),
best AS (
    SELECT c.chunk_id, c.document_id, c.content, c.chunk_index, c.start_offset, c.end_offset, c.heading_path, w.*,
           row_number() OVER (ORDER BY w.sort_key DESC, w.better_rank, c.chunk_id) AS place
    FROM top_rows AS w
    JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = w.chunk_no
    ORDER BY place
    LIMIT :limit
)
SELECT b.chunk_id, b.document_id, d.source_id, d.title, d.uri,
       CASE WHEN :with_content THEN b.content ELSE '' END AS content,
       b.chunk_index, b.start_offset, b.end_offset, b.heading_path, d.metadata, nullif(width_bucket(b.start_offset, d.page_starts), 0) AS page,
       b.score, b.rrf_score, b.convex_score, b.vector_score, CAST(b.text_score AS float8) AS text_score,
       b.vector_rank, b.text_rank, b.vector_scaled, b.text_scaled,
-- if vector
       CASE WHEN b.vector_rank IS NOT NULL THEN b.vector_score
            ELSE (SELECT 1 - (e.embedding <=> (SELECT q.vector FROM query_vector AS q)) FROM stepwell.embeddings AS e
                  WHERE e.user_id = :user_id AND e.chunk_no = b.chunk_no) END AS cosine,
-- end
-- unless vector
       CAST(NULL AS float8) AS cosine,
-- end
       u.chunks AS corpus_chunks, s.chunks AS scope_chunks, s.small AS exact,
       (SELECT count(*) FROM vector_leg) AS vector_found, (SELECT count(*) FROM text_leg) AS text_found,
       CASE WHEN b.place IS NULL OR b.place = 1 THEN (
            SELECT coalesce(jsonb_agg(jsonb_build_array(t.lexeme, t.df, t.idf, t.times) ORDER BY t.idf DESC, t.lexeme), '[]')
            FROM terms AS t) END AS terms
FROM corpus AS u
CROSS JOIN scope AS s
LEFT JOIN best AS b ON true
LEFT JOIN stepwell.documents AS d ON d.user_id = :user_id AND d.document_id = b.document_id
ORDER BY b.place
-- end
