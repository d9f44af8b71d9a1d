"""Matches a query against the user's entities and decides which of them may guide the search."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from uuid import UUID

from cachetools import TTLCache

from app.concurrency import offload
from app.database import transactions
from app.database.transactions import Reading, SearchTransaction
from app.entities.linking import gazetteer_cache
from app.enums import Vector
from app.query.search_request import GuidanceOptions, SearchRequest
from app.query.search_types import EntityMatch
from app.search.steps.entity_guidance import entity_match_scores, store
from app.search.steps.entity_guidance.store import Match, Namesake
from app.text.names import fuzzy_names, name_uses_in_queries, names, names_in_queries
from app.text.names.name_uses_in_queries import NameForm, NameUse, QueryText
from app.text.queries.parsed_query import ParsedQuery
from app.text.words import tsvector_text

EXPLICIT = ("name", "fuzzy", "role", "team")
"""Kinds of match that are explicit references. A match by facts or description guides only a query that asks for an
entity ("who", "which vendor"). A query for a plain topic must not prefer the documents of people who work on it."""
MAX_SIMILAR_NAMES = 20
"""Most names with a similar spelling that are looked up."""

Span = tuple[int, int]
"""The positions in the query of the first word of a name and of the word after the name."""
CACHED_S, MAX_CACHED = 60, 2_000
"""How many seconds the matches of a query are cached, and the most queries in the cache."""


class EntityCache(TTLCache[Hashable, Sequence[EntityMatch]]):
    """The entities that queries match, by the query, the caller's audience and the user's version."""

    def __init__(self) -> None:
        super().__init__(MAX_CACHED, CACHED_S)


@dataclass(frozen=True, slots=True)
class EntityMatches:
    """The entities that match a query; `referred` are the ones it refers to explicitly or asks for by type.

    `fallback_reason` says why they do not guide the search; None if they do.
    """

    all: tuple[EntityMatch, ...] = ()
    fallback_reason: str | None = None
    referred: tuple[EntityMatch, ...] = ()

    def guiding(self, threshold: float) -> list[EntityMatch]:
        """The referred entities that reach the threshold; if none does (mode `force`), all referred entities.

        Omits members of a team, because the team is linked to their documents.
        """
        confident = [match for match in self.referred if match.score >= threshold]
        return [match for match in confident or self.referred if match.matched_by != "team"]

    @property
    def name_words(self) -> frozenset[str]:
        """The words of the names that the query contains."""
        return frozenset(word for match in self.all if match.key for word in match.key.split(" "))

    def applicable(self, options: GuidanceOptions) -> list[EntityMatch]:
        """The entities that may guide the search, and the entities named in the query, which may boost hits."""
        guiding = self.guiding(options.threshold) if self.fallback_reason is None else []
        named = [match for match in self.all if options.boost and match.matched_by in ("name", "fuzzy")]
        return list({match.entity_id: match for match in (*guiding, *named)}.values())


async def run(
    db: SearchTransaction, query: SearchRequest, parsed: ParsedQuery, vector: Vector | None, *, cache: EntityCache
) -> EntityMatches:
    """Finds the entities that match the query, and decides whether they guide it.

    The mode `force` skips the rules of confidence. With the mode `off`, or in a lexical search, no entity guides.
    """
    guidance = query.ranking.guidance
    may_guide = guidance.mode != "off" and query.mode != "lexical"
    if not is_wanted(query):
        return EntityMatches(fallback_reason=_disabled_reason(query))
    vector = vector if may_guide else None
    matches = await transactions.get_or_find(
        cache,
        db.version,
        (db.user_id, db.audience, parsed.text, parsed.words, vector is None, guidance.max_entities),
        lambda: _best(db, parsed, vector, limit=guidance.max_entities),
    )
    if not may_guide:
        return EntityMatches(tuple(matches), _disabled_reason(query))
    if guidance.mode == "force":
        return EntityMatches(tuple(matches), None if matches else "no_entities", tuple(matches))
    if not matches:
        return EntityMatches(fallback_reason="not_entity_centric")
    words = names_in_queries.read(parsed.text)
    referred = [
        match for match in matches if match.matched_by in EXPLICIT or names_in_queries.asks_for_type(words, match.type)
    ]
    reason = entity_match_scores.fallback_reason(referred, threshold=guidance.threshold, limit=guidance.max_entities)
    return EntityMatches(tuple(matches), reason, tuple(referred))


def is_wanted(query: SearchRequest) -> bool:
    """Whether entities may guide the search or boost chunks that mention them."""
    return query.ranking.guidance.boost or (query.ranking.guidance.mode != "off" and query.mode != "lexical")


async def find_named(db: SearchTransaction, parsed: ParsedQuery) -> EntityMatches:
    """The entities that a query names, for a search that entities may not guide or boost."""
    return EntityMatches(tuple(one for one in await score_matches(db, parsed, None) if one.matched_by == "name"))


def _disabled_reason(query: SearchRequest) -> str:
    return "hierarchy_off" if query.ranking.guidance.mode == "off" else "mode_lexical"


async def _best(db: SearchTransaction, parsed: ParsedQuery, vector: Vector | None, *, limit: int) -> list[EntityMatch]:
    matches = await score_matches(db, parsed, vector)
    return entity_match_scores.best((match for match in matches if not _is_of_other_name(match)), limit=limit)


def _is_of_other_name(match: EntityMatch) -> bool:
    """Whether a first or last name is an ordinary word of the query, or part of somebody else's name."""
    return match.use.form == "part" and (match.use.case == "small" or match.use.has_neighbour)


