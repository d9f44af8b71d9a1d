-- Records files of a source as a job has found and stored them. The arrays are parallel; each path comes once.
-- Columns: path.
-- :user_id text  owner of the rows
-- :source_id uuid  the source
-- :paths text[]  paths of the files
-- :sizes bigint[]  sizes in bytes, or null
-- :mtimes_ns bigint[]  times of their last changes, or null
-- :content_hashes bytea[]  hashes of their contents, or null
-- :documents integer[]  numbers of their documents
-- :errors text[]  why they could not be stored, or null
-- :job_ids uuid[]  the jobs
INSERT INTO stepwell.source_files (user_id, source_id, path, size, mtime_ns, content_hash, documents, error, job_id)
SELECT :user_id, :source_id, g.path, g.size, g.mtime_ns, g.content_hash, g.documents, g.error, g.job_id
FROM unnest(:paths, :sizes, :mtimes_ns, :content_hashes, :documents, :errors, :job_ids)
    AS g (path, size, mtime_ns, content_hash, documents, error, job_id)
ON CONFLICT (user_id, source_id, path) DO UPDATE
SET size = excluded.size, mtime_ns = excluded.mtime_ns, content_hash = excluded.content_hash,
    documents = excluded.documents, error = excluded.error, job_id = excluded.job_id
RETURNING path
