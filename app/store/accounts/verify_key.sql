-- Finds an active API key by its id and the SHA-256 of its secret; no row unless both match.
-- Columns: user_id, scopes.
-- :key_id text  id of the key
-- :secret_hash bytea  SHA-256 of the secret
SELECT v.user_id, v.scopes FROM stepwell.verify_key(:key_id, :secret_hash) AS v
