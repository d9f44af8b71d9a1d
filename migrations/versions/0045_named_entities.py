"""Shows a restricted caller only entities that a visible document names: a word in its text is not enough.

Revision ID: 0045
Revises: 0044
"""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

POLICY = """
CREATE POLICY visible ON stepwell.entities AS RESTRICTIVE TO stepwell_restricted USING (
    (SELECT true FROM stepwell.mentions AS m
     WHERE m.user_id = entities.user_id AND m.entity_id = entities.entity_id
       AND m.kind IN ('attendee', 'metadata', 'title') LIMIT 1)
    OR origin IN ('text', 'user')
        AND (SELECT true FROM stepwell.mentions AS m
             WHERE m.user_id = entities.user_id AND m.entity_id = entities.entity_id LIMIT 1)
    OR (SELECT true FROM stepwell.headings AS h
        WHERE h.user_id = entities.user_id AND h.entity_id = entities.entity_id LIMIT 1)
    OR origin = 'user' AND stepwell.is_unlinked(user_id, entity_id)
)
"""
# The same conditions for all entities at once.
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
linked AS MATERIALIZED (
    SELECT l.entity_id, bool_or(l.is_named) AS is_named
    FROM (
        SELECT m.entity_id, m.kind <> 'text' AS is_named
        FROM seen AS s JOIN stepwell.mentions AS m ON m.user_id = p_user AND m.document_id = s.document_id
        UNION
        SELECT h.entity_id, true
        FROM seen AS s JOIN stepwell.headings AS h ON h.user_id = p_user AND h.document_id = s.document_id
    ) AS l
    GROUP BY l.entity_id
)
SELECT e.entity_id, e.name, e.type, e.origin
FROM stepwell.entities AS e
LEFT JOIN linked AS l ON l.entity_id = e.entity_id
WHERE e.user_id = p_user AND e.origin <> 'text'
  AND (l.is_named
       OR (e.origin = 'user' AND l.entity_id IS NOT NULL)
       OR (e.origin = 'user' AND (SELECT true FROM restriction) AND stepwell.is_unlinked(p_user, e.entity_id)))
$$
"""


def upgrade() -> None:
    """Replace the policy and the function where there are restricted callers, which a Citus cluster has not."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    if op.get_bind().scalar(sa.text("SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL")):
        return
    op.execute("DROP POLICY visible ON stepwell.entities")
    op.execute(POLICY)
    op.execute(FUNCTION)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
