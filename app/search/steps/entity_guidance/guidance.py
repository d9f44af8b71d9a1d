"""Applies the entities of a query to the candidates of its search: adds linked documents, and orders all together.

If the query is about an entity, the linked documents that the search did not find are added with score 0. All hits are
then ordered by a blend of their scores and the scores of their links, and by their mentions of entities. The aboutness
of the entities weighs both, so a query that merely contains a name keeps the unguided order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from app.database.transactions import SearchTransaction
from app.documents.store import chunk_reads
from app.enums import FusionUsed
from app.query import scoring_constants
from app.query.search_request import SearchRequest
from app.query.search_types import Answer, Candidate, EntityMatch, Hit, HybridRequest, HybridResult, Link
from app.relevance.relevance import MeanEffect
from app.search.state import SearchState, Step, unranked
from app.search.steps.entity_guidance import blending, entity_matching, query_aboutness, store
from app.search.steps.entity_guidance.entity_matching import EntityCache, EntityMatches
from app.search.steps.entity_guidance.store import EntityLinks
from app.text.queries import query_parsing
from app.text.queries.parsed_query import ParsedQuery

CANDIDATES_PER_HIT = 4
MIN_CANDIDATES, MAX_CANDIDATES = 50, 200
"""Least and most candidates to boost and blend. Between these bounds their number is four times the limit."""
MIN_ABOUTNESS = 0.1
"""Least aboutness with which an entity has an effect."""
SURE_ABOUTNESS = 0.8
"""Least aboutness with which a full name may displace the best unguided hits, and `entity` counts as a strategy."""
PROTECTED = 3
"""Best unguided hits that stay among the first ten, unless the query is about an entity and has its full name."""
LITERAL_WITHIN = 10
"""If an unguided hit within this rank contains a phrase or identifier literally, the order is kept."""


@dataclass(frozen=True, slots=True)
class AppliedGuidance:
    """How the entities of a query apply to the candidates of its search.

    `found` are the entities that match the query. `fusion` is the fusion of the scores. `matches` have an aboutness.
    `added` are candidates from linked documents that the search did not find. `links` has the links of chunks to
    entities, `weight` the weight of their scores; if the search is not guided, there are none and `fallback_reason`
    says why. `mentions` has the number of mentions by chunk and entity. `protected` are chunks that stay among the
    first ten. `report` has figures for the explanation.
    """

    found: EntityMatches = field(default_factory=EntityMatches)
    fallback_reason: str | None = None
    fusion: FusionUsed = "convex"
    matches: Sequence[EntityMatch] = ()
    added: Sequence[Candidate] = ()
    links: Mapping[UUID, Link] = field(default_factory=dict)
    weight: float = 0.0
    mentions: Mapping[UUID, Mapping[UUID, int]] = field(default_factory=dict)
    protected: frozenset[UUID] = frozenset()
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def effective(self) -> list[EntityMatch]:
        """The entities with enough aboutness to have an effect."""
        return [match for match in self.matches if (match.aboutness or 0.0) >= MIN_ABOUTNESS]

    @property
    def surely_linked(self) -> frozenset[UUID]:
        """The documents that are linked to an entity that the query is almost certainly about."""
        sure = {match.entity_id for match in self.matches if (match.aboutness or 0.0) >= SURE_ABOUTNESS}
        return frozenset(link.document_id for link in self.links.values() if link.entity_id in sure)


async def expand(search: SearchState, db: SearchTransaction) -> SearchState:
    """Match the entities of the query, and ask for more candidates if one of them may be applied."""
    query, cache = search.query, search.context.services.state(EntityCache)
    with search.context.timed("pass1"):
        # Descriptions of entities are compared with the vector of the text only.
        vector = search.request.vector if query.vector is None else None
        matches = await entity_matching.run(db, query, search.parsed, vector, cache=cache)
    search = search.noted(AppliedGuidance(matches, matches.fallback_reason))
    if not matches.all:
        return search
    search = replace(search, name_words=matches.name_words)
    if not matches.applicable(query.ranking.guidance):
        return search
    return replace(search, pool=min(MAX_CANDIDATES, max(MIN_CANDIDATES, CANDIDATES_PER_HIT * query.limit)))


async def recall(search: SearchState, db: SearchTransaction) -> SearchState:
    """Apply the entities that the query is about to the candidates: add linked documents, and order all together."""
    if not _noted(search).found.all:
        return await _look_up_names(search, db) if search.lacks_words else search
    with search.context.timed("recall"):
        applied = await _apply(search, db)
    if not (applied.links or applied.mentions):
        return search.noted(applied)
    candidates = search.result.candidates
    found = replace(search.result, candidates=(*candidates, *applied.added))
    guided = replace(
        search,
        result=found,
        hits=_order(unranked(found.candidates), applied),
        effect=_mean_effect(found.candidates, applied),
        surely_linked=applied.surely_linked,
        is_guided=bool(applied.links),
    )
    return guided.noted(applied)


async def _look_up_names(search: SearchState, db: SearchTransaction) -> SearchState:
    """Look up the names in the query, if that has not been done because entities may not guide the search."""
    if entity_matching.is_wanted(search.query):
        return search
    with search.context.timed("recall"):
        return replace(search, name_words=(await entity_matching.find_named(db, search.parsed)).name_words)


async def _apply(search: SearchState, db: SearchTransaction) -> AppliedGuidance:
    """Weigh the entities that may guide or boost by the evidence that the query is about them, and apply them."""
    query, result, options = search.query, search.result, search.query.ranking.guidance
    applied = _noted(search)
    matches = applied.found
    applicable = matches.applicable(options)
    if not applicable:
        return applied
    is_forced = options.mode == "force"
    if not is_forced and _has_literal_match(result, search.parsed):
        return replace(applied, fallback_reason=matches.fallback_reason or "literal_match")
    wide = search.widen(search.request)
    documents = {one.chunk_id: one.document_id for one in result.candidates}
    links = await store.links(db, applicable, documents, documents=_documents_wanted(wide, applicable))
    exponent = scoring_constants.EXPONENTS[wide.fusion]
    weighed = query_aboutness.weigh(applicable, result, links, exponent=exponent, forced=is_forced)
    applied = replace(applied, fusion=wide.fusion, matches=weighed)
    guides = {match.entity_id for match in matches.guiding(options.threshold)}
    if matches.fallback_reason is None and guides:
        applied = await _guide(db, search, applied, guides, links)
    return _with_mentions(applied, query, links)


def _documents_wanted(request: HybridRequest, matches: Sequence[EntityMatch]) -> int:
    """The number of documents with the strongest links to read for each entity.

    It is twice the number that the search may add, because its candidates may be among them. If the request excludes
    documents, or a document may be linked to several of the entities, it is the most that a search may use.
    """
    if len(matches) > 1 or request.filters or request.exclude_chunk_ids:
        return store.MAX_DOCUMENTS
    return min(store.MAX_DOCUMENTS, 2 * request.limit)


def _has_literal_match(result: HybridResult, parsed: ParsedQuery) -> bool:
    """Whether one of the best hits contains the phrases or an identifier of the query literally."""
    if not parsed.phrases and parsed.query_type != "technical":
        return False
    best = ((one.title, one.content) for one in result.candidates[:LITERAL_WITHIN])
    return any(
        {"phrase", "identifier"}.intersection(found) for found in query_parsing.find_literal_matches(parsed, best)
    )


async def _guide(
    db: SearchTransaction, search: SearchState, applied: AppliedGuidance, guides: set[UUID], found: EntityLinks
) -> AppliedGuidance:
    """Adds the links of the candidates to these entities, and linked documents that are not candidates."""
    request, candidates = search.request, search.result.candidates
    chosen = [match for match in applied.effective if match.entity_id in guides]
    if not any(found.counts[entity_id] for entity_id in guides):
        return replace(applied, fallback_reason="no_linked_documents")
    if not chosen:
        return replace(applied, fallback_reason="not_entity_centric")
    legs, absent = search.result.weights, 0.0
    if db.counts_seen:  # else the idf is that of all documents
        absent = query_aboutness.absent_share(chosen, search.result.terms)
    absent *= legs.text / ((legs.text + legs.vector) or 1.0)
    weight = blending.weight(chosen, alpha=search.query.ranking.guidance.alpha, absent=absent)
    weight *= query_aboutness.agreement(applied.matches)
    linked = blending.links(chosen, found.strengths, {one.document_id for one in candidates})
    links = {one.chunk_id: linked[one.document_id] for one in candidates if one.document_id in linked}
    missing = _missing(chosen, found.strengths, search)
    added: list[Candidate] = []
    weighted = replace(applied, weight=weight)
    if missing and _could_enter(missing, links, search, weighted):
        added = _passing(await chunk_reads.best_of_documents(db, request, list(missing), limit=request.limit), request)
    links |= {one.chunk_id: missing[one.document_id] for one in added}
    report = {"linked_documents": found.documents(guides), "added": len(added), "weight": round(weight, 6)}
    if not links:
        return replace(applied, fallback_reason="nothing_in_linked_documents", report=report)
    full = any(match.matched_by == "name" and (match.aboutness or 0.0) >= SURE_ABOUTNESS for match in chosen)
    best = () if full else candidates[:PROTECTED]
    return replace(
        weighted,
        added=tuple(added),
        links=links,
        protected=frozenset(one.chunk_id for one in best),
        report=report,
    )


def _missing(
    chosen: Sequence[EntityMatch], strengths: Mapping[UUID, Mapping[UUID, float]], search: SearchState
) -> dict[UUID, Link]:
    """The linked documents without a candidate, best link first, as many as may be added."""
    request = search.request
    if request.min_rrf_score is not None or (request.lexical is not None and request.lexical.has_conditions):
        return {}
    found = {candidate.document_id for candidate in search.result.candidates}
    wanted = MAX_CANDIDATES if request.filters or request.exclude_chunk_ids else request.limit
    documents: set[UUID] = set()
    for match in chosen:
        documents.update(itertools.islice((d for d in strengths[match.entity_id] if d not in found), wanted))
    linked = blending.links(chosen, strengths, documents)
    ordered = sorted(linked.values(), key=lambda link: (-link.score, -link.strength, link.document_id))
    return {link.document_id: link for link in ordered[:wanted]}


def _could_enter(
    missing: Mapping[UUID, Link], links: Mapping[UUID, Link], search: SearchState, applied: AppliedGuidance
) -> bool:
    """Whether a document with score 0 and the best missing link would rank among the needed hits."""
    needed = search.request.limit

    def final(score: float, link: Link | None) -> float:
        linked = link.score if link else 0.0
        return blending.final_score(score, linked, weight=applied.weight, fusion=applied.fusion)

    finals = sorted((final(one.score, links.get(one.chunk_id)) for one in search.result.candidates), reverse=True)
    best = final(0.0, next(iter(missing.values())))
    return len(finals) < needed or finals[needed - 1] < best


def _passing(added: Iterable[Candidate], request: HybridRequest) -> list[Candidate]:
    least = request.min_vector_score
    return [one for one in added if least is None or (one.vector_score is not None and one.vector_score >= least)]


def _with_mentions(applied: AppliedGuidance, query: SearchRequest, links: EntityLinks) -> AppliedGuidance:
    """Adds the candidates' mentions of the entities that the query names; they boost the candidates."""
    is_boosted = query.ranking.guidance.boost
    named = {match.entity_id: match for match in applied.effective if match.key} if is_boosted else {}
    mentions = {
        chunk_id: _count_namesakes_once(counts, named)
        for chunk_id, every in links.mentions.items()
        if (counts := {entity_id: count for entity_id, count in every.items() if entity_id in named})
    }
    return replace(applied, mentions=mentions)


