"""Finds all entities that a restricted caller sees at once.

The policy on entities looks for a visible mention of each, which is fast for few entities. To list all of them, and to
match all of their names, it would test every mention of every entity whose documents are hidden.

Revision ID: 0033
Revises: 0032
"""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

# Runs as the owner: the conditions are those of the policies of revision 0030, for the caller's own user alone.
VISIBLE_ENTITIES = """
CREATE FUNCTION stepwell.visible_entities(p_user text)
RETURNS TABLE (entity_id uuid, name text, type text, origin text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
WITH restriction AS MATERIALIZED (
    SELECT CAST(NULLIF(current_setting('stepwell.visible', true), '') AS jsonpath) AS path,
           current_setting('stepwell.visible_needs_document', true) = 'true' AS needs_document
    WHERE p_user = NULLIF(current_setting('stepwell.user_id', true), '')
),
seen AS MATERIALIZED (
    SELECT d.document_id
    FROM stepwell.documents AS d
    WHERE d.user_id = p_user
      AND jsonb_path_exists(
          d.metadata, (SELECT r.path FROM restriction AS r),
          CASE WHEN (SELECT r.needs_document FROM restriction AS r)
               THEN d.moments || jsonb_build_object('document', d.document_id, 'source', d.source_id, 'uri', d.uri,
                                                    'created', extract(epoch FROM d.created_at) * 1000000)
               ELSE '{}' END, true)
),
linked AS MATERIALIZED (
    SELECT m.entity_id
    FROM seen AS s JOIN stepwell.mentions AS m ON m.user_id = p_user AND m.document_id = s.document_id
    UNION
    SELECT h.entity_id
    FROM seen AS s JOIN stepwell.headings AS h ON h.user_id = p_user AND h.document_id = s.document_id
)
SELECT e.entity_id, e.name, e.type, e.origin
FROM stepwell.entities AS e
WHERE e.user_id = p_user AND e.origin <> 'text'
  AND (e.entity_id IN (SELECT l.entity_id FROM linked AS l)
       OR (e.origin = 'user' AND (SELECT true FROM restriction) AND stepwell.is_unlinked(p_user, e.entity_id)))
$$
"""
VISIBLE_NAMES = """
CREATE FUNCTION stepwell.visible_names(p_user text)
RETURNS TABLE (name text, entity_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
SELECT n.name, n.entity_id
FROM stepwell.visible_entities(p_user) AS e
JOIN stepwell.entity_names AS n ON n.user_id = p_user AND n.entity_id = e.entity_id
WHERE e.origin IN ('user', 'metadata')
$$
"""


def upgrade() -> None:
    """Add the functions."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    for statement in (VISIBLE_ENTITIES, VISIBLE_NAMES):
        op.execute(statement)
    for function in ("visible_entities", "visible_names"):
        op.execute(f"REVOKE ALL ON FUNCTION stepwell.{function}(text) FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION stepwell.{function}(text) TO stepwell_restricted")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
