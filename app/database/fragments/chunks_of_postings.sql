-- Selects the numbers of the chunks of postings as chunk_no, in a query of their own: since the minor releases of
-- November 2026 (15.20, 17.12), row-level security lets no index be searched for a key computed where it is compared.
-- $items  an array of postings
(SELECT {{posting_chunk u.item}} AS chunk_no FROM unnest($items) AS u (item) OFFSET 0)
