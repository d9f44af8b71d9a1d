"""Reads the links between the entities of a query and the candidates of its unguided search.

An entity may have thousands of documents. Only the number, the strongest links, and those of the candidates are read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.database.transactions import SearchTransaction
from app.query.matches import EntityMatch
from app.query.types import HybridRequest, HybridResult
from app.search.steps.guidance.store import entity_cache, entity_lookup
from app.search.steps.guidance.store.entity_cache import EntityCache
from app.search.steps.guidance.store.entity_lookup import LinkedDocuments


@dataclass(frozen=True, slots=True)
class EntityLinks:
    """The links of a query's entities.

    `counts` are the numbers of linked documents by entity, `strengths` the link strengths by entity and document: the
    strongest first, then those of candidates. `mentions` are the mentions by chunk and entity.
    """

    counts: Mapping[UUID, int]
    strengths: Mapping[UUID, Mapping[UUID, float]]
    mentions: Mapping[UUID, Mapping[UUID, int]]

    def documents(self, entity_ids: Collection[UUID]) -> int:
        """The number of documents that are linked to any of the entities; at least that, if one has very many."""
        known = set().union(*(self.strengths[entity_id] for entity_id in entity_ids))
        return max(len(known), *(self.counts[entity_id] for entity_id in entity_ids))


async def of_candidates(
    db: SearchTransaction,
    request: HybridRequest,
    matches: Sequence[EntityMatch],
    result: HybridResult,
    *,
    cache: EntityCache,
) -> EntityLinks:
    """The links of the matched entities and of the candidates of a request's result.

    One statement reads both. With all entities in the cache, those without documents among the candidates need none.
    """
    most = _documents_wanted(request, matches)
    chunks = {one.chunk_id: one.document_id for one in result.candidates}
    cached = entity_cache.link(db, [match.entity_id for match in matches], most, cache=cache)
    if cached is not None:
        known = set().union(*(one.strengths for one in cached.values()))
        complete = all(one.is_complete for one in cached.values())
        chunks = {chunk: document for chunk, document in chunks.items() if not complete or document in known}
    if cached is not None and not chunks:
        return EntityLinks(_counts(cached), {entity_id: one.strengths for entity_id, one in cached.items()}, {})
    found = await entity_lookup.links(db, matches, chunks, documents=most if cached is None else None)
    if cached is None:
        entity_cache.remember(db, found.documents, most, cache=cache)
    linked = found.documents if cached is None else cached
    strengths = {
        entity_id: {
            **one.strengths,
            **{chunks[chunk]: strength for chunk, strength in found.strengths[entity_id].items()},
        }
        for entity_id, one in linked.items()
    }
    return EntityLinks(_counts(linked), strengths, _by_chunk(found.mentions))


def _documents_wanted(request: HybridRequest, matches: Sequence[EntityMatch]) -> int:
    """How many documents with the strongest links are read of each entity.

    As many as the search may add, and as many again, because its candidates may be among them. If the request excludes
    documents, or a document may be linked to several of the entities, all are read that a search may use.
    """
    if len(matches) > 1 or request.filters or request.exclude_chunk_ids:
        return entity_lookup.MAX_DOCUMENTS
    return min(entity_lookup.MAX_DOCUMENTS, 2 * request.limit)


def _counts(linked: Mapping[UUID, LinkedDocuments]) -> dict[UUID, int]:
    return {entity_id: one.count for entity_id, one in linked.items()}


def _by_chunk(mentions: Mapping[UUID, Mapping[UUID, int]]) -> dict[UUID, dict[UUID, int]]:
    """The mentions by chunk and entity; chunks without any are left out."""
    found: dict[UUID, dict[UUID, int]] = {}
    for entity_id, counts in mentions.items():
        for chunk_id, count in counts.items():
            if count:
                found.setdefault(chunk_id, {})[entity_id] = count
    return found
