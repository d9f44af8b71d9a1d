-- Stores new documents without their chunks. The arrays are parallel. Documents without a time of creation get that of
-- the transaction, each a microsecond later than the one before it, so that a list of documents keeps their order.
-- Columns: document_id.
-- :user_id text  owner of the rows
-- :document_ids uuid[]  ids
-- :identities bytea[]  hashes of their URIs, or of their texts
-- :uris text[]  URIs, or null
-- :titles text[]  titles
-- :configs text[]  text-search configurations
-- :metadata text[]  metadata as JSON objects
-- :contents text[]  cleaned texts
-- :content_hashes bytea[]  hashes of the texts
-- :attributes_hashes bytea[]  hashes of the other attributes
-- :created_ats timestamptz[]  times of creation, or null
-- :source_ids uuid[]  sources, or null
-- :source_paths text[]  files of the sources, or null
-- :chunk_counts integer[]  numbers of chunks
-- :markdown boolean[]  whether the texts are Markdown
-- :chunk_tokens integer[]  sizes of the chunks in tokens
-- :chunk_overlaps integer[]  overlaps of the chunks in tokens
-- :page_starts text[]  offsets of the pages as JSON arrays
-- :cleaning_versions integer[]  versions of the rules of cleaning
-- :names_version integer  version of the rules by which the documents are linked to entities in this transaction
INSERT INTO stepwell.documents (
    user_id, document_id, identity, uri, title, config, metadata, content, content_hash, attributes_hash,
    created_at, updated_at,
    source_id, source_path, chunk_count, markdown, chunk_tokens, chunk_overlap,
    page_starts, cleaning_version, names_version
)
SELECT :user_id, i.document_id, i.identity, i.uri, i.title, i.config, CAST(i.metadata AS jsonb), i.content,
       i.content_hash, i.attributes_hash,
       coalesce(i.created_at, now() + (i.place - 1) * interval '1 microsecond'), now(),
       i.source_id, i.source_path, i.chunk_count, i.markdown, i.chunk_tokens, i.chunk_overlap,
       ARRAY(SELECT CAST(p.start_offset AS integer)
             FROM jsonb_array_elements_text(CAST(i.page_starts AS jsonb)) AS p (start_offset)),
       i.cleaning_version, :names_version
FROM unnest(
    :document_ids, :identities, :uris, :titles, :configs, :metadata, :contents, :content_hashes, :attributes_hashes,
    :created_ats, :source_ids, :source_paths, :chunk_counts, :markdown, :chunk_tokens, :chunk_overlaps,
    :page_starts, :cleaning_versions
) WITH ORDINALITY AS i (
    document_id, identity, uri, title, config, metadata, content, content_hash, attributes_hash,
    created_at, source_id, source_path, chunk_count, markdown, chunk_tokens, chunk_overlap,
    page_starts, cleaning_version, place
)
RETURNING document_id
