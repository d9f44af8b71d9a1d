"""Documents keep what a site said about the version of the page that they were fetched from.

Revision ID: 0035
Revises: 0033
"""

from alembic import op

revision = "0035"
down_revision = "0033"
branch_labels = None
depends_on = None

COLUMN = "ALTER TABLE stepwell.documents ADD COLUMN fetched JSONB"

# The planner takes rows of a table without statistics for as wide as their columns may be. With one more column it
# expects several documents of each user from 384 kB on, and no longer from 256 kB on; see revision 0023.
PLAN_WRITES = """
CREATE OR REPLACE FUNCTION stepwell.plan_writes() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL AND pg_relation_size('stepwell.documents') >= 393216 THEN
        SET LOCAL plan_cache_mode = 'force_generic_plan';
        SET LOCAL enable_sort = on;
        SET LOCAL enable_seqscan = off;
    ELSE
        PERFORM stepwell.plan_each();
    END IF;
END
$$
"""


def upgrade() -> None:
    """Add the column, which is null in every row, and replace the function."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (COLUMN, PLAN_WRITES):
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
