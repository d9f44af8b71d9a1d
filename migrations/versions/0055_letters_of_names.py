"""Gives the names and roles of added entities keys with ASCII letters for ø, ł, đ, ı, æ, œ, þ, ð and ħ.

Names from documents follow when the documents are linked again.

Revision ID: 0055
Revises: 0054
"""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None

KEYS = {
    "entity_names": ("name_key", "convert_from(k.name_key, 'UTF8')"),
    "entity_words": ("lexeme", "k.lexeme"),
}
FORMER = """
SELECT k.user_id, k.entity_id, k.{column} AS key, {text} AS text FROM stepwell.{table} AS k
JOIN stepwell.entities AS e ON e.user_id = k.user_id AND e.entity_id = k.entity_id
WHERE e.origin = 'user' AND {text} ~ '[øłđıæœþðħ]' AND ('{table}' = 'entity_names' OR starts_with({text}, 'role:'))
"""
# An entity that has the new key by another name keeps that.
CHANGE = """
UPDATE stepwell.{table} AS k SET {column} = :changed
WHERE k.user_id = :user_id AND k.entity_id = :entity_id AND k.{column} = :key
  AND NOT EXISTS (SELECT FROM stepwell.{table} AS o
                  WHERE o.user_id = :user_id AND o.entity_id = :entity_id AND o.{column} = :changed)
"""
LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ħ": "h"})


def upgrade() -> None:
    """Change the keys that the words of names and roles give now."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    connection = op.get_bind()
    for table, (column, text) in KEYS.items():
        found = connection.execute(sa.text(FORMER.format(table=table, column=column, text=text))).mappings().all()
        for row in found:
            changed = row["text"].translate(LETTERS)
            values = {**row, "changed": changed.encode() if isinstance(row["key"], bytes) else changed}
            connection.execute(sa.text(CHANGE.format(table=table, column=column)), values)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
