-- Tests whether a document passes the filters. Each kind of condition is a part of the statement. JSON paths in
-- `matching_document` have the variables $moments (an object of the dates in the metadata), $document and $source (the
-- ids of the document and its source), $uri, and $created (the creation time in microseconds since 1970). JSON paths in
-- `matching_source` also have $source_name, the name of the source in lower case.
-- $document  alias of a row of documents
-- :document_ids? uuid[]  ids of documents
-- :source_ids? uuid[]  ids of sources
-- :source_names? text[]  names of sources, as they are written and in lower case
-- :uri_prefixes? text[]  beginnings, with one of which the URI must begin
-- :containing? jsonb  metadata that must be contained
-- :containing_1? jsonb[]  metadata of which one must be contained
-- :containing_2? jsonb[]  the same
-- :containing_3? jsonb[]  the same
-- :matching? jsonpath  a JSON path on metadata
-- :matching_moments? jsonpath  a JSON path on the dates in the metadata
-- :matching_document? jsonpath  a JSON path on metadata with variables
-- :matching_source? jsonpath  a JSON path on metadata with variables and the name of the source
-- :created_after? timestamptz  creation time, inclusive
-- :created_before? timestamptz  creation time, exclusive
(true
-- if document_ids
          AND $document.document_id = ANY (:document_ids)
-- end
-- if source_ids
          AND $document.source_id = ANY (:source_ids)
-- end
-- if source_names
          AND {{source_name $document}} = ANY (:source_names)
-- end
-- if uri_prefixes
          AND $document.uri ^@ ANY (:uri_prefixes)
-- end
-- if containing
          AND $document.metadata @> :containing
-- end
-- if containing_1
          AND $document.metadata @> ANY (:containing_1)
-- end
-- if containing_2
          AND $document.metadata @> ANY (:containing_2)
-- end
-- if containing_3
          AND $document.metadata @> ANY (:containing_3)
-- end
-- if matching
          AND jsonb_path_exists($document.metadata, :matching, '{}', true)
-- end
-- if matching_moments
          AND jsonb_path_exists($document.moments, :matching_moments, '{}', true)
-- end
-- if matching_document
          AND jsonb_path_exists(
              $document.metadata, :matching_document,
              $document.moments || jsonb_build_object('document', $document.document_id, 'source', $document.source_id,
                                                      'uri', $document.uri, 'created', extract(epoch FROM $document.created_at) * 1000000), true)
-- end
-- if matching_source
          AND jsonb_path_exists(
              $document.metadata, :matching_source,
              $document.moments || jsonb_build_object('document', $document.document_id, 'source', $document.source_id,
                                                      'uri', $document.uri, 'created', extract(epoch FROM $document.created_at) * 1000000,
                                                      'source_name', {{source_name $document}}), true)
-- end
-- if created_after
          AND $document.created_at >= :created_after
-- end
-- if created_before
          AND $document.created_at < :created_before
-- end
         )
