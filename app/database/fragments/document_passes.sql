-- Tests whether the document of a row passes the filters, in a subquery that looks it up by its key.
-- $row  alias of a row with document_id
(SELECT {{passes_filters d}}
            FROM stepwell.documents AS d
            WHERE d.user_id = :user_id AND d.document_id = $row.document_id)
