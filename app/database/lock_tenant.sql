-- Serialises one user's writes until the transaction ends, and allocates numbers for new chunks.
-- Columns: first_no (first allocated number), version (the user's new version).
-- The first version is the time in milliseconds, so that none is one of a deleted user with this name: processes cache
-- by version.
-- :chunks bigint  how many numbers to allocate
INSERT INTO stepwell.tenants AS t (user_id, version, next_chunk_no)
VALUES (:user_id, CAST(extract(epoch FROM now()) * 1000 AS bigint), 1 + :chunks)
ON CONFLICT (user_id) DO UPDATE
SET version = t.version + 1, next_chunk_no = t.next_chunk_no + :chunks
RETURNING next_chunk_no - :chunks AS first_no, version
