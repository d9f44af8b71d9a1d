-- Counts the chunks that have a vector of the model that is to replace the one in use, and all chunks.
-- Columns: done, total.
-- :user_id text  owner of the rows
SELECT (SELECT count(*) FROM stepwell.embeddings_next AS n WHERE n.user_id = :user_id) AS done,
       (SELECT count(*) FROM stepwell.chunks AS c WHERE c.user_id = :user_id) AS total
