-- Serialises one user's writes until the transaction ends, and allocates numbers for chunks that are not visible yet.
-- The user's version stays, because nothing that can be read changes.
-- Columns: first_no (first allocated number).
-- :user_id text  owner of the rows
-- :chunks bigint  how many numbers to allocate
UPDATE stepwell.tenants AS t SET next_chunk_no = t.next_chunk_no + :chunks
WHERE t.user_id = :user_id
RETURNING t.next_chunk_no - :chunks AS first_no
