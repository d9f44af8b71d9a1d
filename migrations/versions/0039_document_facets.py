"""Numbers the keys and values of metadata, and keeps their numbers by document and by change, for facets with filters.

Revision ID: 0039
Revises: 0038
"""

from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

DOCUMENT_FACETS = """
CREATE TABLE stepwell.document_facets (
    user_id TEXT NOT NULL,
    document_id UUID NOT NULL,
    ids BYTEA NOT NULL,
    CONSTRAINT pk_document_facets PRIMARY KEY (user_id, document_id),
    CONSTRAINT ck_document_facets_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_document_facets_documents FOREIGN KEY (user_id, document_id)
        REFERENCES stepwell.documents (user_id, document_id) ON DELETE CASCADE
)
"""

FACET_CHANGES = """
CREATE TABLE stepwell.facet_changes (
    user_id TEXT NOT NULL,
    place BIGINT NOT NULL,
    change_id UUID NOT NULL,
    added BYTEA NOT NULL,
    removed BYTEA NOT NULL,
    CONSTRAINT pk_facet_changes PRIMARY KEY (user_id, place),
    CONSTRAINT ck_facet_changes_user_id CHECK (user_id <> '')
)
"""

# The statements of every later version, on the documents that are stored: ids must not depend on what is changed.
IDS_OF_VALUES = """
UPDATE stepwell.facet_values AS f SET id = n.id
FROM (SELECT v.user_id, v.key, v.opening, v.hash,
             row_number() OVER (PARTITION BY v.user_id ORDER BY v.key, v.opening, v.hash) AS id
      FROM stepwell.facet_values AS v) AS n
WHERE f.user_id = n.user_id AND f.key = n.key AND f.opening = n.opening AND f.hash = n.hash
"""
IDS_OF_KEYS = """
UPDATE stepwell.facet_keys AS f SET id = n.id
FROM (SELECT k.user_id, k.key, k.type, row_number() OVER (PARTITION BY k.user_id ORDER BY k.key, k.type) AS id
      FROM stepwell.facet_keys AS k) AS n
WHERE f.user_id = n.user_id AND f.key = n.key AND f.type = n.type
"""
PAIRS = """
CREATE TEMPORARY TABLE facet_pairs ON COMMIT DROP AS
SELECT d.user_id, d.document_id, e.key, e.value, row_number() OVER () AS place
FROM stepwell.documents AS d CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
WHERE length(e.key) <= 200
"""
VALUES_OF_PAIRS = """
CREATE TEMPORARY TABLE facet_values_of_pairs ON COMMIT DROP AS
SELECT s.place, string_agg(int4send(f.id), '' ORDER BY f.hash) AS ids
FROM (
    SELECT p.place, p.user_id, p.key, p.value FROM facet_pairs AS p
    WHERE jsonb_typeof(p.value) NOT IN ('array', 'object')
    UNION ALL
    SELECT p.place, p.user_id, p.key, x.value
    FROM facet_pairs AS p
        CROSS JOIN LATERAL (
            SELECT DISTINCT a.value FROM jsonb_array_elements(p.value) AS a (value)
            WHERE jsonb_typeof(a.value) NOT IN ('array', 'object')) AS x
    WHERE jsonb_typeof(p.value) = 'array') AS s
    JOIN stepwell.facet_values AS f
        ON f.user_id = s.user_id AND f.key = s.key AND f.hash = jsonb_hash_extended(s.value, 0)
        AND f.opening = left(lower(CASE jsonb_typeof(s.value)
                                       WHEN 'number' THEN CAST(trim_scale(CAST(s.value AS numeric)) AS text)
                                       ELSE coalesce(s.value #>> '{}', '') END), 100) COLLATE "C"
GROUP BY s.place
"""
IDS_OF_DOCUMENTS = """
INSERT INTO stepwell.document_facets (user_id, document_id, ids)
SELECT p.user_id, p.document_id,
       int4send(0) || string_agg(int4send(-k.id) || coalesce(v.ids, ''), '' ORDER BY k.key)
FROM facet_pairs AS p
    JOIN stepwell.facet_keys AS k ON k.user_id = p.user_id AND k.key = p.key AND k.type = jsonb_typeof(p.value)
    LEFT JOIN facet_values_of_pairs AS v ON v.place = p.place
GROUP BY p.user_id, p.document_id
"""
STATEMENTS = (
    "LOCK TABLE stepwell.documents, stepwell.facet_keys, stepwell.facet_values IN SHARE ROW EXCLUSIVE MODE",
    # Null where a process of an earlier version has counted the value.
    "ALTER TABLE stepwell.facet_keys ADD COLUMN id INTEGER",
    "ALTER TABLE stepwell.facet_values ADD COLUMN id INTEGER",
    """
    ALTER TABLE stepwell.facet_values
    ADD COLUMN magnitude NUMERIC GENERATED ALWAYS AS (
        CASE jsonb_typeof(value) WHEN 'number' THEN CAST(value AS numeric)
                                 WHEN 'string' THEN stepwell.microseconds(value #>> '{}') END) STORED
    """,
    IDS_OF_VALUES,
    IDS_OF_KEYS,
    "CREATE UNIQUE INDEX ix_facet_keys_id ON stepwell.facet_keys (user_id, id)",
    # As in 0018, because it has two indexes by user now: a new user becomes known to the planner early.
    "ALTER TABLE stepwell.facet_keys SET (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000)",
    "CREATE UNIQUE INDEX ix_facet_values_id ON stepwell.facet_values (user_id, id)",
    DOCUMENT_FACETS,
    # All rows are read at once: ids in the row itself, not compressed.
    "ALTER TABLE stepwell.document_facets ALTER COLUMN ids SET STORAGE EXTERNAL",
    FACET_CHANGES,
    "ALTER TABLE stepwell.facet_changes ALTER COLUMN added SET STORAGE EXTERNAL",
    "ALTER TABLE stepwell.facet_changes ALTER COLUMN removed SET STORAGE EXTERNAL",
    PAIRS,
    VALUES_OF_PAIRS,
    IDS_OF_DOCUMENTS,
    "DROP TABLE facet_pairs, facet_values_of_pairs",
)


def upgrade() -> None:
    """Number what is stored, and add the tables with row-level security."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in STATEMENTS:
        op.execute(statement)
    own = "user_id = NULLIF(current_setting('stepwell.user_id', true), '')"
    for table in ("document_facets", "facet_changes"):
        op.execute(f"ALTER TABLE stepwell.{table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY own_rows ON stepwell.{table} USING ({own}) WITH CHECK ({own})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.{table} TO stepwell_service")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
