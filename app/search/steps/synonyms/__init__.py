"""Adds a user's synonyms of a query's words."""

from __future__ import annotations

from app.capability import Capability, Command

SYNONYMS = Capability(
    exports=("synonyms",),
    routers=("search.steps.synonyms.api:router",),
    steps=("search.steps.synonyms.synonyms:STEP",),
    commands={
        "synonyms": Command(
            "search", "search.steps.synonyms.commands:app", "List, replace and remove words that mean the same."
        ),
    },
)
