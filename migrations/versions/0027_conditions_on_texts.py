"""Expressions search the tsvectors through an index, in which the words of titles and headings have labels.

Revision ID: 0027
Revises: 0026
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from app.text.words import lexical

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

SLICE = 1_000
"""Chunks that are labelled by one statement."""
SEPARATOR = "\x1f"

# Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer, which are indexed as pairs of characters, and their marks.
BASES = (
    r"\u3005-\u3007\u3040-\u3098\u309b-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    r"\U00020000-\U000323af\u0e01-\u0e30\u0e32\u0e33\u0e3b-\u0e46\u0e80-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec7\u1000-\u102a"
    r"\u103f-\u1049\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e\u1090-\u1099\u109e\u109f"
    r"\u1780-\u17b3"
)
MARKS = (
    r"\u3099\u309a\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059"
    r"\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3"
)

# The characters of a pair are at its position and the next one, where the next pair has the same second character, and
# have its label.
# `words` itself is returned for texts in other scripts.
WITH_CHARACTERS = """
CREATE OR REPLACE FUNCTION stepwell.with_characters(words tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN CAST(words AS text) !~ '[{bases}]' THEN words ELSE (
    SELECT CAST(CAST(words AS text) || coalesce(string_agg(' ' || u.single || ':' || u.positions, ''), '') AS tsvector)
    FROM (
        SELECT s.single, string_agg(CAST(s.position AS text) || s.label, ',') AS positions
        FROM unnest(words) AS t
        CROSS JOIN LATERAL (
            SELECT CASE length(t.lexeme) WHEN 2 THEN right(t.lexeme, 1)
                   ELSE substring(t.lexeme FROM '[{bases}][{marks}]*$') END AS second
        ) AS m
        CROSS JOIN LATERAL unnest(t.positions, t.weights) AS p (position, label)
        CROSS JOIN LATERAL (VALUES
            (left(t.lexeme, length(t.lexeme) - length(m.second)), p.position, p.label),
            (m.second, p.position + 1, p.label)
        ) AS s (single, position, label)
        WHERE t.lexeme ~ '^[{bases}][{marks}]*[{bases}][{marks}]*$'
        GROUP BY s.single
    ) AS u
) END
""".replace("{bases}", BASES).replace("{marks}", MARKS)

USERS = "SELECT t.user_id FROM stepwell.tenants AS t ORDER BY t.user_id"

TEXTS = """
SELECT c.chunk_no, c.config, d.title, c.heading_path, c.content
FROM stepwell.chunks AS c JOIN stepwell.documents AS d ON d.user_id = c.user_id AND d.document_id = c.document_id
WHERE c.user_id = :user_id AND c.chunk_no > :chunk_no AND (d.title <> '' OR c.heading_path <> '{}')
ORDER BY c.chunk_no
LIMIT :slice
"""

# Where the stored lexemes are not those of the text, `stepwell repair` rewrites them together with their postings.
LABEL = """
UPDATE stepwell.chunks AS c
SET tsv = n.tsv
FROM (
    SELECT o.chunk_no, stepwell.with_characters(
               setweight(to_tsvector(CAST(o.config AS regconfig), split_part(g.indexed, chr(31), 2)), 'A')
               || setweight(to_tsvector(CAST(o.config AS regconfig), split_part(g.indexed, chr(31), 3)), 'C')
               || setweight(to_tsvector(CAST(o.config AS regconfig), split_part(g.indexed, chr(31), 4)), 'B')
               || to_tsvector(CAST(o.config AS regconfig), split_part(g.indexed, chr(31), 1))) AS tsv
    FROM unnest(CAST(:chunk_nos AS bigint[]), CAST(:indexed AS text[])) AS g (chunk_no, indexed)
    JOIN stepwell.chunks AS o ON o.user_id = :user_id AND o.chunk_no = g.chunk_no
) AS n
WHERE c.user_id = :user_id AND c.chunk_no = n.chunk_no AND tsvector_to_array(n.tsv) = tsvector_to_array(c.tsv)
"""

INDEX = "CREATE INDEX ix_chunks_tsv ON stepwell.chunks USING gin (tsv)"


def upgrade() -> None:
    """Label the words of all chunks, then create the index, which costs less once they are labelled."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute(WITH_CHARACTERS)
    connection = op.get_bind()
    for user_id in connection.scalars(sa.text(USERS)).all():
        _label(connection, user_id)
    op.execute(INDEX)


def _label(connection: sa.Connection, user_id: str) -> None:
    chunk_no = 0
    while rows := connection.execute(sa.text(TEXTS), {"user_id": user_id, "chunk_no": chunk_no, "slice": SLICE}).all():
        columns = {"chunk_nos": [row.chunk_no for row in rows], "indexed": [_indexed(row) for row in rows]}
        connection.execute(sa.text(LABEL), {"user_id": user_id, **columns})
        chunk_no = rows[-1].chunk_no


def _indexed(row: sa.Row[Any]) -> str:
    """The text of a chunk as it is indexed: content, title, title that is a heading as well, headings."""
    headings = [heading for heading in row.heading_path if heading != row.title]
    is_heading = len(headings) < len(row.heading_path)
    fields = (row.content, "" if is_heading else row.title, row.title if is_heading else "", " ".join(headings))
    return SEPARATOR.join(lexical.index_text(field, row.config) for field in fields)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
