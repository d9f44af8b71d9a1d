-- Folds the text of a chunk as names are folded, with the title before that of a document's first chunk, and appends it
-- with spaces instead of all but letters a to z and digits. Ends the select list of a lateral subquery.
-- $chunk  alias of a row of chunks
-- :user_id text  owner of the rows
SELECT f.folded || ' ' || regexp_replace(f.folded, '[^a-z0-9]+', ' ', 'g') || ' ' AS folded
        FROM (
            SELECT {{folded_text t.content}} AS folded
            FROM (
                SELECT concat_ws(E'\n', (
                    SELECT d.title FROM stepwell.documents AS d
                    WHERE d.user_id = :user_id AND d.document_id = $chunk.document_id AND $chunk.chunk_index = 0
                ), $chunk.content) AS content
                OFFSET 0
            ) AS t
            OFFSET 0
        ) AS f
        OFFSET 0
