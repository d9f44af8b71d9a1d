-- Stores made-up chunks of many documents of a benchmark, analysed as `insert_chunks.sql` does it.
-- Columns: none.
-- :user_id text
-- :first_no bigint
-- :chunk_ids uuid[]
-- :document_ids uuid[]
-- :indices integer[]
-- :starts integer[]
-- :contents text[]
-- :indexed text[]
INSERT INTO stepwell.chunks (
    user_id, chunk_id, chunk_no, document_id, chunk_index, content, start_offset, end_offset, heading_path,
    config, tsv, length, embedding_key
)
SELECT :user_id, i.chunk_id, :first_no + i.place - 1, i.document_id, i.chunk_index, i.content,
       i.start_offset, i.start_offset + length(i.content), '{}', 'english', v.tsv,
       CAST((SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(v.tsv) AS t) AS integer), i.chunk_id
FROM unnest(:chunk_ids, :document_ids, :indices, :starts, :contents, :indexed) WITH ORDINALITY
     AS i (chunk_id, document_id, chunk_index, start_offset, content, indexed, place)
CROSS JOIN LATERAL (SELECT to_tsvector('english', i.indexed) AS tsv OFFSET 0) AS v
