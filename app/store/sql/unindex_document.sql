-- Removes a document's chunks from the postings and from the document frequencies, before the chunks are deleted. The
-- caller holds the user's lock.
-- A document's chunk numbers are consecutive, so only blocks that overlap their range are changed.
-- Columns: none.
-- :user_id text  owner of the rows
-- :document_id uuid  the document
WITH removed_lexemes AS MATERIALIZED (
    SELECT t.lexeme COLLATE "C" AS lexeme, count(*) AS chunks, min(c.chunk_no) AS lo, max(c.chunk_no) AS hi
    FROM stepwell.chunks AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
    WHERE c.user_id = :user_id AND c.document_id = :document_id
    GROUP BY t.lexeme
),
trimmed_blocks AS MATERIALIZED (
    SELECT p.lexeme, p.first_no,
           p.items[1:width_bucket((g.lo << 24) - 1, p.items)]
           || p.items[width_bucket(((g.hi + 1) << 24) - 1, p.items) + 1:] AS items
    FROM removed_lexemes AS g
    JOIN stepwell.postings AS p
      ON p.user_id = :user_id AND p.lexeme = g.lexeme AND p.first_no <= g.hi
     AND p.first_no >= coalesce((SELECT max(b.first_no) FROM stepwell.postings AS b
                                 WHERE b.user_id = :user_id AND b.lexeme = g.lexeme AND b.first_no <= g.lo), g.lo)
),
deleted_blocks AS (
    DELETE FROM stepwell.postings AS p USING trimmed_blocks AS t
    WHERE p.user_id = :user_id AND p.lexeme = t.lexeme AND p.first_no = t.first_no AND t.items = '{}'
),
updated_blocks AS (
    UPDATE stepwell.postings AS p SET items = t.items FROM trimmed_blocks AS t
    WHERE p.user_id = :user_id AND p.lexeme = t.lexeme AND p.first_no = t.first_no AND t.items <> '{}'
),
deleted_lexemes AS (
    DELETE FROM stepwell.lexemes AS l USING removed_lexemes AS g
    WHERE l.user_id = :user_id AND l.lexeme = g.lexeme AND l.df <= g.chunks
)
UPDATE stepwell.lexemes AS l SET df = l.df - CAST(g.chunks AS integer) FROM removed_lexemes AS g
WHERE l.user_id = :user_id AND l.lexeme = g.lexeme AND l.df > g.chunks
