"""A search transaction reports how many chunks the user has, so that searches of few chunks are not planned each time.

Revision ID: 0016
Revises: 0015
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

ENTER_PLAIN = """
CREATE OR REPLACE FUNCTION stepwell.enter_plain(p_user text, p_timeout_ms integer, p_candidates integer)
RETURNS bigint[]
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
         FROM stepwell.tenants AS t WHERE t.user_id = p_user), ARRAY[0, 0, 0, stored, 0]);
END
$$
"""


def upgrade() -> None:
    """Replace the function that begins a search."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute(ENTER_PLAIN)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
