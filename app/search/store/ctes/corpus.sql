-- Counts the user's chunks, and computes the largest scope that is scanned exactly.
-- Columns: corpus: chunks, average_length (lexemes a chunk), configs (text-search configurations),
--   config_chunks (of each); costs: most (chunks).
-- part counted  frequencies are counted among the chunks that the caller sees; with filters
-- :seen_configs text[]  text-search configurations of the chunks that the caller sees
-- :seen_chunks bigint[]  how many chunks have each
-- :seen_tokens bigint[]  the sum of their lengths
-- :exact_floor bigint  scopes up to this many chunks are scanned exactly
-- :exact_factor float8  cost of a row visited in the HNSW graph, in rows of an exact scan
-- :stored bigint  estimate of the rows in the HNSW graph, those of other users included
-- :candidates bigint  maximum number of chunks that a leg passes to the fusion
corpus AS MATERIALIZED (
    SELECT CAST(coalesce(sum(s.chunks), 0) AS float8) AS chunks,
           CAST(coalesce(sum(s.tokens), 0) AS float8) / greatest(coalesce(sum(s.chunks), 0), 1) AS average_length,
           coalesce(array_agg(s.config), '{}') AS configs, coalesce(array_agg(s.chunks), '{}') AS config_chunks
-- if counted
    FROM unnest(:seen_configs, :seen_chunks, :seen_tokens) AS s (config, chunks, tokens)
-- end
-- unless counted
    FROM stepwell.text_statistics AS s
    WHERE s.user_id = :user_id AND s.chunks > 0
-- end
),
costs AS MATERIALIZED (
    SELECT greatest(:exact_floor, CAST(sqrt(:exact_factor * :candidates * greatest(:stored, u.chunks)) AS bigint)) AS most
    FROM corpus AS u
)
