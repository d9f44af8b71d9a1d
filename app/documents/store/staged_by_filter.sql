-- Lists those of the given jobs whose documents will pass the filters. A document without a creation time counts as
-- created with its job.
-- Columns: job_id.
-- :job_ids uuid[]  the jobs
-- :created timestamptz[]  when each of them was created
SELECT d.job_id
FROM (
    SELECT s.job_id, s.document_id, s.source_id, s.uri, s.metadata, stepwell.moments(s.metadata) AS moments,
           coalesce(s.created_at, j.created_at) AS created_at
    FROM stepwell.staged_documents AS s
    JOIN unnest(:job_ids, :created) AS j (job_id, created_at) ON j.job_id = s.job_id
    WHERE s.user_id = :user_id
) AS d
WHERE {{passes_filters d}}
