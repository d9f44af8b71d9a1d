-- Tests whether a chunk that the caller sees contains a lexeme: true, or else null. Postings name other chunks too, but
-- row-level security hides the rows of those chunks. The statement must have the CTEs of `visible_chunks`. CASE keeps
-- the comparison with them a hash table that is built once for all lexemes.
-- $lexeme  a lexeme with the collation "C"
(SELECT true
            FROM stepwell.postings AS b
            CROSS JOIN LATERAL {{chunks_of_postings b.items}} AS i
            WHERE b.user_id = :user_id AND b.lexeme = $lexeme
              AND CASE WHEN (SELECT few FROM visible) THEN i.chunk_no IN (SELECT s.chunk_no FROM visible_chunks AS s)
                       ELSE (SELECT true FROM stepwell.chunks AS c WHERE c.user_id = :user_id AND c.chunk_no = i.chunk_no LIMIT 1) END
            LIMIT 1)
