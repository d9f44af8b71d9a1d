"""Keeps how many documents of a user have each key and each value of metadata.

Revision ID: 0036
Revises: 0035
"""

from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

FACET_KEYS = """
CREATE TABLE stepwell.facet_keys (
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    type TEXT NOT NULL,
    documents BIGINT NOT NULL,
    distinct_values BIGINT NOT NULL,
    CONSTRAINT pk_facet_keys PRIMARY KEY (user_id, key, type),
    CONSTRAINT ck_facet_keys_user_id CHECK (user_id <> '')
)
"""
FACET_VALUES = """
CREATE TABLE stepwell.facet_values (
    user_id TEXT NOT NULL,
    key TEXT NOT NULL,
    opening TEXT COLLATE "C" NOT NULL,
    hash BIGINT NOT NULL,
    value JSONB NOT NULL,
    documents BIGINT NOT NULL,
    CONSTRAINT pk_facet_values PRIMARY KEY (user_id, key, opening, hash),
    CONSTRAINT ck_facet_values_user_id CHECK (user_id <> '')
)
"""

# The statements of every later version, on the documents that are stored: counts must not depend on what is changed.
COUNT_VALUES = """
INSERT INTO stepwell.facet_values (user_id, key, opening, hash, value, documents)
SELECT v.user_id, v.key, v.opening, v.hash, (array_agg(v.value))[1], sum(v.documents)
FROM (
    SELECT s.user_id, s.key, s.value, s.documents, jsonb_hash_extended(s.value, 0) AS hash,
           left(lower(CASE jsonb_typeof(s.value)
                          WHEN 'number' THEN CAST(trim_scale(CAST(s.value AS numeric)) AS text)
                          ELSE coalesce(s.value #>> '{}', '') END), 100) COLLATE "C" AS opening
    FROM (
        SELECT p.user_id, p.key, p.value, p.documents
        FROM facet_pairs AS p WHERE jsonb_typeof(p.value) NOT IN ('array', 'object')
        UNION ALL
        SELECT p.user_id, p.key, x.value, p.documents
        FROM facet_pairs AS p
            CROSS JOIN LATERAL (
                SELECT DISTINCT a.value FROM jsonb_array_elements(p.value) AS a (value)
                WHERE jsonb_typeof(a.value) NOT IN ('array', 'object')) AS x
        WHERE jsonb_typeof(p.value) = 'array') AS s) AS v
GROUP BY v.user_id, v.key, v.opening, v.hash
"""
COUNT_KEYS = """
INSERT INTO stepwell.facet_keys (user_id, key, type, documents, distinct_values)
SELECT t.user_id, t.key, t.type, sum(t.documents), sum(t.distinct_values)
FROM (
    SELECT p.user_id, p.key, jsonb_typeof(p.value) AS type, p.documents, 0 AS distinct_values FROM facet_pairs AS p
    UNION ALL
    SELECT v.user_id, v.key, jsonb_typeof(v.value), 0, 1 FROM stepwell.facet_values AS v) AS t
GROUP BY t.user_id, t.key, t.type
"""
STATEMENTS = (
    FACET_KEYS,
    FACET_VALUES,
    "LOCK TABLE stepwell.documents IN SHARE MODE",
    """
    CREATE TEMPORARY TABLE facet_pairs ON COMMIT DROP AS
    SELECT d.user_id, e.key, e.value, count(*) AS documents
    FROM stepwell.documents AS d CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
    WHERE length(e.key) <= 200
    GROUP BY d.user_id, e.key, e.value
    """,
    COUNT_VALUES,
    COUNT_KEYS,
    """
    CREATE INDEX ix_facet_values_documents
    ON stepwell.facet_values (user_id, key, documents DESC, opening, hash)
    """,
    "DROP TABLE facet_pairs",
    # As in 0018: a new user becomes known to the planner early.
    """
    ALTER TABLE stepwell.facet_values
    SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000)
    """,
)


def upgrade() -> None:
    """Add the tables with row-level security, and count the documents."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in STATEMENTS:
        op.execute(statement)
    for table in ("facet_keys", "facet_values"):
        op.execute(f"ALTER TABLE stepwell.{table} ENABLE ROW LEVEL SECURITY")
        own = "user_id = NULLIF(current_setting('stepwell.user_id', true), '')"
        op.execute(f"CREATE POLICY own_rows ON stepwell.{table} USING ({own}) WITH CHECK ({own})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.{table} TO stepwell_service")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
