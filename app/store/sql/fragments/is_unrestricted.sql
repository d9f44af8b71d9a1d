-- Tests whether a chunk's configuration drops all phrases and required words, in a subquery that looks it up by its
-- number.
-- $row  alias of a row with chunk_no
-- :user_id text  owner of the rows
(SELECT c.config = ANY (SELECT unnest(u.configs) FROM unrestricted AS u)
            FROM stepwell.chunks AS c
            WHERE c.user_id = :user_id AND c.chunk_no = $row.chunk_no)
