-- Finds the chunks in a range of numbers whose texts may contain one of some names that the text index does not tell.
-- Columns: chunk_no.
-- :user_id text  owner of the rows
-- :after bigint  the number before the first one
-- :until bigint  the last number
-- :in_all boolean  whether some needle is searched for in all languages
-- :needles text[]  what the folded text of a chunk with a name contains
-- :befores bigint[]  the number of the first chunk that is not searched for each name
-- :everywhere boolean[]  whether all texts are searched, or those only in languages whose index keeps accents
SELECT c.chunk_no
FROM stepwell.chunks AS c
CROSS JOIN LATERAL (
    {{text_to_probe c}}
) AS t
WHERE c.user_id = :user_id AND c.chunk_no > :after AND c.chunk_no <= :until
  AND (:in_all OR c.config NOT IN ('english', 'simple'))
  AND EXISTS (
      SELECT FROM unnest(:needles, :befores, :everywhere) AS g (needle, before, everywhere)
      WHERE c.chunk_no < g.before AND (g.everywhere OR c.config NOT IN ('english', 'simple'))
        AND {{has_needle t.folded, g.needle}})
