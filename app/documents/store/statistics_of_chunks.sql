-- Computes text statistics from the chunks that row-level security lets the caller see. The stored statistics count all
-- chunks.
-- Columns: config, chunks, tokens; one row per text-search configuration with chunks.
-- :document_ids? uuid[]  only the chunks of these documents
SELECT c.config, count(*) AS chunks, CAST(sum(c.length) AS bigint) AS tokens
FROM stepwell.chunks AS c
WHERE c.user_id = :user_id
-- if document_ids
  AND c.document_id = ANY (:document_ids)
-- end
GROUP BY c.config
