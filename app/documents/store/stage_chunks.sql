-- Stores chunks of a document that is not visible yet, and analyses their text. The arrays are parallel, in chunk order.
-- Columns: chunk_index.
-- :user_id text  owner of the rows
-- :job_id uuid  the job that stores the document
-- :config text  text-search configuration
-- :first_index integer  index of the first of these chunks in the document
-- :chunk_ids uuid[]  ids
-- :contents text[]  text of each chunk
-- :starts integer[]  start offsets in the document
-- :ends integer[]  end offsets in the document
-- :headings text[]  heading paths as JSON arrays
-- :indexed text[]  text to index of each chunk, see `labelled_words`
-- :embedding_keys uuid[]  keys of the embedded texts
WITH input_chunks AS MATERIALIZED (
    SELECT i.*, {{labelled_words :config, i.indexed}} AS words
    FROM unnest(
        :chunk_ids, :contents, :starts, :ends,
        :headings, :indexed, :embedding_keys
    ) WITH ORDINALITY AS i (chunk_id, content, start_offset, end_offset, headings, indexed, embedding_key, place)
)
INSERT INTO stepwell.staged_chunks (
    user_id, job_id, chunk_index, chunk_id, content, start_offset, end_offset, heading_path, tsv, length, embedding_key
)
SELECT :user_id, :job_id, CAST(:first_index + i.place - 1 AS integer), i.chunk_id, i.content, i.start_offset, i.end_offset,
       ARRAY(SELECT jsonb_array_elements_text(CAST(i.headings AS jsonb))),
       stepwell.with_characters(i.words),
       CAST((SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(i.words) AS t) AS integer),
       i.embedding_key
FROM input_chunks AS i
RETURNING chunk_index
