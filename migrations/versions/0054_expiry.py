"""Deletes the responses kept for idempotency keys, and the changes of names, of all users when they expire.

Revision ID: 0054
Revises: 0053
"""

from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

# They concern all users, whose rows the service's role does not see.
FUNCTION = """
CREATE FUNCTION stepwell.{name}({argument}) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    expired bigint;
BEGIN
    DELETE FROM {rows};
    GET DIAGNOSTICS expired = ROW_COUNT;
    RETURN expired;
END
$$
"""
FUNCTIONS = {
    "expire_responses": (
        "p_seconds integer",
        "stepwell.idempotency_keys AS i WHERE i.created_at < now() - make_interval(secs => greatest(p_seconds, 3600))",
    ),
    "expire_name_changes": (
        "p_before bigint",
        "stepwell.entity_changes AS c WHERE c.pending_since IS NULL AND c.version < p_before",
    ),
}


def upgrade() -> None:
    """Create the functions, for the role of the service alone."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    for name, (argument, rows) in FUNCTIONS.items():
        op.execute(FUNCTION.format(name=name, argument=argument, rows=rows))
        op.execute(f"REVOKE ALL ON FUNCTION stepwell.{name} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION stepwell.{name} TO stepwell_service")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
