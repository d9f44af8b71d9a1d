-- Finds chunks linked by names to source chunks and to the query, with their similarity to the query vector.
--
-- named: the query contains the title of the chunk's document, or a heading that only the chunk's section has. linked:
-- the text of a source contains that title or heading; the weight is w * 2 / (1 + ln(1 + n)), n = number of chunks
-- whose text contains it. A second step starts from the five best linked chunks. A heading of several sections links to
-- each section with an equal share; a heading of more than a few sections is ignored; a section is not linked to
-- itself. shared: the chunk and a source contain the same name, which occurs in n = 2 to 50 chunks; the weight is w /
-- (1 + ln n), multiplied by the cosine similarity to the query.
-- Sources are the given chunks with their weights, and chunks of documents named in the query with weight 1, limited to
-- the ten best. Filters and exclusions apply to the chunks found. Look-ups by id are LATERAL with LIMIT or OFFSET 0, so
-- that no join reads all of a user's rows and one plan serves all binds. The query vector is parsed once, not once per
-- chunk.
-- Columns: chunk_id, document_id, similarity (null without a vector); for each of named, linked and shared the name,
--   heading, weight, chunks, steps and source of the link that apply (null without such a link).
-- part filtered  filters on documents
-- :user_id text  owner of the rows
-- :source_chunk_ids uuid[]  ids of the source chunks
-- :weights float8[]  weights of the source chunks, 0 to 1
-- :also_ids uuid[]  further chunks to compare with the query vector
-- :keys bytea[]  keys of the query's word sequences
-- :heading boolean[]  whether each key may match a heading
-- :most_sources bigint  maximum number of sources
-- :most_names bigint  maximum number of shared names
-- :rarest bigint  minimum number of chunks that contain a shared name
-- :commonest bigint  maximum number of chunks that contain a shared name
-- :most_sections bigint  maximum number of sections of a heading
-- :counted bigint  limit of counting the mentions of a title
-- :second_steps bigint  number of chunks from which the second step starts
-- :second_weight float8  factor of the weights in the second step
-- :exclude_chunk_ids uuid[]  chunks to exclude
WITH query_vector AS MATERIALIZED (
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
    SELECT t.chunk_no, t.document_id, t.entity_id, t.heading, t.similarity
    FROM (
        SELECT DISTINCT ON (r.chunk_no) r.chunk_no, r.document_id, r.entity_id, r.heading, r.similarity
        FROM (
            SELECT m.chunk_no, m.document_id, m.entity_id, m.heading, 1 - (v.embedding <=> (SELECT a.vector FROM query_vector AS a)) AS similarity,
                   row_number() OVER (
                       PARTITION BY m.document_id, m.section_no
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
        WHERE r.place <= 3
        ORDER BY r.chunk_no, r.heading, r.entity_id
    ) AS t
    ORDER BY t.similarity DESC NULLS LAST, t.chunk_no
    LIMIT 50
),
sources AS MATERIALIZED (
    SELECT s.chunk_no, s.document_id, max(s.weight) AS weight
    FROM (
        SELECT c.chunk_no, c.document_id, g.weight
        FROM unnest(:source_chunk_ids, :weights) AS g (chunk_id, weight)
        CROSS JOIN LATERAL (
            SELECT o.chunk_no, o.document_id FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
        ) AS c
        UNION ALL
        (SELECT t.chunk_no, t.document_id, 1 FROM named_chunks AS t LIMIT :most_sources)
    ) AS s
    GROUP BY s.chunk_no, s.document_id
    ORDER BY max(s.weight) DESC, s.chunk_no
    LIMIT :most_sources
),
steps AS MATERIALIZED (
    {{link_steps sources, 2}}
),
linked_once AS MATERIALIZED (
    SELECT DISTINCT ON (m.chunk_no)
           m.chunk_no, m.document_id, s.entity_id, s.weight * m.share AS weight, s.chunks, s.chunk_no AS source_no, 1 AS steps, m.heading,
           1 - (v.embedding <=> (SELECT a.vector FROM query_vector AS a)) AS similarity
    FROM steps AS s
    CROSS JOIN LATERAL (
        {{link_targets s}}
    ) AS m
    CROSS JOIN LATERAL (
        {{chunk_vector m}}
    ) AS v
-- if filtered
    WHERE {{document_passes m}}
-- end
    ORDER BY m.chunk_no, s.weight * m.share DESC, s.entity_id, s.chunk_no, m.heading
),
second_sources AS MATERIALIZED (
    SELECT l.chunk_no, l.document_id, l.weight * :second_weight AS weight
    FROM linked_once AS l
    WHERE l.chunk_no NOT IN (SELECT s.chunk_no FROM sources AS s)
    ORDER BY l.weight * (0.5 + coalesce(l.similarity, 0)) DESC, l.chunk_no
    LIMIT :second_steps
),
second_steps AS MATERIALIZED (
    {{link_steps second_sources, 1}}
),
linked AS MATERIALIZED (
    SELECT DISTINCT ON (a.chunk_no) a.*
    FROM (
        SELECT l.chunk_no, l.entity_id, l.weight, l.chunks, l.source_no, l.steps, l.heading FROM linked_once AS l
        UNION ALL
        SELECT m.chunk_no, s.entity_id, s.weight * m.share, s.chunks, s.chunk_no, 2, m.heading
        FROM second_steps AS s
        CROSS JOIN LATERAL (
            {{link_targets s}}
        ) AS m
    ) AS a
    ORDER BY a.chunk_no, a.weight DESC, a.steps, a.entity_id, a.source_no, a.heading
),
shared_names AS MATERIALIZED (
    SELECT b.entity_id, b.chunks, b.source_no, b.weight
    FROM (
        SELECT DISTINCT ON (h.entity_id) h.entity_id, n.chunks, h.chunk_no AS source_no, h.weight / (1 + ln(n.chunks)) AS weight
        FROM (
            SELECT m.entity_id, s.chunk_no, s.weight
            FROM sources AS s
            CROSS JOIN LATERAL (
        SELECT o.entity_id FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.chunk_no = s.chunk_no OFFSET 0
    ) AS m
            WHERE m.entity_id NOT IN (SELECT q.entity_id FROM query_names AS q)
        ) AS h
        CROSS JOIN LATERAL (
            SELECT count(*) AS chunks
            FROM (SELECT DISTINCT o.chunk_no FROM stepwell.mentions AS o
                  WHERE o.user_id = :user_id AND o.entity_id = h.entity_id LIMIT :commonest + 1) AS l
        ) AS n
        WHERE n.chunks BETWEEN :rarest AND :commonest
        ORDER BY h.entity_id, h.weight DESC, h.chunk_no
    ) AS b
    ORDER BY b.weight DESC, b.entity_id
    LIMIT :most_names
),
shared AS MATERIALIZED (
    SELECT DISTINCT ON (m.chunk_no) m.chunk_no, s.entity_id, s.weight, s.chunks, s.source_no
    FROM shared_names AS s
    CROSS JOIN LATERAL (
        SELECT o.chunk_no FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.entity_id = s.entity_id OFFSET 0
    ) AS m
    ORDER BY m.chunk_no, s.weight DESC, s.entity_id
),
result_chunks AS (
    SELECT c.chunk_no
    FROM unnest(:also_ids) AS g (chunk_id)
    CROSS JOIN LATERAL (
        SELECT o.chunk_no FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = g.chunk_id LIMIT 1
    ) AS c
    UNION SELECT chunk_no FROM named_chunks
    UNION SELECT chunk_no FROM linked
    UNION SELECT chunk_no FROM shared
)
SELECT c.chunk_id, c.document_id, v.similarity,
       (SELECT e.name FROM stepwell.entities AS e WHERE e.user_id = :user_id AND e.entity_id = t.entity_id) AS named_name, t.heading AS named_heading,
       l.weight AS linked, CAST(l.chunks AS integer) AS linked_chunks, l.steps AS linked_steps, l.heading AS linked_heading,
       (SELECT e.name FROM stepwell.entities AS e WHERE e.user_id = :user_id AND e.entity_id = l.entity_id) AS linked_name,
       (SELECT o.chunk_id FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = l.source_no) AS linked_source,
       s.weight * greatest(coalesce(v.similarity, 0.5), 0) AS shared, CAST(s.chunks AS integer) AS shared_chunks,
       (SELECT e.name FROM stepwell.entities AS e WHERE e.user_id = :user_id AND e.entity_id = s.entity_id) AS shared_name,
       (SELECT o.chunk_id FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = s.source_no) AS shared_source
FROM result_chunks AS f
CROSS JOIN LATERAL (
    SELECT o.chunk_id, o.document_id FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = f.chunk_no LIMIT 1
) AS c
CROSS JOIN LATERAL (
    {{similarity_to_query f}}
) AS v
LEFT JOIN named_chunks AS t ON t.chunk_no = f.chunk_no
LEFT JOIN linked AS l ON l.chunk_no = f.chunk_no
LEFT JOIN shared AS s ON s.chunk_no = f.chunk_no
WHERE NOT c.chunk_id = ANY (:exclude_chunk_ids)
-- if filtered
  AND {{document_passes c}}
-- end
ORDER BY c.chunk_id
