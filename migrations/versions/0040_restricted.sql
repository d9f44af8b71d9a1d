-- What a caller who does not see every document needs: a Citus cluster has none of it.

GRANT USAGE ON SCHEMA stepwell TO stepwell_restricted;

-- These two run as the owner, for the caller's own user alone: the names that they return are then looked up as the
-- restricted role.
CREATE FUNCTION stepwell.changed_names(p_user text, p_after bigint, p_most bigint)
RETURNS TABLE(name_key bytea, name text, entity_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
SELECT c.name_key, f.name, f.entity_id
FROM (
    SELECT o.name_key FROM stepwell.entity_changes AS o
    WHERE p_user = NULLIF(current_setting('stepwell.user_id', true), '') AND o.user_id = p_user AND o.version > p_after
    ORDER BY o.version LIMIT p_most
) AS c
LEFT JOIN LATERAL (
    SELECT n.name, n.entity_id
    FROM stepwell.entity_names AS n
    JOIN stepwell.entities AS e ON e.user_id = n.user_id AND e.entity_id = n.entity_id
    WHERE n.user_id = p_user AND n.name_key = c.name_key AND e.origin IN ('user', 'metadata')
) AS f ON true
$$;

CREATE FUNCTION stepwell.names_to_match(p_user text) RETURNS TABLE(name text, entity_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
SELECT n.name, n.entity_id
FROM stepwell.entity_names AS n
JOIN stepwell.entities AS e ON e.user_id = n.user_id AND e.entity_id = n.entity_id
WHERE p_user = NULLIF(current_setting('stepwell.user_id', true), '')
  AND n.user_id = p_user AND e.origin IN ('user', 'metadata')
$$;

CREATE FUNCTION stepwell.use_list(p_documents uuid[]) RETURNS text
LANGUAGE sql AS $$
SELECT set_config('stepwell.visible_documents', CAST(p_documents AS text), true)
$$;

-- The documents that the caller sees are listed in a setting if they are few: CASE keeps the list a hash table that is
-- built once. Otherwise a document is looked up by its key: by a scalar subquery, because EXISTS may be hashed.
CREATE POLICY visible ON stepwell.chunks AS RESTRICTIVE TO stepwell_restricted USING (
    CASE
    WHEN (SELECT NULLIF(current_setting('stepwell.visible_documents', true), '') IS NOT NULL)
    THEN document_id IN (
        SELECT unnest(CAST(NULLIF(current_setting('stepwell.visible_documents', true), '') AS uuid[])))
    ELSE (SELECT true FROM stepwell.documents AS d
          WHERE d.user_id = chunks.user_id AND d.document_id = chunks.document_id LIMIT 1) END
);

CREATE POLICY visible ON stepwell.documents AS RESTRICTIVE TO stepwell_restricted USING (
    jsonb_path_exists(
        metadata, (SELECT CAST(NULLIF(current_setting('stepwell.visible', true), '') AS jsonpath)),
        CASE WHEN (SELECT current_setting('stepwell.visible_needs_document', true) = 'true')
             THEN moments || jsonb_build_object('document', document_id, 'source', source_id, 'uri', uri,
                                                'created', extract(epoch FROM created_at) * 1000000)
             ELSE '{}' END, true)
);

CREATE POLICY visible ON stepwell.embeddings AS RESTRICTIVE TO stepwell_restricted USING (
    CASE
    WHEN (SELECT NULLIF(current_setting('stepwell.visible_documents', true), '') IS NOT NULL)
    THEN document_id IN (
        SELECT unnest(CAST(NULLIF(current_setting('stepwell.visible_documents', true), '') AS uuid[])))
    ELSE (SELECT true FROM stepwell.documents AS d
          WHERE d.user_id = embeddings.user_id AND d.document_id = embeddings.document_id LIMIT 1) END
);

CREATE POLICY visible ON stepwell.entities AS RESTRICTIVE TO stepwell_restricted USING (
    (SELECT true FROM stepwell.mentions AS m
     WHERE m.user_id = entities.user_id AND m.entity_id = entities.entity_id LIMIT 1)
    OR (SELECT true FROM stepwell.headings AS h
        WHERE h.user_id = entities.user_id AND h.entity_id = entities.entity_id LIMIT 1)
    OR origin = 'user' AND stepwell.is_unlinked(user_id, entity_id)
);

CREATE POLICY visible ON stepwell.entity_members AS RESTRICTIVE TO stepwell_restricted USING (
    (SELECT true FROM stepwell.entities AS e
     WHERE e.user_id = entity_members.user_id AND e.entity_id = entity_members.entity_id LIMIT 1)
    AND (SELECT true FROM stepwell.entities AS e
         WHERE e.user_id = entity_members.user_id AND e.entity_id = entity_members.member_id LIMIT 1)
);

CREATE POLICY visible ON stepwell.entity_names AS RESTRICTIVE TO stepwell_restricted USING (
    (SELECT true FROM stepwell.entities AS e
     WHERE e.user_id = entity_names.user_id AND e.entity_id = entity_names.entity_id LIMIT 1)
);

CREATE POLICY visible ON stepwell.entity_vectors AS RESTRICTIVE TO stepwell_restricted USING (
    (SELECT current_setting('stepwell.shows_entities', true) = 'true')
    AND (SELECT true FROM stepwell.entities AS e
         WHERE e.user_id = entity_vectors.user_id AND e.entity_id = entity_vectors.entity_id LIMIT 1)
);

CREATE POLICY visible ON stepwell.entity_words AS RESTRICTIVE TO stepwell_restricted USING (
    (SELECT current_setting('stepwell.shows_entities', true) = 'true')
    AND (SELECT true FROM stepwell.entities AS e
         WHERE e.user_id = entity_words.user_id AND e.entity_id = entity_words.entity_id LIMIT 1)
);

CREATE POLICY visible ON stepwell.headings AS RESTRICTIVE TO stepwell_restricted USING (
    CASE
    WHEN (SELECT NULLIF(current_setting('stepwell.visible_documents', true), '') IS NOT NULL)
    THEN document_id IN (
        SELECT unnest(CAST(NULLIF(current_setting('stepwell.visible_documents', true), '') AS uuid[])))
    ELSE (SELECT true FROM stepwell.documents AS d
          WHERE d.user_id = headings.user_id AND d.document_id = headings.document_id LIMIT 1) END
);

CREATE POLICY visible ON stepwell.mentions AS RESTRICTIVE TO stepwell_restricted USING (
    CASE
    WHEN (SELECT NULLIF(current_setting('stepwell.visible_documents', true), '') IS NOT NULL)
    THEN document_id IN (
        SELECT unnest(CAST(NULLIF(current_setting('stepwell.visible_documents', true), '') AS uuid[])))
    ELSE (SELECT true FROM stepwell.documents AS d
          WHERE d.user_id = mentions.user_id AND d.document_id = mentions.document_id LIMIT 1) END
);

CREATE POLICY visible ON stepwell.source_files AS RESTRICTIVE TO stepwell_restricted USING (
    (SELECT true FROM stepwell.documents AS d
     WHERE d.user_id = source_files.user_id AND d.source_id = source_files.source_id
       AND d.source_path = source_files.path
     LIMIT 1)
);

CREATE POLICY visible ON stepwell.sources AS RESTRICTIVE TO stepwell_restricted USING (
    (SELECT true FROM stepwell.documents AS d
     WHERE d.user_id = sources.user_id AND d.source_id = sources.source_id LIMIT 1)
);

REVOKE EXECUTE ON FUNCTION stepwell.changed_names(text, bigint, bigint), stepwell.names_to_match(text),
    stepwell.use_list(uuid[])
FROM PUBLIC;

GRANT EXECUTE ON FUNCTION stepwell.changed_names(text, bigint, bigint), stepwell.names_to_match(text),
    stepwell.use_list(uuid[]), stepwell.is_unlinked(text, uuid), stepwell.link_strength(text, bigint),
    stepwell.microseconds(text), stepwell.moments(jsonb), stepwell.plan_each(), stepwell.with_characters(tsvector)
TO stepwell_restricted;

-- Some of these tables mix the rows of documents (`postings`): statements that read them join the chunks.
GRANT SELECT ON stepwell.chunks, stepwell.documents, stepwell.embedding_identity, stepwell.embedding_target,
    stepwell.embeddings, stepwell.entities, stepwell.entity_members, stepwell.entity_names, stepwell.entity_vectors,
    stepwell.entity_words, stepwell.headings, stepwell.hidden_chunks, stepwell.jobs, stepwell.lexemes, stepwell.mentions,
    stepwell.postings, stepwell.source_files, stepwell.sources, stepwell.tenants, stepwell.text_statistics
TO stepwell_restricted;
