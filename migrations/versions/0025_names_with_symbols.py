"""Short names keep their symbols: "C++" and "C#" have different keys, and neither has that of "C".

Keys of names in metadata follow when the documents are linked again, which the service does by itself.

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op

from app.text.names import gazetteer

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# A short name has at most 12 characters, of which some are neither letters, digits nor spaces.
NAMES = """
SELECT n.user_id, n.name_key, n.entity_id, n.name
FROM stepwell.entity_names AS n
JOIN stepwell.entities AS e ON e.user_id = n.user_id AND e.entity_id = n.entity_id
WHERE e.origin = 'user' AND length(n.name) <= 12 AND n.name ~ '[^[:alnum:] ]'
"""
CHANGE = """
UPDATE stepwell.entity_names SET name_key = :new_key
WHERE user_id = :user_id AND entity_id = :entity_id AND name_key = :name_key
"""


def upgrade() -> None:
    """Change the keys of the names that users gave."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    connection = op.get_bind()
    for row in connection.execute(sa.text(NAMES)).all():
        key = gazetteer.key(row.name)
        if key is not None and key.encode() != row.name_key:
            connection.execute(sa.text(CHANGE), {**row._mapping, "new_key": key.encode()})


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
