-- The functions of revision 0040.

-- Day and time are the database's own, and only existing keys are counted: a caller adds at most a row for each key, scope
-- and day. Rows are locked in one order, because several processes flush at once.
CREATE FUNCTION stepwell.count_key_uses(p_key_ids text[], p_scopes text[], p_uses bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
INSERT INTO stepwell.key_uses AS u (key_id, day, scope, user_id, uses, last_used_at)
SELECT k.key_id, CAST(now() AT TIME ZONE 'UTC' AS date), g.scope, k.user_id, least(g.uses, 1000000000000), now()
FROM unnest(p_key_ids, p_scopes, p_uses) AS g (key_id, scope, uses)
JOIN stepwell.api_keys AS k ON k.key_id = g.key_id
WHERE g.scope IN ('search', 'write', 'metrics', 'admin') AND g.uses > 0
ORDER BY k.key_id, g.scope
ON CONFLICT (key_id, day, scope) DO UPDATE
SET uses = least(u.uses + excluded.uses, 1000000000000),
    last_used_at = greatest(u.last_used_at, excluded.last_used_at)
$$;

-- Begins a transaction of a user, and estimates the rows of the user's HNSW graph by the size of the table or shard that
-- contains them. 76 bytes are the item pointer and the other columns of a row, and 8152 the room of a page of 8 kB.
CREATE FUNCTION stepwell.enter(p_user text, p_timeout_ms integer, p_candidates integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    stored bigint := 0;
    breadth float8;
BEGIN
    EXECUTE format('SET LOCAL stepwell.user_id = %L', p_user);
    EXECUTE format('SET LOCAL statement_timeout = %s', p_timeout_ms);
    SET LOCAL lock_timeout = '10s';
    SET LOCAL jit = off;
    SET LOCAL max_parallel_workers_per_gather = 0;
    IF p_candidates > 0 THEN
        stored := coalesce((
            SELECT pg_relation_size(e.tableoid) / CAST(current_setting('block_size') AS bigint)
                   * greatest(1, 8152 / (pg_column_size(e.embedding) + 76))
            FROM stepwell.embeddings AS e WHERE e.user_id = p_user ORDER BY e.chunk_no LIMIT 1), 0);
        breadth := p_candidates * (1.1 + 0.5 * greatest(0, log(2, CAST(greatest(stored, 1) / 20000.0 AS numeric))));
        EXECUTE format('SET LOCAL hnsw.ef_search = %s', least(1000, CAST(ceil(breadth) AS integer)));
        SET LOCAL hnsw.iterative_scan = 'strict_order';
        SET LOCAL hnsw.max_scan_tuples = 2147483647;
        SET LOCAL hnsw.scan_mem_multiplier = 16;
    END IF;
    SET LOCAL plan_cache_mode = 'force_custom_plan';
    SET LOCAL enable_memoize = off;
    SET LOCAL enable_mergejoin = off;
    RETURN stored;
END
$$;

-- For statements whose gates are decided as they run: planned once a connection, so that the settings must leave no choice
-- that depends on how many rows a user has. Citus plans no distributed statement generically.
CREATE FUNCTION stepwell.enter_plain(p_user text, p_timeout_ms integer, p_candidates integer) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    stored bigint := stepwell.enter(p_user, p_timeout_ms, p_candidates);
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        SET LOCAL plan_cache_mode = 'force_generic_plan';
        SET LOCAL enable_sort = off;
        SET LOCAL enable_seqscan = off;
    END IF;
    RETURN coalesce(
        (SELECT ARRAY[t.version, t.names_version, CASE WHEN EXISTS (
             SELECT FROM stepwell.hidden_chunks AS h WHERE h.user_id = p_user) THEN 1 ELSE 0 END, stored, coalesce((
             SELECT CAST(sum(s.chunks) AS bigint) FROM stepwell.text_statistics AS s WHERE s.user_id = p_user), 0)]
             || t.calibration || CASE WHEN t.synonyms_version > 0 THEN ARRAY[t.synonyms_version] END
         FROM stepwell.tenants AS t WHERE t.user_id = p_user), ARRAY[0, 0, 0, stored, 0]);
END
$$;

-- The last expression of the first statement of a transaction: what follows runs in the other role.
CREATE FUNCTION stepwell.enter_restricted(p_path text, p_needs_document boolean, p_shows_entities boolean)
RETURNS void
LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('stepwell.visible', p_path, true);
        PERFORM set_config('stepwell.visible_needs_document', CAST(p_needs_document AS text), true);
        PERFORM set_config('stepwell.shows_entities', CAST(p_shows_entities AS text), true);
        PERFORM set_config('role', 'stepwell_restricted', true);
    END
    $$;

-- Expiry concerns all users, whose rows the service's role does not see.
CREATE FUNCTION stepwell.expire_feedback(p_days integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
        expired bigint;
    BEGIN
        DELETE FROM stepwell.feedback AS f WHERE f.at < now() - make_interval(days => greatest(p_days, 1));
        GET DIAGNOSTICS expired = ROW_COUNT;
        RETURN expired;
    END
    $$;

-- Runs as the owner, because the mentions in documents that the caller does not see count.
CREATE FUNCTION stepwell.is_unlinked(p_user text, p_entity uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT NOT EXISTS (
        SELECT FROM stepwell.mentions AS m WHERE m.user_id = p_user AND m.entity_id = p_entity
    ) AND NOT EXISTS (
        SELECT FROM stepwell.headings AS h WHERE h.user_id = p_user AND h.entity_id = p_entity
    )
    $$;

CREATE FUNCTION stepwell.link_strength(kind text, count bigint) RETURNS float8
LANGUAGE sql IMMUTABLE
RETURN CASE kind WHEN 'title' THEN 4 WHEN 'attendee' THEN 3 WHEN 'metadata' THEN 2
       ELSE ln(1 + CAST(count AS float8)) END;

-- Returns a row only for the right secret, so that no hash leaves the database. An ordinary comparison is enough: what is
-- compared is the SHA-256 of a secret of 256 random bits, and how long it takes says nothing about such a secret.
CREATE FUNCTION stepwell.live_key(p_key_id text, p_secret_hash bytea)
RETURNS TABLE(user_id text, scopes text[], filters jsonb, shows_entities boolean, token_key bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.user_id, k.scopes, k.filters, k.shows_entities, k.token_key
    FROM stepwell.api_keys AS k
    WHERE k.key_id = p_key_id AND k.secret_hash = p_secret_hash
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    $$;

-- For a statement that is planned anew each time.
CREATE FUNCTION stepwell.plan_each() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL plan_cache_mode = 'force_custom_plan';
    SET LOCAL enable_sort = on;
    SET LOCAL enable_seqscan = on;
END
$$;

-- From 384 kB on the planner expects several documents of each user. Before that, and on Citus, statements are planned anew.
CREATE FUNCTION stepwell.plan_writes() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL AND pg_relation_size('stepwell.documents') >= 393216 THEN
        SET LOCAL plan_cache_mode = 'force_generic_plan';
        SET LOCAL enable_sort = on;
        SET LOCAL enable_seqscan = off;
    ELSE
        PERFORM stepwell.plan_each();
    END IF;
END
$$;

CREATE FUNCTION stepwell.token_key(p_key_id text)
RETURNS TABLE(user_id text, scopes text[], filters jsonb, shows_entities boolean, token_key bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.user_id, k.scopes, k.filters, k.shows_entities, k.token_key
    FROM stepwell.api_keys AS k
    WHERE k.key_id = p_key_id AND k.token_key IS NOT NULL
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    $$;

-- The lock lasts until the transaction ends, so the table is not replaced by that of another model in between. Names are
-- resolved by the catalogue as it is now, not as it was when the transaction's snapshot was taken.
CREATE FUNCTION stepwell.vector_tables(p_writes boolean) RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
    IF p_writes THEN
        LOCK TABLE stepwell.embeddings IN ROW EXCLUSIVE MODE;
    ELSE
        LOCK TABLE stepwell.embeddings IN ACCESS SHARE MODE;
    END IF;
    RETURN ARRAY[
        CAST(CAST(to_regclass('stepwell.embeddings') AS oid) AS bigint),
        coalesce(CAST(CAST(to_regclass('stepwell.embeddings_next') AS oid) AS bigint), 0)
    ];
END
$$;

CREATE FUNCTION stepwell.verify_key(p_key_id text, p_secret_hash bytea) RETURNS TABLE(user_id text, scopes text[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.user_id, k.scopes
    FROM stepwell.api_keys AS k
    WHERE k.key_id = p_key_id AND k.secret_hash = p_secret_hash AND k.filters IS NULL
      AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    $$;

-- Finds all entities that a restricted caller sees at once, as the owner, for the caller's own user alone.
CREATE FUNCTION stepwell.visible_entities(p_user text)
RETURNS TABLE(entity_id uuid, name text, type text, origin text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
WITH restriction AS MATERIALIZED (
    SELECT CAST(NULLIF(current_setting('stepwell.visible', true), '') AS jsonpath) AS path,
           current_setting('stepwell.visible_needs_document', true) = 'true' AS needs_document
    WHERE p_user = NULLIF(current_setting('stepwell.user_id', true), '')
),
seen AS MATERIALIZED (
    SELECT d.document_id
    FROM stepwell.documents AS d
    WHERE d.user_id = p_user
      AND jsonb_path_exists(
          d.metadata, (SELECT r.path FROM restriction AS r),
          CASE WHEN (SELECT r.needs_document FROM restriction AS r)
               THEN d.moments || jsonb_build_object('document', d.document_id, 'source', d.source_id, 'uri', d.uri,
                                                    'created', extract(epoch FROM d.created_at) * 1000000)
               ELSE '{}' END, true)
),
linked AS MATERIALIZED (
    SELECT m.entity_id
    FROM seen AS s JOIN stepwell.mentions AS m ON m.user_id = p_user AND m.document_id = s.document_id
    UNION
    SELECT h.entity_id
    FROM seen AS s JOIN stepwell.headings AS h ON h.user_id = p_user AND h.document_id = s.document_id
)
SELECT e.entity_id, e.name, e.type, e.origin
FROM stepwell.entities AS e
WHERE e.user_id = p_user AND e.origin <> 'text'
  AND (e.entity_id IN (SELECT l.entity_id FROM linked AS l)
       OR (e.origin = 'user' AND (SELECT true FROM restriction) AND stepwell.is_unlinked(p_user, e.entity_id)))
$$;

CREATE FUNCTION stepwell.visible_names(p_user text) RETURNS TABLE(name text, entity_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
SELECT n.name, n.entity_id
FROM stepwell.visible_entities(p_user) AS e
JOIN stepwell.entity_names AS n ON n.user_id = p_user AND n.entity_id = e.entity_id
WHERE e.origin IN ('user', 'metadata')
$$;

CREATE FUNCTION stepwell.watched_sources() RETURNS TABLE (user_id text, source_id uuid, path text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$SELECT s.user_id, s.source_id, s.path FROM stepwell.sources AS s WHERE s.watch$$;

-- The characters of a pair are at its position and the next one, where the next pair has the same second character, and
-- have its label. `words` itself is returned for texts in other scripts.
CREATE FUNCTION stepwell.with_characters(words tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN CAST(words AS text) !~ '[{bases}]' THEN words ELSE (
    SELECT CAST(CAST(words AS text) || coalesce(string_agg(' ' || u.single || ':' || u.positions, ''), '') AS tsvector)
    FROM (
        SELECT s.single, string_agg(CAST(s.position AS text) || s.label, ',') AS positions
        FROM unnest(words) AS t
        CROSS JOIN LATERAL (
            SELECT CASE length(t.lexeme) WHEN 2 THEN right(t.lexeme, 1)
                   ELSE substring(t.lexeme FROM '[{bases}][{marks}]*$') END AS second
        ) AS m
        CROSS JOIN LATERAL unnest(t.positions, t.weights) AS p (position, label)
        CROSS JOIN LATERAL (VALUES
            (left(t.lexeme, length(t.lexeme) - length(m.second)), p.position, p.label),
            (m.second, p.position + 1, p.label)
        ) AS s (single, position, label)
        WHERE t.lexeme ~ '^[{bases}][{marks}]*[{bases}][{marks}]*$'
        GROUP BY s.single
    ) AS u
) END;

GRANT USAGE ON SCHEMA stepwell TO stepwell_service;

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA stepwell TO stepwell_service;

REVOKE ALL ON stepwell.api_keys, stepwell.audit_log, stepwell.key_uses FROM stepwell_service;

GRANT INSERT (user_id, event_id, actor, action, target, counts) ON stepwell.audit_log TO stepwell_service;

REVOKE INSERT, UPDATE, DELETE ON stepwell.alembic_version, stepwell.embedding_identity, stepwell.embedding_target
FROM stepwell_service;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA stepwell FROM PUBLIC;

GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA stepwell TO stepwell_service;

-- Those of restricted callers, who leave the service's role.
REVOKE EXECUTE ON FUNCTION stepwell.is_unlinked(text, uuid), stepwell.visible_entities(text), stepwell.visible_names(text)
FROM stepwell_service;

GRANT EXECUTE ON FUNCTION stepwell.visible_entities(text), stepwell.visible_names(text) TO stepwell_restricted;
