-- Selects the chunk that is to be ranked.
-- Columns: chunk_no.
-- :user_id text  owner of the rows
-- :chunk_id uuid  the chunk
asked AS MATERIALIZED (
    SELECT c.chunk_no FROM stepwell.chunks AS c WHERE c.user_id = :user_id AND c.chunk_id = :chunk_id
)