async def score_matches(db: SearchTransaction, parsed: ParsedQuery, vector: Vector | None) -> list[EntityMatch]:
    """Finds and scores matches by name in the query, by similar spelling, and by role, team, facts and description.

    An entity has one match for each way in which it matches. A name that is probably an ordinary word has score 0.
    """
    query_names = await _names_in(db, parsed.text)
    found = await store.find_matches(
        db,
        {*names.sequences(query_names.text), *query_names.exact},
        similar={key: similar.words for key, similar in query_names.similar.items()},
        roles=names_in_queries.role_sequences(query_names.query),
        words=tsvector_text.index_text(parsed.words, "english"),
        vector=vector,
    )
    stored_keys = {match.key for match in found if match.by == "name" and match.key}
    longest = names_in_queries.longest_names(query_names.query, stored_keys)
    query_names = replace(query_names, exact={**longest, **query_names.exact})
    taken = {index for spans in query_names.exact.values() for span in spans for index in range(*span)}
    parts = _parts_of_names(found, query_names)
    text = QueryText(query_names.text, query_names.query, taken | query_names.taken, parts)
    scored = [_scored(match, query_names, text) for match in found]
    named = {match.key for match in scored if match.matched_by == "name" and match.score}
    usable = [match for match, row in zip(scored, found, strict=True) if row.by != "team" or row.key in named]
    return await _weigh_namesakes(db, usable, parsed.words, vector)


@dataclass(frozen=True, slots=True)
class _SimilarName:
    """A stored name like words of the query (similarity 0.75 to 1), or with a word of the query as a part (0)."""

    span: Span
    words: str = ""
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class _QueryNames:
    """The stored names in a query (`exact`) and the stored names that are similar to its words, both by key.

    `taken` are the positions of the words of both. Positions count words of `text`, which has spaces around names.
    """

    text: str
    query: names_in_queries.QueryWords
    exact: Mapping[str, Sequence[Span]]
    similar: Mapping[str, _SimilarName]
    taken: frozenset[int] = frozenset()


async def _names_in(db: SearchTransaction, text: str) -> _QueryNames:
    user_names = await gazetteer_cache.visible(db, text)
    text = user_names.gazetteer.space_out(text)
    query = names_in_queries.read(text)
    if not len(user_names.gazetteer):
        return _QueryNames(text, query, {}, {})
    found = user_names.gazetteer.find(text)
    exact: dict[str, list[Span]] = {}
    for name in found:
        for key in (name.key, *name.others):
            exact.setdefault(key, []).append((name.start, name.end))
    taken = {index for name in found for index in range(name.start, name.end)}
    similar: dict[str, _SimilarName] = {}
    fuzzy = await user_names.fuzzy_index()
    for match in (await offload.run(user_names.comparison_cost(query.words), fuzzy.within, text))[:MAX_SIMILAR_NAMES]:
        words = query.words[match.start : match.end]
        is_inside = any(name.start <= match.start and match.end <= name.end for name in found)
        if not is_inside and match.key not in exact and fuzzy_names.is_misspelling(words, match.key):
            similar[match.key] = _SimilarName((match.start, match.end), " ".join(words), match.similarity)
            taken |= set(range(match.start, match.end))
    parts = await user_names.parts()
    for index, word in enumerate(query.words):
        for key in parts.get(word, ())[:MAX_SIMILAR_NAMES] if index not in taken else ():
            similar.setdefault(key, _SimilarName((index, index + 1)))
    return _QueryNames(text, query, exact, {k: name for k, name in similar.items() if k not in exact}, frozenset(taken))


