-- Tests whether a chunk that the caller sees contains a lexeme, of which the postings name the others too: row-level
-- security hides the rows of other chunks from a restricted transaction. Null if there is none.
-- $lexeme  a lexeme with the collation "C"
-- :user_id text  owner of the rows
(SELECT true
            FROM stepwell.postings AS b
            CROSS JOIN LATERAL unnest(b.items) AS i (item)
            CROSS JOIN LATERAL (
                SELECT FROM stepwell.chunks AS c WHERE c.user_id = :user_id AND c.chunk_no = {{posting_chunk i.item}} LIMIT 1
            ) AS v
            WHERE b.user_id = :user_id AND b.lexeme = $lexeme
            LIMIT 1)
