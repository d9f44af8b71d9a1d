-- Counts the documents, chunks and indexed words of all users. Requires the database's owner.
-- Columns: documents, chunks, tokens.
SELECT (SELECT count(*) FROM stepwell.documents) AS documents,
       (SELECT count(*) FROM stepwell.chunks) AS chunks,
       (SELECT CAST(coalesce(sum(s.tokens), 0) AS bigint) FROM stepwell.text_statistics AS s) AS tokens
