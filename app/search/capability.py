"""Declares what this folder adds to the service."""

from __future__ import annotations

from app.capability import Capability, Command

SEARCH = Capability(
    routers=("search.api.router:router",),
    tags={"search": "Search for passages."},
    commands={
        "search": Command("search.commands.search:search", "Search the documents.", takes_query=True),
    },
)
