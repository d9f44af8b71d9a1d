"""${message}

Revision ID: ${up_revision}
Revises: ${down_revision | comma,n}
"""

import pgvector.sqlalchemy  # noqa: F401
import sqlalchemy as sa  # noqa: F401
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    ${upgrades if upgrades else ""}


def downgrade() -> None:
    ${downgrades if downgrades else "raise RuntimeError('migrations only go forward')"}
