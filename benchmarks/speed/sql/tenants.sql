-- Enters a benchmark's user, whose next chunk comes behind the stored ones.
-- Columns: none.
-- :user_id text
INSERT INTO stepwell.tenants (user_id, version, next_chunk_no)
SELECT :user_id, (SELECT count(*) FROM stepwell.documents AS d WHERE d.user_id = :user_id),
       1 + (SELECT coalesce(max(c.chunk_no), 0) FROM stepwell.chunks AS c WHERE c.user_id = :user_id)