def _parts_of_names(found: Sequence[Match], query_names: _QueryNames) -> set[int]:
    """The positions of words of the query that are the first or last name of a stored person."""
    persons = (match.key or "" for match in found if match.by == "fuzzy" and match.type == "person")
    similar = (query_names.similar[key] for key in persons)
    return {name.span[0] for name in similar if not name.similarity}


def _scored(match: Match, query_names: _QueryNames, text: QueryText) -> EntityMatch:
    key = match.key if match.by in ("name", "fuzzy") else None
    use = _use(match, query_names, text)
    score = _score(match, query_names, use)
    return EntityMatch(
        match.entity_id, match.name, match.type, match.origin, score, match.by, key, use, role=match.role
    )


def _use(match: Match, query_names: _QueryNames, text: QueryText) -> NameUse:
    """How the query refers to the entity of a match."""
    if match.by == "name":
        spans = query_names.exact.get(match.key or "", ())
        form: NameForm = "full" if " " in (match.key or "") else "word"
    elif match.by == "fuzzy":
        similar = query_names.similar[match.key or ""]
        spans = [similar.span]
        form = "part" if not similar.similarity else "full" if " " in similar.words else "word"
    else:
        return NameUse("role" if match.by == "role" else "topic")
    uses = [text.use(start, end, form=form, kind=match.type) for start, end in spans]
    return name_uses_in_queries.best(uses) if uses else NameUse(form)


def _score(match: Match, query_names: _QueryNames, use: NameUse) -> float:
    value = match.value or 0.0
    if match.by == "name":
        is_name = use.case == "capital" or not entity_match_scores.is_automatic(match.origin, match.type)
        return 1.0 if match.key in query_names.exact and is_name else 0.0
    if match.by == "fuzzy":
        name = query_names.similar[match.key or ""]
        if not name.similarity:
            return entity_match_scores.PART_SCORE if match.type == "person" else 0.0
        return entity_match_scores.fuzzy(name.similarity) if value else 0.0
    if match.by == "fact":
        return entity_match_scores.fact(value, match.terms or 0)
    return entity_match_scores.description(value) if match.by == "description" else entity_match_scores.ROLE_SCORE


async def _weigh_namesakes(
    db: Reading, matches: Sequence[EntityMatch], words: str, vector: Vector | None
) -> list[EntityMatch]:
    """Reduces the scores of namesakes that fit the query less well, and adds their teams.

    The `words` of the query are compared with role, description, facts and names of teams, and the query's vector with
    the entity's vector.
    """
    groups = _groups(matches)
    if not groups:
        return list(matches)
    known = await store.namesakes(db, {*chain(*groups.values())}, vector)
    texts = {entity_id: _text(one) for entity_id, one in known.items()}
    fits: dict[tuple[tuple[str, str], UUID], float] = {}
    for group, ids in groups.items():
        named = {word for match in matches if _name(match) == group for word in match.use.words}
        rest = " ".join(word for word in names.words(words) if word not in named)
        of_group = {entity_id: texts[entity_id] for entity_id in ids if entity_id in texts}
        covered = await store.measure_coverage(db, tsvector_text.index_text(rest, "english"), of_group)
        support = {
            entity_id: entity_match_scores.support(covered.get(entity_id, 0.0), known[entity_id].similarity)
            for entity_id in of_group
        }
        best = max(support.values(), default=0.0)
        fits |= {(group, entity_id): entity_match_scores.fit(value, best) for entity_id, value in support.items()}
    return [_fit(match, fits.get((_name(match), match.entity_id)), known) for match in matches]


def _groups(matches: Sequence[EntityMatch]) -> dict[tuple[str, str], set[UUID]]:
    """The user's entities by type and key, if several entities have the same name."""
    found: dict[tuple[str, str], set[UUID]] = {}
    for match in matches:
        if match.key is not None and match.score > 0 and match.origin == "user":
            found.setdefault(_name(match), set()).add(match.entity_id)
    return {name: ids for name, ids in found.items() if len(ids) > 1}


def _name(match: EntityMatch) -> tuple[str, str]:
    return match.type, match.key or ""


def _text(one: Namesake) -> str:
    return tsvector_text.index_text("\n".join(filter(None, (one.role, one.description, *one.teams))), "english")


def _fit(match: EntityMatch, fit: float | None, known: dict[UUID, Namesake]) -> EntityMatch:
    if fit is None:
        return match
    return replace(match, score=match.score * fit, fit=fit, teams=known[match.entity_id].teams)
