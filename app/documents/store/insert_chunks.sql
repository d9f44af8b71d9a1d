-- Stores the chunks of documents in the order of their numbers, which are consecutive, and analyses their text with the
-- chunks' text-search configurations.
-- A chunk's length is the number of its lexemes, including repetitions. Those that `with_characters` adds do not count.
-- Columns: chunk_no.
-- :first_no bigint  number of the first chunk
-- :chunks json  an array of objects with the columns of chunks, and the text to index as `indexed`, see `labelled_words`
WITH input_chunks AS MATERIALIZED (
    SELECT i.*, {{labelled_words i.config, i.indexed}} AS words
    FROM ROWS FROM (json_to_recordset(:chunks) AS (
        config text, document_id uuid, chunk_index integer, chunk_id uuid, content text, start_offset integer,
        end_offset integer, heading_path text[], indexed text, embedding_key uuid
    )) WITH ORDINALITY AS i
)
INSERT INTO stepwell.chunks (
    user_id, chunk_id, chunk_no, document_id, chunk_index, content, start_offset, end_offset, heading_path,
    config, tsv, length, embedding_key
)
SELECT :user_id, i.chunk_id, :first_no + i.ordinality - 1, i.document_id,
       i.chunk_index, i.content, i.start_offset, i.end_offset, i.heading_path,
       i.config, stepwell.with_characters(i.words),
       CAST((SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(i.words) AS t) AS integer),
       i.embedding_key
FROM input_chunks AS i
RETURNING chunk_no
