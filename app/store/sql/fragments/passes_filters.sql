-- Tests whether a document passes the filters.
-- $document  alias of a row of documents
-- :document_ids uuid[]  ids of documents; null: any
-- :source_ids uuid[]  ids of sources; null: any
-- :containing text::jsonb  metadata that must be contained; null: any
-- :matching text::jsonpath  a JSON path on metadata; null: any
-- :created_after timestamptz  inclusive; null: any
-- :created_before timestamptz  exclusive; null: any
stepwell.passes(
          $document.document_id, $document.source_id, $document.metadata, $document.created_at,
          :document_ids, :source_ids, :containing, :matching, :created_after, :created_before)
