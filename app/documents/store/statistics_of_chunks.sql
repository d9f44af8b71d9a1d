-- Computes the text statistics of the chunks that the caller sees, where row-level security hides others: the stored ones
-- are those of all chunks.
-- Columns: config, chunks, tokens; one row per text-search configuration with chunks.
-- :document_ids? uuid[]  only the chunks of these documents
SELECT c.config, count(*) AS chunks, CAST(sum(c.length) AS bigint) AS tokens
FROM stepwell.chunks AS c
WHERE c.user_id = :user_id
-- if document_ids
  AND c.document_id = ANY (:document_ids)
-- end
GROUP BY c.config
