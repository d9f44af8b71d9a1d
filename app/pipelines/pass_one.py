"""Which entities is this query about, and shall they guide the search?"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.pipelines import gazetteers
from app.pipelines.remembered import Remembered, recalled
from app.ranking import entities
from app.shapes import EntityMatch, ParsedQuery, Query, Vector
from app.store import guides
from app.store.db import Reading, version
from app.store.guides import Match
from app.text import lexical, names, spans

log = logging.getLogger(__name__)

MOST_ALIKE = 20
"""Names that the query's words resemble, of which the store is asked."""


@dataclass(frozen=True, slots=True)
class Guided:
    """What pass 1 found: the entities, why they do not guide the search (None: they do), and which are named."""

    matches: tuple[EntityMatch, ...] = ()
    why_not: str | None = None

    @property
    def named(self) -> list[EntityMatch]:
        """The entities that the query calls by name, rightly spelled or nearly."""
        return [match for match in self.matches if match.matched_by in ("name", "fuzzy")]


async def run(
    db: Reading, query: Query, parsed: ParsedQuery, vector: Vector | None, *, remembered: Remembered
) -> Guided:
    """The entities that the query is about, and whether they guide it (SPEC §6).

    `hierarchy: force` skips the rules of confidence; `off` and `mode: lexical` leave the guidance out.
    """
    guidance = query.guidance
    asked = guidance.hierarchy != "off" and query.mode != "lexical"
    if not (asked or guidance.boost):
        return Guided(why_not=_unasked(query))
    vector = vector if asked else None
    matches = await recalled(
        remembered.matches,
        version(db),
        (query.user_id, parsed.text, parsed.words, vector is None, guidance.max_entities),
        lambda: _matches(db, query.user_id, parsed, vector, limit=guidance.max_entities),
    )
    if not asked:
        return Guided(tuple(matches), _unasked(query))
    reason = entities.why_not(matches, threshold=guidance.threshold, limit=guidance.max_entities)
    if guidance.hierarchy == "force":
        reason = None if matches else "no_entities"
    return Guided(tuple(matches), reason)


def _unasked(query: Query) -> str:
    return "hierarchy_off" if query.guidance.hierarchy == "off" else "mode_lexical"


async def _matches(
    db: Reading, user_id: str, parsed: ParsedQuery, vector: Vector | None, *, limit: int
) -> list[EntityMatch]:
    """Names as they stand in the query, names that its words resemble, and what the store knows beside."""
    text = parsed.text
    known = await gazetteers.current(db, user_id, version=version(db).names)
    standing = {found.key for found in known.gazetteer.find(text)}
    alike = {}
    if len(known.gazetteer):
        alike = {found.key: found for found in (await known.likeness()).within(text)[:MOST_ALIKE]}
    told = names.words(text)
    held = names.sequences(text)
    found = await guides.matching(
        db,
        user_id,
        keys={*held, *standing},
        near={key: " ".join(told[found.start : found.end]) for key, found in alike.items() if key not in standing},
        roles=held,
        words=lexical.index_text(parsed.words, "english"),
        vector=vector,
    )
    standing |= spans.longest(text, {match.key for match in found if match.key})
    similar = {key: found.similarity for key, found in alike.items()}
    return entities.best(_scored(found, standing, similar, text), limit=limit)


def _scored(
    found: Iterable[Match], standing: set[str], similar: Mapping[str, float], text: str
) -> Iterator[EntityMatch]:
    for match in found:
        score = _score(match, standing, similar, text)
        yield EntityMatch(match.entity_id, match.name, match.type, match.origin, score, match.by, match.key)


def _score(match: Match, standing: set[str], similar: Mapping[str, float], text: str) -> float:
    value = match.value or 0.0
    if match.by == "name":
        return 1.0 if match.key in standing and _is_meant(match, text) else 0.0
    if match.by == "fuzzy":
        return entities.fuzzy(similar.get(match.key or "", 0.0)) if value else 0.0
    if match.by == "fact":
        return entities.fact(value, match.terms or 0)
    return entities.description(value) if match.by == "description" else entities.ROLE_SCORE


def _is_meant(match: Match, text: str) -> bool:
    """Whether the query means the entity: a user's own always; a lone word that only a title or a tag made into a name
    must be written as a name, or be all that is asked."""
    if match.origin == "user" or " " in (match.key or "") or match.type in ("person", "team", "project"):
        return True
    return names.words(text) == [match.key] or spans.is_written_large(text, match.key or "")
