"""Turns a query into its answer: understanding, the hybrid statement, fusion, order and page."""

from __future__ import annotations

from app.capability import Capability, Command

STEPS = (
    "search.steps.corrections:STEP",
    "search.steps.entity_guidance.guidance:STEP",
    "search.steps.relaxation:STEP",
    "search.steps.reranking_and_mmr:RERANKING",
    "search.steps.recency:STEP",
    "search.steps.reranking_and_mmr:DIVERSITY",
    "search.steps.snippets:STEP",
)
"""The steps of a search, in order. The steps of other capabilities follow."""

SEARCH = Capability(
    routers=("search.api:router", "search.merge_api:router"),
    steps=STEPS,
    tags={"search": "Search for passages."},
    commands={
        "search": Command("search", "search.commands:search", "Search the documents.", takes_query=True),
    },
)