def _count_namesakes_once(counts: Mapping[UUID, int], matches: Mapping[UUID, EntityMatch]) -> Mapping[UUID, int]:
    """The mentions of entities in a chunk. Namesakes share a name, so only the best one of them counts."""
    if len(counts) == 1:
        return counts
    best: dict[tuple[str, str | None], UUID] = {}
    for entity_id in counts:
        match = matches[entity_id]
        other = best.setdefault((match.type, match.key), entity_id)
        if (match.fit, counts[entity_id]) > (matches[other].fit, counts[other]):
            best[match.type, match.key] = entity_id
    return {entity_id: counts[entity_id] for entity_id in best.values()}


def _order(hits: Sequence[Hit], applied: AppliedGuidance) -> list[Hit]:
    """Boosts the hits by their mentions, then blends them with the scores of their links."""
    if applied.mentions:
        factors = _boost_factors(applied)
        totals = {chunk_id: sum(counts.values()) for chunk_id, counts in applied.mentions.items()}
        hits = blending.boost(hits, totals, factors)
    if not applied.links:
        return list(hits)
    return blending.keep(
        blending.blend(hits, applied.links, weight=applied.weight, fusion=applied.fusion), applied.protected
    )


def _mean_effect(candidates: Sequence[Candidate], applied: AppliedGuidance) -> MeanEffect:
    """How the entities change the mean score of the search's best candidates, in the order before guidance."""
    best = [candidate.chunk_id for candidate in candidates[:MIN_CANDIDATES]]
    links = (applied.links[chunk_id].score for chunk_id in best if chunk_id in applied.links)
    factors = _boost_factors(applied)
    mean_factor = sum(factors.get(chunk_id, 1.0) for chunk_id in best) / len(best)
    return MeanEffect(
        applied.weight * sum(links) / len(best), mean_factor ** scoring_constants.EXPONENTS[applied.fusion]
    )


