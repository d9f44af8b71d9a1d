-- Selects the chunks that the request excludes by their ids.
-- Columns: chunk_no.
-- part exclusions  chunks that are excluded from the hits
-- :exclude_chunk_ids uuid[]  chunks to exclude
-- if exclusions
excluded_chunks AS MATERIALIZED (
    SELECT c.chunk_no
    FROM stepwell.chunks AS c
    WHERE c.user_id = :user_id AND c.chunk_id = ANY (:exclude_chunk_ids)
)
-- end
