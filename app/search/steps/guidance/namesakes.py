"""Tells apart the entities of one type and name to which a query refers, by the rest of its words and by its meaning.

Costs nothing for a query without namesakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from uuid import UUID

from app.database.transactions import Reading
from app.kinds import Vector
from app.query.matches import EntityMatch
from app.search.steps.guidance import entity_scores
from app.search.steps.guidance.store import entity_lookup
from app.search.steps.guidance.store.entity_lookup import Namesake
from app.text.names import names
from app.text.words import lexical


async def tell_apart(
    db: Reading, matches: Sequence[EntityMatch], words: str, vector: Vector | None
) -> list[EntityMatch]:
    """The matches, those of namesakes with their teams and with a score reduced by how well the query fits them.

    `words` are those of the query. They are compared with role, description, facts and the names of teams, and the
    query's vector with that of the entity.
    """
    groups = _groups(matches)
    if not groups:
        return list(matches)
    known = await entity_lookup.namesakes(db, {*chain(*groups.values())}, vector)
    texts = {entity_id: _text(one) for entity_id, one in known.items()}
    fits: dict[tuple[tuple[str, str], UUID], float] = {}
    for group, ids in groups.items():
        named = {word for match in matches if _name(match) == group for word in match.use.words}
        rest = " ".join(word for word in names.words(words) if word not in named)
        of_group = {entity_id: texts[entity_id] for entity_id in ids if entity_id in texts}
        covered = await entity_lookup.cover(db, lexical.index_text(rest, "english"), of_group)
        support = {
            entity_id: entity_scores.support(covered.get(entity_id, 0.0), known[entity_id].similarity)
            for entity_id in of_group
        }
        best = max(support.values(), default=0.0)
        fits |= {(group, entity_id): entity_scores.fit(value, best) for entity_id, value in support.items()}
    return [_fit(match, fits.get((_name(match), match.entity_id)), known) for match in matches]


def _groups(matches: Sequence[EntityMatch]) -> dict[tuple[str, str], set[UUID]]:
    """The entities of the user by type and key of name, where several have it."""
    found: dict[tuple[str, str], set[UUID]] = {}
    for match in matches:
        if match.key is not None and match.score > 0 and match.origin == "user":
            found.setdefault(_name(match), set()).add(match.entity_id)
    return {name: ids for name, ids in found.items() if len(ids) > 1}


def _name(match: EntityMatch) -> tuple[str, str]:
    return match.type, match.key or ""


def _text(one: Namesake) -> str:
    return lexical.index_text("\n".join(filter(None, (one.role, one.description, *one.teams))), "english")


def _fit(match: EntityMatch, fit: float | None, known: dict[UUID, Namesake]) -> EntityMatch:
    if fit is None:
        return match
    return replace(match, score=match.score * fit, fit=fit, teams=known[match.entity_id].teams)