def _boost_factors(applied: AppliedGuidance) -> dict[UUID, float]:
    """The factor of the score of each chunk that mentions entities."""
    weights = {match.entity_id: (match.aboutness or 0.0) * match.fit for match in applied.effective}
    mentions = {
        chunk_id: sum(weights[entity_id] * count for entity_id, count in counts.items())
        for chunk_id, counts in applied.mentions.items()
    }
    return {chunk_id: blending.boost_factor(count, applied.fusion) for chunk_id, count in mentions.items()}


async def finish(search: SearchState, answer: Answer) -> Answer:
    """Adds the entities that the query refers to and, if guidance was forced, whether they guided the search."""
    applied = _noted(search)
    is_entity_query = applied.links and any(match.key for match in applied.effective) and answer.query_type != "phrase"
    return replace(
        answer,
        search_mode="two_pass" if applied.links else "flat",
        guided=bool(applied.links) if search.query.ranking.guidance.mode == "force" else None,
        fallback_reason=answer.fallback_reason or applied.fallback_reason,
        query_type="entity" if is_entity_query else answer.query_type,
        entities=tuple(_referred(applied)),
    )


def _noted(search: SearchState) -> AppliedGuidance:
    return search.note(AppliedGuidance) or AppliedGuidance()


def _referred(applied: AppliedGuidance) -> list[EntityMatch]:
    """The entities that the query refers to, with their aboutness if it is known. Omits entities of origin `text`."""
    weighed = {match.entity_id: match for match in applied.matches}
    referred = [weighed.get(match.entity_id, match) for match in applied.found.all if match.origin != "text"]
    referred = [match for match in referred if match.aboutness is None or match.aboutness >= MIN_ABOUTNESS]
    if not any(match.key for match in referred):
        referred = [match for match in referred if match.matched_by != "team"]
    return referred


def explain(search: SearchState) -> dict[str, Any]:
    """The entities that the query refers to, and their effects."""
    applied = _noted(search)
    matched = [
        {
            "entity_id": str(match.entity_id),
            "name": match.name,
            "type": match.type,
            "score": match.score,
            "matched_by": match.matched_by,
            **({} if match.fit == 1 else {"fit": round(match.fit, 6)}),
            "aboutness": None if match.aboutness is None else round(match.aboutness, 6),
        }
        for match in _referred(applied)
    ]
    explained = {"pass1": matched, "fallback_reason": applied.fallback_reason, "pass2": dict(applied.report)}
    return {"entities": explained}


STEP = Step(expand=expand, recall=recall, finish=finish, explain=explain)
