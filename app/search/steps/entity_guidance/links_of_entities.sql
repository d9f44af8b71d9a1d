-- Finds the links of some entities to the documents of some chunks, and the documents with the strongest links. Links of
-- members are links of the entity: membership is followed three levels deep, and each level multiplies them by :decay.
-- The strength of a link to a document is the sum of one term per kind and count of mentions. The number of mentions in
-- a chunk is the larger of two: the mentions in its text, and the sum for its document (4 for a title, 3 for an
-- attendee, 2 for other metadata).
-- For the strongest links, at most :sample mentions of each entity, member and kind are read, ordered by document. Ids
-- of documents are hashes, so the documents up to an id are a random sample, and its share of all is the id divided by
-- the largest possible id. The number of documents up to the least id at which mentions were cut off, divided by this
-- share, estimates the number of all.
-- Columns: entity_id, linked_chunks, chunk_strengths, chunk_mentions (parallel arrays: the chunks of linked documents,
--   the strength of the link, 0 or the mentions of the entity itself), documents (number of linked documents),
--   document_ids, strengths (parallel arrays of the strongest links, strongest first). One row per entity.
-- :entity_ids uuid[]  the entities
-- :given_ids uuid[]  those whose origin is `user` or `metadata`; for others each kind of mention counts 1
-- :chunk_ids uuid[]  the chunks
-- :document_ids uuid[]  their documents
-- :decay float8  factor of a link's strength for each level of membership
-- :sample bigint  mentions of one kind that are read of an entity or member; fewer from five members on
-- :most bigint  maximum number of documents of each entity
WITH heads AS MATERIALIZED (
    {{members_of_entities}}
),
read_mentions AS MATERIALIZED (
    SELECT h.given_id, h.level, k.kind, m.document_id, m.count, m.place = h.sample AS cut_off
    FROM (
        SELECT o.*, greatest(1, least(:sample, 4 * :sample / count(*) OVER (PARTITION BY o.given_id))) AS sample FROM heads AS o
    ) AS h
    CROSS JOIN unnest(ARRAY['attendee', 'metadata', 'text', 'title']) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT d.document_id, sum(d.count) AS count, max(d.place) AS place
        FROM (
            SELECT f.document_id, f.count, row_number() OVER () AS place
            FROM (
                SELECT o.document_id, o.count FROM stepwell.mentions AS o
                WHERE o.user_id = :user_id AND o.entity_id = h.entity_id AND o.kind = k.kind
                ORDER BY o.document_id
                LIMIT h.sample
            ) AS f
        ) AS d
        GROUP BY d.document_id
    ) AS m
),
strengths AS MATERIALIZED (
    SELECT r.given_id, r.document_id, bool_or(r.cut_off) AS cut_off,
           sum(stepwell.link_strength(r.kind, CASE r.kind WHEN 'text' THEN CAST(r.count AS bigint) ELSE 1 END)
               * power(:decay, r.level)) AS strength
    FROM read_mentions AS r
    GROUP BY r.given_id, r.document_id
),
passages AS MATERIALIZED (
    SELECT g.chunk_id, g.document_id FROM unnest(:chunk_ids, :document_ids) AS g (chunk_id, document_id)
),
links AS MATERIALIZED (
    SELECT f.given_id, f.document_id, sum(stepwell.link_strength(f.kind, f.count) * power(:decay, f.level)) AS strength,
           coalesce(sum(CASE WHEN NOT f.given_id = ANY (:given_ids) THEN 1
                             WHEN f.kind = 'title' THEN 4 WHEN f.kind = 'attendee' THEN 3 ELSE 2 END)
                    FILTER (WHERE f.level = 0 AND f.kind <> 'text'), 0) AS of_document
    FROM (
        SELECT h.given_id, h.level, m.document_id, k.kind, CASE k.kind WHEN 'text' THEN sum(m.count) ELSE 1 END AS count
        FROM heads AS h
        CROSS JOIN unnest(ARRAY['attendee', 'metadata', 'text', 'title']) AS k (kind)
        CROSS JOIN LATERAL (
            SELECT o.document_id, o.count FROM stepwell.mentions AS o
            WHERE o.user_id = :user_id AND o.entity_id = h.entity_id AND o.kind = k.kind
              AND o.document_id = ANY (CAST((SELECT array_agg(DISTINCT p.document_id) FROM passages AS p) AS uuid[]))
            ORDER BY o.document_id
        ) AS m
        GROUP BY h.given_id, h.entity_id, h.level, m.document_id, k.kind
    ) AS f
    GROUP BY f.given_id, f.document_id
)
SELECT g.entity_id,
       d.documents, d.document_ids, d.strengths,
       c.linked_chunks, c.chunk_strengths, c.chunk_mentions
FROM unnest(:entity_ids) AS g (entity_id)
CROSS JOIN LATERAL (
    SELECT n.documents, t.document_ids, t.strengths
    FROM (
        SELECT CASE WHEN l.last IS NULL THEN l.read
                    ELSE CAST((SELECT count(*) FROM strengths AS s WHERE s.given_id = g.entity_id AND s.document_id <= l.last) * 4294967296.0
                              / (1 + CAST(CAST('x' || left(CAST(l.last AS text), 8) AS bit(32)) AS bigint)) AS bigint)
               END AS documents
        FROM (
            SELECT count(*) AS read, (array_agg(s.document_id ORDER BY s.document_id) FILTER (WHERE s.cut_off))[1] AS last
            FROM strengths AS s WHERE s.given_id = g.entity_id
        ) AS l
    ) AS n
    CROSS JOIN (
        SELECT array_agg(b.document_id ORDER BY b.strength DESC, b.document_id) AS document_ids,
               array_agg(b.strength ORDER BY b.strength DESC, b.document_id) AS strengths
        FROM (
            SELECT s.document_id, s.strength FROM strengths AS s
            WHERE s.given_id = g.entity_id
            ORDER BY s.strength DESC, s.document_id
            LIMIT :most
        ) AS b
    ) AS t
) AS d
CROSS JOIN LATERAL (
    SELECT array_agg(p.chunk_id) AS linked_chunks, array_agg(l.strength) AS chunk_strengths,
           array_agg(CAST(greatest(l.of_document, t.count) AS integer)) AS chunk_mentions
    FROM links AS l
    JOIN passages AS p ON p.document_id = l.document_id
    CROSS JOIN LATERAL (
        SELECT o.chunk_no FROM stepwell.chunks AS o WHERE o.user_id = :user_id AND o.chunk_id = p.chunk_id LIMIT 1
    ) AS n
    -- The order is that of the primary key alone: with another index all mentions of the entity are read for each chunk.
    LEFT JOIN LATERAL (
        SELECT o.count FROM stepwell.mentions AS o
        WHERE o.user_id = :user_id AND o.entity_id = g.entity_id AND o.chunk_no BETWEEN n.chunk_no AND n.chunk_no AND o.kind = 'text'
        ORDER BY o.chunk_no
        LIMIT 1
    ) AS t ON true
    WHERE l.given_id = g.entity_id
) AS c
