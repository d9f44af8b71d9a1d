"""Characters and moments: single characters of scripts without spaces are indexed beside their pairs, ligatures as
their letters, and dates in metadata are stored as the numbers that ranges compare.

Revision ID: 0006
Revises: 0005
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from app.text.words import lexical

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

SLICE = 1_000
"""Chunks that are analysed again by one statement."""

# A date or time of ISO 8601, in UTC unless it has an offset. The cast raises an error for 30 February; it depends on no
# setting, because the text is in ISO format and has an offset.
MICROSECONDS = r"""
CREATE FUNCTION stepwell.microseconds(moment text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    trimmed text;
BEGIN
    IF moment !~ ('^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,9})?)?'
                  '\s*([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?)?\s*$') THEN
        RETURN NULL;
    END IF;
    trimmed := replace(btrim(moment), ',', '.');
    RETURN extract(epoch FROM CAST(trimmed || CASE WHEN length(trimmed) = 10 THEN ' 00:00Z'
        WHEN trimmed ~ '([Zz]|[+-][0-9:]+)$' AND length(trimmed) > 10 THEN '' ELSE 'Z' END AS timestamptz)) * 1000000;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END
$$
"""

# The variable $moments of the JSON paths of filters: the dates and times of each key, as microseconds since 1970.
MOMENTS = """
CREATE FUNCTION stepwell.moments(metadata jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_build_object('moments', coalesce(jsonb_object_agg(k.key, k.moments), '{}'))
    FROM (
        SELECT e.key, jsonb_agg(stepwell.microseconds(v.value #>> '{}')) AS moments
        FROM jsonb_each(metadata) AS e (key, value)
        CROSS JOIN LATERAL jsonb_array_elements(
            CASE jsonb_typeof(e.value) WHEN 'array' THEN e.value ELSE jsonb_build_array(e.value) END) AS v (value)
        WHERE jsonb_typeof(v.value) = 'string' AND stepwell.microseconds(v.value #>> '{}') IS NOT NULL
        GROUP BY e.key
    ) AS k
)
"""

COLUMN = """
ALTER TABLE stepwell.documents
ADD COLUMN moments JSONB GENERATED ALWAYS AS (stepwell.moments(metadata)) STORED NOT NULL
"""

# Statements test filters themselves.
DROP_PASSES = """
DROP FUNCTION stepwell.passes(
    uuid, uuid, jsonb, timestamptz, uuid[], uuid[], jsonb, jsonpath, timestamptz, timestamptz)
"""

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

# The characters of a pair are at its position and the next one, where the next pair has the same second character.
# `words` itself is returned for texts in other scripts.
WITH_CHARACTERS = """
CREATE FUNCTION stepwell.with_characters(words tsvector) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN CAST(words AS text) !~ '[{bases}]' THEN words ELSE (
    SELECT CAST(CAST(words AS text) || coalesce(string_agg(' ' || u.single || ':' || u.positions, ''), '') AS tsvector)
    FROM (
        SELECT s.single, string_agg(CAST(s.position AS text), ',') AS positions
        FROM unnest(words) AS t
        CROSS JOIN LATERAL (
            SELECT CASE length(t.lexeme) WHEN 2 THEN right(t.lexeme, 1)
                   ELSE substring(t.lexeme FROM '[{bases}][{marks}]*$') END AS second
        ) AS m
        CROSS JOIN LATERAL unnest(t.positions) AS p (position)
        CROSS JOIN LATERAL (VALUES
            (left(t.lexeme, length(t.lexeme) - length(m.second)), p.position), (m.second, p.position + 1)
        ) AS s (single, position)
        WHERE t.lexeme ~ '^[{bases}][{marks}]*[{bases}][{marks}]*$'
        GROUP BY s.single
    ) AS u
) END
""".replace("{bases}", BASES).replace("{marks}", MARKS)

PRIVILEGES = (
    "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA stepwell FROM PUBLIC",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA stepwell TO stepwell_service",
)

STAGE = """
CREATE TEMPORARY TABLE reindexed (
    user_id text, chunk_no bigint, config text, tsv tsvector, length integer, old_tsv tsvector, old_length integer,
    PRIMARY KEY (user_id, chunk_no)
) ON COMMIT DROP
"""

# The letters that `index_text` reads differently from this revision on.
WITH_LIGATURES = """
SELECT c.user_id, c.chunk_no, c.config, d.title, c.heading_path, c.content
FROM stepwell.chunks AS c JOIN stepwell.documents AS d ON d.user_id = c.user_id AND d.document_id = c.document_id
WHERE (c.user_id, c.chunk_no) > (:user_id, :chunk_no)
  AND concat_ws(' ', d.title, CAST(c.heading_path AS text), c.content) ~ CASE
          WHEN c.config IN ('english', 'simple') THEN '[ŒÆÞ]' WHEN c.config = 'french' THEN '[œŒæÆ]' ELSE '[œŒ]' END
ORDER BY c.user_id, c.chunk_no
LIMIT :slice
"""

ANALYSE = """
INSERT INTO reindexed (user_id, chunk_no, config, tsv, length, old_tsv, old_length)
SELECT c.user_id, c.chunk_no, c.config, stepwell.with_characters(w.words),
       CAST((SELECT coalesce(sum(cardinality(t.positions)), 0) FROM unnest(w.words) AS t) AS integer), c.tsv, c.length
FROM unnest(CAST(:user_ids AS text[]), CAST(:chunk_nos AS bigint[]), CAST(:indexed AS text[]))
    AS g (user_id, chunk_no, indexed)
JOIN stepwell.chunks AS c ON c.user_id = g.user_id AND c.chunk_no = g.chunk_no
CROSS JOIN LATERAL to_tsvector(CAST(c.config AS regconfig), g.indexed) AS w (words)
"""

ADD_CHARACTERS = """
INSERT INTO reindexed (user_id, chunk_no, config, tsv, length, old_tsv, old_length)
SELECT c.user_id, c.chunk_no, c.config, w.tsv, c.length, c.tsv, c.length
FROM stepwell.chunks AS c CROSS JOIN LATERAL (SELECT stepwell.with_characters(c.tsv) AS tsv OFFSET 0) AS w
WHERE w.tsv IS DISTINCT FROM c.tsv
ON CONFLICT DO NOTHING
"""

POSTING = "(r.chunk_no << 24) | (CAST(least(cardinality(t.positions), 255) AS bigint) << 16) | least(r.$length, 65535)"

# Only lexemes whose postings change are rewritten, each from its stored postings and the changed chunks.
REWRITE = (
    "DELETE FROM reindexed WHERE tsv = old_tsv AND length = old_length",
    """
    CREATE TEMPORARY TABLE moved ON COMMIT DROP AS
    SELECT user_id, lexeme COLLATE "C" AS lexeme, o.item AS gone, n.item AS added
    FROM (
        SELECT r.user_id, r.chunk_no, t.lexeme, {old_posting} AS item
        FROM reindexed AS r CROSS JOIN LATERAL unnest(r.old_tsv) AS t
    ) AS o
    FULL JOIN (
        SELECT r.user_id, r.chunk_no, t.lexeme, {posting} AS item
        FROM reindexed AS r CROSS JOIN LATERAL unnest(r.tsv) AS t
    ) AS n USING (user_id, chunk_no, lexeme)
    WHERE o.item IS DISTINCT FROM n.item
    """.replace("{old_posting}", POSTING.replace("$length", "old_length")).replace(
        "{posting}", POSTING.replace("$length", "length")
    ),
    """
    CREATE TEMPORARY TABLE blocks ON COMMIT DROP AS
    WITH touched AS (SELECT DISTINCT m.user_id, m.lexeme FROM moved AS m),
    present AS (
        SELECT p.user_id, p.lexeme, i.item
        FROM touched AS g
        JOIN stepwell.postings AS p ON p.user_id = g.user_id AND p.lexeme = g.lexeme
        CROSS JOIN LATERAL unnest(p.items) AS i (item)
        LEFT JOIN moved AS m ON m.user_id = p.user_id AND m.lexeme = p.lexeme AND m.gone = i.item
        WHERE m.gone IS NULL
        UNION ALL
        SELECT m.user_id, m.lexeme, m.added FROM moved AS m WHERE m.added IS NOT NULL
    )
    SELECT b.user_id, b.lexeme, b.block, min(b.item) >> 24 AS first_no, array_agg(b.item ORDER BY b.item) AS items
    FROM (
        SELECT o.*, (row_number() OVER (PARTITION BY o.user_id, o.lexeme ORDER BY o.item) - 1) / 128 AS block
        FROM present AS o
    ) AS b
    GROUP BY b.user_id, b.lexeme, b.block
    """,
    """
    DELETE FROM stepwell.postings AS p USING (SELECT DISTINCT user_id, lexeme FROM moved) AS m
    WHERE p.user_id = m.user_id AND p.lexeme = m.lexeme
    """,
    """
    DELETE FROM stepwell.lexemes AS l USING (SELECT DISTINCT user_id, lexeme FROM moved) AS m
    WHERE l.user_id = m.user_id AND l.lexeme = m.lexeme
    """,
    """
    INSERT INTO stepwell.postings (user_id, lexeme, first_no, items)
    SELECT user_id, lexeme, first_no, items FROM blocks ORDER BY user_id, lexeme, first_no
    """,
    """
    INSERT INTO stepwell.lexemes (user_id, lexeme, df, tail_no, tail_size)
    SELECT user_id, lexeme, sum(cardinality(items)), max(first_no),
           (array_agg(cardinality(items) ORDER BY block DESC))[1]
    FROM blocks
    GROUP BY user_id, lexeme
    ORDER BY user_id, lexeme
    """,
    """
    UPDATE stepwell.chunks AS c SET tsv = r.tsv, length = r.length FROM reindexed AS r
    WHERE c.user_id = r.user_id AND c.chunk_no = r.chunk_no
    """,
    """
    UPDATE stepwell.text_statistics AS s SET tokens = s.tokens + d.tokens
    FROM (
        SELECT user_id, config, sum(length - old_length) AS tokens FROM reindexed GROUP BY user_id, config
    ) AS d
    WHERE s.user_id = d.user_id AND s.config = d.config AND d.tokens <> 0
    """,
)


def upgrade() -> None:
    """Add the functions and the column, and analyse the stored chunks again that the new rules change."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (MICROSECONDS, MOMENTS, COLUMN, DROP_PASSES, WITH_CHARACTERS, *PRIVILEGES, STAGE):
        op.execute(statement)
    _analyse_ligatures()
    op.execute(ADD_CHARACTERS)
    for statement in REWRITE:
        op.execute(statement)


def _analyse_ligatures() -> None:
    connection = op.get_bind()
    user_id, chunk_no = "", 0
    while rows := connection.execute(
        sa.text(WITH_LIGATURES), {"user_id": user_id, "chunk_no": chunk_no, "slice": SLICE}
    ).all():
        columns = {
            "user_ids": [row.user_id for row in rows],
            "chunk_nos": [row.chunk_no for row in rows],
            "indexed": [_indexed(row) for row in rows],
        }
        connection.execute(sa.text(ANALYSE), columns)
        user_id, chunk_no = rows[-1].user_id, rows[-1].chunk_no


def _indexed(row: sa.Row[Any]) -> str:
    """The text of a chunk as it is indexed: title, headings and content."""
    headings = [heading for heading in row.heading_path if heading != row.title]
    text = "\n".join(part for part in (row.title, " › ".join(headings), row.content) if part)
    return lexical.index_text(text, row.config)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
