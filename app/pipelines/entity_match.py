"""Matches a query against the user's entities and decides whether they guide the search (the first pass)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.pipelines import gazetteers, offload
from app.pipelines.entity_cache import EntityCache, get_or_find
from app.ranking import entity_scores
from app.shapes import EntityMatch, ParsedQuery, Query, Vector
from app.store import entity_lookup
from app.store.db import SearchTransaction, version
from app.store.entity_lookup import Match, MatchRequest
from app.text import lexical, names, query_words
from app.text.query_words import QueryWords

log = logging.getLogger(__name__)

EXPLICIT = ("name", "fuzzy", "role", "team")
"""Match kinds that count as an explicit reference. A match by facts or description alone guides only a query that asks
for an entity ("who", "which vendor"): a plain topic must not be answered from the documents of whoever works on it."""
MAX_SIMILAR_NAMES = 20
"""Names with a spelling like the query's words that are looked up."""


@dataclass(frozen=True, slots=True)
class EntityMatches:
    """The entities that match a query; `referred` are those that it refers to explicitly or asks for by type.

    `fallback_reason` is why they do not guide the search, None if they do.
    """

    all: tuple[EntityMatch, ...] = ()
    fallback_reason: str | None = None
    referred: tuple[EntityMatch, ...] = ()

    def guiding(self, threshold: float) -> list[EntityMatch]:
        """The referred entities of at least the threshold; all of them if none reaches it (`hierarchy: force`)."""
        confident = [match for match in self.referred if match.score >= threshold]
        return confident or list(self.referred)

    @property
    def named(self) -> list[EntityMatch]:
        """The entities that the query names, in their own or a similar spelling."""
        return [match for match in self.all if match.matched_by in ("name", "fuzzy")]


async def run(
    db: SearchTransaction, query: Query, parsed: ParsedQuery, vector: Vector | None, *, cache: EntityCache
) -> EntityMatches:
    """The entities that match the query, and whether they guide it.

    `hierarchy: force` skips the rules of confidence; `off` and `mode: lexical` never guide.
    """
    guidance = query.guidance
    may_guide = guidance.hierarchy != "off" and query.mode != "lexical"
    if not (may_guide or guidance.boost):
        return EntityMatches(fallback_reason=_disabled_reason(query))
    vector = vector if may_guide else None
    matches = await get_or_find(
        cache.matches,
        version(db),
        (query.user_id, parsed.text, parsed.words, vector is None, guidance.max_entities),
        lambda: _matches(db, query.user_id, parsed, vector, limit=guidance.max_entities),
    )
    if not may_guide:
        return EntityMatches(tuple(matches), _disabled_reason(query))
    if guidance.hierarchy == "force":
        return EntityMatches(tuple(matches), None if matches else "no_entities", tuple(matches))
    words = query_words.read(parsed.text)
    referred = [
        match for match in matches if match.matched_by in EXPLICIT or query_words.asks_for_type(words, match.type)
    ]
    reason = entity_scores.fallback_reason(referred, threshold=guidance.threshold, limit=guidance.max_entities)
    return EntityMatches(tuple(matches), reason, tuple(referred))


def _disabled_reason(query: Query) -> str:
    return "hierarchy_off" if query.guidance.hierarchy == "off" else "mode_lexical"


async def _matches(
    db: SearchTransaction, user_id: str, parsed: ParsedQuery, vector: Vector | None, *, limit: int
) -> list[EntityMatch]:
    """Matches by names in the query, by names of similar spelling, and by role, team, facts and description."""
    text = parsed.text
    sequences = names.sequences(text)
    query_names = await _names_in(db, user_id, text)
    request = MatchRequest(
        user_id,
        keys={*sequences, *query_names.exact},
        similar={key: similar.words for key, similar in query_names.similar.items()},
        roles=sequences,
        words=lexical.index_text(parsed.words, "english"),
        vector=vector,
    )
    found = await entity_lookup.matching(db, request)
    stored_keys = {match.key for match in found if match.by == "name" and match.key}
    longest = {key: len(key.split(" ")) for key in query_words.longest_names(query_names.query, stored_keys)}
    query_names = replace(query_names, exact={**longest, **query_names.exact})
    named = {match.key for match in found if match.by == "name" and _score(match, query_names)}
    usable = [match for match in found if match.by != "team" or match.key in named]
    return entity_scores.best((_scored(match, query_names) for match in usable), limit=limit)


@dataclass(frozen=True, slots=True)
class _SimilarName:
    """A stored name similar to words of the query (similarity 0.75 to 1), or with a word of the query as a part (0)."""

    words: str
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class _QueryNames:
    """The stored names in the query, as numbers of words by key, and the similar ones by key."""

    query: QueryWords
    exact: Mapping[str, int]
    similar: Mapping[str, _SimilarName]


async def _names_in(db: SearchTransaction, user_id: str, text: str) -> _QueryNames:
    user_names = await gazetteers.current(db, user_id, version=version(db).names)
    query = query_words.read(text)
    if not len(user_names.gazetteer):
        return _QueryNames(query, {}, {})
    found = user_names.gazetteer.find(text)
    exact = {key: name.end - name.start for name in found for key in (name.key, *name.others)}
    taken = {index for name in found for index in range(name.start, name.end)}
    similar: dict[str, _SimilarName] = {}
    fuzzy = await user_names.fuzzy_index()
    for match in (await offload.run(user_names.comparison_cost(query.words), fuzzy.within, text))[:MAX_SIMILAR_NAMES]:
        similar[match.key] = _SimilarName(" ".join(query.words[match.start : match.end]), match.similarity)
        taken |= set(range(match.start, match.end))
    single = dict.fromkeys(query.words[index] for index in query_words.capitalised_alone(query) if index not in taken)
    parts = await user_names.parts() if single else {}
    similar = {key: _SimilarName("") for word in single for key in parts.get(word, ())[:MAX_SIMILAR_NAMES]} | similar
    return _QueryNames(query, exact, {key: name for key, name in similar.items() if key not in exact})


def _scored(match: Match, query_names: _QueryNames) -> EntityMatch:
    key = match.key if match.by in ("name", "fuzzy") else None
    score = _score(match, query_names)
    return EntityMatch(match.entity_id, match.name, match.type, match.origin, score, match.by, key)


def _score(match: Match, query_names: _QueryNames) -> float:
    value = match.value or 0.0
    if match.by == "name":
        return 1.0 if match.key in query_names.exact and _is_reference(match, query_names) else 0.0
    if match.by == "fuzzy":
        name = query_names.similar.get(match.key or "", _SimilarName(""))
        if not name.similarity:
            return entity_scores.PART_SCORE if match.type == "person" else 0.0
        return entity_scores.fuzzy(name.similarity) if value else 0.0
    if match.by == "fact":
        return entity_scores.fact(value, match.terms or 0)
    return entity_scores.description(value) if match.by == "description" else entity_scores.ROLE_SCORE


def _is_reference(match: Match, query_names: _QueryNames) -> bool:
    """Whether the query refers to the entity by a name that it contains.

    An entity that was made from a title or a tag must be written as a name. Of the others, a name of several words is a
    reference; a single word, which may be an ordinary one ("granite", "canteen"), is none in a query that capitalises
    other names.
    """
    key = match.key or ""
    if query_words.is_written_as_name(query_names.query, key):
        return True
    if match.origin != "user" and match.type not in ("person", "team", "project"):
        return False
    return " " in key or query_names.exact[key] > 1 or not query_words.has_capitalised_names(query_names.query)
