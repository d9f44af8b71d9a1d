-- Records changes of names. The caller holds the user's lock.
-- Columns: none.
-- :user_id text  owner of the rows
-- :keys bytea[]  key of each name
-- :names text[]  each name as written
-- :version bigint  names_version of the change
-- :lowered boolean  whether the names were removed from metadata; kept while the change is pending
INSERT INTO stepwell.entity_changes AS c (user_id, name_key, name, version, lowered)
SELECT :user_id, g.name_key, g.name, :version, :lowered FROM unnest(:keys, :names) AS g (name_key, name)
ON CONFLICT (user_id, name_key) DO UPDATE
SET name = excluded.name, version = excluded.version, pending = true,
    lowered = excluded.lowered OR (c.pending AND c.lowered)
