-- Finds the entities to which a query refers by a name, a role, a team, or the words of their facts or description.
--
-- Look-ups by id are LATERAL with LIMIT, so that no join reads all of a user's entities. Facts are looked up by the
-- query's rarest lexemes, without which no entity covers half of the query's idf. Entities of origin `text` match by
-- name only if they are titles. Entities of other origins than `user` do not match by an exact or similar name that an
-- entity of origin `user` has, too. A fuzzy match has the value 1, but 0 if the documents contain all of the similar
-- words, which are then not misspelt, and the text index has other lexemes for them than for the name.
-- Before Postgres 17, the graph gives its order to nothing but the distance alone. So ties are ordered afterwards.
-- Columns: by, key (the name; for members, the team's name), entity_id, name, type, origin, role, value (covered share of the
--   idf, 0 to 1, for a fact; cosine similarity for a description; otherwise null), terms (number of lexemes covered by
--   facts); one row per match.
-- part restricted  the documents are those that the caller sees
-- part used_titles  a title that no text the caller sees uses as a name has the origin text
-- :keys bytea[]  keys of the names in the query
-- :near_keys bytea[]  keys of names similar to words of the query
-- :near_words text[]  those words, normalised for the text index
-- :roles text[]  look-up keys of roles
-- :words text  words of the query, accents folded
-- :most bigint  maximum number of rows of each kind
WITH
-- if restricted
{{visible_chunks}},
-- end
query_vector AS MATERIALIZED (
    {{query_vector}}
),
named AS MATERIALIZED (
    SELECT n.name_key, e.entity_id, e.name, e.type, e.origin, e.role
    FROM unnest(:keys) AS k (name_key)
    CROSS JOIN LATERAL (
        SELECT o.name_key, o.entity_id FROM stepwell.entity_names AS o
        WHERE o.user_id = :user_id AND o.name_key = k.name_key LIMIT :most
    ) AS n
    CROSS JOIN LATERAL (
        SELECT o.entity_id, o.name, o.type, o.origin, o.role
        FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
    ) AS e
    WHERE e.origin <> 'text'
       OR (SELECT true FROM stepwell.mentions AS m
           WHERE m.user_id = :user_id AND m.entity_id = e.entity_id AND m.kind = 'title' LIMIT 1)
    LIMIT 4 * :most
),
near AS MATERIALIZED (
    SELECT n.name_key, e.entity_id, e.name, e.type, e.origin, e.role, CASE WHEN g.known THEN 0 ELSE 1 END AS misspelt
    FROM (
        SELECT o.name_key, NOT EXISTS (
                   SELECT FROM unnest(tsvector_to_array(to_tsvector('english', o.words))) AS w (lexeme)
                   WHERE NOT EXISTS (
                       SELECT FROM stepwell.lexemes AS l WHERE l.user_id = :user_id AND l.lexeme = w.lexeme COLLATE "C"
-- if restricted
                         AND {{lexeme_is_visible l.lexeme}}
-- end
                   ))
            AND to_tsvector('english', o.words) <> to_tsvector('english', convert_from(o.name_key, 'UTF8')) AS known
        FROM unnest(:near_keys, :near_words) AS o (name_key, words)
    ) AS g
    CROSS JOIN LATERAL (
        SELECT o.name_key, o.entity_id FROM stepwell.entity_names AS o
        WHERE o.user_id = :user_id AND o.name_key = g.name_key LIMIT :most
    ) AS n
    CROSS JOIN LATERAL (
        SELECT o.entity_id, o.name, o.type, o.origin, o.role
        FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
    ) AS e
    WHERE e.origin <> 'text'
    LIMIT 4 * :most
),
teams AS MATERIALIZED (
    SELECT m.member_id AS entity_id, n.name_key
    FROM named AS n
    CROSS JOIN LATERAL (
        SELECT o.member_id FROM stepwell.entity_members AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT :most
    ) AS m
    LIMIT :most
),
roles AS MATERIALIZED (
    SELECT w.entity_id FROM stepwell.entity_words AS w WHERE w.user_id = :user_id AND w.lexeme = ANY (:roles) LIMIT :most
),
terms AS MATERIALIZED (
    SELECT t.lexeme, t.idf, sum(t.idf) OVER () AS whole, sum(t.idf) OVER (ORDER BY t.idf DESC, t.lexeme) - t.idf AS rarer
    FROM (
        {{idf_of_words}}
    ) AS t
),
nominated AS MATERIALIZED (
    SELECT DISTINCT w.entity_id
    FROM terms AS t
    CROSS JOIN LATERAL (
        SELECT o.entity_id FROM stepwell.entity_words AS o WHERE o.user_id = :user_id AND o.lexeme = t.lexeme LIMIT 6 * :most
    ) AS w
    WHERE t.rarer <= t.whole / 2
),
factual AS MATERIALIZED (
    SELECT f.entity_id, f.covered, f.terms
    FROM (
        SELECT n.entity_id, sum(t.idf) / max(t.whole) AS covered, count(*) AS terms
        FROM nominated AS n
        CROSS JOIN terms AS t
        WHERE EXISTS (
            SELECT FROM stepwell.entity_words AS o
            WHERE o.user_id = :user_id AND o.lexeme = t.lexeme AND o.entity_id = n.entity_id)
        GROUP BY n.entity_id
    ) AS f
    ORDER BY f.covered DESC, f.entity_id
    LIMIT :most
),
described AS MATERIALIZED (
    SELECT n.entity_id, n.distance
    FROM (
        SELECT v.entity_id, v.embedding <=> (SELECT q.vector FROM query_vector AS q) AS distance
        FROM stepwell.entity_vectors AS v
        WHERE v.user_id = :user_id AND (SELECT q.vector FROM query_vector AS q) IS NOT NULL
        ORDER BY v.embedding <=> (SELECT q.vector FROM query_vector AS q)
        FETCH FIRST (CAST(:most AS bigint)) ROWS WITH TIES
    ) AS n
    ORDER BY n.distance, n.entity_id
    LIMIT :most
),
matches AS (
    SELECT 'name' AS by, n.name_key, n.entity_id, n.name, n.type, n.origin, n.role, CAST(NULL AS float8) AS value, CAST(NULL AS bigint) AS terms
    FROM named AS n
    UNION ALL
    SELECT 'fuzzy', n.name_key, n.entity_id, n.name, n.type, n.origin, n.role, n.misspelt, NULL FROM near AS n
    UNION ALL
    SELECT o.by, o.name_key, e.entity_id, e.name, e.type, e.origin, e.role, o.value, o.terms
    FROM (
        SELECT 'team' AS by, t.name_key, t.entity_id, CAST(NULL AS float8) AS value, CAST(NULL AS bigint) AS terms FROM teams AS t
        UNION ALL SELECT 'role', NULL, r.entity_id, NULL, NULL FROM roles AS r
        UNION ALL SELECT 'fact', NULL, f.entity_id, f.covered, f.terms FROM factual AS f
        UNION ALL SELECT 'description', NULL, d.entity_id, 1 - d.distance, NULL FROM described AS d
    ) AS o
    CROSS JOIN LATERAL (
        SELECT i.entity_id, i.name, i.type, i.origin, i.role
        FROM stepwell.entities AS i WHERE i.user_id = :user_id AND i.entity_id = o.entity_id LIMIT 1
    ) AS e
)
SELECT f.by, convert_from(f.name_key, 'UTF8') AS key, f.entity_id, f.name, f.type, f.role, f.value, f.terms,
-- if used_titles
       CASE WHEN f.origin = 'title' AND ({{used_as_name f}}) IS NOT TRUE THEN 'text' ELSE f.origin END AS origin
-- end
-- unless used_titles
       f.origin
-- end
FROM matches AS f
WHERE f.origin = 'user' OR f.by NOT IN ('name', 'fuzzy') OR NOT EXISTS (
    SELECT FROM (
        SELECT o.entity_id FROM stepwell.entity_names AS o WHERE o.user_id = :user_id AND o.name_key = f.name_key LIMIT :most
    ) AS n
    CROSS JOIN LATERAL (
        SELECT o.origin FROM stepwell.entities AS o WHERE o.user_id = :user_id AND o.entity_id = n.entity_id LIMIT 1
    ) AS e
    WHERE e.origin = 'user')
