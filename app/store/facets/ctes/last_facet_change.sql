-- Finds the last change of ids of documents that was noted, and deletes those that were noted long before.
-- Columns: last_facet_change: place (0 before the first).
-- :user_id text  owner of the rows
-- :kept bigint  number of changes that are kept
last_facet_change AS MATERIALIZED (
    SELECT coalesce(max(c.place), 0) AS place FROM stepwell.facet_changes AS c WHERE c.user_id = :user_id
),
forgotten_changes AS (
    DELETE FROM stepwell.facet_changes AS c
    WHERE c.user_id = :user_id AND c.place <= (SELECT l.place FROM last_facet_change AS l) - :kept
)
