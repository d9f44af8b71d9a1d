"""Keeps the attributes of documents that filters test with the ids of their keys and values, and indexes these by text.

Revision ID: 0040
Revises: 0039
"""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

# The expressions of every later version, on the documents that are stored. An insertion, because a distributed table
# cannot be updated with the values of functions that are not immutable.
ATTRIBUTES_OF_DOCUMENTS = """
INSERT INTO stepwell.document_facets AS f (user_id, document_id, ids, attributes, texts)
SELECT d.user_id, d.document_id, i.ids,
       int8send(CAST(extract(epoch FROM d.created_at) * 1000000 AS bigint))
           || uuid_send(coalesce(d.source_id, '00000000-0000-0000-0000-000000000000')),
       convert_to(coalesce(d.uri, ''), 'UTF8') || '\\x00'
           || CASE WHEN jsonb_typeof(d.metadata -> 'filename') = 'string'
                   THEN convert_to(d.metadata ->> 'filename', 'UTF8') ELSE '' END || '\\x00'
FROM stepwell.documents AS d
    JOIN stepwell.document_facets AS i ON i.user_id = d.user_id AND i.document_id = d.document_id
ON CONFLICT (user_id, document_id) DO UPDATE SET attributes = excluded.attributes, texts = excluded.texts
"""
STATEMENTS = (
    "LOCK TABLE stepwell.documents, stepwell.document_facets IN SHARE ROW EXCLUSIVE MODE",
    # What a process of an earlier version stores has as many bytes, and what it notes has none.
    "ALTER TABLE stepwell.document_facets "
    f"ADD COLUMN attributes BYTEA NOT NULL DEFAULT '\\x{bytes(24).hex()}', "
    "ADD COLUMN texts BYTEA NOT NULL DEFAULT '\\x0000'",
    *(
        f"ALTER TABLE stepwell.facet_changes ADD COLUMN {column} BYTEA NOT NULL DEFAULT ''"
        for column in ("added_attributes", "added_texts", "removed_attributes", "removed_texts")
    ),
    ATTRIBUTES_OF_DOCUMENTS,
    # Values are looked for by their ids in the order of their text, without reading the rows of those before.
    "ALTER TABLE stepwell.facet_values DROP CONSTRAINT pk_facet_values",
    "ALTER TABLE stepwell.facet_values "
    "ADD CONSTRAINT pk_facet_values PRIMARY KEY (user_id, key, opening, hash) INCLUDE (id)",
)


def upgrade() -> None:
    """Add the columns, and store the attributes of the documents that have ids."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
