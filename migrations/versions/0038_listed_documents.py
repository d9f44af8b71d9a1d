"""Lets a search of a restricted caller compare documents with a list, and names with those of the user.

Such a search reads hundreds of rows of chunks and vectors, and the policy looked up the document of each. If the caller
sees few documents, the transaction has their ids in `stepwell.visible_documents`. The first search after a change read
all visible names; now a process keeps the user's names for all callers, and looks up which of those in a query are
visible.

Revision ID: 0038
Revises: 0037
"""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

# CASE keeps the list a hash table that is built once for all rows of a table. The setting is empty after a transaction
# with a list, and the planner reads it too. Without a list the document is looked up as before: by a scalar subquery,
# because EXISTS may be hashed.
OF_DOCUMENT = """CASE
    WHEN (SELECT NULLIF(current_setting('stepwell.visible_documents', true), '') IS NOT NULL)
    THEN document_id IN (
        SELECT unnest(CAST(NULLIF(current_setting('stepwell.visible_documents', true), '') AS uuid[])))
    ELSE (SELECT true FROM stepwell.documents AS d
          WHERE d.user_id = {table}.user_id AND d.document_id = {table}.document_id LIMIT 1) END"""
USE_LIST = """
CREATE FUNCTION stepwell.use_list(p_documents uuid[]) RETURNS text
LANGUAGE sql AS $$
SELECT set_config('stepwell.visible_documents', CAST(p_documents AS text), true)
$$
"""
# Run as the owner, for the caller's own user alone. What they return nominates names, which are then looked up as the
# restricted role.
NAMES_TO_MATCH = """
CREATE FUNCTION stepwell.names_to_match(p_user text) RETURNS TABLE (name text, entity_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
SELECT n.name, n.entity_id
FROM stepwell.entity_names AS n
JOIN stepwell.entities AS e ON e.user_id = n.user_id AND e.entity_id = n.entity_id
WHERE p_user = NULLIF(current_setting('stepwell.user_id', true), '')
  AND n.user_id = p_user AND e.origin IN ('user', 'metadata')
$$
"""
CHANGED_NAMES = """
CREATE FUNCTION stepwell.changed_names(p_user text, p_after bigint, p_most bigint)
RETURNS TABLE (name_key bytea, name text, entity_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
SELECT c.name_key, f.name, f.entity_id
FROM (
    SELECT o.name_key FROM stepwell.entity_changes AS o
    WHERE p_user = NULLIF(current_setting('stepwell.user_id', true), '') AND o.user_id = p_user AND o.version > p_after
    ORDER BY o.version LIMIT p_most
) AS c
LEFT JOIN LATERAL (
    SELECT n.name, n.entity_id
    FROM stepwell.entity_names AS n
    JOIN stepwell.entities AS e ON e.user_id = n.user_id AND e.entity_id = n.entity_id
    WHERE n.user_id = p_user AND n.name_key = c.name_key AND e.origin IN ('user', 'metadata')
) AS f ON true
$$
"""
FUNCTIONS = {
    "use_list(uuid[])": USE_LIST,
    "names_to_match(text)": NAMES_TO_MATCH,
    "changed_names(text, bigint, bigint)": CHANGED_NAMES,
}
TABLES = ("chunks", "embeddings", "mentions", "headings")


def upgrade() -> None:
    """Add the functions and replace the policies; a Citus cluster has none, as it has no keys with filters."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    if op.get_bind().exec_driver_sql("SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL").scalar():
        return
    for signature, function in FUNCTIONS.items():
        op.execute(function)
        op.execute(f"REVOKE ALL ON FUNCTION stepwell.{signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION stepwell.{signature} TO stepwell_restricted")
    for table in TABLES:
        op.execute(f"ALTER POLICY visible ON stepwell.{table} USING ({OF_DOCUMENT.format(table=table)})")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
