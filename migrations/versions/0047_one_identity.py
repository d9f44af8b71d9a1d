"""Gives documents the identity that all spellings of their URI share, and drops what was kept of vectors and pages.

Dropped are the cache of vectors of deleted texts, and what sites said about the versions of fetched pages.

Revision ID: 0047
Revises: 0046
"""

import hashlib
import json
import unicodedata
from urllib.parse import quote, unquote

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

FILE = "file://"
# The identities of all other URIs stay.
SPELLED = """
SELECT s.user_id, s.{key} AS id, s.uri FROM stepwell.{table} AS s
WHERE s.uri LIKE 'file:///%' OR s.uri IS NOT NFC NORMALIZED
"""
# Where two documents had spellings of one URI, the second one keeps its own.
CHANGE = """
UPDATE stepwell.{table} AS s SET uri = :uri, identity = :identity
WHERE s.user_id = :user_id AND s.{key} = :id
  AND NOT EXISTS (SELECT FROM stepwell.documents AS o
                  WHERE o.user_id = :user_id AND o.identity = :identity AND o.document_id <> s.document_id)
"""


def upgrade() -> None:
    """Change the rows of documents whose URI is that of a file or not in NFC, and drop a table and a column."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    connection = op.get_bind()
    for table, key in (("documents", "document_id"), ("staged_documents", "job_id")):
        rows = connection.execute(sa.text(SPELLED.format(table=table, key=key))).all()
        changes = [
            {"user_id": row.user_id, "id": row.id, "uri": uri, "identity": identity(uri)}
            for row in rows
            for uri in (compose(row.uri),)
        ]
        if changes:
            connection.execute(sa.text(CHANGE.format(table=table, key=key)), changes)
    op.execute("DROP TABLE stepwell.embedding_cache")
    op.execute("ALTER TABLE stepwell.documents DROP COLUMN fetched")


def identity(uri: str) -> bytes:
    """The hash of the path of a file, or of another URI."""
    path, mark, fragment = uri.partition("#")
    decoded = unquote(path.removeprefix(FILE), errors="surrogateescape")
    is_path = path.startswith(f"{FILE}/") and decoded.isprintable()
    return hashlib.sha256(json.dumps(["uri", decoded + mark + fragment if is_path else uri]).encode()).digest()


def compose(uri: str) -> str:
    """The URI in NFC, of the URI of a file also the characters that are percent-encoded."""
    composed = unicodedata.normalize("NFC", uri)
    if not composed.startswith(f"{FILE}/"):
        return composed
    path, mark, fragment = composed.removeprefix(FILE).partition("#")
    decoded = unquote(path, errors="surrogateescape")
    composed_path = unicodedata.normalize("NFC", decoded)
    if composed_path == decoded:
        return composed
    return FILE + quote(composed_path, errors="surrogateescape") + mark + fragment


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
