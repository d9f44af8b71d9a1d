"""Gives the names and roles of added entities keys without the capitals that signs such as № and ™ stand for.

Letters that are one character with the dot or hamza that keys omit are in the keys without it. Names from documents
follow when the documents are linked again.

Revision ID: 0052
Revises: 0051
"""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

NAMES = """
SELECT n.user_id, n.entity_id, convert_from(n.name_key, 'UTF8') AS key FROM stepwell.entity_names AS n
JOIN stepwell.entities AS e ON e.user_id = n.user_id AND e.entity_id = n.entity_id
WHERE e.origin = 'user' AND octet_length(n.name) > char_length(n.name)
"""
ROLES = """
SELECT w.user_id, w.entity_id, w.lexeme AS key FROM stepwell.entity_words AS w
JOIN stepwell.entities AS e ON e.user_id = w.user_id AND e.entity_id = w.entity_id
WHERE e.origin = 'user' AND octet_length(e.role) > char_length(e.role) AND starts_with(w.lexeme, 'role:')
"""
# An entity that has the new key by another name keeps that.
CHANGE = """
UPDATE stepwell.{table} AS k SET {column} = :changed
WHERE k.user_id = :user_id AND k.entity_id = :entity_id AND k.{column} = :key
  AND NOT EXISTS (SELECT FROM stepwell.{table} AS o
                  WHERE o.user_id = :user_id AND o.entity_id = :entity_id AND o.{column} = :changed)
"""
SAME_LETTERS = str.maketrans("\u06cc\u06a9\u06c1", "\u064a\u0643\u0647", "\u093c")


def upgrade() -> None:
    """Change the keys that the words of names and roles give now."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    connection = op.get_bind()
    names = [
        {**row, "key": row["key"].encode(), "changed": key(row["key"]).encode()}
        for row in connection.execute(sa.text(NAMES)).mappings()
    ]
    roles = [{**row, "changed": key(row["key"])} for row in connection.execute(sa.text(ROLES)).mappings()]
    for table, column, rows in (("entity_names", "name_key", names), ("entity_words", "lexeme", roles)):
        if changes := [row for row in rows if row["changed"] != row["key"]]:
            connection.execute(sa.text(CHANGE.format(table=table, column=column)), changes)


def key(former: str) -> str:
    """The key that is now in the place of a former one."""
    return former.casefold().translate(SAME_LETTERS)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
