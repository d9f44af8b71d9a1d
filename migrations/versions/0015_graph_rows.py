"""A transaction estimates the rows of the user's HNSW graph, and generic plans are used only without Citus.

The estimate is the size of the table that contains the user's vectors, which is a shard in a distributed database, so
that neither the catalogue's statistics nor other nodes are read.

Revision ID: 0015
Revises: 0014
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

DROP = (
    "DROP FUNCTION stepwell.enter_plain(text, integer, integer)",
    "DROP FUNCTION stepwell.enter(text, integer, integer)",
)

# 76 bytes are the item pointer and the other columns of a row, and 8152 the room of a page of 8 kB.
ENTER = """
CREATE FUNCTION stepwell.enter(p_user text, p_timeout_ms integer, p_candidates integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    stored bigint := 0;
    breadth float8;
BEGIN
    EXECUTE format('SET LOCAL stepwell.user_id = %L', p_user);
    EXECUTE format('SET LOCAL statement_timeout = %s', p_timeout_ms);
    SET LOCAL lock_timeout = '10s';
    SET LOCAL jit = off;
    SET LOCAL max_parallel_workers_per_gather = 0;
    IF p_candidates > 0 THEN
        stored := coalesce((
            SELECT pg_relation_size(e.tableoid) / CAST(current_setting('block_size') AS bigint)
                   * greatest(1, 8152 / (pg_column_size(e.embedding) + 76))
            FROM stepwell.embeddings AS e WHERE e.user_id = p_user ORDER BY e.chunk_no LIMIT 1), 0);
        breadth := p_candidates * (1.1 + 0.5 * greatest(0, log(2, CAST(greatest(stored, 1) / 20000.0 AS numeric))));
        EXECUTE format('SET LOCAL hnsw.ef_search = %s', least(1000, CAST(ceil(breadth) AS integer)));
        SET LOCAL hnsw.iterative_scan = 'strict_order';
        SET LOCAL hnsw.max_scan_tuples = 2147483647;
        SET LOCAL hnsw.scan_mem_multiplier = 16;
    END IF;
    SET LOCAL plan_cache_mode = 'force_custom_plan';
    SET LOCAL enable_memoize = off;
    SET LOCAL enable_mergejoin = off;
    RETURN stored;
END
$$
"""

# Citus plans no distributed statement generically.
ENTER_PLAIN = """
CREATE FUNCTION stepwell.enter_plain(p_user text, p_timeout_ms integer, p_candidates integer) RETURNS bigint[]
LANGUAGE plpgsql AS $$
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
             SELECT FROM stepwell.hidden_chunks AS h WHERE h.user_id = p_user) THEN 1 ELSE 0 END]
         FROM stepwell.tenants AS t WHERE t.user_id = p_user), '{0,0,0}') || stored;
END
$$
"""

# Only the coordinator's table is locked, which every transaction passes: LOCK alone would be sent to all nodes.
LOCALLY = "ALTER FUNCTION stepwell.vector_tables(boolean) SET citus.enable_ddl_propagation = off"

PRIVILEGES = (
    "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA stepwell FROM PUBLIC",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA stepwell TO stepwell_service",
)


def upgrade() -> None:
    """Replace the functions that begin a transaction."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for statement in (*DROP, ENTER, ENTER_PLAIN, LOCALLY, *PRIVILEGES):
        op.execute(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
