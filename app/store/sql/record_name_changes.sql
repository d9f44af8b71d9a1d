-- Records that names changed. The caller holds the user's lock. Columns: none.
-- :user_id text
-- :keys bytea[]
-- :names text[]
-- :version bigint  the user's names_version that the change made
-- :lowered boolean  metadata names them no more; remembered until it was followed
INSERT INTO stepwell.entity_changes AS c (user_id, name_key, name, version, lowered)
SELECT :user_id, g.name_key, g.name, :version, :lowered FROM unnest(:keys, :names) AS g (name_key, name)
ON CONFLICT (user_id, name_key) DO UPDATE
SET name = excluded.name, version = excluded.version, pending = true,
    lowered = excluded.lowered OR (c.pending AND c.lowered)
