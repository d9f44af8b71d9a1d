-- Stores new documents without their chunks. A document without a creation time gets the time of the transaction, plus
-- a microsecond for each document before it, so that listings keep the order. The time of the last change is that of
-- the statement, which runs under the user's lock: in this order changes become visible.
-- Columns: document_id.
-- :documents json  an array of objects with the columns of documents; hashes in hexadecimal
-- :names_version integer  version of the rules by which the documents are linked to entities in this transaction
INSERT INTO stepwell.documents (
    user_id, document_id, identity, uri, title, config, metadata, content, content_hash, attributes_hash,
    created_at, updated_at, source_id, source_path, chunk_count, markdown, chunk_tokens, chunk_overlap,
    page_starts, cleaning_version, names_version
)
SELECT :user_id, i.document_id, decode(i.identity, 'hex'), i.uri, i.title, i.config, i.metadata, i.content,
       decode(i.content_hash, 'hex'), decode(i.attributes_hash, 'hex'),
       coalesce(i.created_at, now() + (i.ordinality - 1) * interval '1 microsecond'), statement_timestamp(),
       i.source_id, i.source_path, i.chunk_count, i.markdown, i.chunk_tokens, i.chunk_overlap,
       i.page_starts, i.cleaning_version, :names_version
FROM ROWS FROM (json_to_recordset(:documents) AS (
    document_id uuid, identity text, uri text, title text, config text, metadata jsonb, content text,
    content_hash text, attributes_hash text, created_at timestamptz, source_id uuid, source_path text,
    chunk_count integer, markdown boolean, chunk_tokens integer, chunk_overlap integer, page_starts integer[],
    cleaning_version integer
)) WITH ORDINALITY AS i
RETURNING document_id
