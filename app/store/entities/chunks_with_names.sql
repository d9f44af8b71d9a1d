-- Finds the chunks that may contain one of some names, by the postings of the rarest lexeme of each name, and the names
-- that the text index does not tell. Only languages whose index folds accents are read. Each chunk is read once.
-- Columns: chunk_no; place (of a name without lexemes, from 1 on); one of them is null.
-- :user_id text  owner of the rows
-- :indexed text[]  words of each name
-- :near text[]  a query for the words of each name near each other; empty: for all of them
-- :needles text[]  what the folded text of a chunk with the name contains
-- :befores bigint[]  the number of the first chunk that is not searched for each name
WITH wanted AS MATERIALIZED (
    SELECT g.place, g.needle, g.before, s.config, {{rarest_lexeme s.config, g.indexed}} AS lexeme,
           CASE g.near WHEN '' THEN plainto_tsquery(CAST(s.config AS regconfig), g.indexed)
                ELSE to_tsquery(CAST(s.config AS regconfig), g.near) END AS query
    FROM unnest(:indexed, :near, :needles, :befores) WITH ORDINALITY AS g (indexed, near, needle, before, place)
    CROSS JOIN stepwell.text_statistics AS s
    WHERE s.user_id = :user_id AND s.chunks > 0 AND s.config IN ('english', 'simple')
),
candidates AS MATERIALIZED (
    SELECT n.chunk_no, n.config, array_agg(n.query) AS queries, array_agg(n.needle) AS needles
    FROM (
        SELECT w.query, w.config, w.needle, w.before, {{posting_chunk unnest(b.items)}} AS chunk_no
        FROM wanted AS w
        CROSS JOIN LATERAL (
            {{posting_blocks w.lexeme COLLATE "C"}}
        ) AS b
    ) AS n
    WHERE n.chunk_no < n.before
    GROUP BY n.chunk_no, n.config
),
near AS MATERIALIZED (
    SELECT c.chunk_no, c.document_id, c.chunk_index, c.content, f.needles
    FROM candidates AS n
    CROSS JOIN LATERAL (
        SELECT o.chunk_no, o.document_id, o.chunk_index, o.content, o.config, o.tsv || '' AS tsv
        FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = n.chunk_no LIMIT 1
    ) AS c
    CROSS JOIN LATERAL (
        SELECT array_agg(q.needle) AS needles FROM unnest(n.queries, n.needles) AS q (query, needle) WHERE c.tsv @@ q.query
    ) AS f
    WHERE c.config = n.config AND f.needles IS NOT NULL
)
SELECT c.chunk_no, CAST(NULL AS bigint) AS place
FROM near AS c
CROSS JOIN LATERAL (
    {{text_to_probe c}}
) AS t
WHERE EXISTS (SELECT FROM unnest(c.needles) AS n (needle) WHERE {{has_needle t.folded, n.needle}})
UNION ALL
SELECT DISTINCT CAST(NULL AS bigint), w.place FROM wanted AS w WHERE w.lexeme IS NULL
