-- Finds the chunks that contain all words of each of some names. Candidates are the postings of the name's rarest lexeme.
-- Columns: place (of the name, from 1 on), chunk_no, document_id, content; a row without a chunk if others may contain
--   the name: it has no lexeme, or a language of the user keeps accents, without which names match.
-- :user_id text  owner of the rows
-- :document_ids uuid[]  documents that are excluded
-- :folded text[]  the words of each name with accents folded
-- :plain text[]  the words of each name with accents kept, in the same order
-- :limit bigint  maximum number of chunks of a name
WITH queries AS MATERIALIZED (
    SELECT g.place, s.config, q.query, {{text_for s.config, g.folded, g.plain}} AS words
    FROM unnest(:folded, :plain) WITH ORDINALITY AS g (folded, plain, place)
    CROSS JOIN stepwell.text_statistics AS s
    CROSS JOIN LATERAL plainto_tsquery(
        CAST(s.config AS regconfig), {{text_for s.config, g.folded, g.plain}}) AS q (query)
    WHERE s.user_id = :user_id AND s.chunks > 0
),
rarest AS MATERIALIZED (
    SELECT q.place, q.config, q.query, {{rarest_lexeme q.config, q.words}} AS lexeme
    FROM queries AS q
    WHERE numnode(q.query) > 0
),
places AS MATERIALIZED (SELECT DISTINCT r.place FROM rarest AS r)
SELECT p.place, f.chunk_no, f.document_id, f.content
FROM places AS p
CROSS JOIN LATERAL (
    SELECT n.chunk_no, c.document_id, c.content
    FROM (
        SELECT r.config, r.query, {{posting_chunk unnest(b.items)}} AS chunk_no
        FROM rarest AS r
        CROSS JOIN LATERAL (
            {{posting_blocks r.lexeme COLLATE "C"}}
        ) AS b
        WHERE r.place = p.place
    ) AS n
    CROSS JOIN LATERAL (
        SELECT o.document_id, o.content, o.config, o.tsv
        FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = n.chunk_no LIMIT 1
    ) AS c
    WHERE c.config = n.config AND c.document_id <> ALL (:document_ids) AND c.tsv @@ n.query
    LIMIT :limit
) AS f
UNION ALL
SELECT DISTINCT q.place, CAST(NULL AS bigint), CAST(NULL AS uuid), CAST(NULL AS text)
FROM queries AS q
WHERE numnode(q.query) = 0 OR q.config NOT IN ('english', 'simple')
