"""A transaction that writes uses generic plans, so that the check of a foreign key is not planned once a row.

Postgres checks each row's foreign keys with a statement of its own, which obeys plan_cache_mode. Custom plans cost more
than the checks themselves; and for a user whom the planner's statistics do not contain, all indexes that begin with the
user look equally good, so that each mention of a new document was checked by reading all of the user's chunks.

Generic plans are kept for the life of a connection. The planner chooses the right index once the tables have some rows.

Revision ID: 0023
Revises: 0022
"""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

# From 256 kB on, which are 100 to 1,000 documents, the planner expects several of each user. Before that, and on Citus,
# which plans no distributed statement generically, each statement is planned for its own binds.
PLAN_WRITES = """
CREATE FUNCTION stepwell.plan_writes() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL AND pg_relation_size('stepwell.documents') >= 262144 THEN
        SET LOCAL plan_cache_mode = 'force_generic_plan';
        SET LOCAL enable_sort = on;
        SET LOCAL enable_seqscan = off;
    ELSE
        PERFORM stepwell.plan_each();
    END IF;
END
$$
"""

PRIVILEGES = (
    "REVOKE EXECUTE ON FUNCTION stepwell.plan_writes() FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION stepwell.plan_writes() TO stepwell_service",
)


def upgrade() -> None:
    """Create the function."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute(PLAN_WRITES)
    for statement in PRIVILEGES:
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
