"""Gives the names and roles of added entities keys with ASCII letters for ø, ł, đ, ı, æ, œ, þ, ð and ħ.

Names from documents follow when the documents are linked again. They then have other ids, which their teams get here.

Revision ID: 0055
Revises: 0054
"""

import hashlib
from uuid import UUID

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
MEMBERS = """
SELECT DISTINCT g.user_id, g.member_id AS former, convert_from(n.name_key, 'UTF8') AS text
FROM stepwell.entity_members AS g
JOIN stepwell.entities AS e ON e.user_id = g.user_id AND e.entity_id = g.member_id
JOIN stepwell.entity_names AS n ON n.user_id = g.user_id AND n.entity_id = g.member_id
WHERE e.origin <> 'user' AND n.place = 0 AND convert_from(n.name_key, 'UTF8') ~ '[øłđıæœþðħ]'
"""
REPLACE_MEMBER = (
    """
    INSERT INTO stepwell.entities (user_id, entity_id, type, name, origin)
    SELECT e.user_id, CAST(:id AS uuid), e.type, e.name, 'text' FROM stepwell.entities AS e
    WHERE e.user_id = :user_id AND e.entity_id = :former ON CONFLICT (user_id, entity_id) DO NOTHING
    """,
    """
    INSERT INTO stepwell.entity_members (user_id, entity_id, member_id)
    SELECT g.user_id, g.entity_id, CAST(:id AS uuid) FROM stepwell.entity_members AS g
    WHERE g.user_id = :user_id AND g.member_id = :former ON CONFLICT (user_id, entity_id, member_id) DO NOTHING
    """,
    "DELETE FROM stepwell.entity_members AS g WHERE g.user_id = :user_id AND g.member_id = :former",
)
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
    for row in connection.execute(sa.text(MEMBERS)).mappings().all():
        new_id = UUID(bytes=hashlib.sha256(row["text"].translate(LETTERS).encode()).digest()[:16])
        for statement in REPLACE_MEMBER:
            connection.execute(sa.text(statement), {**row, "id": new_id})


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
