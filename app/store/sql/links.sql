-- Finds the chunks that names lead to, from source chunks and from the names in the query, and their similarity.
--
-- named: the query holds the title of the chunk's document, or the heading of its section and of no other. linked: a
-- source's text holds that title or heading, weighing w * 2 / (1 + ln(1 + n)), n = chunks whose text holds it; a second
-- step starts from the five best. Over several sections a heading leads to each with its share, over more than a few
-- it is ignored; no section leads to itself. shared: the chunk and a source hold the same name, which 2 to 50 chunks (n)
-- hold, w / (1 + ln n) times the cosine to the query.
-- Sources: the given chunks with their weights, and chunks of documents that the query names with weight 1; the ten
-- best. Filters and exclusions bind the chunks found. Look-ups by id are LATERAL with a LIMIT or OFFSET 0, so that no
-- join ever reads all of a user's rows and one plan serves all binds; the query's vector is read from its text once, and
-- not for each chunk.
-- Columns: chunk_id, document_id, similarity (null without a vector), and for each of named, linked and shared what led
--   to the chunk (null: it did not): name, heading, weight, chunks, steps, source.
-- :user_id text  whose chunks
-- :source_chunk_ids uuid[]  source chunks
-- :weights float8[]  their weights, 0 to 1
-- :also_ids uuid[]  further chunks whose similarity is wanted
-- :keys bytea[]  keys of the query's word sequences
-- :heading boolean[]  which of them may be a heading
-- :embedding text::vector  the query's vector; null: none
-- :most_sources bigint
-- :most_names bigint
-- :rarest bigint  fewest chunks that make a name shared
-- :commonest bigint  most chunks that make a name shared
-- :most_sections bigint  sections over which a heading is a name
-- :counted bigint  chunks up to which a title's mentions are counted
-- :second_steps bigint  how many chunks lead on a second time
-- :second_weight float8
-- :filtered boolean  whether any filter is given
-- :exclude_chunk_ids uuid[]
WITH query_vector AS MATERIALIZED (
    SELECT :embedding AS vector
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
            WHERE (NOT :filtered OR {{document_passes m}})
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
    WHERE (NOT :filtered OR {{document_passes m}})
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
found AS (
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
FROM found AS f
CROSS JOIN LATERAL (
    SELECT o.chunk_id, o.document_id FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_no = f.chunk_no LIMIT 1
) AS c
CROSS JOIN LATERAL (
    SELECT 1 - (o.embedding <=> (SELECT a.vector FROM query_vector AS a)) AS similarity
    FROM stepwell.embeddings AS o WHERE o.user_id = :user_id AND o.chunk_no = f.chunk_no LIMIT 1
) AS v
LEFT JOIN named_chunks AS t ON t.chunk_no = f.chunk_no
LEFT JOIN linked AS l ON l.chunk_no = f.chunk_no
LEFT JOIN shared AS s ON s.chunk_no = f.chunk_no
WHERE NOT c.chunk_id = ANY (:exclude_chunk_ids)
  AND (NOT :filtered OR {{document_passes c}})
ORDER BY c.chunk_id
