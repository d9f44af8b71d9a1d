-- Stores made-up documents of a benchmark. The benchmark stores their names itself: their names_version is the highest, so that
-- nobody reads them.
-- Columns: none.
-- :user_id text
-- :document_ids uuid[]
-- :titles text[]
-- :contents text[]
-- :metadata text[]
-- :chunk_counts integer[]
INSERT INTO stepwell.documents (
    user_id, document_id, identity, title, config, metadata, content, content_hash, attributes_hash, chunk_count,
    names_version
)
SELECT :user_id, i.document_id, sha256(CAST(CAST(i.document_id AS text) AS bytea)), i.title, 'english', CAST(i.metadata AS jsonb),
       i.content, sha256(CAST(i.content AS bytea)), sha256(CAST(i.title || i.metadata AS bytea)), i.chunk_count,
       2147483647
FROM unnest(:document_ids, :titles, :contents, :metadata, :chunk_counts) AS i (document_id, title, content, metadata, chunk_count)
