-- Tests whether a chunk contains an excluded word or phrase, in a subquery that looks it up by its number.
-- $row  alias of a row with chunk_no
(SELECT EXISTS (SELECT FROM excluded_queries AS b WHERE b.config = c.config AND c.tsv @@ b.query)
            FROM stepwell.chunks AS c
            WHERE c.user_id = :user_id AND c.chunk_no = $row.chunk_no)
