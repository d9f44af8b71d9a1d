-- Selects the chunks that the caller sees if they are few, as two CTEs: statements that ask which lexemes these contain then
-- compare postings with them, instead of looking up the chunk of each posting. The numbers come from the vectors, which the
-- hybrid statement has read before.
-- Columns: visible_documents: document_id, chunk_count; visible: few; visible_chunks: chunk_no.
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
    SELECT e.chunk_no
    FROM visible_documents AS d
    JOIN stepwell.embeddings AS e ON e.user_id = :user_id AND e.document_id = d.document_id
    WHERE (SELECT few FROM visible)
)
