"""Guides a search by the entities of its query: matches them, and raises what is about them."""

from __future__ import annotations

from app.capability import Capability

GUIDANCE = Capability(
    routers=("search.steps.entity_guidance.entity_search_api:router",),
)
