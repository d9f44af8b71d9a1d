-- Selects the numbers of the chunks of postings as chunk_no, in a query of their own: before Postgres 18, row-level
-- security lets no index be searched for a key that is computed where it is compared.
-- $items  an array of postings
(SELECT {{posting_chunk u.item}} AS chunk_no FROM unnest($items) AS u (item) OFFSET 0)
