"""Answers a question over several hops: follows links and terms from the first results."""

from __future__ import annotations

from app.capability import Capability, Command

MULTIHOP = Capability(
    routers=("multihop.api:router",),
    commands={
        "multihop": Command(
            "search",
            "multihop.commands:multihop",
            "Search over several hops and show how each hit was reached.",
            takes_query=True,
        ),
    },
    deeper=("multihop.auto_depth:answer",),
)
