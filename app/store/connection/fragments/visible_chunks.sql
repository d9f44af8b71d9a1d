-- Selects the chunks that the caller sees if they are few, as two CTEs: statements that ask which lexemes these contain then
-- compare postings with them, instead of looking up the chunk of each posting.
-- Columns: visible: few; visible_chunks: chunk_no, tsv.
-- :user_id text  owner of the rows
-- :most_visible bigint  maximum number of chunks that are few
visible_documents AS MATERIALIZED (
    SELECT d.document_id, d.chunk_count
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id
      AND {{passes_filters d}}
    LIMIT :most_visible + 1
),
visible AS MATERIALIZED (
    SELECT coalesce(sum(d.chunk_count), 0) <= :most_visible AS few FROM visible_documents AS d
),
visible_chunks AS MATERIALIZED (
    SELECT c.chunk_no, c.tsv
    FROM visible_documents AS d
    JOIN stepwell.chunks AS c ON c.user_id = :user_id AND c.document_id = d.document_id
    WHERE (SELECT few FROM visible)
)
