-- Lists the files of a source as they are recorded, with the number of their documents that are still stored.
-- Columns: path, size, mtime_ns, content_hash, documents, error, job_id, stored.
-- :source_id uuid  the source
SELECT f.path, f.size, f.mtime_ns, f.content_hash, f.documents, f.error, f.job_id, coalesce(d.stored, 0) AS stored
FROM stepwell.source_files AS f
LEFT JOIN (
    SELECT o.source_path COLLATE "C" AS path, count(*) AS stored
    FROM stepwell.documents AS o
    WHERE o.user_id = :user_id AND o.source_id = :source_id
    GROUP BY o.source_path COLLATE "C"
) AS d ON d.path = f.path
WHERE f.user_id = :user_id AND f.source_id = :source_id
ORDER BY f.path
