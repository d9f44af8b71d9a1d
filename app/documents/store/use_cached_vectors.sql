-- Counts a use of cached vectors; entries that another transaction changes are skipped.
-- Columns: none.
-- :user_id text  owner of the rows
-- :model text  the model
-- :dimension integer  its dimension
-- :task text  what the model was asked for
-- :hashes uuid[]  hashes of the texts
WITH used AS MATERIALIZED (
    SELECT o.text_hash
    FROM stepwell.embedding_cache AS o
    WHERE o.user_id = :user_id AND o.model = :model AND o.dimension = :dimension AND o.task = :task
      AND o.text_hash = ANY (:hashes)
    FOR UPDATE SKIP LOCKED
)
UPDATE stepwell.embedding_cache AS v SET hits = v.hits + 1, used_at = now()
FROM used AS u
WHERE v.user_id = :user_id AND v.model = :model AND v.dimension = :dimension AND v.task = :task
  AND v.text_hash = u.text_hash
