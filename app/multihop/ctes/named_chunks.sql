-- Selects the chunks that the query names. It names a document by its title, and a section by a heading that no other
-- section has. Of each document or section, the chunks most similar to the query are selected. A name in the titles of
-- n documents has the weight 1 / (1 + ln n) in each. The query's vector is parsed once, not once per chunk.
-- Columns: query_vector: vector; query_names: entity_id, heading (whether the name may be a heading); named_chunks:
--   chunk_no, document_id, entity_id, heading (whether the name is one), similarity, weight.
-- part filtered  filters on documents
-- :keys bytea[]  keys of the query's word sequences
-- :heading boolean[]  whether each key may match a heading
-- :most_named bigint  maximum number of chunks that the query names
-- :most_named_of_one bigint  maximum number of them in one document, or in one section
query_vector AS MATERIALIZED (
    {{query_vector}}
),
query_names AS MATERIALIZED (
    SELECT n.entity_id, bool_or(g.heading) AS heading
    FROM unnest(:keys, :heading) AS g (name_key, heading)
    CROSS JOIN LATERAL (
        SELECT o.entity_id FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = g.name_key OFFSET 0
    ) AS n
    GROUP BY n.entity_id
),
named_chunks AS MATERIALIZED (
    SELECT t.chunk_no, t.document_id, t.entity_id, t.heading, t.similarity, 1 / (1 + ln(t.documents)) AS weight
    FROM (
        SELECT DISTINCT ON (r.chunk_no) r.chunk_no, r.document_id, r.entity_id, r.heading, r.similarity,
               count(*) FILTER (WHERE r.place = 1) OVER (PARTITION BY r.entity_id) AS documents
        FROM (
            SELECT m.chunk_no, m.document_id, m.entity_id, m.heading, 1 - (v.embedding <=> (SELECT a.vector FROM query_vector AS a)) AS similarity,
                   row_number() OVER (
                       PARTITION BY m.entity_id, m.document_id, m.section_no
                       ORDER BY v.embedding <=> (SELECT a.vector FROM query_vector AS a), m.chunk_no) AS place
            FROM query_names AS q
            CROSS JOIN LATERAL (
                SELECT o.chunk_no, o.document_id, o.entity_id, CAST(NULL AS bigint) AS section_no, false AS heading
                FROM stepwell.mentions AS o
                WHERE o.user_id = :user_id AND o.entity_id = q.entity_id AND o.kind = 'title'
                UNION ALL
                SELECT o.chunk_no, o.document_id, o.entity_id, o.section_no, true
                FROM stepwell.headings AS o
                WHERE q.heading AND o.user_id = :user_id AND o.entity_id = q.entity_id AND (
                    SELECT count(*)
                    FROM (SELECT DISTINCT k.section_no FROM stepwell.headings AS k
                          WHERE k.user_id = :user_id AND k.entity_id = q.entity_id LIMIT 2) AS l
                    ) = 1
                OFFSET 0
            ) AS m
            CROSS JOIN LATERAL (
                {{chunk_vector m}}
            ) AS v
-- if filtered
            WHERE {{document_passes m}}
-- end
        ) AS r
        WHERE r.place <= :most_named_of_one
        ORDER BY r.chunk_no, documents, r.heading, r.entity_id
    ) AS t
    ORDER BY t.similarity DESC NULLS LAST, t.chunk_no
    LIMIT :most_named
)
