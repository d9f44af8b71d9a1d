-- Stores chunks of a document that is not visible yet, analyses their text, hides them, and adds them to the text
-- statistics, the postings and the document frequencies. The caller holds the user's lock. See `index_documents` for the
-- form of postings.
-- Columns: none.
-- :job_id uuid  the job that stores the document
-- :config text  text-search configuration of these chunks
-- :first_no bigint  number of the first of these chunks
-- :chunks json  an array of objects, see `insert_chunks`
WITH input_chunks AS MATERIALIZED (
    SELECT i.*, {{labelled_words :config, i.indexed}} AS words
    FROM ROWS FROM (json_to_recordset(:chunks) AS (
        chunk_index integer, chunk_id uuid, content text, start_offset integer, end_offset integer, heading_path text[],
        indexed text, embedding_key uuid
    )) WITH ORDINALITY AS i
),
staged AS (
    INSERT INTO stepwell.staged_chunks (
        user_id, job_id, chunk_index, chunk_no, chunk_id, content, start_offset, end_offset, heading_path, tsv, length,
        embedding_key
    )
    SELECT :user_id, :job_id, i.chunk_index, :first_no + i.ordinality - 1, i.chunk_id, i.content, i.start_offset,
           i.end_offset, i.heading_path,
           stepwell.with_characters(i.words),
           CAST((SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(i.words) AS t) AS integer),
           i.embedding_key
    FROM input_chunks AS i
    RETURNING chunk_no, tsv, length
),
hidden AS (
    INSERT INTO stepwell.hidden_chunks AS h (user_id, first_no, last_no, config, tokens, job_id)
    SELECT :user_id, min(s.chunk_no), max(s.chunk_no), :config, sum(s.length), :job_id FROM staged AS s
    RETURNING h.last_no - h.first_no + 1 AS chunks, h.tokens
),
counted AS (
    INSERT INTO stepwell.text_statistics AS s (user_id, config, chunks, tokens)
    SELECT :user_id, :config, h.chunks, h.tokens FROM hidden AS h
    ON CONFLICT (user_id, config) DO UPDATE SET chunks = s.chunks + excluded.chunks, tokens = s.tokens + excluded.tokens
),
new_postings AS MATERIALIZED (
    SELECT t.lexeme COLLATE "C" AS lexeme, {{posting c, t.positions}} AS item
    FROM staged AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
),
{{append_postings new_postings}}
