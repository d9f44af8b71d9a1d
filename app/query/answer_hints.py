"""Says in sentences what an answer lacks: why it has no hits or no guidance, what was left out, and what to change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from app import capability

if TYPE_CHECKING:  # a command that only prints the sentences does not import the database
    from app.database.filter_types import Filters
    from app.database.transactions import Database
    from app.query.search_types import Answer, MissedFilter

DEGRADED = {
    "embedding_failed": "The query could not be embedded.",
    "no_query_vector": "Only words were searched.",
    "invalid_expression": "The expression could not be read, so its words were searched.",
    "no_text_terms": "The query has no words that are indexed, so only vectors were searched.",
    "llm_failed": "The language model failed, so names were found without it.",
    "reranker_failed": "The re-ranker failed, so the order is that of the fusion.",
    "hop2_failed": "A later hop failed, so the answer has the hops before it.",
}
RELAXED = {
    "constraints_dropped": "No passage meets the quotes and required words, so they were not applied.",
    "similar_words": "Words of similar spelling were searched for words that no passage contains.",
    "unknown_address": "No passage has the address, so the rest was searched.",
    "nearest_vectors": "No word was found; these are the nearest passages.",
}
_NO_HITS = {
    "no_documents": "No documents are stored.",
    "filters_exclude_all": "The filters and exclusions leave out every document.",
    "below_thresholds": "Every passage found is below a minimum score, confidence or relevance.",
    "nothing_found": "No passage matches the query.",
}
_NOT_GUIDED = {
    "no_entities": "The query names no known entity, so all documents were searched.",
    "no_linked_documents": "No documents are linked to the entities of the query, so all documents were searched.",
    "nothing_in_linked_documents": "The documents linked to the entities of the query contain no match.",
    "not_entity_centric": "The query is not about the entities that it names, so all documents were searched.",
    "mode_lexical": "Entities guide no search by words alone.",
}


def of(answer: Answer) -> list[str]:
    """Says why the answer has no hits, and what to change in its filters; or why entities did not guide it."""
    reason = answer.fallback_reason
    if reason in _NO_HITS:
        return [_NO_HITS[reason], *sentences(answer.missed)]
    return [_NOT_GUIDED[reason]] if answer.guided is False and reason in _NOT_GUIDED else []


def sentences(missed: Iterable[MissedFilter]) -> list[str]:
    """Says what to change in each condition, such as "team: did you mean Firmware? Values are case-sensitive."."""
    found = []
    for one in missed:
        if one.nearest_moment is not None:
            found.append(f"{one.key}: the nearest document was created at {one.nearest_moment:%Y-%m-%dT%H:%M:%SZ}.")
        elif one.nearest_key is not None:
            found.append(f"metadata.{one.key}: no document has this key. Did you mean {one.nearest_key}?")
        elif one.nearest_value is not None and one.of_type is not None:
            found.append(f"{one.key}: did you mean {json.dumps(one.nearest_value)}, a {one.of_type}?")
        elif one.of_type is not None:
            example = f", such as {one.present[0]}" if one.present else ""
            kind = f"of the type {one.of_type}{example}"
            found.append(f"{one.key}: its values are {kind}, which this range does not compare.")
        elif one.nearest_value is not None:
            case = " Values are case-sensitive." if one.same_letters else ""
            found.append(f"{one.key}: did you mean {one.nearest_value}?{case}")
        else:
            missing = "this value" if one.has_key else "this key"
            named = f" There is {', '.join(one.present)}." if one.present else ""
            found.append(f"{one.key}: no document has {missing}.{named}")
    return found


async def find_missed(filters: Filters, user_id: str, *, db: Database) -> list[MissedFilter]:
    """The conditions that, taken alone, no document meets, as the capabilities find them."""
    return [one for look in capability.declared("missed_filters") for one in await look(filters, user_id, db=db)]


async def complete(answer: Answer, filters: Filters, user_id: str, *, db: Database) -> Answer:
    """If the filters exclude every document, adds the conditions that no document meets."""
    if answer.fallback_reason != "filters_exclude_all":
        return answer
    return replace(answer, missed=tuple(await find_missed(filters, user_id, db=db)))
