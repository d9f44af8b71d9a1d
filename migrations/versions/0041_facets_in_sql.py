"""Facets with filters are counted by SQL, so what processes kept in memory for them is no longer stored.

What only earlier versions used goes, too: calibrations without a scale for several hops, and `verify_key`.

Revision ID: 0041
Revises: 0040
"""

from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

STATEMENTS = (
    "DROP TABLE stepwell.document_facets, stepwell.facet_changes",
    # The primary key contains the column.
    "ALTER TABLE stepwell.facet_values DROP CONSTRAINT pk_facet_values",
    "ALTER TABLE stepwell.facet_values DROP COLUMN id, DROP COLUMN magnitude",
    "ALTER TABLE stepwell.facet_values ADD CONSTRAINT pk_facet_values PRIMARY KEY (user_id, key, opening, hash)",
    "ALTER TABLE stepwell.facet_keys DROP COLUMN id",
    "UPDATE stepwell.tenants SET calibration = calibration || calibration[1:2] WHERE cardinality(calibration) = 4",
    "ALTER TABLE stepwell.tenants DROP CONSTRAINT ck_tenants_calibration",
    "ALTER TABLE stepwell.tenants ADD CONSTRAINT ck_tenants_calibration CHECK (cardinality(calibration) = 6)",
    "DROP FUNCTION stepwell.verify_key(text, bytea)",
)


def upgrade() -> None:
    """Drop what is no longer read."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
