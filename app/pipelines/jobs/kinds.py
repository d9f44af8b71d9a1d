"""Lists the kinds of background jobs, each of which is declared in the module with its handler."""

from __future__ import annotations

from app.pipelines.documents import large_documents, posting_removal
from app.pipelines.linking import llm_entities, mention_refresh
from app.pipelines.maintenance import reindex
from app.pipelines.sources import source_sync

ALL = (
    mention_refresh.KIND,
    large_documents.KIND,
    posting_removal.KIND,
    reindex.KIND,
    source_sync.KIND,
    llm_entities.KIND,
)
