-- Finds chunks that contain an identifier of a source chunk, with their similarity to the query vector.
--
-- An identifier is analysed with the source's text-search configuration, and matches the same lexemes next to each other
-- in any chunk. It links chunks if :rarest to :commonest of them contain it and the source lacks a word of the query.
-- An identifier that is the title of the source's document, such as a file name, does not link to other chunks of the
-- document. The weight is w / n: w is the source's weight times its lead, and n the number of documents of the other
-- chunks with the identifier. If a document has more than :most_full of these chunks, they share the weight of that
-- many. A chunk has the weight of its best identifier. Candidates are the postings of an identifier's rarest lexeme.
-- Identifiers with fewer postings go first, and at most :most_compared candidates are read.
-- Columns: those of `store.py`, one row a chunk; the name is the identifier as given.
-- part filtered  filters on documents
-- :identifiers text[]  identifiers of the sources
-- :folded text[]  each as indexed, accents folded
-- :plain text[]  each as indexed, accents kept
-- :identifier_chunk_ids uuid[]  the chunk that contains each
-- :identifier_weights float8[]  the weight of that chunk times its lead, 0 to 1
-- :words text[]  lexemes of the query
-- :rarest bigint  minimum number of chunks that contain an identifier
-- :commonest bigint  maximum number of chunks that contain an identifier
-- :most_full bigint  maximum number of chunks of a document that have the full weight
-- :most_compared bigint  maximum number of candidates that are read
-- :most_chunks bigint  maximum number of chunks
-- :embedding vector  query vector; null: none
-- :exclude_chunk_ids uuid[]  chunks to exclude
WITH query_vector AS MATERIALIZED (
    {{query_vector}}
),
analysed AS MATERIALIZED (
    SELECT g.word, g.place, g.weight, s.chunk_no, s.chunk_id, q.query, l.lexeme, l.df,
           CASE WHEN lower(s.title) = lower(g.word) THEN s.document_id END AS titled_id
    FROM unnest(:identifiers, :folded, :plain, :identifier_chunk_ids, :identifier_weights)
        WITH ORDINALITY AS g (word, folded, plain, chunk_id, weight, place)
    CROSS JOIN LATERAL (
        SELECT o.chunk_no, o.chunk_id, o.document_id, d.title, CAST(o.config AS regconfig) AS config,
               {{text_for o.config, g.folded, g.plain}} AS indexed
        FROM stepwell.chunks AS o
        JOIN stepwell.documents AS d ON d.user_id = :user_id AND d.document_id = o.document_id
        WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id AND NOT tsvector_to_array(o.tsv) @> :words
        LIMIT 1
    ) AS s
    CROSS JOIN LATERAL phraseto_tsquery(s.config, s.indexed) AS q (query)
    CROSS JOIN LATERAL (
        SELECT o.lexeme, o.df
        FROM unnest(tsvector_to_array(to_tsvector(s.config, s.indexed))) AS w (lexeme)
        CROSS JOIN LATERAL (
            SELECT d.lexeme, d.df FROM stepwell.lexemes AS d WHERE d.user_id = :user_id AND d.lexeme = w.lexeme COLLATE "C" LIMIT 1
        ) AS o
        ORDER BY o.df, o.lexeme
        LIMIT 1
    ) AS l
    -- A stop word may be dropped ("A-1200"); what remains must not be a number.
    WHERE l.df >= :rarest AND CAST(q.query AS text) ~ '[^-0-9''<>. ]'
),
matches AS MATERIALIZED (
    SELECT i.word, i.place, i.weight, i.chunk_id AS source, i.chunk_no AS source_no, p.chunk_no,
           c.chunk_id, c.document_id
    FROM (SELECT a.*, sum(a.df) OVER (ORDER BY a.df, a.place) AS candidates FROM analysed AS a) AS i
    CROSS JOIN LATERAL (
        SELECT {{posting_chunk x.item}} AS chunk_no
        FROM stepwell.postings AS o CROSS JOIN unnest(o.items) AS x (item)
        WHERE o.user_id = :user_id AND o.lexeme = i.lexeme OFFSET 0
    ) AS p
    CROSS JOIN LATERAL (
        SELECT o.chunk_id, o.document_id
        FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = p.chunk_no AND o.tsv @@ i.query LIMIT 1
    ) AS c
    WHERE i.candidates <= :most_compared AND (p.chunk_no = i.chunk_no OR c.document_id IS DISTINCT FROM i.titled_id)
),
shared AS MATERIALIZED (
    SELECT m.place, count(*) AS chunks,
           count(DISTINCT m.document_id) FILTER (WHERE m.chunk_no <> m.source_no) AS documents
    FROM matches AS m
    GROUP BY m.place
    HAVING count(*) BETWEEN :rarest AND :commonest
),
weighed AS MATERIALIZED (
    SELECT m.chunk_no, m.chunk_id, m.document_id, m.place, m.word, m.source, s.chunks,
           m.weight / s.documents * least(1, CAST(:most_full AS float8) / count(*) OVER (PARTITION BY m.place, m.document_id)) AS weight
    FROM matches AS m
    JOIN shared AS s ON s.place = m.place
    WHERE m.chunk_no <> m.source_no AND NOT m.chunk_id = ANY (:exclude_chunk_ids)
-- if filtered
      AND {{document_passes m}}
-- end
),
linked AS MATERIALIZED (
    SELECT DISTINCT ON (w.chunk_no) w.* FROM weighed AS w ORDER BY w.chunk_no, w.weight DESC, w.place
)
SELECT c.chunk_id, c.document_id, v.similarity, c.weight, 'identifier' AS signal, c.word AS name, c.source AS source_chunk_id,
       CAST(c.chunks AS integer) AS chunks, 1 AS steps, false AS heading
FROM (SELECT l.* FROM linked AS l ORDER BY l.weight DESC, l.chunk_no LIMIT :most_chunks) AS c
CROSS JOIN LATERAL (
    {{similarity_to_query c}}
) AS v
ORDER BY c.chunk_id
