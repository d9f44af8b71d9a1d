-- Ranks a user's chunks for a query as `hybrid.sql` does, without their content and without the report.
--
-- Columns: one row per hit.
SELECT b.chunk_id, b.document_id, b.score FROM best AS b ORDER BY b.place
