-- Numbers staged chunks, and adds them to the postings and to the document frequencies, where they are hidden. The caller
-- holds the user's lock. See `index_documents` for the form of postings.
-- Columns: none.
-- :user_id text  owner of the rows
-- :job_id uuid  the job that stores the document
-- :first_no bigint  number of the first chunk
-- :first_index integer  index of the first chunk
-- :last_index integer  index of the last chunk
WITH numbered AS (
    UPDATE stepwell.staged_chunks AS s SET chunk_no = :first_no + s.chunk_index - :first_index
    WHERE s.user_id = :user_id AND s.job_id = :job_id AND s.chunk_index BETWEEN :first_index AND :last_index
    RETURNING s.chunk_no, s.tsv, s.length
),
new_postings AS MATERIALIZED (
    SELECT t.lexeme COLLATE "C" AS lexeme, {{posting c, t.positions}} AS item
    FROM numbered AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
),
{{append_postings new_postings}}
