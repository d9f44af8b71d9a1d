-- Selects the chunks to which a name links: the chunks of other documents that have it as title, and of sections that
-- have it as heading. Several sections have equal shares. A section does not link to itself.
-- $step  alias of a row of `link_steps`
-- :most_sections bigint  maximum number of sections of a heading
SELECT o.chunk_no, o.document_id, false AS heading, 1.0 AS share FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.entity_id = $step.entity_id AND o.kind = 'title' AND o.document_id <> $step.document_id
        UNION ALL
        SELECT o.chunk_no, o.document_id, true, 1.0 / $step.sections FROM stepwell.headings AS o
        WHERE $step.sections <= :most_sections AND o.user_id = :user_id AND o.entity_id = $step.entity_id AND NOT EXISTS (
            SELECT FROM stepwell.headings AS k
            WHERE k.user_id = :user_id AND k.entity_id = $step.entity_id AND k.section_no = o.section_no
              AND k.chunk_no = $step.chunk_no)
        OFFSET 0
