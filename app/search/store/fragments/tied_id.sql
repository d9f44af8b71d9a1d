-- Looks up the id of a chunk whose score others of its leg have too, by which ties are ordered; null without a tie.
-- $row  alias of a row with chunk_no
-- $score  its score
CASE WHEN count(*) OVER (PARTITION BY $score) > 1
             THEN (SELECT c.chunk_id FROM stepwell.chunks AS c WHERE c.user_id = :user_id AND c.chunk_no = $row.chunk_no) END
