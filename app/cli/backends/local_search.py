"""Searches, explains and judges with the services that a command has opened."""

from __future__ import annotations

from app.api.documents.facet_models import MetadataKey, MetadataKeys
from app.api.search.feedback_models import FeedbackRequest, FeedbackResult
from app.api.search.search_models import EntitySearchRequest
from app.api.search.search_responses import EntitySearchResponse, response_of
from app.api.search.synonym_models import StoredGroup, StoredSynonyms, SynonymCounts, Synonyms
from app.cli.backends import requests
from app.cli.backends.backend import Answer, Body
from app.pipelines.documents import facets as facet_pipeline
from app.pipelines.entities import entity_search
from app.pipelines.multihop import depth
from app.pipelines.requests.filter_models import SearchFilters
from app.pipelines.requests.search_request import SearchRequest
from app.pipelines.running.services import Services
from app.pipelines.search import feedback
from app.pipelines.search import synonyms as synonym_pipeline
from app.pipelines.why import why as why_pipeline
from app.pipelines.why.models import WhyRequest
from app.shapes import FacetQuery
from app.store.connection.transactions import Database


async def search(request: Body, user_id: str, services: Services) -> Answer:
    """The answer of a search."""
    asked = requests.read(SearchRequest, request)
    return await _answer(asked, user_id, services)


async def search_multihop(request: Body, user_id: str, services: Services) -> Answer:
    """The answer of a search over several hops."""
    return await _answer(depth.over_hops(requests.read(SearchRequest, request)), user_id, services)


async def why(request: Body, user_id: str, services: Services) -> Answer:
    """Where a passage stands in a search."""
    placement, _ = await why_pipeline.run(requests.read(WhyRequest, request), user_id, services)
    return placement.model_dump(mode="json")


async def search_entities(request: Body, user_id: str, services: Services) -> Answer:
    """Entities that a text names or describes."""
    asked = requests.read(EntitySearchRequest, request)
    return EntitySearchResponse.of(await entity_search.run(asked.shape(user_id), services)).model_dump(mode="json")


async def give_feedback(request: Body, user_id: str, services: Services) -> Answer:
    """What is stored of a judgement."""
    given = requests.read(FeedbackRequest, request)
    document_id = await feedback.give(given.shape(), user_id, services)
    return FeedbackResult(document_id=document_id, helpful=given.helpful).model_dump(mode="json")


async def facets(parameters: Body, user_id: str, services: Services) -> Answer:
    """The keys of metadata."""
    filters = requests.read(SearchFilters, parameters.get("filters") or {}, field="filters").shape()
    query = FacetQuery(filters, parameters.get("key"), parameters.get("prefix") or "", parameters["limit"])
    found = await facet_pipeline.run(query, user_id, services)
    return MetadataKeys(facets=[MetadataKey.of(facet) for facet in found]).model_dump(mode="json")


async def synonyms(user_id: str, db: Database) -> Answer:
    """The groups of synonyms."""
    groups = await synonym_pipeline.get(user_id, db=db)
    return StoredSynonyms(groups=[StoredGroup.of(group) for group in groups]).model_dump(mode="json")


async def set_synonyms(request: Body, user_id: str, db: Database) -> Answer:
    """The numbers of stored groups and terms."""
    groups = [group.shape() for group in requests.read(Synonyms, request).groups]
    await synonym_pipeline.put(user_id, groups, db=db)
    return SynonymCounts.of(groups).model_dump(mode="json")


async def _answer(asked: SearchRequest, user_id: str, services: Services) -> Answer:
    answer = await depth.run(asked, user_id, services)
    answer = await facet_pipeline.explained(answer, asked.filters, user_id, db=services.db)
    return response_of(answer).model_dump(mode="json")
