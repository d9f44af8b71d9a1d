-- Serialises one user's writes until the transaction ends, and hands out numbers for new chunks.
-- Binds: user_id, chunks (how many numbers). Columns: first_no.
-- :user_id text
-- :chunks bigint
INSERT INTO stepwell.tenants AS t (user_id, version, next_chunk_no)
VALUES (:user_id, 1, 1 + :chunks)
ON CONFLICT (user_id) DO UPDATE
SET version = t.version + 1, next_chunk_no = t.next_chunk_no + :chunks
RETURNING next_chunk_no - :chunks AS first_no
