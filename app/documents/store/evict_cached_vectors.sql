-- Deletes the least recently used cached vectors beyond a number; entries that another transaction changes are skipped.
-- Columns: text_hash of each deleted entry.
-- :user_id text  owner of the rows
-- :most bigint  number of entries to keep
-- :evicted bigint  maximum number of entries to delete
WITH surplus AS MATERIALIZED (
    SELECT count(*) - :most AS entries FROM stepwell.embedding_cache AS o WHERE o.user_id = :user_id
),
oldest AS MATERIALIZED (
    SELECT o.model, o.dimension, o.task, o.text_hash
    FROM stepwell.embedding_cache AS o
    WHERE o.user_id = :user_id
    ORDER BY o.used_at
    LIMIT least(:evicted, greatest(0, (SELECT s.entries FROM surplus AS s)))
    FOR UPDATE SKIP LOCKED
)
DELETE FROM stepwell.embedding_cache AS v
USING oldest AS o
WHERE v.user_id = :user_id AND v.model = o.model AND v.dimension = o.dimension AND v.task = o.task
  AND v.text_hash = o.text_hash
RETURNING v.text_hash
