-- Checks the postings, vectors and mentions of a sample of a user's chunks.
-- Columns: postings (pairs of chunk and lexeme whose posting is missing or differs), vectors (chunks without a vector),
--   dangling (mentions whose entity or document does not exist).
-- :user_id text  owner of the rows
-- :chunk_nos bigint[]  numbers of the sampled chunks
WITH sampled AS MATERIALIZED (
    SELECT c.chunk_no, c.document_id, c.length, c.tsv
    FROM unnest(:chunk_nos) AS g (chunk_no)
    JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.chunk_no = g.chunk_no
),
expected AS MATERIALIZED (
    SELECT s.chunk_no, t.lexeme COLLATE "C" AS lexeme,
           {{posting s, t.positions}} AS item
    FROM sampled AS s CROSS JOIN LATERAL unnest(s.tsv) AS t
)
SELECT (SELECT count(*) FROM expected AS e
        WHERE array_position((
            SELECT p.items FROM stepwell.postings AS p
            WHERE p.user_id = :user_id AND p.lexeme = e.lexeme AND p.first_no <= e.chunk_no
            ORDER BY p.first_no DESC LIMIT 1), e.item) IS NULL) AS postings,
       (SELECT count(*) FROM sampled AS s
        WHERE NOT EXISTS (SELECT FROM stepwell.embeddings AS e WHERE e.user_id = :user_id AND e.chunk_no = s.chunk_no))
           AS vectors,
       (SELECT count(*) FROM sampled AS s
        JOIN stepwell.mentions AS m ON m.user_id = :user_id AND m.chunk_no = s.chunk_no
        WHERE m.document_id <> s.document_id
           OR NOT EXISTS (SELECT FROM stepwell.entities AS e WHERE e.user_id = :user_id AND e.entity_id = m.entity_id))
           AS dangling
