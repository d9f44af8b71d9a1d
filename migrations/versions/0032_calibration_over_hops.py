"""A calibration of relevance has a scale for hits over several hops: six numbers instead of four, which stay valid.

Revision ID: 0032
Revises: 0031
"""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

# `calibration` has intercept and slope of relevance, those of answerable, and those of relevance over several hops, in
# millionths. Without the last two, hits over several hops are calibrated as others.
LENGTHS = """
ALTER TABLE stepwell.tenants
DROP CONSTRAINT ck_tenants_calibration,
ADD CONSTRAINT ck_tenants_calibration CHECK (cardinality(calibration) IN (4, 6))
"""


def upgrade() -> None:
    """Replace the constraint."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute(LENGTHS)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
