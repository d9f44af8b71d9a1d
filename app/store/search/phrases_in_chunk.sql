-- Tests which words and phrases a chunk contains, as its text-search configuration analyses them.
-- Columns: one row per word or phrase, in order: contains (null: the configuration drops it).
-- :user_id text  owner of the rows
-- :chunk_id uuid  the chunk
-- :folded text[]  words and phrases, accents folded
-- :plain text[]  the same with accents kept
SELECT CASE WHEN numnode(q.query) > 0 THEN c.tsv @@ q.query END AS contains
FROM stepwell.chunks AS c
CROSS JOIN unnest(:folded, :plain) WITH ORDINALITY AS p (folded, plain, place)
CROSS JOIN LATERAL phraseto_tsquery(CAST(c.config AS regconfig),
    {{text_for c.config, p.folded, p.plain}}) AS q (query)
WHERE c.user_id = :user_id AND c.chunk_id = :chunk_id
ORDER BY p.place
