"""A user has synonyms: groups of words and phrases that are searched for one another.

Revision ID: 0029
Revises: 0028
"""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

# `synonyms_version` is the user's version when they were stored, 0 without synonyms.
COLUMNS = """
ALTER TABLE stepwell.tenants
ADD COLUMN synonyms JSONB DEFAULT '[]' NOT NULL,
ADD COLUMN synonyms_version BIGINT DEFAULT 0 NOT NULL
"""

# The version of the synonyms ends the array, for users who have some: a process of the revision before reads the rest.
ENTER_PLAIN = """
CREATE OR REPLACE FUNCTION stepwell.enter_plain(p_user text, p_timeout_ms integer, p_candidates integer)
RETURNS bigint[] LANGUAGE plpgsql AS $$
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
             || t.calibration || CASE WHEN t.synonyms_version > 0 THEN ARRAY[t.synonyms_version] END
         FROM stepwell.tenants AS t WHERE t.user_id = p_user), ARRAY[0, 0, 0, stored, 0]);
END
$$
"""


def upgrade() -> None:
    """Add the columns, which no existing row is rewritten for, and replace the function."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (COLUMNS, ENTER_PLAIN):
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
