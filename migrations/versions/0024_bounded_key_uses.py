"""Uses of a key are bounded, so that no count makes the next one fail.

A count of 2^63 - 1 was accepted, and whatever was added to it later overflowed: the uses of all keys that were written
with it were lost. Counts end at 10^12 a day, more than a key can be used.

Revision ID: 0024
Revises: 0023
"""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

# Day and time are the database's own, and only existing keys are counted, so that a caller adds at most a row for each
# key, scope and day. Rows are locked in one order, because several processes flush at once.
COUNT_KEY_USES = """
CREATE OR REPLACE FUNCTION stepwell.count_key_uses(p_key_ids text[], p_scopes text[], p_uses bigint[])
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
INSERT INTO stepwell.key_uses AS u (key_id, day, scope, user_id, uses, last_used_at)
SELECT k.key_id, CAST(now() AT TIME ZONE 'UTC' AS date), g.scope, k.user_id, least(g.uses, 1000000000000), now()
FROM unnest(p_key_ids, p_scopes, p_uses) AS g (key_id, scope, uses)
JOIN stepwell.api_keys AS k ON k.key_id = g.key_id
WHERE g.scope IN ('search', 'write', 'metrics', 'admin') AND g.uses > 0
ORDER BY k.key_id, g.scope
ON CONFLICT (key_id, day, scope) DO UPDATE
SET uses = least(u.uses + excluded.uses, 1000000000000),
    last_used_at = greatest(u.last_used_at, excluded.last_used_at)
$$
"""


def upgrade() -> None:
    """Bound the stored counts, and replace the function."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute("UPDATE stepwell.key_uses SET uses = 1000000000000 WHERE uses > 1000000000000")
    op.execute(COUNT_KEY_USES)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
