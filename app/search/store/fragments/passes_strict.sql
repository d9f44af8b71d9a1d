-- Tests whether a chunk contains the phrases and required words that its configuration does not drop, in a subquery that
-- looks it up by its number.
-- $row  alias of a row with chunk_no
(SELECT NOT EXISTS (SELECT FROM strict_queries AS b WHERE b.config = c.config AND NOT c.tsv @@ b.query)
            FROM stepwell.chunks AS c
            WHERE c.user_id = :user_id AND c.chunk_no = $row.chunk_no)
