-- Stores the chunks of documents and analyses their text with the documents' text-search configurations. The arrays are
-- parallel, in the order of the chunks' numbers, which are consecutive.
-- A chunk's length is the number of its indexed lexemes, including repetitions, without the single characters of pairs.
-- Columns: chunk_no.
-- :configs text[]  text-search configuration of each chunk's document
-- :document_ids uuid[]  document of each chunk
-- :indexes integer[]  place of each chunk in its document
-- :chunk_ids uuid[]  ids
-- :contents text[]  text of each chunk
-- :starts integer[]  start offsets in the document
-- :ends integer[]  end offsets in the document
-- :headings text[]  heading paths as JSON arrays
-- :indexed text[]  text to index of each chunk, see `labelled_words`
-- :embedding_keys uuid[]  keys of the embedded texts
-- :user_id text  owner of the rows
-- :first_no bigint  number of the first chunk
WITH input_chunks AS MATERIALIZED (
    SELECT i.*, {{labelled_words i.config, i.indexed}} AS words
    FROM unnest(
        :configs, :document_ids, :indexes, :chunk_ids, :contents, :starts, :ends,
        :headings, :indexed, :embedding_keys
    ) WITH ORDINALITY AS i (
        config, document_id, chunk_index, chunk_id, content, start_offset, end_offset,
        headings, indexed, embedding_key, place
    )
)
INSERT INTO stepwell.chunks (
    user_id, chunk_id, chunk_no, document_id, chunk_index, content, start_offset, end_offset, heading_path,
    config, tsv, length, embedding_key
)
SELECT :user_id, i.chunk_id, :first_no + i.place - 1, i.document_id,
       i.chunk_index, i.content, i.start_offset, i.end_offset,
       ARRAY(SELECT jsonb_array_elements_text(CAST(i.headings AS jsonb))),
       i.config, stepwell.with_characters(i.words),
       CAST((SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(i.words) AS t) AS integer),
       i.embedding_key
FROM input_chunks AS i
RETURNING chunk_no
