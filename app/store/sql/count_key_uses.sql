-- Adds uses of API keys to those of today.
-- :key_ids text[]
-- :scopes text[]
-- :uses bigint[]
SELECT stepwell.count_key_uses(:key_ids, :scopes, :uses)
