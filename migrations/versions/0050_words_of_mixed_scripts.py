"""Separates words of scripts without spaces from other words in the keys of the entities that users added.

Names from documents follow when the documents are linked again.

Revision ID: 0050
Revises: 0049
"""

import re

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

UNSPACED = (
    r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af"
    r"\u0e01-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u1100-\u11ff"
)
BOUNDARY = re.compile(rf"(?<=[{UNSPACED}])(?=[^\W_{UNSPACED}])|(?<=[^\W_{UNSPACED}])(?=[{UNSPACED}])")
KEYS = """
SELECT k.user_id, k.entity_id, k.{column} AS key FROM stepwell.{table} AS k
JOIN stepwell.entities AS e ON e.user_id = k.user_id AND e.entity_id = k.entity_id
WHERE e.origin = 'user' AND {wanted}
"""
# An entity that has the new key by another name keeps that.
CHANGE = """
UPDATE stepwell.{table} AS k SET {column} = :changed
WHERE k.user_id = :user_id AND k.entity_id = :entity_id AND k.{column} = :key
  AND NOT EXISTS (SELECT FROM stepwell.{table} AS o
                  WHERE o.user_id = :user_id AND o.entity_id = :entity_id AND o.{column} = :changed)
"""
COLUMNS = (("entity_names", "name_key", "true"), ("entity_words", "lexeme", "starts_with(k.lexeme, 'role:')"))
"""Where the keys of names and roles are."""


def upgrade() -> None:
    """Change the keys in which words of both kinds stand together."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    connection = op.get_bind()
    for table, column, wanted in COLUMNS:
        rows = connection.execute(sa.text(KEYS.format(table=table, column=column, wanted=wanted))).mappings().all()
        changes = [{**row, "changed": changed} for row in rows if (changed := separate(row["key"])) != row["key"]]
        if changes:
            connection.execute(sa.text(CHANGE.format(table=table, column=column)), changes)


def separate(key: str | bytes) -> str | bytes:
    """The key with a space between characters of both kinds."""
    return BOUNDARY.sub(" ", key.decode()).encode() if isinstance(key, bytes) else BOUNDARY.sub(" ", key)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
