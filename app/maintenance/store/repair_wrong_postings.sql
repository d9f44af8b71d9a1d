-- Finds the lexemes in a slice of a user's lexemes whose postings or document frequencies differ from the tsvectors of
-- the chunks.
-- A lexeme is wrong if its postings differ, if a block is empty, too long or overlaps the next, if its document
-- frequency differs, or if its row names too early a last block or too small a size of it.
-- Columns: lexeme, correct (its correct postings, ascending; empty if no chunk contains the lexeme).
-- :slices integer  number of slices by hash
-- :slice integer  number of the slice, from 0
WITH expected AS MATERIALIZED (
    SELECT t.lexeme COLLATE "C" AS lexeme,
           array_agg({{posting c, t.positions}}
                     ORDER BY c.chunk_no) AS items
    FROM stepwell.chunks AS c CROSS JOIN LATERAL unnest(c.tsv) AS t
    WHERE c.user_id = :user_id AND (hashtext(t.lexeme) & 2147483647) % :slices = :slice
    GROUP BY t.lexeme COLLATE "C"
),
blocks AS MATERIALIZED (
    SELECT p.lexeme, p.first_no, p.items, lead(p.first_no) OVER (PARTITION BY p.lexeme ORDER BY p.first_no) AS next_no
    FROM stepwell.postings AS p
    WHERE p.user_id = :user_id AND (hashtext(p.lexeme) & 2147483647) % :slices = :slice
),
block_checks AS MATERIALIZED (
    SELECT b.lexeme, max(b.first_no) AS last_no,
           max(cardinality(b.items)) FILTER (WHERE b.next_no IS NULL) AS last_size,
           bool_and(cardinality(b.items) BETWEEN 1 AND 128 AND b.first_no <= b.items[1] >> 24
                    AND (b.next_no IS NULL OR b.next_no > b.items[cardinality(b.items)] >> 24)) AS is_sound
    FROM blocks AS b
    GROUP BY b.lexeme
),
stored_postings AS MATERIALIZED (
    SELECT b.lexeme, array_agg(i.item ORDER BY b.first_no, i.place) AS items
    FROM blocks AS b CROSS JOIN LATERAL unnest(b.items) WITH ORDINALITY AS i (item, place)
    GROUP BY b.lexeme
),
document_frequencies AS MATERIALIZED (
    SELECT l.lexeme, l.df, l.tail_no, l.tail_size
    FROM stepwell.lexemes AS l
    WHERE l.user_id = :user_id AND (hashtext(l.lexeme) & 2147483647) % :slices = :slice
)
SELECT lexeme, coalesce(e.items, '{}') AS correct
FROM expected AS e
FULL JOIN stored_postings AS p USING (lexeme)
FULL JOIN block_checks AS s USING (lexeme)
FULL JOIN document_frequencies AS c USING (lexeme)
WHERE e.items IS DISTINCT FROM p.items
   OR s.is_sound IS NOT TRUE
   OR c.df IS DISTINCT FROM cardinality(e.items)
   OR c.tail_size NOT BETWEEN 1 AND 128
   OR c.tail_no < s.last_no
   OR (c.tail_no = s.last_no AND c.tail_size < s.last_size)
