"""The index of names by entity does not begin with the user, so that names are looked up by key for a new user too.

The planner takes a user that its statistics do not contain for one without rows. Then every index that begins with the
user looks equally good to it, and it looked up each word sequence of a text by reading all of the user's names: the
documents of the second user of a database took five times as long to store, without the model, until the tables were
analyzed again, up to a minute later.

Revision ID: 0022
Revises: 0021
"""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the index."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute("CREATE INDEX ix_entity_names_entity_id_user_id ON stepwell.entity_names (entity_id, user_id)")
    op.execute("DROP INDEX stepwell.ix_entity_names_user_id_entity_id")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
