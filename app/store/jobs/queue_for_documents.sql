-- Queues a job for each document that none waits for. OFFSET forces look-ups by key, whatever the planner's statistics.
-- Columns: job_id.
-- :user_id text  owner of the rows
-- :kind text  kind of the jobs
-- :document_ids uuid[]  the documents
INSERT INTO stepwell.jobs (job_id, user_id, kind, payload)
SELECT gen_random_uuid(), :user_id, :kind, jsonb_build_object('document_id', d.document_id)
FROM unnest(:document_ids) AS d (document_id)
WHERE NOT EXISTS (
    SELECT FROM stepwell.jobs AS j
    WHERE j.user_id = :user_id AND j.kind = :kind AND j.status = 'queued'
      AND j.payload ->> 'document_id' = CAST(d.document_id AS text) OFFSET 0)
RETURNING job_id
