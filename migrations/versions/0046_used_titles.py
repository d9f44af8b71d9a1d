"""Lists a title as an entity only if it is used as a name; a restricted caller must see the text that does so.

Every title is a name of texts until the documents are linked again, which the new version of the rules for names asks
for. Linking gives the origin `title` to those that are used.

Revision ID: 0046
Revises: 0045
"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

FUNCTION = """
CREATE OR REPLACE FUNCTION stepwell.visible_entities(p_user text)
RETURNS TABLE(entity_id uuid, name text, type text, origin text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
in_documents AS MATERIALIZED (
    SELECT m.entity_id, bool_or(m.kind <> 'text') AS is_named, bool_or(m.kind = 'title') AS is_title,
           bool_or(m.kind = 'text') AS is_mentioned
    FROM seen AS s JOIN stepwell.mentions AS m ON m.user_id = p_user AND m.document_id = s.document_id
    GROUP BY m.entity_id, m.document_id
),
linked AS MATERIALIZED (
    SELECT l.entity_id, bool_or(l.is_named) AS is_named, bool_or(l.is_title) AND bool_or(l.is_use) AS is_used_title
    FROM (
        SELECT m.entity_id, m.is_named, m.is_title, m.is_mentioned AND NOT m.is_title AS is_use FROM in_documents AS m
        UNION
        SELECT h.entity_id, true, false, false
        FROM seen AS s JOIN stepwell.headings AS h ON h.user_id = p_user AND h.document_id = s.document_id
    ) AS l
    GROUP BY l.entity_id
)
SELECT e.entity_id, e.name, e.type, e.origin
FROM stepwell.entities AS e
LEFT JOIN linked AS l ON l.entity_id = e.entity_id
WHERE e.user_id = p_user AND e.origin <> 'text'
  AND ((CASE e.origin WHEN 'title' THEN l.is_used_title ELSE l.is_named END)
       OR (e.origin = 'user' AND l.entity_id IS NOT NULL)
       OR (e.origin = 'user' AND (SELECT true FROM restriction) AND stepwell.is_unlinked(p_user, e.entity_id)))
$$
"""


def upgrade() -> None:
    """Lower the origin of all titles, and replace the function where there are restricted callers."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    op.execute("UPDATE stepwell.entities SET origin = 'text' WHERE origin = 'title'")
    if op.get_bind().scalar(sa.text("SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL")):
        return
    op.execute(FUNCTION)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
