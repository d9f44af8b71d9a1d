-- Selects a block of postings together with the block before it if both fit into one (fits), else the block alone. A
-- merged block has the first number of the block before.
-- $no  first number of the block before; null: there is none
-- $items  its postings
-- $next_no  first number of the block
-- $next_items  its postings
SELECT f.fits, CASE WHEN f.fits THEN coalesce($no, $next_no) ELSE $next_no END AS no,
           CASE WHEN f.fits THEN $items || $next_items ELSE $next_items END AS items
    FROM (SELECT cardinality($items) + cardinality($next_items) <= 128 AS fits) AS f
