-- Follows the titles and headings in the texts of the sources, then those in the best chunks that these reach.
--
-- A link has the weight :first_step * w / (1 + ln(1 + n)): w is the source's weight, and n the number of chunks whose
-- text contains the name. A heading of several sections links to each with an equal share; a heading of more than a few
-- is ignored. A section does not link to itself. The second step starts from chunks that are not sources.
-- Columns: linked: chunk_no, entity_id, weight, chunks (that contain the name), source_no, steps, heading (whether the name
--   is one). Those of the others: `link_steps`, and of linked_once and second_sources in addition document_id.
-- part filtered  filters on documents
-- :first_step float8  factor of the weights in the first step
-- :second_step float8  factor of the weights in the second step
-- :second_sources bigint  number of linked chunks from which the second step starts
-- :similarity_offset float8  what is added to the similarity of a linked chunk where these are chosen
steps AS MATERIALIZED (
    {{link_steps sources}}
),
linked_once AS MATERIALIZED (
    SELECT DISTINCT ON (m.chunk_no)
           m.chunk_no, m.document_id, s.entity_id, :first_step * s.weight * m.share AS weight, s.chunks, s.chunk_no AS source_no, 1 AS steps, m.heading,
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
    SELECT l.chunk_no, l.document_id, l.weight * :second_step AS weight
    FROM linked_once AS l
    WHERE l.chunk_no NOT IN (SELECT s.chunk_no FROM sources AS s)
    ORDER BY l.weight * (:similarity_offset + coalesce(l.similarity, 0)) DESC, l.chunk_no
    LIMIT :second_sources
),
second_steps AS MATERIALIZED (
    {{link_steps second_sources}}
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
)
