-- Stores a document's chunks and analyses their text with the document's text-search configuration. The arrays are
-- parallel, in chunk order.
-- A chunk's length is the number of its indexed lexemes, including repetitions, without the single characters of pairs.
-- Columns: chunk_no.
-- :config text  text-search configuration
-- :chunk_ids uuid[]  ids
-- :contents text[]  text of each chunk
-- :starts integer[]  start offsets in the document
-- :ends integer[]  end offsets in the document
-- :headings text[]  heading paths as JSON arrays
-- :indexed text[]  text to index of each chunk
-- :embedding_keys uuid[]  keys of the embedded texts
-- :user_id text  owner of the rows
-- :first_no bigint  number of the first chunk
-- :document_id uuid  the document
WITH input_chunks AS MATERIALIZED (
    SELECT i.*, to_tsvector(CAST(:config AS regconfig), i.indexed) AS words
    FROM unnest(
        :chunk_ids, :contents, :starts, :ends,
        :headings, :indexed, :embedding_keys
    ) WITH ORDINALITY AS i (chunk_id, content, start_offset, end_offset, headings, indexed, embedding_key, place)
)
INSERT INTO stepwell.chunks (
    user_id, chunk_id, chunk_no, document_id, chunk_index, content, start_offset, end_offset, heading_path,
    config, tsv, length, embedding_key
)
SELECT :user_id, i.chunk_id, :first_no + i.place - 1, :document_id,
       CAST(i.place - 1 AS integer), i.content, i.start_offset, i.end_offset,
       ARRAY(SELECT jsonb_array_elements_text(CAST(i.headings AS jsonb))),
       :config, stepwell.with_characters(i.words),
       CAST((SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(i.words) AS t) AS integer),
       i.embedding_key
FROM input_chunks AS i
RETURNING chunk_no
