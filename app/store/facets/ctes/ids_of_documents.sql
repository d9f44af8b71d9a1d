-- Computes the ids of the keys and values of the metadata of documents: 0, then for each key -id of the key with the type of
-- its value, and the ids of its values; four bytes each.
-- Columns: ids_of_documents: document_id, ids.
-- :user_id text  owner of the rows
-- part some  of these documents only
-- :document_ids uuid[]  ids of documents
pairs AS MATERIALIZED (
    SELECT d.document_id, e.key, e.value
    FROM stepwell.documents AS d LEFT JOIN LATERAL jsonb_each(d.metadata) AS e (key, value) ON {{is_facet e.key}}
    WHERE d.user_id = :user_id
-- if some
      AND d.document_id = ANY (:document_ids)
-- end
),
-- Materialised, because an index is looked up by columns only under row-level security.
keys_and_values AS MATERIALIZED (
    SELECT p.document_id, p.key, jsonb_typeof(p.value) AS type, CAST(NULL AS text) AS opening, CAST(NULL AS bigint) AS hash
    FROM pairs AS p
    UNION ALL
    SELECT v.document_id, v.key, NULL, v.opening, v.hash FROM ({{facet_values pairs, document_id}}) AS v
),
ids_of_documents AS (
    SELECT e.document_id,
           int4send(0) || coalesce(string_agg(int4send(
               CASE WHEN e.hash IS NULL
                    THEN -(SELECT k.id FROM stepwell.facet_keys AS k
                           WHERE k.user_id = :user_id AND k.key = e.key AND k.type = e.type)
                    ELSE (SELECT f.id FROM stepwell.facet_values AS f
                          WHERE f.user_id = :user_id AND f.key = e.key AND f.opening = e.opening AND f.hash = e.hash) END),
               '' ORDER BY e.key, e.hash NULLS FIRST), '') AS ids
    FROM keys_and_values AS e
    GROUP BY e.document_id
)
