"""Which entities is this query about, and shall they guide the search?"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.pipelines import gazetteers
from app.pipelines.remembered import Remembered, recalled
from app.ranking import entities
from app.shapes import EntityMatch, ParsedQuery, Query, Vector
from app.store import guides
from app.store.db import Reading, version
from app.store.guides import Match
from app.text import lexical, names, spans
from app.text.spans import Written

log = logging.getLogger(__name__)

CALLED = ("name", "fuzzy", "role", "team")
"""Matches by which a query means an entity; what only facts or a description match is meant if the query asks for it:
else a plain topic would be answered from the documents of whoever works on it."""
MOST_ALIKE = 20
"""Names that the query's words resemble, of which the store is asked."""


@dataclass(frozen=True, slots=True)
class Guided:
    """What pass 1 found: the entities, why they do not guide the search (None: they do), and which the query means."""

    matches: tuple[EntityMatch, ...] = ()
    why_not: str | None = None
    meant: tuple[EntityMatch, ...] = ()

    def guiding(self, threshold: float) -> list[EntityMatch]:
        """The entities that guide: those from the threshold on, or all where none is so sure but the caller insists."""
        sure = [match for match in self.meant if match.score >= threshold]
        return sure or list(self.meant)

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
    if guidance.hierarchy == "force":
        return Guided(tuple(matches), None if matches else "no_entities", tuple(matches))
    written = spans.read(parsed.text)
    meant = [match for match in matches if match.matched_by in CALLED or spans.asks_for(written, match.type)]
    reason = entities.why_not(meant, threshold=guidance.threshold, limit=guidance.max_entities)
    return Guided(tuple(matches), reason, tuple(meant))


def _unasked(query: Query) -> str:
    return "hierarchy_off" if query.guidance.hierarchy == "off" else "mode_lexical"


async def _matches(
    db: Reading, user_id: str, parsed: ParsedQuery, vector: Vector | None, *, limit: int
) -> list[EntityMatch]:
    """Names as they stand in the query, names that its words resemble, and what the store knows beside."""
    text = parsed.text
    held = names.sequences(text)
    call = await _called(db, user_id, text)
    found = await guides.matching(
        db,
        user_id,
        keys={*held, *call.standing},
        near={key: found.words for key, found in call.near.items()},
        roles=held,
        words=lexical.index_text(parsed.words, "english"),
        vector=vector,
    )
    held_names = {match.key for match in found if match.by == "name" and match.key}
    standing = {key: len(key.split(" ")) for key in spans.longest(call.query, held_names)}
    call = replace(call, standing={**standing, **call.standing})
    named = {match.key for match in found if match.by == "name" and _score(match, call)}
    told = [match for match in found if match.by != "team" or match.key in named]
    return entities.best((_scored(match, call) for match in told), limit=limit)


@dataclass(frozen=True, slots=True)
class _Near:
    """A name that words of the query resemble (0.75 to 1), or of which one word is a part (0)."""

    words: str
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class _Called:
    """The keys of names that stand in a query (with how many words), and of others that its words come near."""

    query: Written
    standing: Mapping[str, int]
    near: Mapping[str, _Near]


async def _called(db: Reading, user_id: str, text: str) -> _Called:
    known = await gazetteers.current(db, user_id, version=version(db).names)
    query = spans.read(text)
    if not len(known.gazetteer):
        return _Called(query, {}, {})
    found = known.gazetteer.find(text)
    standing = {key: name.end - name.start for name in found for key in (name.key, *name.others)}
    taken = {place for name in found for place in range(name.start, name.end)}
    near: dict[str, _Near] = {}
    for alike in (await known.likeness()).within(text)[:MOST_ALIKE]:
        near[alike.key] = _Near(" ".join(query.words[alike.start : alike.end]), alike.similarity)
        taken |= set(range(alike.start, alike.end))
    lone = dict.fromkeys(query.words[place] for place in spans.alone(query) if place not in taken)
    parts = await known.parts() if lone else {}
    near = {key: _Near("") for word in lone for key in parts.get(word, ())[:MOST_ALIKE]} | near
    return _Called(query, standing, {key: name for key, name in near.items() if key not in standing})


def _scored(match: Match, call: _Called) -> EntityMatch:
    key = match.key if match.by in ("name", "fuzzy") else None
    return EntityMatch(match.entity_id, match.name, match.type, match.origin, _score(match, call), match.by, key)


def _score(match: Match, call: _Called) -> float:
    value = match.value or 0.0
    if match.by == "name":
        return 1.0 if match.key in call.standing and _is_meant(match, call) else 0.0
    if match.by == "fuzzy":
        name = call.near.get(match.key or "", _Near(""))
        if not name.similarity:
            return entities.PART_SCORE if match.type == "person" else 0.0
        return entities.fuzzy(name.similarity) if value else 0.0
    if match.by == "fact":
        return entities.fact(value, match.terms or 0)
    return entities.description(value) if match.by == "description" else entities.ROLE_SCORE


def _is_meant(match: Match, call: _Called) -> bool:
    """Whether the query means the entity by a name that stands in it.

    What only a title or a tag made into a name must be written as one. Any other name of several words is meant; one of
    a single word, which may be an ordinary word ("granite", "canteen"), unless the query writes other names large.
    """
    key = match.key or ""
    if spans.is_name(call.query, key):
        return True
    if match.origin != "user" and match.type not in ("person", "team", "project"):
        return False
    return " " in key or call.standing[key] > 1 or not spans.holds_names(call.query)
