"""Answers a request by one search, or by what goes deeper if the request asks for it."""

from __future__ import annotations

from dataclasses import replace

from app import capability, errors
from app.concurrency.limiter import UNLIMITED, Released
from app.query import model_switch
from app.query.search_request import SearchRequest
from app.query.types import Answer
from app.search import search
from app.services import Services


def over_hops(query: SearchRequest) -> SearchRequest:
    """The request over several hops. Raises BadRequest if it asks for another depth."""
    if "depth" in query.model_fields_set and query.depth != "thorough":
        raise errors.BadRequest("This search always goes over several hops: leave depth out.", field="depth")
    return query.changed(depth="thorough")


async def run(query: SearchRequest, user_id: str, services: Services, turn: Released = UNLIMITED) -> Answer:
    """The answer of a search, which is `fast`, or of one over several hops, which is `thorough`; `auto` chooses.

    Raises what `search.run` and `multihop.run` raise, and BadRequest for options of hops without hops.
    """
    return await model_switch.run(services.embedder, services.db, lambda: _answer(query, user_id, services, turn))


async def _answer(query: SearchRequest, user_id: str, services: Services, turn: Released) -> Answer:
    if query.depth != "fast":
        (deeper,) = capability.declared("deeper")
        found: Answer = await deeper(query, user_id, services, turn)
        return found
    if query.ranking.hops is not None:
        raise errors.BadRequest("Needs the depth auto or thorough.", field="ranking.hops")
    found = await search.answer(query, user_id, services, turn)
    return replace(found, depth="fast", depth_reason="requested")
