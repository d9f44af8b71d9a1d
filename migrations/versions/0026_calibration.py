"""A user has a calibration of relevance, and feedback on the hits of searches.

The calibration is read by the first statement of each transaction, from the row of the user that it reads anyway.

Revision ID: 0026
Revises: 0025
"""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

# `calibration` has intercept and slope of relevance, then those of answerable, in millionths; null: the defaults.
# `calibrated` says from what they were fitted.
COLUMNS = """
ALTER TABLE stepwell.tenants
ADD COLUMN calibration BIGINT[],
ADD COLUMN calibrated JSONB DEFAULT '{}' NOT NULL,
ADD CONSTRAINT ck_tenants_calibration CHECK (cardinality(calibration) = 4)
"""

ENTER_PLAIN = """
CREATE OR REPLACE FUNCTION stepwell.enter_plain(p_user text, p_timeout_ms integer, p_candidates integer)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    stored bigint := stepwell.enter(p_user, p_timeout_ms, p_candidates);
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        SET LOCAL plan_cache_mode = 'force_generic_plan';
        SET LOCAL enable_sort = off;
        SET LOCAL enable_seqscan = off;
    END IF;
    RETURN coalesce(
        (SELECT ARRAY[t.version, t.names_version, CASE WHEN EXISTS (
             SELECT FROM stepwell.hidden_chunks AS h WHERE h.user_id = p_user) THEN 1 ELSE 0 END, stored, coalesce((
             SELECT CAST(sum(s.chunks) AS bigint) FROM stepwell.text_statistics AS s WHERE s.user_id = p_user), 0)]
             || t.calibration
         FROM stepwell.tenants AS t WHERE t.user_id = p_user), ARRAY[0, 0, 0, stored, 0]);
END
$$
"""

# `feedback_id` is made of the query and the passage, so that a later judgement replaces an earlier one.
FEEDBACK = (
    """
    CREATE TABLE stepwell.feedback (
        user_id TEXT NOT NULL,
        feedback_id UUID NOT NULL,
        query TEXT NOT NULL,
        document_id UUID NOT NULL,
        chunk_id UUID,
        helpful BOOLEAN NOT NULL,
        at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
        CONSTRAINT pk_feedback PRIMARY KEY (user_id, feedback_id),
        CONSTRAINT ck_feedback_user_id CHECK (user_id <> ''),
        CONSTRAINT fk_feedback_documents FOREIGN KEY (user_id, document_id)
        REFERENCES stepwell.documents (user_id, document_id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_feedback_user_id_document_id ON stepwell.feedback (user_id, document_id)",
    "CREATE INDEX ix_feedback_user_id_at ON stepwell.feedback (user_id, at)",
    "ALTER TABLE stepwell.feedback ENABLE ROW LEVEL SECURITY",
    """
    CREATE POLICY own_rows ON stepwell.feedback
    USING (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    WITH CHECK (user_id = NULLIF(current_setting('stepwell.user_id', true), ''))
    """,
    "GRANT SELECT, INSERT, UPDATE, DELETE ON stepwell.feedback TO stepwell_service",
)

# Expiry concerns all users, whose rows the service's role does not see.
EXPIRE = (
    """
    CREATE FUNCTION stepwell.expire_feedback(p_days integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
        expired bigint;
    BEGIN
        DELETE FROM stepwell.feedback AS f WHERE f.at < now() - make_interval(days => greatest(p_days, 1));
        GET DIAGNOSTICS expired = ROW_COUNT;
        RETURN expired;
    END
    $$
    """,
    "REVOKE ALL ON FUNCTION stepwell.expire_feedback(integer) FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION stepwell.expire_feedback(integer) TO stepwell_service",
)


def upgrade() -> None:
    """Add the columns, which no existing row is rewritten for, the table with row-level security, and the functions."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (COLUMNS, ENTER_PLAIN, *FEEDBACK, *EXPIRE):
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
