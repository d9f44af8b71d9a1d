-- Selects the names in the texts of source chunks that link to other chunks, with their weights: weight / (1 + ln(1 +
-- n)), n = number of chunks whose text contains the name. A name links if it is a title, or the heading of one to
-- :most_sections sections.
-- $sources  the CTE of source chunks: chunk_no, document_id, weight
-- :most_sections bigint  maximum number of sections of a heading
-- :counted bigint  limit of counting the mentions of a title
SELECT s.chunk_no, s.document_id, m.entity_id, s.weight / (1 + ln(1 + n.chunks)) AS weight, n.chunks, h.sections
    FROM $sources AS s
    CROSS JOIN LATERAL (
        SELECT o.entity_id FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.chunk_no = s.chunk_no AND o.kind = 'text' OFFSET 0
    ) AS m
    CROSS JOIN LATERAL (
        SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = m.entity_id LIMIT 1
    ) AS e
    CROSS JOIN LATERAL (
        SELECT count(*) AS sections
        FROM (SELECT DISTINCT o.section_no FROM stepwell.headings AS o
              WHERE o.user_id = :user_id AND o.entity_id = m.entity_id LIMIT :most_sections + 1) AS l
    ) AS h
    CROSS JOIN LATERAL (
        SELECT count(*) AS chunks
        FROM (SELECT FROM stepwell.mentions AS o
              WHERE o.user_id = :user_id AND o.entity_id = m.entity_id AND o.kind = 'text' LIMIT :counted) AS l
    ) AS n
    WHERE e.origin <> 'text' OR h.sections BETWEEN 1 AND :most_sections
