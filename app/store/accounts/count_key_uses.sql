-- Adds uses of API keys to today's counts.
-- :key_ids text[]  ids of the keys
-- :scopes text[]  scope of each use
-- :uses bigint[]  number of uses
SELECT stepwell.count_key_uses(:key_ids, :scopes, :uses)
