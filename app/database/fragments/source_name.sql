-- Selects the name of the source of a document in lower case, that of its folder if it has none; null without a source.
-- $document  alias of a row of documents
(SELECT lower(coalesce(n.name, nullif(regexp_replace(n.path, '^.*/', ''), ''), n.path)) FROM stepwell.sources AS n
            WHERE n.user_id = :user_id AND n.source_id = $document.source_id)
