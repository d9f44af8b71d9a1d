-- Tests whether a document passes the filters. The variable $moments of JSON paths is an object of the dates in the
-- metadata. The last path also has $document and $source, the ids of the document and of its source, and $created, its
-- creation time in microseconds since 1970.
-- $document  alias of a row of documents
-- :document_ids uuid[]  ids of documents; null: any
-- :source_ids uuid[]  ids of sources; null: any
-- :containing jsonb  metadata that must be contained; null: any
-- :containing_1 jsonb[]  metadata of which one must be contained; null: any
-- :containing_2 jsonb[]  metadata of which one must be contained; null: any
-- :containing_3 jsonb[]  metadata of which one must be contained; null: any
-- :matching jsonpath  a JSON path on metadata; null: any
-- :matching_moments jsonpath  a JSON path on the dates in the metadata; null: any
-- :matching_document jsonpath  a JSON path on metadata with variables of the document; null: any
-- :created_after timestamptz  inclusive; null: any
-- :created_before timestamptz  exclusive; null: any
((:document_ids IS NULL OR $document.document_id = ANY (:document_ids))
        AND (:source_ids IS NULL OR $document.source_id = ANY (:source_ids))
        AND (:containing IS NULL OR $document.metadata @> :containing)
        AND (:containing_1 IS NULL OR $document.metadata @> ANY (:containing_1))
        AND (:containing_2 IS NULL OR $document.metadata @> ANY (:containing_2))
        AND (:containing_3 IS NULL OR $document.metadata @> ANY (:containing_3))
        AND (:matching IS NULL OR jsonb_path_exists($document.metadata, :matching, $document.moments, true))
        AND (:matching_moments IS NULL OR jsonb_path_exists($document.moments, :matching_moments, '{}', true))
        AND (:matching_document IS NULL OR jsonb_path_exists(
          $document.metadata, :matching_document,
          $document.moments || jsonb_build_object('document', $document.document_id, 'source', $document.source_id,
                             'created', extract(epoch FROM $document.created_at) * 1000000), true))
        AND (:created_after IS NULL OR $document.created_at >= :created_after)
        AND (:created_before IS NULL OR $document.created_at < :created_before))
