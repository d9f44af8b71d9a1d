"""Keeps people, teams and other names, and links them to the texts that mention them."""

from __future__ import annotations

from app.capability import Capability, Command

ENTITIES = Capability(
    exports=("entities",),
    expires=("entities.store.name_changes:expire",),
    routers=("entities.api:router",),
    tags={"entities": "Describe the people, projects and things that documents mention."},
    commands={
        "entities": Command("search", "entities.commands:app", "Import, list and show entities."),
    },
    upgraded=("entities.linking.mention_refresh:relink_old_texts",),
    jobs=(
        "entities.linking.mention_refresh:KIND",
        "entities.linking.llm_extraction:KIND",
    ),
)
