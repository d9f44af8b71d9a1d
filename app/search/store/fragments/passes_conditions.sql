-- Tests whether a chunk that the text leg has scored passes the filters, meets the strict conditions and contains
-- nothing that is excluded. In a small scope, all scored chunks pass the filters.
-- $row  alias of a row with chunk_no
-- part filtered  filters on documents
-- part strict  phrases and required words
-- part excluding  words and phrases that no hit may contain
(true
-- if filtered
          AND ((SELECT small FROM scope) OR (
                SELECT {{document_passes c}}
                FROM stepwell.chunks AS c
                WHERE c.user_id = :user_id AND c.chunk_no = $row.chunk_no))
-- end
-- if strict
          AND {{passes_strict $row}}
-- end
-- if excluding
          AND NOT {{contains_excluded $row}}
-- end
         )
