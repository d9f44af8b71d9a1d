"""Gives the names and roles of added entities in scripts beyond Latin, Greek and Cyrillic keys that tell more apart.

Vowel signs are letters, digits and letters with several spellings have one, and runs of scripts without spaces are
words of their own. Names from documents follow when the documents are linked again.

Revision ID: 0050
Revises: 0049
"""

import re
import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

NAMES = """
SELECT n.user_id, n.entity_id, n.name AS text, n.name_key AS key FROM stepwell.entity_names AS n
JOIN stepwell.entities AS e ON e.user_id = n.user_id AND e.entity_id = n.entity_id
WHERE e.origin = 'user' AND octet_length(n.name) > char_length(n.name)
"""
ROLES = """
SELECT e.user_id, e.entity_id, e.role AS text, w.lexeme AS key FROM stepwell.entities AS e
JOIN stepwell.entity_words AS w ON w.user_id = e.user_id AND w.entity_id = e.entity_id
WHERE e.origin = 'user' AND octet_length(e.role) > char_length(e.role) AND starts_with(w.lexeme, 'role:')
"""
# An entity that has the new key by another name keeps that.
CHANGE = """
UPDATE stepwell.{table} AS k SET {column} = :changed
WHERE k.user_id = :user_id AND k.entity_id = :entity_id AND k.{column} = :key
  AND NOT EXISTS (SELECT FROM stepwell.{table} AS o
                  WHERE o.user_id = :user_id AND o.entity_id = :entity_id AND o.{column} = :changed)
"""
UNSPACED = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    r"\U00020000-\U000323af\u0e01-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u1100-\u11ff]"
)
ACCENTS = re.compile(r"[\u0300-\u08ff\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ua66f-\ua69f\ufb1e\ufe20-\ufe2f]")
OMITTED = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0655\u0670\u06d6-\u06dc\u093c\u200d]"
)
SAME_LETTERS = str.maketrans("\u06cc\u06a9\u06c1\u06c0\u066b\u066c", "\u064a\u0643\u0647\u0647.,")
LENGTH, KEY_BYTES = 40, 1_000


def upgrade() -> None:
    """Change the keys that the words of names and roles give now."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    connection = op.get_bind()
    names = [
        {**row, "changed": key(row["text"]).encode()}
        for row in connection.execute(sa.text(NAMES)).mappings()
        if row["key"] == former_key(row["text"]).encode()
    ]
    roles = [
        {**row, "changed": f"role:{key(row['text'])}"}
        for row in connection.execute(sa.text(ROLES)).mappings()
        if row["key"] == f"role:{former_key(row['text'])}"
    ]
    for table, column, rows in (("entity_names", "name_key", names), ("entity_words", "lexeme", roles)):
        if changes := [row for row in rows if row["changed"] != row["key"] and len(row["changed"]) <= KEY_BYTES]:
            connection.execute(sa.text(CHANGE.format(table=table, column=column)), changes)


def former_key(name: str) -> str:
    """The key of a name before this revision: without marks, its letters and digits divided by everything else."""
    shown = (one for one in unicodedata.normalize("NFKD", name.casefold()) if not is_mark(one))
    return " ".join(word[:LENGTH] for word in re.findall(r"[^\W_]+", "".join(shown)))


def key(name: str) -> str:
    """The key of a name."""
    unified = OMITTED.sub("", name.casefold()).translate(SAME_LETTERS)
    unified = re.sub("[^\\D0-9]", lambda digit: str(unicodedata.decimal(digit[0])), unified)
    words, last = [""], None
    for one in "".join(unicodedata.normalize("NFKD", letter) for letter in unified):
        mark = is_mark(one)
        if mark and ACCENTS.match(one):
            continue
        unspaced = UNSPACED.match(one) is not None
        if last is not None and (mark or one.isalnum()) and (unspaced == last or (mark and not last)):
            words[-1] += one
        else:
            last = unspaced if one.isalnum() or (mark and unspaced) else None
            words.append("" if last is None else one)
    return " ".join(word[:LENGTH] for word in words if word)


def is_mark(character: str) -> bool:
    """Whether a character is a combining mark."""
    return unicodedata.category(character) in ("Mn", "Mc")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
