"""Tells the nodes of a Citus cluster the settings of a transaction, the user among them.

Citus passes on SET LOCAL, but not `set_config`, which revision 0049 put into its place: every write was refused.

Revision ID: 0053
Revises: 0052
"""

from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

FUNCTION = """
CREATE OR REPLACE FUNCTION stepwell.enter_plain(p_user text, p_timeout_ms integer, p_candidates integer)
RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    on_citus boolean := to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL;
    stored bigint := 0;
    breadth float8;
    made text := set_config('stepwell.user_id', p_user, true);
BEGIN
    IF on_citus THEN
        EXECUTE format('SET LOCAL stepwell.user_id = %L', p_user);
        EXECUTE format('SET LOCAL statement_timeout = %s', p_timeout_ms);
        SET LOCAL lock_timeout = '10s';
        SET LOCAL jit = off;
        SET LOCAL max_parallel_workers_per_gather = 0;
        SET LOCAL enable_memoize = off;
        SET LOCAL enable_mergejoin = off;
        SET LOCAL plan_cache_mode = 'force_custom_plan';
    ELSE
        made := set_config('statement_timeout', CAST(p_timeout_ms AS text), true);
        made := set_config('lock_timeout', '10s', true);
        made := set_config('jit', 'off', true);
        made := set_config('max_parallel_workers_per_gather', '0', true);
        made := set_config('enable_memoize', 'off', true);
        made := set_config('enable_mergejoin', 'off', true);
    END IF;
    IF p_candidates > 0 THEN
        stored := coalesce((
            SELECT pg_relation_size(e.tableoid) / CAST(current_setting('block_size') AS bigint)
                   * greatest(1, 8152 / (pg_column_size(e.embedding) + 76))
            FROM stepwell.embeddings AS e WHERE e.user_id = p_user ORDER BY e.chunk_no LIMIT 1), 0);
        breadth := p_candidates * 1.1;
        IF stored > 20000 THEN
            breadth := p_candidates * (1.1 + 0.5 * log(2, CAST(stored / 20000.0 AS numeric)));
        END IF;
        breadth := least(1000, ceil(breadth));
        IF on_citus THEN
            EXECUTE format('SET LOCAL hnsw.ef_search = %s', breadth);
            SET LOCAL hnsw.iterative_scan = 'strict_order';
            SET LOCAL hnsw.max_scan_tuples = 2147483647;
            SET LOCAL hnsw.scan_mem_multiplier = 16;
        ELSE
            made := set_config('hnsw.ef_search', CAST(breadth AS text), true);
            made := set_config('hnsw.iterative_scan', 'strict_order', true);
            made := set_config('hnsw.max_scan_tuples', '2147483647', true);
            made := set_config('hnsw.scan_mem_multiplier', '16', true);
        END IF;
    END IF;
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        SET LOCAL plan_cache_mode = 'force_generic_plan';
        SET LOCAL enable_sort = off;
        SET LOCAL enable_seqscan = off;
    END IF;
    RETURN coalesce(
        (SELECT ARRAY[t.version, t.names_version, CASE WHEN EXISTS (
             SELECT FROM stepwell.hidden_chunks AS h WHERE h.user_id = p_user) THEN 1 ELSE 0 END, stored, coalesce((
             SELECT CAST(sum(s.chunks) AS bigint) FROM stepwell.text_statistics AS s WHERE s.user_id = p_user), 0)]
             || t.calibration || CASE WHEN t.synonyms_version > 0 THEN ARRAY[t.synonyms_version] END
         FROM stepwell.tenants AS t WHERE t.user_id = p_user), ARRAY[0, 0, 0, stored, 0]);
END
$$
"""


def upgrade() -> None:
    """Replace the function."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(FUNCTION)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
