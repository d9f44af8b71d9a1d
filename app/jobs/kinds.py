"""Lists the kinds of background jobs, each of which is declared in the module with its handler."""

from __future__ import annotations

from app.documents.storing import large_documents, posting_removal
from app.entities.linking import llm_entities, mention_refresh
from app.maintenance import reindex
from app.sources import source_sync

ALL = (
    mention_refresh.KIND,
    large_documents.KIND,
    posting_removal.KIND,
    reindex.KIND,
    source_sync.KIND,
    llm_entities.KIND,
)
