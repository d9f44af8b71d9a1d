"""Stores, reads, changes and deletes documents."""

from __future__ import annotations

from app.capability import Capability, Command

DOCUMENTS = Capability(
    exports=("documents",),
    routers=("documents.api.router:router", "documents.api.selection_router:router"),
    tags={"documents": "Store, read and delete documents."},
    installs=("documents.api.document_bodies:install",),
    commands={
        "ingest": Command("store", "documents.commands.ingest:ingest", "Add files and folders."),
        "documents": Command("store", "documents.commands.documents:app", "List, show and delete documents."),
        "stats": Command("store", "documents.commands.documents:stats", "Print numbers of what is stored."),
    },
    missed_filters=("documents.operations:find_missed",),
    jobs=("documents.storing.large_documents:KIND", "documents.storing.large_documents:REMOVAL"),
)
