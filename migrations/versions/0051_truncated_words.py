"""Adds the text-search configuration of inflected languages that Postgres has no stemmer for.

The service cuts their words off; the configuration tells them from texts that are indexed as written. Stored texts
follow with `stepwell reindex`.

Revision ID: 0051
Revises: 0050
"""

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the configuration."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("CREATE TEXT SEARCH CONFIGURATION stepwell.truncated (COPY = pg_catalog.simple)")


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
