"""The schema of revision 0040, in place of the revisions before it.

Revision ID: 0040
Revises:
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import context, op

revision = "0040"
down_revision = None
branch_labels = None
depends_on = None

# Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer, which are indexed as pairs of characters, and their marks.
BASES = (
    r"\u3005-\u3007\u3040-\u3098\u309b-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    r"\U00020000-\U000323af\u0e01-\u0e30\u0e32\u0e33\u0e3b-\u0e46\u0e80-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec7\u1000-\u102a"
    r"\u103f-\u1049\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e\u1090-\u1099\u109e\u109f"
    r"\u1780-\u17b3"
)
MARKS = (
    r"\u3099\u309a\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059"
    r"\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3"
)

TENANT_TABLES = (
    "audit_log", "chunks", "document_facets", "documents", "embedding_cache", "embeddings", "entities",
    "entity_changes", "entity_members", "entity_names", "entity_vectors", "entity_words", "facet_changes",
    "facet_keys", "facet_values", "feedback", "headings", "hidden_chunks", "idempotency_keys", "lexemes", "mentions",
    "postings", "recognised_pictures", "source_files", "sources", "staged_chunks", "staged_documents", "tenants",
    "text_statistics",
)  # fmt: skip
OWN = "user_id = NULLIF(current_setting('stepwell.user_id', true), '')"


def upgrade() -> None:
    """Create everything, typed by the embedding model of the settings; a Citus cluster has no restricted callers."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'")
    for name in ("roles", "tables", "functions"):
        _run(name)
    for table in TENANT_TABLES:
        op.execute(f"ALTER TABLE stepwell.{table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY own_rows ON stepwell.{table} USING ({OWN}) WITH CHECK ({OWN})")
    if not op.get_bind().scalar(sa.text("SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL")):
        _run("restricted")
    identity = (
        "INSERT INTO stepwell.embedding_identity (model, dimension, keyed_by) VALUES (:model, :dimension, :model)"
    )
    model, dimension = context.config.attributes["model"], context.config.attributes["dimension"]
    op.execute(sa.text(identity).bindparams(model=str(model), dimension=int(dimension)))


def _run(name: str) -> None:
    """Run the statements of a file. Each ends with a semicolon before an empty line, which no function contains."""
    script = Path(__file__).with_name(f"0040_{name}.sql").read_text(encoding="utf-8")
    dimension = str(int(context.config.attributes["dimension"]))
    for placeholder, value in (("{bases}", BASES), ("{marks}", MARKS), ("{dimension}", dimension)):
        script = script.replace(placeholder, value)
    for statement in script.rstrip().removesuffix(";").split(";\n\n"):
        op.get_bind().exec_driver_sql(statement)


def downgrade() -> None:
    """Migrations only go forward."""
    raise RuntimeError("migrations only go forward")
