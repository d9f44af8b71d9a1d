-- Selects the name of a document's source in lower case, or of its folder if it has no name. Null without a source.
-- $document  alias of a row of documents
(SELECT lower(coalesce(n.name, nullif(regexp_replace(n.path, '^.*/', ''), ''), n.path)) FROM stepwell.sources AS n
            WHERE n.user_id = :user_id AND n.source_id = $document.source_id)
