"""Keeps stored documents in step with the files of folders."""

from __future__ import annotations

from app.capability import Capability, Command

SOURCES = Capability(
    tables=("sources.store:TABLES",),
    exports=("sources",),
    source_names=("sources.store:names",),
    source_ids=("sources.operations:find",),
    routers=("sources.api:router",),
    tags={"sources": "Keep documents in step with folders of files."},
    commands={
        "sources": Command(
            "store", "sources.commands:app", "Keep documents in step with folders: add, list, sync, remove."
        )
    },
    tools=("sources.tools:TOOLS",),
    optional_tools=("add_source", "sync_source"),
    jobs=("sources.source_sync:KIND",),
    background=("sources.source_watch:run_forever",),
    options=("sources.source_roots:options",),
)
