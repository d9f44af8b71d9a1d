-- Merges ranges of chunk numbers.
-- Columns: numbers (text of a multirange).
-- :numbers text[]::int8multirange[]  multiranges
SELECT CAST(coalesce(range_agg(n.numbers), '{}') AS text) AS numbers FROM unnest(:numbers) AS n (numbers)
